package plumb

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Run is the state of a run: the fold of its events so far. The zero value is a run without events.
//
// It keeps only summaries, a few hundred bytes per execution. To get whole sessions, read the log.
type Run struct {
	Info      RunInfo
	StartedAt time.Time
	// EndedAt is the time of the latest event.
	EndedAt time.Time
	// Cases are the selected cases, in suite order.
	Cases []CaseInfo
	// Executions are in case-major order: case c on runner r is at c*len(Info.Runners)+r.
	Executions []Execution
	Totals     Totals
	Notes      []Note
	// End is set when the run has ended, or when one process has ended its work on the run.
	End *RunEnd
	// Decision is the state of the question of a run until a decision; nil for every other run.
	Decision *Decision
	// ActiveMs is the time that processes have worked on the run, including earlier processes.
	ActiveMs int64

	cases   map[string]int
	runners map[string]int
	classes map[FailureClass]*FailureClass
	words   map[string]string
	resumed time.Time
	// raised is the number to which a later process raised the planned repetitions of all cases; 0
	// if none did.
	raised int
}

// ExecutionState is the progress of an execution.
type ExecutionState uint8

// The execution states.
const (
	ExecutionPlanned ExecutionState = iota
	ExecutionRunning
	ExecutionDone
)

// Execution is the summary of one case on one runner.
type Execution struct {
	State   ExecutionState
	Outcome Outcome
	Status  Status
	Origin  Origin
	Class   *FailureClass
	// Reason explains why it failed or could not be measured, shortened.
	Reason string
	Score  float64
	// Passed, Failed and Errored count repetitions. Sessions counts all sessions.
	Passed, Failed, Errored, Sessions, Cached int32
	// NotAsked means that the runner was not called, because it had already failed for good.
	NotAsked bool
	// Steps is the sum over all sessions.
	Steps                 int32
	DurationMs, LatencyMs int64
	// Token counts are sums over all sessions. A count that was not reported is 0.
	InputTokens, OutputTokens, ReasoningTokens, CacheTokens, CacheWriteTokens, TotalTokens int64
	// Reported has a bit for each token count that was reported: ReportedInput and so on.
	Reported uint8
	// Character counts are sums over all sessions, too.
	InputChars, OutputChars, ReasoningChars int32
	// CostUSD is the cost of the sessions. Priced means that it is known.
	CostUSD float64
	Priced  bool
	// JudgeCostUSD is the known cost of judging, and JudgeTokens is the number of tokens it used.
	JudgeCostUSD float64
	JudgeTokens  int64
	// Snapshot is the comparison with the samples of the baseline; nil if there is none.
	Snapshot *SnapshotCheck
	// Judged are the decisions of the judge.
	Judged []Judged
}

// Broken reports whether a broken check could not judge the execution, so that the suite has to be
// repaired. A check that lacks a part of the session is not broken.
func (e *Execution) Broken() bool {
	return e.Outcome == OutcomeError && e.Origin == OriginAssertHook &&
		(e.Class == nil || *e.Class != ClassRedacted() && *e.Class != ClassIncomplete())
}

// The bits of Execution.Reported.
const (
	ReportedInput uint8 = 1 << iota
	ReportedOutput
	ReportedReasoning
	ReportedCache
	ReportedCacheWrite
	ReportedTotal
)

// Usage returns the usage of the sessions of e.
func (e *Execution) Usage() Usage {
	counts := make([]int64, 0, 6) // together, because a run has many
	reported := func(bit uint8, n int64) *int64 {
		if e.Reported&bit == 0 {
			return nil
		}
		counts = append(counts, n)
		return &counts[len(counts)-1]
	}
	u := Usage{
		InputTokens: reported(ReportedInput, e.InputTokens), OutputTokens: reported(ReportedOutput, e.OutputTokens),
		ReasoningTokens:  reported(ReportedReasoning, e.ReasoningTokens),
		CacheTokens:      reported(ReportedCache, e.CacheTokens),
		CacheWriteTokens: reported(ReportedCacheWrite, e.CacheWriteTokens),
		TotalTokens:      reported(ReportedTotal, e.TotalTokens),
		InputChars:       int64(e.InputChars), OutputChars: int64(e.OutputChars),
		ReasoningChars: int64(e.ReasoningChars),
	}
	u.Source = UsageSource{source(u.InputTokens), source(u.OutputTokens), source(u.ReasoningTokens)}
	return u
}

