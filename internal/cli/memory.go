package cli

import (
	"runtime"
	"runtime/debug"
)

// tuneMemory sets the pace of the garbage collector by what a run of so many executions will keep: a small run may use
// more than twice that before the collector works, which saves CPU time, and a large one is held closer to what it needs.
func tuneMemory(executions int) {
	const small, large = 56 << 20, 170 << 20
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	kept := m.HeapAlloc + uint64(executions)*350 + 8<<20
	target := max(uint64(small), min(uint64(large), 2*kept), kept+kept/6)
	debug.SetGCPercent(int(100 * (target - kept) / kept))
}

// spareMemory makes the collector work often while a large suite is loaded, which would otherwise be the peak of the run.
func spareMemory(size int) {
	const large = 16 << 20
	if size > large {
		debug.SetGCPercent(25)
	}
}
