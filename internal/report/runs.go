package report

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// RunLine is one line of a list of runs. Its keys are documented.
type RunLine struct {
	ID        string    `json:"id"`
	StartedAt time.Time `json:"startedAt"`
	Suite     string    `json:"suite"`
	SuiteHash string    `json:"suiteHash,omitempty"`
	Runners   []string  `json:"runners"`
	// State is "running", "finished", "stopped" (it can be resumed), "not begun" or "damaged".
	State   string   `json:"state"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Errored int      `json:"errored"`
	Planned int      `json:"planned"`
	CostUSD *float64 `json:"costUsd"`
	Path    string   `json:"path"`
	Error   string   `json:"error,omitempty"`
}

// DescribeRun describes the run in the directory at path. Its run.json says when it was asked for,
// and on which suite; err is the error of reading that.
func DescribeRun(path string, created time.Time, suite string, err error) RunLine {
	l := RunLine{ID: filepath.Base(path), Path: path, Runners: []string{}}
	if err != nil {
		l.State, l.Error = "damaged", err.Error()
		return l
	}
	l.StartedAt, l.Suite = created, suite
	if !files.Exists(filepath.Join(path, runlog.EventsFile)) {
		l.State = "not begun"
		return l
	}
	state, err := runlog.At(path).Fold(nil)
	if err != nil {
		l.State, l.Error = "damaged", err.Error()
		return l
	}
	t := state.Totals
	l.StartedAt, l.SuiteHash = state.StartedAt, state.Info.SuiteHash
	for _, r := range state.Info.Runners {
		l.Runners = append(l.Runners, r.ID)
	}
	l.Passed, l.Failed, l.Errored, l.Planned = t.Passed, t.Failed, t.Errored, t.Planned
	if t.Unpriced == 0 {
		l.CostUSD = &t.CostUSD
	}
	switch {
	case runlog.Locked(path):
		l.State = "running"
	case t.Finished < t.Planned || t.Planned == 0:
		l.State = "stopped"
	default:
		l.State = "finished"
	}
	return l
}

// Fact is a text about a session, with its label.
type Fact struct{ Label, Text string }

// SessionFacts describes a finished session, or the judgement of one.
func SessionFacts(ev plumb.Event) (facts []Fact) {
	add := func(label, text string) {
		if text != "" {
			facts = append(facts, Fact{label, text})
		}
	}
	if j := ev.Judgement; ev.Type == plumb.EventSessionJudged && j != nil {
		add("outcome", fmt.Sprintf("%s (%s), score %.3g", j.Outcome, j.Status, j.Score))
		for _, v := range j.Verdicts {
			mark := "fail"
			switch {
			case v.Error != nil:
				mark = "error"
			case v.Pass:
				mark = "pass"
			}
			add(mark, v.Name+": "+v.Reason)
			if v.Asked != nil {
				for _, reply := range v.Asked.Replies {
					add("", v.Asked.Model+" said: "+reply)
				}
			}
		}
		if j.Failure != nil {
			add("why", j.Failure.Message)
			add("try", j.Failure.Hint)
		}
		return facts
	}
	if r := ev.Report; r != nil {
		add("prompt", r.Prompt)
		add("output", r.FinalOutput)
		model := r.Model
		if r.Fingerprint != "" {
			model += " (fingerprint " + r.Fingerprint + ")"
		}
		add("model", model)
		add("finish", string(r.FinishReason))
		add("request", r.RequestID)
		add("tokens", fmt.Sprintf("%s in, %s out, %s of it reasoning, %s from cache", tokens(r.Usage.InputTokens),
			tokens(r.Usage.OutputTokens), tokens(r.Usage.ReasoningTokens), tokens(r.Usage.CacheTokens)))
		add("time", fmt.Sprintf("%d ms latency, %d ms in total, %s", r.LatencyMs, r.DurationMs,
			text.Plural(r.Requests, "request")))
		cost := "unknown"
		if r.CostUSD != nil {
			cost = text.Money(*r.CostUSD)
		}
		add("cost", cost)
		for _, refused := range r.Refused {
			add("refused", refused)
		}
		if r.TakenFrom != "" {
			add("source", "run "+r.TakenFrom)
		} else if r.Cached {
			add("source", "local cache")
		}
		if r.Recorded {
			add("source", "recording of an earlier run")
		}
		for _, note := range r.Notes {
			add("note", note)
		}
	}
	if f := ev.Failure; f != nil {
		add("failure", fmt.Sprintf("%s (%s)", f.Message, f.Origin))
		add("try", f.Hint)
	}
	return facts
}

func tokens(n *int64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatInt(*n, 10)
}