// Totals counts executions of a run.
type Totals struct {
	Planned, Running, Finished int
	// Passed, Failed and Errored count finished executions by outcome.
	Passed, Failed, Errored int
	// ExpectedFailed and UnexpectedPassed are among Failed and Passed.
	ExpectedFailed, UnexpectedPassed int
	// Broken counts the executions among Errored that a broken check could not judge: the suite has to
	// be repaired.
	Broken                    int
	Sessions, Cached          int
	InputTokens, OutputTokens int64
	// CostUSD is the known part of the cost of the run. It includes JudgeCostUSD, the cost of the
	// judges. Unpriced counts executions with an unknown cost.
	CostUSD, JudgeCostUSD float64
	Unpriced              int
}

// Measured counts executions that passed or failed.
func (t Totals) Measured() int { return t.Passed + t.Failed }

// OK counts finished executions that leave the suite green.
func (t Totals) OK() int { return t.Passed - t.UnexpectedPassed + t.ExpectedFailed }

// NotOK counts measured executions that do not leave the suite green.
func (t Totals) NotOK() int { return t.Measured() - t.OK() }

// reasonLimit bounds the length of a reason that the fold keeps, in bytes.
const reasonLimit = 160

// Apply folds ev into the run. An event about an unknown case or runner is an error: the log is
// damaged.
func (r *Run) Apply(ev Event) error {
	if (r.cases == nil) != (ev.Type == EventRunStarted) {
		return fmt.Errorf("event %q is out of order: a run starts once, with its first event", ev.Type)
	}
	last := r.EndedAt
	if ev.At.After(r.EndedAt) {
		r.EndedAt = ev.At
	}
	if ev.Decision != nil {
		r.Decision = ev.Decision
	}
	switch ev.Type {
	case EventRunStarted:
		if ev.Info == nil {
			return fmt.Errorf("event %s without info", ev.Type)
		}
		r.Info, r.StartedAt, r.resumed = *ev.Info, ev.At, ev.At
		if !r.Info.Share.Whole() {
			r.Notes = append(r.Notes, r.Info.Share.note())
		}
		r.runners, r.classes = map[string]int{}, map[FailureClass]*FailureClass{}
		for i, info := range ev.Info.Runners {
			r.runners[info.ID] = i
		}
		const most = 1 << 20 // a damaged log can hold any number
		n := min(max(ev.Info.Cases, 0), most)
		r.cases = make(map[string]int, n)
		r.Cases = make([]CaseInfo, 0, n)
		r.Executions = make([]Execution, 0, min(n*len(ev.Info.Runners), most))
	case EventRunResumed:
		if r.End == nil && last.After(r.resumed) { // a killed process worked at least until its last event
			r.ActiveMs += last.Sub(r.resumed).Milliseconds()
		}
		r.End, r.resumed = nil, ev.At
		r.Totals.Running = 0
		for i := range r.Executions {
			if r.Executions[i].State == ExecutionRunning {
				r.Executions[i].State = ExecutionPlanned
			}
		}
		r.raise(ev.Repeat)
	case EventPlanned:
		for _, c := range ev.Cases {
			if _, ok := r.cases[c.ID]; ok {
				return fmt.Errorf("case %q is planned twice", c.ID)
			}
			if r.raised > 0 {
				c.Repeat = max(c.Repeat, r.raised)
			}
			r.cases[c.ID] = len(r.Cases)
			r.Cases = append(r.Cases, c)
			for range r.Info.Runners {
				r.Executions = append(r.Executions, Execution{})
			}
		}
		r.Totals.Planned = len(r.Executions)
	case EventNote:
		if ev.Note != nil && !ev.Note.Live {
			r.Notes = append(r.Notes, *ev.Note)
		}
	case EventRunFinished:
		r.End = ev.End
		r.ActiveMs += ev.At.Sub(r.resumed).Milliseconds()
	case EventSessionStarted, EventSessionFinished, EventSessionJudged, EventExecutionFinished:
		e, err := r.Execution(ev.Case, ev.Runner)
		if err != nil {
			return err
		}
		if ev.Type == EventExecutionFinished {
			if err := r.finish(e, ev.Result); err != nil || ev.Decision == nil {
				return err
			}
			c := r.cases[ev.Case] // its plan is what was made
			r.Cases[c].Repeat = max(r.Cases[c].Repeat, ev.Result.Passed+ev.Result.Failed+ev.Result.Errored)
			return nil
		}
		if e.State == ExecutionPlanned {
			e.State = ExecutionRunning
			r.Totals.Running++
		}
	}
	return nil
}

