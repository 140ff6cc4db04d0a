// Package report has what the reports of runs and of comparisons share: their words and figures,
// excerpts of sessions, and the documents of results. Each format has a package below it.
//
// A reporter is a function of the pair (event, run). Beyond a limited number of excerpts it keeps
// nothing of a finished execution, so memory does not grow with the number of cases. A reporter
// that needs whole sessions streams them from the log through [results.Sessions]. Reporters remove
// from the text of models, providers and suites everything that a terminal or a page would
// interpret.
package report

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// Source is what the report of a run is made from, beside the run itself. The zero value knows
// nothing else.
type Source struct {
	// Sessions reads recorded sessions. Without it, reports omit outputs. Stored reads them without
	// decoding what is only copied; it may be nil.
	Sessions results.Sessions
	Stored   results.Stored
	// Redact removes secrets from reports; nil removes none.
	Redact *redact.Redactor
	// Fresh is set when Redact was already applied to all events and sessions, as in a run of this
	// process. It is not set for a stored log.
	Fresh bool
	// Dir is the run directory as the user should see it. The default is the path in the run's
	// info.
	Dir string
	// Project is the directory to which the places of cases are relative.
	Project string
	// Flags are the flags that later commands need to find the run, such as "--output-dir out".
	// Suggested commands include them.
	Flags string
	// Closed is set when the run cannot be resumed. Then reports do not suggest it.
	Closed bool
	// Recorded is set when the answers are a recording, whatever the runners are. A run on replay
	// runners is always one.
	Recorded bool
	// Calibrations are those of the judges that the project knows.
	Calibrations []*calibrate.Calibration
	// Lifts returns the lifts of an ablation when the run has ended; nil without one.
	Lifts func() []Lift
	// Explained returns what the agent answered when plumb explain asked about the session with the
	// artifact directory dir, relative to the run directory. It may be nil.
	Explained func(dir string) ([]Explained, error)
}

// Explained is a question about a session with the agent's answer.
type Explained struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Results returns the writer of a document of results. temp is a directory for temporary files, with
// which it renders cases while the run is on, or "".
func (src *Source) Results(temp string, d results.Detail) *results.Writer {
	o := results.Material{
		Sessions: src.Sessions, Stored: src.Stored, Detail: d, Recorded: src.Recorded, Temp: temp,
		Calibrations: src.Calibrations,
	}
	if src.Lifts != nil {
		o.Lifts = func() any {
			if lifts := src.Lifts(); len(lifts) > 0 {
				return lifts
			}
			return nil
		}
	}
	return results.NewWriter(o)
}

// Replay renders a run from its log and returns its state. The log of a run that was stopped and
// resumed has several run-finished events; the reporter receives only the last one. The log of a
// killed run has none; the reporter still receives one, while run.End stays nil.
func Replay(r plumb.Reporter, events iter.Seq2[plumb.Event, error]) (*plumb.Run, error) {
	run := &plumb.Run{}
	var known *redact.Redactor
	if g, ok := r.(*guarded); ok {
		known = g.redact
	}
	var end *plumb.Event
	for ev, err := range events {
		if err != nil {
			return run, errors.Join(err, r.Close())
		}
		ev = Without(known, ev) // the state of the run is built from it
		if err := run.Apply(ev); err != nil {
			return run, errors.Join(err, r.Close())
		}
		if ev.Type == plumb.EventRunFinished {
			end = &ev
			continue
		}
		end = nil
		if err := r.Report(ev, run); err != nil {
			return run, errors.Join(err, r.Close())
		}
	}
	if end == nil {
		end = &plumb.Event{Type: plumb.EventRunFinished, At: run.EndedAt}
	}
	return run, errors.Join(r.Report(*end, run), r.Close())
}

// IsRecording reports whether the answers of a run are a recording. Replayed answers must never pass
// as new ones.
func (src *Source) IsRecording(run *plumb.Run) bool { return src.Recorded || results.Recorded(run) }

// RecordingNotice labels a recording. A judge may still have been called for it.
func RecordingNotice(info *plumb.RunInfo) string {
	if info.Judge == "" && info.Embedder == "" {
		return "RECORDING: answers replayed from an earlier run. No model was called."
	}
	return "RECORDING: answers replayed from an earlier run. Only the judge was called."
}

// Directory returns the run directory as the user should see it.
func (src *Source) Directory(run *plumb.Run) string {
	if src.Dir != "" {
		return src.Dir
	}
	return run.Info.ArtifactDir
}

// SuiteTitle names the suite of a run on one line: name, tier and the first digits of the hash.
func SuiteTitle(info *plumb.RunInfo, sep string) string {
	parts := []string{text.OneLine(info.SuiteName)}
	if parts[0] == "" {
		parts[0] = text.OneLine(info.SuitePath)
	}
	if info.Tier != "" && !strings.HasSuffix(parts[0], info.Tier) {
		parts = append(parts, text.OneLine(info.Tier))
	}
	if hash := text.ShortHash(text.OneLine(info.SuiteHash), 8); hash != "" {
		parts = append(parts, hash)
	}
	return strings.Join(parts, sep)
}

