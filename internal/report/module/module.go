// Package module runs reporters that users wrote, in TypeScript or JavaScript, with the documented
// hooks. It is the only report that needs an engine.
package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/text"
)

// Environment configure how a reporter module is loaded, and what it learns about the run beyond
// its events.
type Environment struct {
	report.Source
	// Terminal is set if the user watches the run on a terminal.
	Terminal bool
	// Modules are what the reporter may import beyond Node's modules. One of them, "plumb/entry",
	// finds the reporter in its module and calls its hooks. Host and Async are the Go functions
	// that these modules call.
	Modules     map[string]string
	Host, Async map[string]script.HostFunc
	// WorkDir is the result of process.cwd() and the base of relative paths.
	WorkDir string
	Env     []string
	// Stdout and Stderr receive the reporter's output. When the run is over, Stderr also receives
	// the reporter's errors.
	Stdout, Stderr io.Writer

	// WorkspaceMode and Cwd describe where sessions run. Without a Cwd it is the run's directory.
	// CaseFilter and RunnerFilter are what the user selected.
	WorkspaceMode, Cwd       string
	CaseFilter, RunnerFilter []string
	// Case returns a case as in its suite, for the hooks that receive one, or nil if it is unknown.
	// Case may be nil.
	Case func(caseID string) *plumb.Case

	// HookLimit limits the duration of one hook; 0 means 30 s. A reporter that exceeds it is not
	// called again.
	HookLimit time.Duration
	// Strict turns an error in a hook into an error of Close. Otherwise it does not change the run
	// or its exit code.
	Strict bool
}

// The limits of a reporter module.
const (
	entryModule   = "plumb/entry"
	loadLimit     = time.Minute
	hookLimit     = 30 * time.Second
	documentLimit = 64 << 20 // bytes of results for one hook; larger results come without sessions
	maxTroubles   = 20
)

// reporter calls the documented hooks of a reporter that the user wrote.
//
// An error in a hook is recorded and the run continues: a reporter must not change the results.
type reporter struct {
	o       Environment
	path    string
	vm      *script.VM
	hooks   map[string]bool
	stopped bool
	trouble []string
	more    int

	context hookContext
	began   bool
	over    bool
	broke   error                // why the run broke off, if known
	cases   map[string]*openCase // those that have started and not ended
	held    int                  // bytes of results in cases
}

// openCase is a case with at least one started execution.
type openCase struct {
	running map[string]*results.Recording // by runner
	results map[string]json.RawMessage    // by runner
	passed  bool
}

// New loads a reporter that a user wrote: a TypeScript or JavaScript module whose default
// export, or export named reporter, is an object with documented hooks. ctx limits the loading. The
// reporter runs in its own engine, which Close stops.
func New(ctx context.Context, path string, o Environment) (plumb.Reporter, error) {
	if o.HookLimit == 0 {
		o.HookLimit = hookLimit
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	o.Source = o.Clean()
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(o.WorkDir, path)
	}
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	names := make(map[string]bool, len(o.Modules))
	for name := range o.Modules {
		names[name] = true
	}
	program, err := script.Build(script.BuildOptions{Entry: file, Modules: names, Preload: []string{entryModule}})
	if err != nil {
		return nil, loadError(path, err)
	}
	vm, err := script.Start(ctx, program, script.Environment{
		Modules: o.Modules, Host: o.Host, Async: o.Async, Dir: o.WorkDir, Env: o.Env, Stdout: o.Stdout,
		Stderr: o.Stderr,
	})
	if err != nil {
		return nil, loadError(path, err)
	}
	r := &reporter{o: o, path: path, vm: vm, hooks: map[string]bool{}, cases: map[string]*openCase{}}
	var found struct {
		Hooks   []string `json:"hooks"`
		Problem string   `json:"problem"`
	}
	if err := r.ask(ctx, &found, "reporter"); err != nil {
		return nil, errors.Join(loadError(path, err), vm.Close())
	}
	if found.Problem != "" {
		return nil, errors.Join(fmt.Errorf("%s: %s", found.Problem, path), vm.Close())
	}
	for _, name := range found.Hooks {
		r.hooks[name] = true
	}
	return o.Guard(r), nil
}

// loadError returns the documented error for a module that cannot be loaded.
func loadError(path string, err error) error {
	err = fmt.Errorf("Failed to load reporter module: %s\n%w", path, err) //nolint:staticcheck // documented
	return plumb.WithHint(err, plumb.Hint(err))
}