// raise raises the planned repetitions of each case to at least n. The executions of the raised
// cases are planned again; their sessions so far count when they finish.
func (r *Run) raise(n int) {
	if n <= r.raised {
		return
	}
	runners, was := len(r.Info.Runners), max(1, r.Info.Repeat)
	r.raised, r.Info.Repeat = n, max(n, was)
	for i := range r.Cases {
		if c := &r.Cases[i]; cmp.Or(c.Repeat, was) < n {
			c.Repeat = n
		} else {
			continue
		}
		for x := i * runners; x < (i+1)*runners; x++ {
			if r.Executions[x].State == ExecutionDone {
				r.count(&r.Executions[x], -1)
			}
			r.Executions[x] = Execution{}
		}
	}
}

// Index returns the index in Executions of one case on one runner, by their ids.
func (r *Run) Index(caseID, runnerID string) (int, error) {
	c, ok := r.cases[caseID]
	if !ok {
		return 0, fmt.Errorf("unknown case %q", caseID)
	}
	n, ok := r.runners[runnerID]
	if !ok {
		return 0, fmt.Errorf("unknown runner %q", runnerID)
	}
	return c*len(r.Info.Runners) + n, nil
}

// Execution returns the summary of one case on one runner, by their ids.
func (r *Run) Execution(caseID, runnerID string) (*Execution, error) {
	i, err := r.Index(caseID, runnerID)
	if err != nil {
		return nil, err
	}
	return &r.Executions[i], nil
}

// Case returns the case with the given id, or nil.
func (r *Run) Case(id string) *CaseInfo {
	if i, ok := r.cases[id]; ok {
		return &r.Cases[i]
	}
	return nil
}

// Runner returns the runner with the given id, or nil.
func (r *Run) Runner(id string) *RunnerInfo {
	if i, ok := r.runners[id]; ok {
		return &r.Info.Runners[i]
	}
	return nil
}

// At returns the ids of the execution at index i of Executions.
func (r *Run) At(i int) (caseID, runnerID string) {
	n := len(r.Info.Runners)
	return r.Cases[i/n].ID, r.Info.Runners[i%n].ID
}

