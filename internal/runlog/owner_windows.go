package runlog

import "io/fs"

// ours returns true: on Windows a project directory inherits permissions that exclude other users.
func ours(fs.FileInfo) bool { return true }
