package cli

import (
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/plumb-eval/plumb"
)

// tuneMemory sets the pace of the garbage collector by what a run of so many executions will keep: a small run may use
// half as much again before the collector works, which saves CPU time, and a large one is held closer to what it needs. Where
// sessions are very large, the collector goes by a limit: at the pace of a small run garbage would be several times what
// is in use.
func tuneMemory(executions int) {
	const small, large, most = 44 << 20, 170 << 20, 384 << 20
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	kept := m.HeapAlloc + uint64(executions)*350 + 8<<20
	target := max(uint64(small), min(uint64(large), kept/2*3), kept+kept/6)
	debug.SetGCPercent(int(100 * (target - kept) / kept))
	debug.SetMemoryLimit(int64(most + 2*target))
}

// boundMemory sets a limit above which the collector works often, where agents run: their sessions are seldom large. The
// limit is above what the report of the longest transcript keeps alive, since the collector would work all the time below it.
func boundMemory(runners []plumb.Runner, executions, parallel int) {
	const least, each = 80 << 20, 8 << 20
	if slices.ContainsFunc(runners, func(r plumb.Runner) bool { return r.Info().Kind == plumb.RunnerAgent }) {
		debug.SetGCPercent(200)
		debug.SetMemoryLimit(least + each*int64(max(1, min(executions, parallel))) + 350*int64(executions))
		forgetStart()
	}
}

// spareMemory makes the collector work often while a large suite is loaded, which would otherwise be the peak of the run.
func spareMemory(size int) {
	const large = 16 << 20
	if size > large {
		debug.SetGCPercent(25)
	}
}

// tuneTranscript sets the pace of the collector for one transcript that becomes a report: rarely while it is small.
func tuneTranscript() {
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(112 << 20)
}
