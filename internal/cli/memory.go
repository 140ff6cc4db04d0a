package cli

import (
	"runtime"
	"runtime/debug"
)

// tuneMemory sets the pace of the garbage collector by what a loaded suite takes: a small run may use some 60 MB before
// the collector works, which saves a fifth of its CPU time, and a large one is held close to what it needs.
func tuneMemory() {
	const small, large = 60 << 20, 215 << 20
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := max(m.HeapAlloc, 1<<20)
	target := max(uint64(small), min(uint64(large), 2*live), live+live/3)
	debug.SetGCPercent(int(100 * (target - live) / live))
}
