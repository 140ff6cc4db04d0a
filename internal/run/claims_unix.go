//go:build unix

package run

import (
	"io/fs"
	"os"
	"syscall"
)

// exposed says why others could change what is in a directory, or "". One of this user is closed. With strict it must be this
// user's, closed altogether, and no link; else it may be one that everybody has, such as /tmp, where nobody can touch what is another's.
func exposed(dir string, info fs.FileInfo, strict bool) string {
	if !info.IsDir() {
		return "is not a directory"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	open, ours := info.Mode().Perm()&0o022, int(stat.Uid) == os.Geteuid()
	if strict {
		open = info.Mode().Perm() & 0o077
	}
	switch {
	case !strict && info.Mode()&fs.ModeSticky != 0:
		return ""
	case !ours && (strict || stat.Uid != 0):
		return "belongs to another user"
	case open == 0:
		return ""
	case !ours || os.Chmod(dir, info.Mode().Perm()&^open) != nil:
		return "can be changed by other users"
	}
	return ""
}
