//go:build !windows

package terminal

import "os"

// enableSequences does nothing: terminals of Unix interpret escape sequences.
func enableSequences(*os.File) {}
