//go:build !linux

package cli

// forgetStart does nothing here: other systems do not count the pages of a program as its memory, or take no such advice.
func forgetStart() {}
