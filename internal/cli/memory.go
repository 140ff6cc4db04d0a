package cli

import (
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/plumb-eval/plumb"
)

// tuneMemory sets the pace of the garbage collector for a run, by the size of the state that the
// run keeps. A small run may use half as much again before the collector works, which saves CPU
// time; a large run stays closer to what it needs. The limit bounds the garbage of very large
// sessions.
//
// Sessions of agents are mostly small and sometimes large, so a limit alone sets their pace.
func tuneMemory(runners []plumb.Runner, executions, parallel int) {
	const small, large, most = 44 << 20, 170 << 20, 384 << 20
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	kept := m.HeapAlloc + uint64(executions)*350 + 8<<20
	target := max(uint64(small), min(uint64(large), kept/2*3), kept+kept/6)
	debug.SetGCPercent(int(100 * (target - kept) / kept))
	debug.SetMemoryLimit(int64(most + 2*target))

	const least, each = 20 << 20, 8 << 20
	if slices.ContainsFunc(runners, func(r plumb.Runner) bool { return r.Info().Kind == plumb.RunnerAgent }) {
		debug.SetGCPercent(900)
		debug.SetMemoryLimit(least + each*int64(max(1, min(executions, parallel))) + 350*int64(executions))
	}
}

// spareMemory lets the collector work often while a large suite is loaded, which would otherwise be
// the peak of the run.
func spareMemory(size int) {
	const large = 16 << 20
	if size > large {
		debug.SetGCPercent(25)
	}
}

// tuneTranscript sets the pace of the collector for converting one transcript: rarely for a small
// one.
func tuneTranscript() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(64 << 20)
}
