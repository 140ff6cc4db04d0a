package report

import (
	"fmt"

	"github.com/plumb-eval/plumb"
)

// samples is a run of a model with five repetitions: stable cases, flaky ones, one with errors, and
// one that could not be measured.
func samples() *log {
	i := info("gpt-5")
	i.Repeat = 5
	counts := []struct {
		category               string
		passed, failed, broken int
	}{
		{"math", 5, 0, 0},
		{"math", 5, 0, 0},
		{"math", 4, 1, 0},
		{"text", 0, 5, 0},
		{"text", 2, 3, 0},
		{"text", 3, 0, 2},
		{"text", 0, 0, 5},
	}
	var cases []plumb.CaseInfo
	for n, c := range counts {
		cases = append(cases, plumb.CaseInfo{ID: fmt.Sprintf("%s-%d", c.category, n+1), Category: c.category})
	}
	l := newLog(i, cases...)
	for n, c := range counts {
		l.repeat(cases[n].ID, "gpt-5", int64(100*(n+1)), c.passed, c.failed, c.broken)
	}
	return l.end("", 0)
}

// repeat adds an execution with the given numbers of passed, failed and broken repetitions.
func (l *log) repeat(caseID, runner string, ms int64, pass, fail, broke int) {
	f := &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 500"}
	good, bad := passed(verdict("contains", true, "ok", "x", "x")), failed(verdict("contains", false, "lacks x", "x", "y"))
	last := good
	for n := range pass + fail + broke {
		switch {
		case n < pass:
			l.session(caseID, runner, n+1, 1, answer("x", ms), nil, good)
		case n < pass+fail:
			last = bad
			l.session(caseID, runner, n+1, 1, answer("y", ms), nil, bad)
		default:
			if fail == 0 {
				last = broken(f)
			}
			l.session(caseID, runner, n+1, 1, nil, f, broken(f))
		}
	}
	res := resultOf(pass+fail+broke, new(0.0021*float64(pass+fail)), last)
	res.Passed, res.Failed, res.Errored = pass, fail, broke
	if pass+fail > 0 {
		res.Score = float64(pass) / float64(pass+fail)
		res.LatencyMs, res.DurationMs = ms, ms+20
	}
	l.finish(caseID, runner, res)
}

// stopped is a run of an agent whose executions stop at the first repetition that is not green.
func stopped() *log {
	i := info("claude")
	i.Repeat = 3
	i.Runners[0].Kind, i.Runners[0].Agent = plumb.RunnerAgent, plumb.AgentInfo{Type: "claude-code", Model: "haiku"}
	l := newLog(i, plumb.CaseInfo{ID: "all"}, plumb.CaseInfo{ID: "first"}, plumb.CaseInfo{ID: "second"})
	l.repeat("all", "claude", 100, 3, 0, 0)
	l.repeat("first", "claude", 200, 0, 1, 0)
	l.repeat("second", "claude", 300, 1, 0, 1)
	return l.end("", 0)
}
