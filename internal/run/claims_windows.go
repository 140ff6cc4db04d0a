package run

import "io/fs"

// exposed says why a directory is none to work in, or "". The directory for temporary files is the user's own here.
func exposed(_ string, info fs.FileInfo, _ bool) string {
	if !info.IsDir() {
		return "is not a directory"
	}
	return ""
}
