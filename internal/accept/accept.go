// Package accept decides what a server takes of a run log from elsewhere. It reads the log within
// limits, finds its faults, checks whether it agrees with itself and with the suite that it names, and
// makes rows of it. It knows neither databases nor HTTP.
package accept

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// The limits of a log from elsewhere.
const (
	mostResults   = 200_000
	mostFaults    = 100
	nameBytes     = 1_000 // of an id or a name
	lineBytes     = 64 << 10
	sessionBytes  = 128 << 20 // of a line with a whole session
	depth         = 64
	clockSlack    = 5 * time.Minute
	mostTokens    = 1_000_000_000_000
	mostCostUSD   = 1_000_000
	mostLatencyMs = 366 * 24 * 3_600_000
	// Million is the unit of a score: a score of 1 is a million.
	Million = 1_000_000
	nanoUSD = 1e9
)

// Limits returns what the reader accepts of a log with the given level.
func Limits(share plumb.Share) runlog.Limits {
	if share == plumb.ShareSessions {
		return runlog.Limits{LineBytes: sessionBytes, Bytes: 8 << 30, Depth: depth, Strict: true}
	}
	return runlog.Limits{LineBytes: lineBytes, Bytes: 1 << 30, Depth: depth, Strict: true}
}

// Submission is a run log as the rows that a server keeps of it.
type Submission struct {
	// Info describes the run as it was planned last.
	Info           plumb.RunInfo
	Started, Ended time.Time
	// Finished means that the run ended with all its work done.
	Finished bool
	// Planned is the number of planned results.
	Planned int
	// CostNanoUSD is the known cost of the run, judges included.
	CostNanoUSD int64
	// Panels are those of the runners, and Cases the cases, in the order of the run.
	Panels []Panel
	Cases  []plumb.CaseInfo
	// Results are ordered by runner, case and repetition.
	Results []Result
	// Answers has the shared texts of answers, by hash.
	Answers map[Hash]string
	// Held says why the run may count in no sum; nil if it may.
	Held []string
}

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// Panel is a runner over a suite and a judge. Results with the same key belong together over time.
type Panel struct {
	Key                     Hash
	Kind                    plumb.RunnerKind
	Runner, Provider, Model string
	// Settings are the parameters and the address, as JSON.
	Settings string
}

// Result is one repetition of one case on one runner: the last of its sessions decides.
type Result struct {
	// Runner and Case count from 0, Repetition from 1.
	Runner, Case, Repetition int
	At                       time.Time
	Outcome                  plumb.Outcome
	// Class is the id of the failure class; "" if the session passed.
	Class string
	// Score is in millionths. It is 0 if nothing was measured.
	Score int64
	// Tokens and CostNanoUSD are sums over the sessions; nil means not known.
	Tokens, CostNanoUSD, LatencyMs *int64
	// Served is the model as the provider reported it.
	Served string
	// Answer is the hash of the answer; nil if it is not known.
	Answer *Hash
	// Fresh means that the model was asked now: the answer is neither from a cache nor of an earlier
	// run.
	Fresh bool
}

// Measured reports whether the result is one of the model.
func (r *Result) Measured() bool { return r.Outcome.Measured() }

// Rules say how a log is read.
type Rules struct {
	// Local means that the log is of this machine: it is read as it is.
	Local bool
	// Now is the time of the server; zero for a log that was accepted before. Sent is that of the
	// sender when it sent the log; zero if it is not known.
	Now, Sent time.Time
	// Suite returns the cases of a suite by its hash, or nil if the server does not know it.
	Suite func(ctx context.Context, hash string) ([]plumb.Case, error)
}

// Fault is something that a log must not have. Line counts from 1.
type Fault struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Faults are why a log is refused. There is at least one.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fmt.Sprintf("line %d: %s", fault.Line, fault.Message)
	}
	return strings.Join(lines, "\n")
}

