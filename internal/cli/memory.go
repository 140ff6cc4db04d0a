package cli

import (
	"runtime/debug"
	"slices"

	"github.com/plumb-eval/plumb"
)

// boundMemory sets a memory limit for the garbage collector where agents run: some of their sessions are large, and most
// are small. Below the limit the collector seldom runs.
func boundMemory(runners []plumb.Runner, executions, parallel int) {
	const least, each = 20 << 20, 8 << 20
	if slices.ContainsFunc(runners, func(r plumb.Runner) bool { return r.Info().Kind == plumb.RunnerAgent }) {
		debug.SetGCPercent(900)
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
