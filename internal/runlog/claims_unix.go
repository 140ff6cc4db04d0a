//go:build unix

package runlog

import (
	"io/fs"
	"os"
	"syscall"
)

// exposed returns why other users could change a directory, or "". If the directory belongs to this
// user, exposed removes their permission. With strict it must belong to this user, must not be
// accessible to others, and must not be a link. Otherwise it may be a common directory such as
// /tmp, where users cannot change each other's files.
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
