package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone makes out share the blocks of in, if the file system can. It reports whether it did.
func clone(out, in *os.File) bool {
	return unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil
}
