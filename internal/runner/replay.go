package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// ReplayOptions configure a replay.
type ReplayOptions struct {
	// ID names the runner; "" means "replay".
	ID string
	// Runner is the id of the recorded runner; "" means the one with the id ID, or the only one.
	Runner string
	// MaxDelay limits the time of each session, which is otherwise that of the recorded session.
	// Zero answers immediately.
	MaxDelay time.Duration
	// Final plays only the last session of each repetition, which decided it.
	Final bool
}

// Replay plays the sessions of an earlier run again. It answers only requests with the case,
// prompt, repetition and session of a recorded one.
type Replay struct {
	info     plumb.RunnerInfo
	sessions map[sessionKey]recorded
	// source is the id of the recorded runner.
	source   string
	maxDelay time.Duration
	final    bool
}

// sessionKey names one session of a recorded runner.
type sessionKey struct {
	caseID              string
	repetition, session int
}

// recorded is a session in little space: its report lacks the prompt and the runner.
type recorded struct {
	prompt [sha256.Size]byte
	// left replaces prompt if secrets were removed from it: the remaining parts, in order.
	left    []string
	report  []byte
	failure *plumb.Failure
}

// isOf reports whether the session can be one of the prompt.
func (r *recorded) isOf(prompt string) bool {
	if r.left == nil {
		return sha256.Sum256([]byte(prompt)) == r.prompt
	}
	last := len(r.left) - 1
	rest, ok := strings.CutPrefix(prompt, r.left[0])
	for _, part := range r.left[1:last] {
		var found bool
		_, rest, found = strings.Cut(rest, part)
		ok = ok && found
	}
	return ok && strings.HasSuffix(rest, r.left[last])
}

// NoteRemoved adds a note to a stored session from which secrets were removed. doc is the session
// as stored: sessions of earlier versions have marks and no list of names.
func NoteRemoved(report *plumb.SessionReport, doc []byte) {
	if len(report.Redacted) == 0 {
		report.Redacted = redact.Marks(string(doc))
	}
	if len(report.Redacted) == 0 {
		return
	}
	note := "secrets were removed from this record before it was stored: " + strings.Join(report.Redacted, ", ")
	if !slices.Contains(report.Notes, note) {
		report.Notes = append(report.Notes, note)
	}
}

