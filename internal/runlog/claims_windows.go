package runlog

import "io/fs"

// exposed returns why a directory cannot be used, or "". On Windows each user has a directory for
// temporary files.
func exposed(_ string, info fs.FileInfo, _ bool) string {
	if !info.IsDir() {
		return "is not a directory"
	}
	return ""
}
