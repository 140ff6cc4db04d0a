//go:build unix

package main

import (
	"os"
	"reflect"
	"runtime"
	"syscall"
)

// peak returns the largest resident set of an ended process, in bytes.
func peak(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	most := reflect.ValueOf(u.Maxrss).Int() // its type differs between systems
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return most
	}
	return most * 1024
}
