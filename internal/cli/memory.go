package cli

import (
	"runtime/debug"
	"slices"

	"github.com/plumb-eval/plumb"
)

// boundMemory sets a memory limit for the garbage collector if agents run: few of their sessions are
// large. The limit is above the memory of the report of the longest transcript, because the
// collector would run all the time below it.
func boundMemory(runners []plumb.Runner, executions, parallel int) {
	const least, each = 80 << 20, 8 << 20
	if slices.ContainsFunc(runners, func(r plumb.Runner) bool { return r.Info().Kind == plumb.RunnerAgent }) {
		debug.SetGCPercent(200)
		debug.SetMemoryLimit(least + each*int64(max(1, min(executions, parallel))) + 350*int64(executions))
	}
}

// spareMemory has the garbage collector run often in a run of a large suite, most of whose memory stays in use.
func spareMemory(size int) {
	const large = 16 << 20
	if size > large {
		debug.SetGCPercent(25)
	}
}

// tuneTranscript sets a memory limit for the garbage collector while one transcript is converted.
func tuneTranscript() {
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(112 << 20)
}
