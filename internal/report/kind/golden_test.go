package kind

import (
	"cmp"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/report/terminal"
)

func TestGolden(t *testing.T) {
	none := reporttest.NewLog(reporttest.Info("gpt-5")).End("", 0)

	errors := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"})
	f := &plumb.Failure{
		Origin: plumb.OriginModelRejected, Class: plumb.OriginModelRejected.Class(),
		Message: "openai: 404: no model gpt-5", Hint: "plumb models --live",
	}
	errors.Execute("a-1", "gpt-5", nil, reporttest.Broken(f))
	errors.Execute("a-2", "gpt-5", nil, reporttest.Broken(f))
	errors.End("", 0)

	interrupted := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"},
		plumb.CaseInfo{ID: "a-3"})
	interrupted.Execute("a-1", "gpt-5", reporttest.Answer("fine", 10), reporttest.Passed(reporttest.Verdict("contains", true, "ok", "fine", "fine")))
	interrupted.Add(plumb.Event{
		Type: plumb.EventSessionStarted, Case: "a-2", Runner: "gpt-5", Repetition: 1,
		Session: 1,
	})
	interrupted.End(plumb.StopInterrupted, 2)

	killed := &reporttest.Log{Events: interrupted.Events[:len(interrupted.Events)-1], Now: interrupted.Now}

	played := reporttest.Info("demo")
	played.Runners[0].Kind = plumb.RunnerReplay
	recording := reporttest.NewLog(played, plumb.CaseInfo{ID: "a-1"})
	recording.Execute("a-1", "demo", reporttest.Answer("fine", 10), reporttest.Passed(reporttest.Verdict("contains", true, "ok", "fine", "fine")))
	recording.End("", 0)

	extension := map[string]string{
		Terminal: ".txt", JSON: ".json", JSONSummary: ".summary.json", JUnit: ".xml", GitHubActions: ".actions.txt",
		Markdown: ".md",
	}
	for name, l := range map[string]*reporttest.Log{
		"mixed": reporttest.Mixed(), "none": none, "errors": errors, "interrupted": interrupted, "killed": killed,
		"recording": recording,
		"prompts":   reporttest.Prompts(),
		"repeats":   reporttest.Repeats(), "agents": reporttest.AgentLog(), "samples": reporttest.Samples(), "stopped": reporttest.Stopped(),
	} {
		for _, reporter := range Names() {
			if reporter == HTML {
				continue // see TestHTMLData
			}
			golden.Equal(t, "testdata/"+name+cmp.Or(extension[reporter], "."+reporter), render(t, l, reporter, Setup{Screen: terminal.Screen{Unicode: true}}))
		}
	}
	golden.Equal(t, "testdata/mixed.ascii.txt", render(t, reporttest.Mixed(), Terminal, Setup{}))
	golden.Equal(t, "testdata/mixed.color.txt", render(t, reporttest.Mixed(), Terminal, Setup{Screen: terminal.Screen{Unicode: true, Color: true}}))
}
