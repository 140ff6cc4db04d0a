//go:build !linux

package run

import "os"

// clone returns false: on this system files are copied.
func clone(_, _ *os.File) bool { return false }
