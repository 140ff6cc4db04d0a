//go:build unix

package modelapi

import (
	"syscall"
	"testing"
	"time"
)

// cpu reports the processor time an operation took, which unlike the time on the clock means
// something on a busy machine. Call the result at the end.
func cpu(b *testing.B) func() {
	b.Helper()
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64(spent()-before)/float64(b.N), "cpu-ns/op") }
}
