package cli

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
)

// runLine is one run as plumb runs lists it.
type runLine struct {
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

func (a *app) runsCommand() *cobra.Command {
	var config, outputDir string
	var limit int
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List earlier runs, the latest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.open(cmd.Context(), config, outputDir)
			if err != nil {
				return err
			}
			ids, err := run.List(p.runs())
			if err != nil {
				return err
			}
			lines := []runLine{}
			for i := len(ids) - 1; i >= 0 && (limit <= 0 || len(lines) < limit); i-- {
				lines = append(lines, describeRun(filepath.Join(p.runs(), ids[i])))
			}
			if a.json {
				return a.print(lines)
			}
			if len(lines) == 0 {
				fmt.Fprintf(a.Stdout, "There are no runs in %s. Make one with: plumb run\n", a.shown(p.runs()))
				return nil
			}
			w := report.NewColumns(a.Stdout)
			fmt.Fprintln(w, "RUN\tSUITE\tRUNNERS\tSTATE\tPASS\tFAIL\tERROR\tOF\tCOST")
			for _, l := range lines {
				runners := "-"
				if len(l.Runners) > 0 {
					runners = l.Runners[0]
					if more := len(l.Runners) - 1; more > 0 {
						runners += fmt.Sprintf(" +%d", more)
					}
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", l.ID, orDash(a.line(l.Suite, 40)), a.line(runners, 60), l.State,
					l.Passed, l.Failed, l.Errored, l.Planned, dollars(l.CostUSD))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, l := range lines {
				if l.Error != "" {
					fmt.Fprintf(a.Stderr, "plumb: run %s is damaged: %s\n", l.ID, a.clean(l.Error))
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "config `file`")
	cmd.Flags().StringVar(&outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most `n` runs; 0 lists all")
	return cmd
}

func describeRun(path string) runLine {
	l := runLine{ID: filepath.Base(path), Path: path, Runners: []string{}}
	var s spec
	if err := run.ReadSpec(path, &s); err != nil {
		l.State, l.Error = "damaged", err.Error()
		return l
	}
	l.StartedAt, l.Suite = s.CreatedAt, s.Suite
	if !exists(filepath.Join(path, run.EventsFile)) {
		l.State = "not begun"
		return l
	}
	state, err := run.Fold(path)
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
	case run.Locked(path):
		l.State = "running"
	case t.Finished < t.Planned || t.Planned == 0:
		l.State = "stopped"
	default:
		l.State = "finished"
	}
	return l
}

func (a *app) reportCommand() *cobra.Command {
	var config, outputDir string
	var reports []string
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Render the report of an earlier run again",
		Long:  `Render the report of an earlier run, in any of the formats. RUN is as for plumb resume; without it, the last run.`,
		Example: `  plumb report last
  plumb report last --report junit:results.xml --report markdown:comment.md
  plumb report last --report html                  writes report.html beside the run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.open(cmd.Context(), config, outputDir)
			if err != nil {
				return err
			}
			path, err := run.Find(p.runs(), first(args))
			if err != nil {
				return err
			}
			a.redact = p.redactor(loggedWords(path))
			o := a.reportOptions()
			o.Terminal, o.Dir, o.Sessions, o.Flags = false, a.shown(path), lazySessions(path), p.flags
			var s spec
			if err := run.ReadSpec(path, &s); err != nil {
				return err
			}
			o.Closed, o.RunDir = s.Demo, path
			j := &job{spec: s}
			defer j.close()
			r, err := a.reporters(cmd.Context(), p, j, reports, o)
			if err != nil {
				return err
			}
			for _, reporter := range r.reporters {
				if _, err := report.Replay(reporter, events(path)); err != nil {
					return errors.Join(err, r.end(nil, false))
				}
			}
			return r.close()
		},
	}
	cmd.Flags().StringArrayVar(&reports, "report", nil, "`name[:path]` of a report; repeatable (default terminal)")
	cmd.Flags().StringVar(&config, "config", "", "config `file`")
	cmd.Flags().StringVar(&outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
	return cmd
}

// events streams the log of the run directory at path.
func events(path string) iter.Seq2[plumb.Event, error] {
	stop := errors.New("stop")
	return func(yield func(plumb.Event, error) bool) {
		err := run.Read(path, func(ev plumb.Event) error {
			if !yield(ev, nil) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(plumb.Event{}, err)
		}
	}
}

func (a *app) showCommand() *cobra.Command {
	var config, outputDir, runnerID string
	cmd := &cobra.Command{
		Use:   "show [RUN] [CASE]",
		Short: "Show an earlier run, or all that is known of one case in it",
		Example: `  plumb show last
  plumb show last reasoning-003`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.open(cmd.Context(), config, outputDir)
			if err != nil {
				return err
			}
			path, err := run.Find(p.runs(), first(args))
			if err != nil {
				return err
			}
			a.redact = p.redactor(loggedWords(path))
			if len(args) == 2 {
				return a.showCase(path, args[1], runnerID)
			}
			state, err := run.FoldWithout(path, a.redact)
			if err != nil {
				return err
			}
			if a.json {
				return report.WriteResults(a.Stdout, state, report.Without(a.redact, lazySessions(path)))
			}
			return a.showRun(p, state, path)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "config `file`")
	cmd.Flags().StringVar(&outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
	cmd.Flags().StringVar(&runnerID, "runner", "", "show only the runner with this `id`")
	return cmd
}

// showRun lists the executions of a run.
func (a *app) showRun(p *project, state *plumb.Run, path string) error {
	info := state.Info
	fmt.Fprintf(a.Stdout, "Run    %s\nSuite  %s %s\nWhen   %s\nFiles  %s\n\n", info.ID, a.clean(info.SuiteName),
		shortHash(info.SuiteHash), state.StartedAt.Format(time.RFC3339), a.shown(path))
	w := report.NewColumns(a.Stdout)
	fmt.Fprintln(w, "CASE\tRUNNER\tSTATUS\tOUTCOME\tSAMPLES\tLATENCY\tWHY")
	for i := range state.Executions {
		e := &state.Executions[i]
		c, r := state.At(i)
		if e.State != plumb.ExecutionDone {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\t\t\n", c, r, plumb.StatusSkipped, plumb.OutcomeSkipped)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d/%d\t%d ms\t%s\n", c, r, e.Status, e.Outcome, e.Passed, e.Passed+e.Failed+e.Errored, e.LatencyMs,
			a.line(e.Reason, 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\nAll of one case: %s\n", strings.TrimSpace("plumb show "+info.ID+" CASE "+p.flags))
	return nil
}

// showCase prints the sessions of one case.
func (a *app) showCase(path, caseID, runnerID string) error {
	x, err := run.OpenIndex(path)
	if err != nil {
		return err
	}
	defer x.Close()
	state := x.Run()
	if state.Case(caseID) == nil {
		var ids []string
		for i := range state.Cases {
			ids = append(ids, state.Cases[i].ID)
		}
		return unknownWord("case", caseID, ids)
	}
	if runnerID != "" && state.Runner(runnerID) == nil {
		var ids []string
		for i := range state.Info.Runners {
			ids = append(ids, state.Info.Runners[i].ID)
		}
		return unknownWord("runner", runnerID, ids)
	}
	all := []plumb.Event{}
	for _, r := range state.Info.Runners {
		if runnerID != "" && r.ID != runnerID {
			continue
		}
		if err := x.Sessions(caseID, r.ID, func(ev plumb.Event) error { all = append(all, ev); return nil }); err != nil {
			return err
		}
	}
	if a.json {
		return a.print(all)
	}
	if len(all) == 0 {
		fmt.Fprintf(a.Stdout, "Case %s has no session in run %s.\n", caseID, state.Info.ID)
	}
	for _, ev := range all {
		a.showSession(ev)
	}
	return nil
}

// showSession prints one session, or the judgement of one.
func (a *app) showSession(ev plumb.Event) {
	out := func(label, text string) {
		if text != "" {
			fmt.Fprintf(a.Stdout, "  %-9s %s\n", label, a.indent(text, 12))
		}
	}
	if ev.Type == plumb.EventSessionJudged && ev.Judgement != nil {
		j := ev.Judgement
		out("outcome", fmt.Sprintf("%s (%s), score %.3g", j.Outcome, j.Status, j.Score))
		for _, v := range j.Verdicts {
			mark := "fail"
			switch {
			case v.Error != nil:
				mark = "error"
			case v.Pass:
				mark = "pass"
			}
			out(mark, v.Name+": "+v.Reason)
			if v.Asked != nil {
				for _, reply := range v.Asked.Replies {
					out("", v.Asked.Model+" said: "+reply)
				}
			}
		}
		if j.Failure != nil {
			out("why", j.Failure.Message)
			out("try", j.Failure.Hint)
		}
		fmt.Fprintln(a.Stdout)
		return
	}
	fmt.Fprintf(a.Stdout, "%s on %s, repetition %d, session %d, %s\n", ev.Case, a.clean(ev.Runner), ev.Repetition, ev.Session,
		ev.At.Format(time.RFC3339))
	if r := ev.Report; r != nil {
		out("prompt", r.Prompt)
		out("output", r.FinalOutput)
		model := r.Model
		if r.Fingerprint != "" {
			model += " (fingerprint " + r.Fingerprint + ")"
		}
		out("model", model)
		out("finish", string(r.FinishReason))
		out("request", r.RequestID)
		out("tokens", fmt.Sprintf("%s in, %s out, %s of it reasoning, %s from cache",
			count(r.Usage.InputTokens), count(r.Usage.OutputTokens), count(r.Usage.ReasoningTokens), count(r.Usage.CacheTokens)))
		out("time", fmt.Sprintf("%d ms latency, %d ms in all, %s", r.LatencyMs, r.DurationMs, plural(r.Requests, "request")))
		out("cost", dollars(r.CostUSD))
		for _, refused := range r.Refused {
			out("refused", refused)
		}
		if r.Cached {
			out("source", "local cache")
		}
		if r.Recorded {
			out("source", "recording of an earlier run")
		}
		for _, note := range r.Notes {
			out("note", note)
		}
	}
	if f := ev.Failure; f != nil {
		out("failure", fmt.Sprintf("%s (%s)", f.Message, f.Origin))
		out("try", f.Hint)
	}
}

func count(n *int64) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// lazySessions reads the index of a run when the first session is asked for, since not every report asks for one.
func lazySessions(path string) report.Sessions {
	open := sync.OnceValues(func() (*run.Index, error) { return run.OpenIndex(path) })
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		x, err := open()
		if err != nil {
			return err
		}
		return x.Sessions(caseID, runnerID, yield)
	}
}
