package cli

import (
	"runtime/debug"
	"slices"

	"github.com/plumb-eval/plumb"
)

// boundMemory sets a memory limit for the garbage collector of a run. The limit grows with the
// state that the run keeps of each execution. Without a limit, large replies would leave several
// times their size as garbage.
//
// Few sessions of agents are large. Their limit is above the memory of the report of the longest
// transcript, because the collector would run all the time below it.
func boundMemory(runners []plumb.Runner, executions, parallel int) {
	const models, agents, each, kept = 384 << 20, 80 << 20, 8 << 20, 700
	limit := int64(models)
	if slices.ContainsFunc(runners, func(r plumb.Runner) bool { return r.Info().Kind == plumb.RunnerAgent }) {
		debug.SetGCPercent(400)
		limit = agents + each*int64(max(1, min(executions, parallel)))
	}
	debug.SetMemoryLimit(limit + kept*int64(executions))
}

// spareMemory has the garbage collector run often in a run of a large suite, most of whose memory
// stays in use.
func spareMemory(size int) {
	const large = 16 << 20
	if size > large {
		debug.SetGCPercent(15)
	}
}

// spareComparison has the garbage collector run often while runs are compared, because most of what is
// read stays in use.
func spareComparison() { debug.SetGCPercent(20) }

// tuneTranscript sets a memory limit for the garbage collector while one transcript is converted.
func tuneTranscript() {
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(112 << 20)
}