// ask calls an entry. Its arguments and its result are JSON texts.
func (r *reporter) ask(ctx context.Context, result any, entry string, args ...any) error {
	answer, err := r.vm.Call(ctx, entry, args...)
	if err != nil {
		return err
	}
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return fmt.Errorf("answer of %s: %w", entry, err)
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		return fmt.Errorf("answer of %s: %w", entry, err)
	}
	return nil
}

// call calls a hook, if the reporter has it, and records its errors.
func (r *reporter) call(hook string, ev hookEvent) error {
	if r.stopped || !r.hooks[hook] {
		return nil
	}
	ev.Context = &r.context
	s, err := json.Marshal(report.Without(r.o.Redact, ev))
	if err != nil {
		return fmt.Errorf("encode what %s gets: %w", hook, err)
	}
	// An interrupt does not cancel a hook, because the hook may be saving its results.
	ctx, cancel := context.WithTimeout(context.Background(), r.o.HookLimit)
	defer cancel()
	var answer struct {
		Error *struct {
			Name, Message, Stack string
			Source               *plumb.Position
		}
	}
	err = r.ask(ctx, &answer, "report", hook, string(s))
	switch {
	case err != nil && ctx.Err() != nil:
		r.stopped = true
		r.note(fmt.Sprintf("%s took longer than %s; the reporter is not called again", hook, text.Duration(r.o.HookLimit)))
	case err != nil:
		r.stopped = r.vm.Dead()
		r.note(hook + ": " + err.Error())
	case answer.Error != nil:
		e := answer.Error
		text := hook + ": " + strings.TrimPrefix(e.Name+": ", ": ") + e.Message
		if at := report.PlaceOf(e.Source); at != "" {
			text += "\n    at " + at
		}
		r.note(text)
	}
	return nil
}

func (r *reporter) note(text string) {
	if len(r.trouble) == maxTroubles {
		r.more++
		return
	}
	r.trouble = append(r.trouble, report.Keep(text))
}

// Report calls the hooks that correspond to an event.
func (r *reporter) Report(ev plumb.Event, run *plumb.Run) error {
	switch ev.Type {
	case plumb.EventRunStarted, plumb.EventPlanned:
		return nil // the hooks receive the whole plan
	case plumb.EventRunFinished:
		if err := r.begin(run); err != nil {
			return err
		}
		return r.finish(run)
	default:
	}
	if err := r.begin(run); err != nil {
		return err
	}
	switch ev.Type {
	case plumb.EventSessionStarted:
		_, err := r.execution(run, ev)
		return err
	case plumb.EventSessionFinished, plumb.EventSessionJudged:
		rec, err := r.execution(run, ev)
		if err != nil {
			return err
		}
		rec.Add(ev)
		return nil
	case plumb.EventExecutionFinished:
		return r.executed(run, ev)
	default:
		return nil
	}
}

// begin calls onSuiteStart once.
func (r *reporter) begin(run *plumb.Run) error {
	if r.began {
		return nil
	}
	r.began = true
	r.context = r.o.context(run)
	ev := hookEvent{Runners: run.Info.Runners, StartedAt: results.Stamp(run.StartedAt)}
	for i := range run.Cases {
		text, err := r.o.info(&run.Cases[i])
		if err != nil {
			return err
		}
		ev.Cases = append(ev.Cases, text)
	}
	return r.call("onSuiteStart", ev)
}

// callOf calls a hook of an execution, or of a case when runner is nil.
func (r *reporter) callOf(
	hook string, run *plumb.Run, caseID string, runner *plumb.RunnerInfo, result any,
) error {
	i, err := run.Index(caseID, run.Info.Runners[0].ID)
	if err != nil {
		return err
	}
	c := i / len(run.Info.Runners)
	info, err := r.o.info(&run.Cases[c])
	if err != nil {
		return err
	}
	return r.call(hook, hookEvent{
		Case: info, Runner: runner, CaseIndex: c + 1, TotalCases: len(run.Cases), Result: result,
	})
}