// Read reads a log. The error is [Faults] if the log is refused.
func Read(ctx context.Context, log *runlog.Log, rules Rules) (*Submission, error) {
	f := &fold{rules: rules, run: &plumb.Run{}, results: map[place]*Result{}, sub: &Submission{}, answers: map[Hash]string{}}
	if rules.Local {
		_, err := log.Figures(nil, func(ev plumb.Event, run *plumb.Run) error {
			f.run, f.share = run, run.Info.Share
			f.event(&ev)
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
		return f.finish(ctx)
	}
	limited := *log
	limited.Blob = nil
	limited.Limits = Limits(plumb.ShareSessions)
	info, err := limited.Info()
	if err != nil {
		return nil, Faults{{1, err.Error()}}
	}
	limited.Limits = Limits(info.Share)
	f.share = info.Share
	if suite := rules.Suite; suite != nil {
		known, err := suite(ctx, info.SuiteHash)
		if err != nil {
			return nil, err
		}
		f.judge = newJudge(known)
	}
	err = limited.Read(func(ev plumb.Event) error {
		f.line++
		f.check(&ev)
		f.again(ctx, &ev)
		f.event(&ev)
		if (len(f.run.Cases)+len(ev.Cases))*len(f.run.Info.Runners) > mostResults || len(f.results) > mostResults {
			f.fault("the run has more than %d results", mostResults)
			return errFaults
		}
		light := ev
		light.Report, light.Judgement = nil, nil
		if ev.Info != nil { // what it announces is only believed when it comes
			info := *ev.Info
			info.Cases = 0
			light.Info = &info
		}
		if err := f.run.Apply(light); err != nil {
			f.fault("%v", err)
			return errFaults
		}
		if ev.Info != nil {
			f.run.Info.Cases = ev.Info.Cases
		}
		if len(f.faults) >= mostFaults {
			return errFaults
		}
		return ctx.Err()
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, errFaults) {
		f.line++
		f.fault("%v", cmp.Or(errors.Unwrap(err), err)) // without the name of the log and the line
	}
	if len(f.faults) == 0 {
		f.whole()
	}
	if len(f.faults) > 0 {
		return nil, f.faults
	}
	return f.finish(ctx)
}

var errFaults = errors.New("there are too many faults")

// place is a repetition of a case on a runner, by their ids.
type place struct {
	runner, id string
	repetition int
}

// fold is a log that is being read.
type fold struct {
	rules   Rules
	share   plumb.Share
	run     *plumb.Run
	sub     *Submission
	line    int
	last    time.Time
	results map[place]*Result
	answers map[Hash]string
	faults  Faults
	judge   *judge
	wrong   []string
}

func (f *fold) fault(format string, args ...any) {
	f.faults = append(f.faults, Fault{f.line, fmt.Sprintf(format, args...)})
}

func (f *fold) hold(format string, args ...any) {
	const most = 10
	if len(f.wrong) < most {
		f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
	}
}

// event adds what an event says about a result.
func (f *fold) event(ev *plumb.Event) {
	if ev.Type != plumb.EventSessionFinished && ev.Type != plumb.EventSessionJudged {
		return
	}
	at := place{ev.Runner, ev.Case, ev.Repetition}
	r := f.results[at]
	if r == nil {
		r = &Result{Repetition: ev.Repetition}
		f.results[at] = r
	}
	if ev.Type == plumb.EventSessionFinished {
		f.session(r, ev.Report)
		return
	}
	if j := ev.Judgement; j != nil {
		r.At, r.Outcome, r.Score, r.Class = ev.At, j.Outcome, 0, ""
		if j.Outcome.Measured() {
			r.Score = int64(math.Round(j.Score * Million))
		}
		if j.Failure != nil {
			r.Class = j.Failure.Class.ID
		}
	}
}

// session adds a session to the result that it may decide.
func (f *fold) session(r *Result, report *plumb.SessionReport) {
	r.Outcome, r.Answer, r.Served, r.LatencyMs, r.Fresh = "", nil, "", nil, true
	if report == nil {
		return
	}
	if u := report.Usage; u.InputTokens != nil || u.OutputTokens != nil {
		r.Tokens = add(r.Tokens, u.Tokens())
	}
	if report.CostUSD != nil {
		r.CostNanoUSD = add(r.CostNanoUSD, int64(math.Round(*report.CostUSD*nanoUSD)))
	}
	if report.LatencyMs > 0 {
		r.LatencyMs = new(report.LatencyMs)
	}
	r.Served = report.Model
	r.Fresh = !report.Cached && !report.Recorded
	shared := f.share != plumb.ShareScores
	sum := report.AnswerHash
	if shared && report.FinalOutput != "" {
		of := drift.AnswerHash(report.FinalOutput)
		if sum != "" && sum != of {
			f.hold("the hash of an answer on line %d is not that of its text", f.line)
		}
		sum = of
	}
	if sum == "" {
		return
	}
	var h Hash
	if _, err := hex.Decode(h[:], []byte(sum)); err != nil {
		return // check has found it
	}
	r.Answer = &h
	if shared {
		f.answers[h] = report.FinalOutput
	}
}

func add(to *int64, n int64) *int64 {
	if to != nil {
		n += *to
	}
	return &n
}

// finish makes the rows.
func (f *fold) finish(ctx context.Context) (*Submission, error) {
	run, s := f.run, f.sub
	if run.StartedAt.IsZero() {
		return nil, Faults{{1, "the log has no run"}}
	}
	s.Info, s.Started, s.Ended, s.Cases = run.Info, run.StartedAt, run.EndedAt, run.Cases
	s.Finished = run.End != nil && run.End.Remaining == 0
	s.CostNanoUSD = int64(math.Round(min(max(run.Totals.CostUSD, 0), mostCostUSD) * nanoUSD))
	for i := range run.Info.Runners {
		s.Panels = append(s.Panels, panelOf(&run.Info, &run.Info.Runners[i]))
	}
	for i := range run.Cases {
		s.Planned += cmp.Or(run.Cases[i].Repeat, run.Info.Repeat, 1) * len(run.Info.Runners)
	}
	s.Answers = map[Hash]string{}
	for at, r := range f.results {
		n, err := run.Index(at.id, at.runner)
		if err != nil || r.Outcome == "" || r.Outcome == plumb.OutcomeSkipped {
			continue // not judged yet
		}
		r.Case, r.Runner = n/len(run.Info.Runners), n%len(run.Info.Runners)
		r.Fresh = r.Fresh && run.Info.ScoredFrom == ""
		s.Results = append(s.Results, *r)
		if text, ok := f.answers[deref(r.Answer)]; ok && r.Answer != nil {
			s.Answers[*r.Answer] = text
		}
	}
	slices.SortFunc(s.Results, func(a, b Result) int {
		return cmp.Or(a.Runner-b.Runner, a.Case-b.Case, a.Repetition-b.Repetition)
	})
	s.Planned = max(s.Planned, len(s.Results))
	if !f.rules.Local {
		f.agree()
	}
	s.Held = f.wrong
	return s, ctx.Err()
}

func deref(h *Hash) Hash {
	if h == nil {
		return Hash{}
	}
	return *h
}

// panelOf returns the panel of a runner of a run.
func panelOf(info *plumb.RunInfo, r *plumb.RunnerInfo) Panel {
	key := drift.PanelKey(info, r)
	if r.Kind == plumb.RunnerCommand { // which has no model
		key += "\x00" + r.ID
	}
	settings, err := json.Marshal(struct {
		Parameters plumb.Parameters `json:"parameters,omitzero"`
		BaseURL    string           `json:"baseUrl,omitempty"`
		Judge      string           `json:"judge,omitempty"`
		SelfJudged bool             `json:"selfJudged,omitempty"`
	}{r.Parameters, r.BaseURL, info.Judge, info.SelfJudged})
	if err != nil {
		settings = []byte("{}") // a number that JSON cannot have
	}
	return Panel{
		Key: sha256.Sum256([]byte(key)), Kind: r.Kind, Runner: r.ID, Provider: r.Agent.Type, Model: r.Agent.Model,
		Settings: string(settings),
	}
}
