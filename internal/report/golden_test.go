package report

import (
	"cmp"
	"fmt"
	"strings"
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

// prompts is a run of 20 cases with 2 prompts on 2 runners, with gates.
func prompts() *log {
	about := info("openai:gpt-5", "openai:gpt-5-mini")
	about.SuiteName, about.SuiteVersion, about.Tier, about.SuitePath = "support", "", "", "evals/support.yaml"
	about.Gates = []plumb.Gate{
		{Text: "0.9", Metric: plumb.GatePassRate, Least: 0.9},
		{Text: "tag:billing=low:0.3", Metric: plumb.GatePassRate, Kind: plumb.GateTag, Name: "billing", Low: true, Least: 0.3},
		{Text: "0.95", Metric: plumb.GateCoverage, Least: 0.95},
	}
	var cases []plumb.CaseInfo
	for i := range 20 {
		for _, prompt := range []string{"short", "long"} {
			item := fmt.Sprintf("refund-%d", i+1)
			cases = append(cases, plumb.CaseInfo{
				ID: item + "." + prompt, Item: item, Prompt: prompt, Hash: "sha256:" + item + prompt,
				Tags: [][]string{{"billing"}, {"tone"}}[i%2], Category: "support",
				Source: plumb.Position{File: "evals/support.yaml", Line: 10 + 4*i, Column: 5},
			})
		}
	}
	l := newLog(about, cases...)
	for i := range cases {
		c := &cases[i]
		for _, r := range about.Runners {
			a := answer("We refund you within 14 days.", 300)
			a.Prompt = "Refund?"
			if c.Prompt == "long" {
				a.Prompt = "system: " + strings.Repeat("You are a helpful agent of a shop. ", 10) + "\n\nuser: Refund?"
			}
			a.CostUSD = new(0.00013749999999999998)
			switch c.ID + " " + r.ID {
			case "refund-3.short openai:gpt-5-mini", "refund-3.long openai:gpt-5-mini", "refund-7.short openai:gpt-5-mini":
				a.FinalOutput = "No."
				l.execute(c.ID, r.ID, a, failed(verdict("contains", false, `"No." does not contain "14 days"`, "14 days", "No.")))
			case "refund-8.long openai:gpt-5":
				broke := &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 503"}
				l.execute(c.ID, r.ID, nil, broken(broke))
			default:
				l.execute(c.ID, r.ID, a, passed(verdict("contains", true, "ok", "14 days", "")))
			}
		}
	}
	return l.end("", 0)
}

// repeats is a run of an agent with three repetitions, side by side, and a retry.
func repeats() *log {
	i := info("claude")
	i.Repeat, i.SelfJudged, i.Judge = 3, true, ""
	i.Runners[0].Kind, i.Runners[0].Agent = plumb.RunnerAgent, plumb.AgentInfo{Type: "claude-code", Model: "haiku"}
	l := newLog(i, plumb.CaseInfo{ID: "skill one", Category: "skills"}, plumb.CaseInfo{ID: "own", Repeat: 1})
	good, bad := passed(verdict("command", true, "ran git", "git", "git")),
		failed(verdict("command", false, "never ran git", "git", "ls"))
	l.session("skill one", "claude", 2, 1, answer("second, first try", 20), nil, bad)
	l.session("skill one", "claude", 1, 1, answer("first", 10), nil, good)
	l.session("skill one", "claude", 2, 2, answer("second, second try", 30), nil, good)
	l.session("skill one", "claude", 3, 1, answer("third", 40), nil, bad)
	res := resultOf(4, nil, bad)
	res.Passed, res.Failed, res.Score = 2, 1, 2.0/3
	l.finish("skill one", "claude", res)
	l.execute("own", "claude", answer("fine", 10), good)
	return l.end("", 0)
}
