package report

import (
	"cmp"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
)

func TestGolden(t *testing.T) {
	none := newLog(info("gpt-5")).end("", 0)

	errors := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"})
	f := &plumb.Failure{
		Origin: plumb.OriginModelRejected, Class: plumb.OriginModelRejected.Class(),
		Message: "openai: 404: no model gpt-5", Hint: "plumb models --live",
	}
	errors.execute("a-1", "gpt-5", nil, broken(f))
	errors.execute("a-2", "gpt-5", nil, broken(f))
	errors.end("", 0)

	interrupted := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"},
		plumb.CaseInfo{ID: "a-3"})
	interrupted.execute("a-1", "gpt-5", answer("fine", 10), passed(verdict("contains", true, "ok", "fine", "fine")))
	interrupted.add(plumb.Event{
		Type: plumb.EventSessionStarted, Case: "a-2", Runner: "gpt-5", Repetition: 1,
		Session: 1,
	})
	interrupted.end(plumb.StopInterrupted, 2)

	killed := &log{events: interrupted.events[:len(interrupted.events)-1], now: interrupted.now}

	played := info("demo")
	played.Runners[0].Kind = plumb.RunnerReplay
	recording := newLog(played, plumb.CaseInfo{ID: "a-1"})
	recording.execute("a-1", "demo", answer("fine", 10), passed(verdict("contains", true, "ok", "fine", "fine")))
	recording.end("", 0)

	extension := map[string]string{
		Terminal: ".txt", JSON: ".json", JSONSummary: ".summary.json", JUnit: ".xml", GitHubActions: ".actions.txt",
		Markdown: ".md",
	}
	for name, l := range map[string]*log{
		"mixed": mixed(), "none": none, "errors": errors, "interrupted": interrupted, "killed": killed,
		"recording": recording,
		"prompts":   prompts(),
		"repeats":   repeats(), "agents": agentLog(), "samples": samples(), "stopped": stopped(),
	} {
		for _, reporter := range Names() {
			if reporter == HTML {
				continue // see TestHTMLData
			}
			golden.Equal(t, "testdata/"+name+cmp.Or(extension[reporter], "."+reporter), l.render(t, reporter, Options{Screen: Screen{Unicode: true}}))
		}
	}
	golden.Equal(t, "testdata/mixed.ascii.txt", mixed().render(t, Terminal, Options{}))
	golden.Equal(t, "testdata/mixed.color.txt", mixed().render(t, Terminal, Options{Screen: Screen{Unicode: true, Color: true}}))
}