// NewReplay reads the sessions of an earlier run. It calls events once, which calls its argument
// with each event of the log, like [run.Read].
func NewReplay(o ReplayOptions, events func(func(plumb.Event) error) error) (*Replay, error) {
	r := &Replay{sessions: map[sessionKey]recorded{}, maxDelay: o.MaxDelay, final: o.Final}
	id := o.ID
	if id == "" {
		id = string(plumb.RunnerReplay)
	}
	var source *plumb.RunnerInfo
	err := events(func(ev plumb.Event) error {
		switch ev.Type {
		case plumb.EventRunStarted:
			if ev.Info == nil {
				return fmt.Errorf("event %s without info", ev.Type)
			}
			chosen, err := chooseRecorded(ev.Info.Runners, o.Runner, id)
			source = chosen
			return err
		case plumb.EventSessionFinished:
			if source == nil {
				return errors.New("a session before the start of the run")
			}
			if ev.Runner != source.ID {
				return nil
			}
			return r.record(ev)
		default:
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, errors.New("the run has not started, so it has no sessions")
	}
	if len(r.sessions) == 0 {
		return nil, fmt.Errorf("the run has no finished session of runner %s", source.ID)
	}
	r.source = source.ID
	r.info = plumb.RunnerInfo{
		ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerReplay, Agent: source.Agent,
		Parameters: source.Parameters, Config: source.Config, RecordedKind: cmp.Or(source.RecordedKind, source.Kind),
	}
	return r, nil
}

// chooseRecorded returns the recorded runner to play.
func chooseRecorded(runners []plumb.RunnerInfo, want, id string) (*plumb.RunnerInfo, error) {
	ids := make([]string, len(runners))
	for i := range runners {
		ids[i] = runners[i].ID
	}
	switch {
	case want != "":
		if i := slices.Index(ids, want); i >= 0 {
			return &runners[i], nil
		}
		hint := "it has " + strings.Join(ids, ", ")
		if near := plumb.Nearest(want, ids); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return nil, plumb.WithHint(fmt.Errorf("the run has no runner %q", want), hint)
	case slices.Contains(ids, id):
		return &runners[slices.Index(ids, id)], nil
	case len(runners) == 1:
		return &runners[0], nil
	case len(runners) == 0:
		return nil, errors.New("the run has no runner")
	default:
		return nil, plumb.WithHint(fmt.Errorf("the run has %d runners, and a replay plays only one", len(runners)),
			"name it after a #, such as .plumb/runs/last#"+ids[0]+"; there are "+strings.Join(ids, ", "))
	}
}

func (r *Replay) record(ev plumb.Event) error {
	if ev.Report == nil && ev.Failure == nil {
		return fmt.Errorf("event %s of case %s has neither a report nor a failure", ev.Type, ev.Case)
	}
	entry := recorded{failure: ev.Failure}
	if ev.Report != nil {
		if entry.prompt = sha256.Sum256([]byte(ev.Report.Prompt)); redact.HasMark(ev.Report.Prompt) {
			entry.left = redact.BetweenMarks(ev.Report.Prompt)
		}
		report := *ev.Report
		report.Prompt, report.Runner = "", plumb.RunnerInfo{}
		var err error
		if entry.report, err = marshal(report); err != nil {
			return fmt.Errorf("keep the session of case %s: %w", ev.Case, err)
		}
	}
	number := ev.Session
	if r.final {
		number = 1 // the last session of the repetition replaces the others
	}
	r.sessions[sessionKey{ev.Case, ev.Repetition, number}] = entry
	return nil
}

// openReplay returns the runner of a replay setting: the directory of an earlier run, and after a #
// the id of one of its runners.
func openReplay(cfg plumb.RunnerConfig, env Env) (*Replay, error) {
	dir, want, _ := strings.Cut(cfg.Replay, "#")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	options := ReplayOptions{ID: cfg.ID, Runner: want, Final: env.ReplayFinal}
	r, err := NewReplay(options, func(fn func(plumb.Event) error) error { return runlog.At(dir).Read(fn) })
	if err != nil {
		if plumb.Hint(err) == "" {
			err = plumb.WithHint(err, "write the directory of a run, such as .plumb/runs/<run-id>; list runs "+
				"with: plumb runs")
		}
		return nil, fmt.Errorf("replay %s: %w", cfg.Replay, err)
	}
	return r, nil
}

// Info identifies the runner; its agent, parameters and config are the recorded ones.
func (r *Replay) Info() plumb.RunnerInfo { return r.info }

// Run plays the recorded session of the request, with its failure if it has one.
func (r *Replay) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	entry, ok := r.sessions[sessionKey{req.CaseID, req.Repetition, req.Session}]
	if !ok {
		return nil, r.missing(req)
	}
	if entry.report == nil {
		failure := *entry.failure
		return nil, &failure
	}
	prompt := plumb.PromptText(req.Messages)
	if !entry.isOf(prompt) {
		f := notRecorded("the recording of case %s has another prompt", req.CaseID)
		f.Hint = "the case has changed since then; run it on the model again"
		return nil, f
	}
	report := &plumb.SessionReport{}
	if err := json.Unmarshal(entry.report, report); err != nil {
		return nil, fmt.Errorf("read the recording of case %s: %w", req.CaseID, err)
	}
	NoteRemoved(report, entry.report)
	report.Prompt, report.Runner = prompt, r.info
	report.Recorded, report.Cached, report.CostUSD = true, false, new(0.0)
	if delay := min(r.maxDelay, time.Duration(report.DurationMs)*time.Millisecond); delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	}
	if entry.failure != nil {
		failure := *entry.failure
		return report, &failure
	}
	return report, nil
}

func (r *Replay) missing(req plumb.Request) *plumb.Failure {
	_, ok := r.sessions[sessionKey{req.CaseID, 1, 1}]
	f := notRecorded("no recording of case %s on %s (repetition %d, session %d)",
		req.CaseID, r.source, req.Repetition, req.Session)
	switch {
	case !ok:
		f.Hint = "a replay answers only the cases of the recorded run; select them with --case"
	case req.Session > 1:
		f.Hint = "the recorded run has fewer retries; replay with --retry 0"
	default:
		f.Hint = "the recorded run has fewer repetitions; replay with a smaller --repeat"
	}
	return f
}

func notRecorded(format string, args ...any) *plumb.Failure {
	f := plumb.Failuref(plumb.OriginRunner, format, args...)
	f.Class = plumb.FailureClass{ID: "not-recorded", Label: "Not recorded"}
	return f
}