func (r *Run) finish(e *Execution, res *ExecutionResult) error {
	if res == nil {
		return fmt.Errorf("event %s without result", EventExecutionFinished)
	}
	switch e.State {
	case ExecutionRunning:
		r.Totals.Running--
	case ExecutionDone: // measured again: the later result includes the earlier sessions
		r.count(e, -1)
	default: // planned: not in a total yet
	}
	*e = Execution{
		State: ExecutionDone, Outcome: res.Outcome, Status: res.Status, Origin: res.Origin, Class: r.class(res.Class),
		Reason: shorten(res.Reason), Score: res.Score,
		Passed: count32(res.Passed), Failed: count32(res.Failed), Errored: count32(res.Errored),
		Sessions: count32(res.Sessions), Cached: count32(res.Cached), Steps: count32(res.Steps),
		DurationMs: res.DurationMs, LatencyMs: res.LatencyMs,
		InputTokens: tokens(res.Usage.InputTokens), OutputTokens: tokens(res.Usage.OutputTokens),
		ReasoningTokens: tokens(res.Usage.ReasoningTokens), CacheTokens: tokens(res.Usage.CacheTokens),
		CacheWriteTokens: tokens(res.Usage.CacheWriteTokens), TotalTokens: tokens(res.Usage.TotalTokens),
		InputChars: count32(res.Usage.InputChars), OutputChars: count32(res.Usage.OutputChars),
		ReasoningChars: count32(res.Usage.ReasoningChars),
		JudgeTokens:    res.JudgeUsage.Tokens(),
		Priced:         res.CostUSD != nil,
		NotAsked:       res.NotAsked,
		Snapshot:       res.Snapshot,
		Judged:         r.judged(res.Judged),
	}
	u := &res.Usage
	for i, p := range [...]*int64{
		u.InputTokens, u.OutputTokens, u.ReasoningTokens, u.CacheTokens, u.CacheWriteTokens, u.TotalTokens,
	} {
		if p != nil {
			e.Reported |= 1 << i
		}
	}
	if res.CostUSD != nil {
		e.CostUSD = *res.CostUSD
	}
	if res.JudgeCostUSD != nil {
		e.JudgeCostUSD = *res.JudgeCostUSD
	}
	r.count(e, 1)
	return nil
}

// tokens returns a token count from a log. A count that was not reported, or is negative, is 0.
func tokens(p *int64) int64 { return max(value(p), 0) }

// count32 returns n, limited to the range of 32 bits.
func count32[T int | int64](n T) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

// count adds e to the totals, or subtracts it when sign is -1.
func (r *Run) count(e *Execution, sign int) {
	t := &r.Totals
	t.Finished += sign
	switch e.Outcome {
	case OutcomePass:
		t.Passed += sign
	case OutcomeFail:
		t.Failed += sign
	case OutcomeError:
		t.Errored += sign
		if e.Broken() {
			t.Broken += sign
		}
	default: // skipped: counted only in Finished
	}
	switch e.Status {
	case StatusExpectedFailed:
		t.ExpectedFailed += sign
	case StatusUnexpectedPassed:
		t.UnexpectedPassed += sign
	default: // the outcome counts
	}
	t.Sessions += sign * int(e.Sessions)
	t.Cached += sign * int(e.Cached)
	if sign > 0 {
		t.InputTokens, t.OutputTokens = sum(t.InputTokens, e.InputTokens), sum(t.OutputTokens, e.OutputTokens)
	} else {
		t.InputTokens, t.OutputTokens = max(t.InputTokens-e.InputTokens, 0), max(t.OutputTokens-e.OutputTokens, 0)
	}
	t.CostUSD += float64(sign) * (e.CostUSD + e.JudgeCostUSD)
	t.JudgeCostUSD += float64(sign) * e.JudgeCostUSD
	if !e.Priced && e.Sessions > 0 {
		t.Unpriced += sign
	}
}

// judged returns decisions that share the texts that many of them have.
func (r *Run) judged(all []Judged) []Judged {
	for i := range all {
		for _, s := range []*string{&all[i].Question, &all[i].Model} {
			known, ok := r.words[*s]
			if !ok {
				if r.words == nil {
					r.words = map[string]string{}
				}
				known = strings.Clone(*s)
				r.words[known] = known
			}
			*s = known
		}
	}
	return all
}

// class returns one shared value for each class, so that a million failures with the same class use
// the memory of one.
func (r *Run) class(c *FailureClass) *FailureClass {
	if c == nil {
		return nil
	}
	known, ok := r.classes[*c]
	if !ok {
		known = &FailureClass{c.ID, c.Label}
		r.classes[*c] = known
	}
	return known
}

func shorten(s string) string {
	if len(s) <= reasonLimit {
		return s
	}
	return strings.ToValidUTF8(s[:reasonLimit], "") + "…" // without a part of a character
}