// RunnerTitle returns the id of a runner and, if the id does not name it, the model.
func RunnerTitle(r *plumb.RunnerInfo) string {
	model := r.Agent.Type + ":" + r.Agent.Model
	switch {
	case r.Kind == plumb.RunnerReplay:
		model = "recording"
	case r.Agent.Type == "":
		model = r.Agent.Model
	case r.Agent.Model == "":
		model = r.Agent.Type
	}
	if model == "" || r.ID == model || r.ID == r.Agent.Model {
		return text.OneLine(r.ID)
	}
	return text.OneLine(r.ID + " (" + model + ")")
}

// JudgeTitle names the judge, or returns "" when no check needs one.
func JudgeTitle(info *plumb.RunInfo) string {
	switch {
	case info.SelfJudged && info.Judge != "":
		return text.OneLine(info.Judge) + " (self-judged)"
	case info.SelfJudged:
		return "self-judged: each model judges its own answers"
	}
	return text.OneLine(info.Judge)
}

// CasesWords returns how many cases of the suite were selected.
func CasesWords(run *plumb.Run) string {
	if prompts := len(analyze.Prompts(run)); prompts > 1 && run.Info.SuiteCases <= len(run.Cases) {
		items := map[string]bool{}
		for i := range run.Cases {
			items[run.Cases[i].ItemID()] = true
		}
		if len(items)*prompts == len(run.Cases) {
			return text.Plural(len(items), "case") + " in " + text.Plural(prompts, "prompt")
		}
	}
	if all := run.Info.SuiteCases; all > len(run.Cases) {
		return text.Count(len(run.Cases)) + " of " + text.Plural(all, "case")
	}
	return text.Plural(len(run.Cases), "case")
}

// StopWords explains why a run ended early, or returns "" if it did not.
func StopWords(run *plumb.Run) string {
	if run.End == nil {
		return "the run has not ended: it was killed or is still running"
	}
	words := map[plumb.StopReason]string{
		"":                    "",
		plumb.StopInterrupted: "interrupted",
		plumb.StopFailFast:    "stopped: the failure limit is reached",
		plumb.StopCost:        "stopped: the next session could exceed the cost budget",
		plumb.StopTokens:      "stopped: the next session could exceed the token budget",
		plumb.StopDuration:    "stopped: the time budget is spent",
		plumb.StopDecided:     "stopped: the question is decided",
		plumb.StopBaseline:    "stopped: the baseline cannot be measured any more",
		plumb.StopUnmetered:   "stopped: what sessions use or cost is unknown, so the budget cannot be enforced",
	}
	if known, ok := words[run.End.Stop]; ok {
		return known
	}
	return "stopped: " + text.OneLine(string(run.End.Stop))
}

// flags returns the flags that a later command needs to find the run, after a space.
func (src *Source) flags() string {
	if src.Flags == "" {
		return ""
	}
	return " " + text.OneLine(src.Flags)
}

// Command is a suggested next command, with its purpose.
type Command struct{ Line, Why string }

// NextSteps returns the commands that a user is likely to need after a run, most useful first. look is
// the command that shows what to look at first, or "".
func NextSteps(src *Source, run *plumb.Run, look string) []Command {
	id, flags := ShellWord(run.Info.ID), src.flags()
	var steps []Command
	if look != "" {
		steps = append(steps, Command{look, "see the whole session"})
	}
	switch t := run.Totals; {
	case src.Closed || decided(run) || run.Info.Share != "": // a log without its run directory does not go on
	case run.Decision != nil && run.Decision.Exhausted == len(run.Cases):
		if step := moreBaseline(src, run); step != "" {
			steps = append(steps, Command{step, "add repetitions to the baseline; then start another run"})
		}
	case run.Decision != nil && run.End != nil && run.End.Stop == "":
		steps = append(steps, Command{
			fmt.Sprintf("plumb resume %s --repeat %d%s", id, 2*run.Decision.Limit/max(1, len(run.Cases)), flags),
			"continue with twice the limit",
		})
	case run.Decision != nil:
		steps = append(steps, Command{"plumb resume " + id + flags, "continue to draw; raise a budget if one is spent"})
	case run.End != nil && run.End.Stop == plumb.StopCost:
		steps = append(steps, Command{"plumb resume " + id + flags, "continue; add a larger --max-cost"})
	case run.End != nil && run.End.Stop == plumb.StopTokens:
		steps = append(steps, Command{"plumb resume " + id + flags, "continue; add a larger --max-tokens"})
	case t.Planned > t.Finished || run.End == nil || run.End.Remaining > 0:
		steps = append(steps, Command{"plumb resume " + id + flags, "continue; finished cases are kept"})
	case t.Errored > t.Broken:
		steps = append(steps, Command{"plumb resume --retry-errors " + id + flags, "run the unmeasured cases again"})
	}
	if path := run.Info.SuitePath; run.Totals.Broken > 0 && path != "" {
		steps = append(steps, Command{
			"plumb score " + id + " --suite " + ShellWord(path) + flags, "after the repair: judge the same sessions again",
		})
	}
	return steps
}

// ShellWord quotes an argument that a shell would split or expand. It keeps spaces: two ids can differ
// in their number.
func ShellWord(s string) string {
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(text.Clean(s))
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
