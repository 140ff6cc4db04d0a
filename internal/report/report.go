// Package report renders runs: live on a terminal, and as documents for people, scripts and CI
// systems.
//
// A reporter is a function of the pair (event, run). Beyond a limited number of excerpts it keeps
// nothing of a finished execution, so memory does not grow with the number of cases. A reporter
// that needs whole sessions streams them from the log through [results.Sessions]. Reporters remove from the
// text of models, providers and suites everything that a terminal or a page would interpret.
package report

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// Options configure where a reporter writes and what it may use. The zero value writes nowhere, in
// plain ASCII.
type Options struct {
	// Out is the destination of the report: standard output or a file. The reporter does not close
	// it.
	Out io.Writer
	// Terminal is set when Out is an interactive terminal, on which the terminal reporter draws a
	// live view.
	Terminal bool
	// Color allows colors; Unicode allows characters beyond ASCII.
	Color, Unicode bool
	// Size returns the size of the terminal in cells. The reporter calls it repeatedly because
	// windows change. The size is 80 by 24 when Size is nil or returns zeros.
	Size func() (width, height int)
	// Lifts returns the lifts of an ablation when the run has ended; nil without one.
	Lifts func() []Lift
	// Calibrations are those of the judges that the project knows.
	Calibrations []*calibrate.Calibration
	// Now is the clock of the live view; nil means [time.Now].
	Now func() time.Time
	// Waiting says which providers keep the run waiting; "" if none does. It may be nil.
	Waiting func() string
	// Getenv looks up environment variables: NO_COLOR, TERM, GITHUB_ACTIONS, GITHUB_STEP_SUMMARY.
	// It may be nil.
	Getenv func(name string) string
	// Sessions reads recorded sessions. Without it, reporters omit outputs. Stored reads them without
	// decoding what is only copied; it may be nil.
	Sessions results.Sessions
	Stored   results.Stored
	// RunDir is the run directory, for reporters that write a file into it by default: with RunDir,
	// html writes report.html there and prints the path to Out; without RunDir, it writes the page
	// to Out.
	RunDir string
	// Temp is a directory for temporary files. With it, reporters of a new run prepare their
	// documents during the run; without it, they do all work at the end.
	Temp string
	// Dir is the run directory as the user should see it. The default is the path in the run's
	// info.
	Dir string
	// Project is the directory to which the places of cases are relative.
	Project string
	// Flags are the flags that later commands need to find the run, such as "--output-dir out".
	// Suggested commands include them.
	Flags string
	// Closed is set when the run cannot be resumed. Then reporters do not suggest it.
	Closed bool
	// Redact removes secrets from reports; nil removes none.
	Redact *redact.Redactor
	// Fresh is set when Redact was already applied to all events and sessions, as in a run of this
	// process. It is not set for a stored log.
	Fresh bool
	// Explained returns what the agent answered when plumb explain asked about the session with the
	// artifact directory dir, relative to the run directory. It may be nil.
	Explained func(dir string) ([]Explained, error)
	// Recorded is set when the answers are a recording, whatever the runners are. A run on replay
	// runners is always one.
	Recorded bool
}

// Explained is a question about a session with the agent's answer.
type Explained struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// The names of the reporters.
const (
	Terminal      = "terminal"
	JSON          = "json"
	JSONSummary   = "json-summary"
	JUnit         = "junit"
	GitHubActions = "github-actions"
	Markdown      = "markdown"
	HTML          = "html"
)

// kind is one kind of reporter.
type kind struct {
	name string
	make func(Options) plumb.Reporter
	// mixes is set if the report can share standard output with another one.
	mixes bool
}

// kinds is the only list of the reporters.
func kinds() []kind {
	return []kind{
		{name: Terminal, make: func(o Options) plumb.Reporter { return newTerminal(o) }},
		{name: JSON, make: func(o Options) plumb.Reporter { return &resultsReport{newResults(&o, results.Full), o.Out} }},
		{name: JSONSummary, make: func(o Options) plumb.Reporter {
			return &resultsReport{newResults(&o, results.Brief), o.Out}
		}},
		{name: JUnit, make: func(o Options) plumb.Reporter { return &atEnd{o, writeJUnit} }},
		{name: GitHubActions, make: func(o Options) plumb.Reporter { return &atEnd{o, writeActions} }, mixes: true},
		{name: Markdown, make: func(o Options) plumb.Reporter { return &atEnd{o, writeComment} }},
		{name: HTML, make: func(o Options) plumb.Reporter { return &htmlReport{o: o, size: htmlSize} }, mixes: true},
	}
}