// execution returns the recorded sessions of an execution. Its first event calls onCaseStart and
// onRunnerStart.
func (r *reporter) execution(run *plumb.Run, ev plumb.Event) (*results.Recording, error) {
	x := r.cases[ev.Case]
	if x == nil {
		x = &openCase{running: map[string]*results.Recording{}, results: map[string]json.RawMessage{}, passed: true}
		r.cases[ev.Case] = x
		if err := r.callOf("onCaseStart", run, ev.Case, nil, nil); err != nil {
			return nil, err
		}
	}
	rec := x.running[ev.Runner]
	if rec == nil {
		rec = &results.Recording{}
		x.running[ev.Runner] = rec
		if err := r.callOf("onRunnerStart", run, ev.Case, run.Runner(ev.Runner), nil); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// executed calls onRunnerFinish, and onCaseFinish after the last execution of the case.
func (r *reporter) executed(run *plumb.Run, ev plumb.Event) error {
	rec, err := r.execution(run, ev)
	if err != nil {
		return err
	}
	i, err := run.Index(ev.Case, ev.Runner)
	if err != nil {
		return err
	}
	d := results.Full
	if r.held > documentLimit {
		d = results.Brief
	}
	c := report.CellAt(run, i)
	res := c.Result(rec, d)
	text, err := json.Marshal(res)
	if err != nil {
		return err
	}
	if err := r.callOf("onRunnerFinish", run, ev.Case, c.Runner, json.RawMessage(text)); err != nil {
		return err
	}
	x := r.cases[ev.Case]
	x.running[ev.Runner] = &results.Recording{} // its sessions are no longer needed
	r.held += len(text) - len(x.results[ev.Runner])
	x.results[ev.Runner] = text
	x.passed = x.passed && res.Passed
	n := len(run.Info.Runners)
	first := i / n * n
	if !results.AllDone(run.Executions[first : first+n]) {
		return nil
	}
	return r.caseFinished(run, ev.Case, first, x)
}

func (r *reporter) caseFinished(run *plumb.Run, caseID string, first int, x *openCase) error {
	c := &run.Cases[first/len(run.Info.Runners)]
	res := struct {
		CaseID  string            `json:"caseId"`
		Tags    []string          `json:"tags"`
		Passed  bool              `json:"passed"`
		Results []json.RawMessage `json:"runnerResults"`
	}{CaseID: c.ID, Tags: doc.Array(c.Tags), Passed: x.passed}
	for k := range run.Info.Runners {
		text := x.results[run.Info.Runners[k].ID]
		r.held -= len(text)
		if text == nil { // done before this process began
			c := report.CellAt(run, first+k)
			done := c.Result(&results.Recording{}, results.Brief)
			res.Passed = res.Passed && done.Passed
			var err error
			if text, err = json.Marshal(done); err != nil {
				return err
			}
		}
		res.Results = append(res.Results, text)
	}
	delete(r.cases, caseID)
	return r.callOf("onCaseFinish", run, caseID, nil, res)
}

// finish calls onSuiteFinish. Results that are too large come without their sessions.
func (r *reporter) finish(run *plumb.Run) error {
	r.over = true
	if !r.hooks["onSuiteFinish"] || r.stopped {
		return nil
	}
	for _, d := range []results.Detail{results.Full, results.Brief} {
		var doc bytes.Buffer
		err := r.o.Results("", d).Write(&limited{&doc, documentLimit}, run)
		if errors.Is(err, errTooLarge) {
			continue
		}
		if err != nil {
			return err
		}
		return r.call("onSuiteFinish", hookEvent{Result: json.RawMessage(doc.Bytes())})
	}
	r.note("the results are too large for onSuiteFinish; read results.json instead")
	return nil
}

// errTooLarge stops writing a document that exceeds its limit.
var errTooLarge = errors.New("the document is too large")

// limited is a writer that fails after a number of bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooLarge
	}
	return l.w.Write(p)
}

// Broke records why the run broke off. Close passes it to the reporter.
func (r *reporter) Broke(err error) { r.broke = err }

// Close stops the reporter's engine and prints the errors of its hooks. It calls onError when the
// run broke off.
func (r *reporter) Close() error {
	if r.vm == nil {
		return nil
	}
	var err error
	if r.began && !r.over {
		e := &results.Error{Name: "Error", Message: "the run ended early"}
		if r.broke != nil {
			e.Message = r.broke.Error()
		}
		err = r.call("onError", hookEvent{Error: e})
	}
	if cerr := r.vm.Close(); cerr != nil && !r.stopped {
		r.note(cerr.Error())
	}
	r.vm = nil
	if r.more > 0 {
		r.trouble = append(r.trouble, "and "+text.Count(r.more)+" more errors")
	}
	for _, t := range r.trouble {
		fmt.Fprintf(r.o.Stderr, "reporter %s: %s\n", text.OneLine(r.path), t)
	}
	if r.o.Strict && len(r.trouble) > 0 {
		err = errors.Join(err, fmt.Errorf("reporter %s: %s", r.path, r.trouble[0]))
	}
	return err
}