// find returns the kind with the given name, or nil.
func find(name string) *kind {
	all := kinds()
	if i := slices.IndexFunc(all, func(k kind) bool { return k.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names returns the names of all reporters.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Mixes reports whether a report can share standard output with another one.
func Mixes(name string) bool {
	k := find(name)
	return k != nil && k.mixes
}

// New returns the reporter with the given name. The run-finished event makes it write its report.
// Use [Replay] to render a run from its log.
func New(name string, o Options) (plumb.Reporter, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if k := find(name); k != nil {
		return o.guard(k.make(o.guarded())), nil
	}
	err := fmt.Errorf("unknown reporter %q", name)
	if near := plumb.Nearest(name, Names()); near != "" {
		err = fmt.Errorf("unknown reporter %q (did you mean %q?)", name, near)
	}
	return nil, plumb.WithHint(err, "reporters: "+strings.Join(Names(), ", "))
}

// newResults returns the writer of a document of results.
func newResults(o *Options, d results.Detail) *results.Writer {
	w := results.Options{
		Sessions: o.Sessions, Stored: o.Stored, Detail: d, Recorded: o.Recorded, Temp: o.Temp,
		Calibrations: o.Calibrations,
	}
	if o.Lifts != nil {
		w.Lifts = func() any {
			if lifts := o.Lifts(); len(lifts) > 0 {
				return lifts
			}
			return nil
		}
	}
	return results.NewWriter(w)
}

// NewResults returns the writer of results.json.
func NewResults(o Options) *results.Writer { return newResults(&o, results.Full) }

// resultsReport writes a document of results to out.
type resultsReport struct {
	*results.Writer
	out io.Writer
}

func (r *resultsReport) Report(ev plumb.Event, run *plumb.Run) error {
	if ev.Type == plumb.EventRunFinished {
		return r.Write(r.out, run)
	}
	return r.Writer.Report(ev, run)
}

// atEnd is a reporter that writes one document at the end of the run.
type atEnd struct {
	o     Options
	write func(o Options, run *plumb.Run) error
}

func (r *atEnd) Report(ev plumb.Event, run *plumb.Run) error {
	if ev.Type != plumb.EventRunFinished {
		return nil
	}
	return r.write(r.o, run)
}

func (r *atEnd) Close() error { return nil }

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
		ev = without(known, ev) // the state of the run is built from it
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

// recorded reports whether the answers of a run are a recording.
func (o *Options) recorded(run *plumb.Run) bool { return o.Recorded || results.Recorded(run) }

// recordingNotice labels a recording. A judge may still have been called for it.
func recordingNotice(info *plumb.RunInfo) string {
	if info.Judge == "" && info.Embedder == "" {
		return "RECORDING: answers replayed from an earlier run. No model was called."
	}
	return "RECORDING: answers replayed from an earlier run. Only the judge was called."
}

// dir returns the run directory as the user should see it.
func (o *Options) dir(run *plumb.Run) string {
	if o.Dir != "" {
		return o.Dir
	}
	return run.Info.ArtifactDir
}

// suiteTitle names the suite of a run on one line: name, tier and the first digits of the hash.
func suiteTitle(info *plumb.RunInfo, sep string) string {
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

// runnerTitle returns the id of a runner and, if the id does not name it, the model.
func runnerTitle(r *plumb.RunnerInfo) string {
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

// judgeTitle names the judge, or returns "" when no check needs one.
func judgeTitle(info *plumb.RunInfo) string {
	switch {
	case info.SelfJudged && info.Judge != "":
		return text.OneLine(info.Judge) + " (self-judged)"
	case info.SelfJudged:
		return "self-judged: each model judges its own answers"
	}
	return text.OneLine(info.Judge)
}

// casesWords returns how many cases of the suite were selected.
func casesWords(run *plumb.Run) string {
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

// stopWords explains why a run ended early, or returns "" if it did not.
func stopWords(run *plumb.Run) string {
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
func (o *Options) flags() string {
	if o.Flags == "" {
		return ""
	}
	return " " + text.OneLine(o.Flags)
}

// A command is a suggested next command, with its purpose.
type command struct{ line, why string }

// nextSteps returns the commands that a user is likely to need after a run, most useful first. look is
// the command that shows what to look at first, or "".
func nextSteps(o *Options, run *plumb.Run, look string) []command {
	id, flags := ShellWord(run.Info.ID), o.flags()
	var steps []command
	if look != "" {
		steps = append(steps, command{look, "see the whole session"})
	}
	switch t := run.Totals; {
	case o.Closed || decided(run):
	case run.Decision != nil && run.Decision.Exhausted == len(run.Cases):
	case run.Decision != nil && run.End != nil && run.End.Stop == "":
		steps = append(steps, command{
			fmt.Sprintf("plumb resume %s --repeat %d%s", id, 2*run.Decision.Limit/max(1, len(run.Cases)), flags),
			"continue with twice the limit",
		})
	case run.Decision != nil:
		steps = append(steps, command{"plumb resume " + id + flags, "continue to draw; raise a budget if one is spent"})
	case run.End != nil && run.End.Stop == plumb.StopCost:
		steps = append(steps, command{"plumb resume " + id + flags, "continue; add a larger --max-cost"})
	case run.End != nil && run.End.Stop == plumb.StopTokens:
		steps = append(steps, command{"plumb resume " + id + flags, "continue; add a larger --max-tokens"})
	case t.Planned > t.Finished || run.End == nil || run.End.Remaining > 0:
		steps = append(steps, command{"plumb resume " + id + flags, "continue; finished cases are kept"})
	case t.Errored > t.Broken:
		steps = append(steps, command{"plumb resume --retry-errors " + id + flags, "run the unmeasured cases again"})
	}
	if path := run.Info.SuitePath; run.Totals.Broken > 0 && path != "" {
		steps = append(steps, command{
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
