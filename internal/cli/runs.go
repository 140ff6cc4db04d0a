package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/explain"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/report/terminal"
	"github.com/plumb-eval/plumb/internal/reporting"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// runsCmd is plumb runs.
type runsCmd struct {
	*app
	projectFlags
	limit int
	prune pruning
}

func runsCommand(a *app) *cobra.Command {
	c := &runsCmd{app: a}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List earlier runs, the latest first, or delete old ones",
		Long: `List earlier runs, the latest first.

With --prune, list the runs that nothing was written to for --older-than, except the latest --keep ones. With --yes,
delete them. A running run is never deleted, and neither is one that a baseline, the config or a kept run names.
plumb gc then deletes the workspaces that agents left in the deleted runs.`,
		Example: `  plumb runs
  plumb runs --prune --older-than 30d --keep 50
  plumb runs --prune --older-than 30d --keep 50 --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.register(cmd.Flags())
	numberVar(cmd.Flags(), &c.limit, "limit", "", 20, "list at most `n` runs; 0 lists all")
	c.prune.register(cmd.Flags())
	return cmd
}

func (c *runsCmd) run(ctx context.Context) error {
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	if c.prune.on {
		return c.pruneRuns(p)
	}
	if err := c.prune.unused(); err != nil {
		return err
	}
	ids, err := runlog.List(p.Runs())
	if err != nil {
		return err
	}
	lines := []report.RunLine{}
	for i := len(ids) - 1; i >= 0 && (c.limit <= 0 || len(lines) < c.limit); i-- {
		path := filepath.Join(p.Runs(), ids[i])
		var s project.Spec
		err := runlog.ReadSpec(path, &s)
		lines = append(lines, report.DescribeRun(path, s.CreatedAt, s.Suite, err))
	}
	if c.json {
		return c.print(lines)
	}
	if len(lines) == 0 {
		fmt.Fprintf(c.Stdout, "There are no runs in %s. Make one with: plumb run\n", c.shown(p.Runs()))
		return nil
	}
	return c.show(lines)
}

func (c *runsCmd) show(lines []report.RunLine) error {
	const narrow = 80
	w, width := c.columns()
	short := width > 0 && width < narrow
	if short {
		fmt.Fprintln(w, "RUN\tSUITE\tPASS\tFAIL\tERROR\tOF")
	} else {
		fmt.Fprintln(w, "RUN\tSUITE\tRUNNERS\tSTATE\tPASS\tFAIL\tERROR\tOF\tCOST")
	}
	for _, l := range lines {
		runners := "-"
		if len(l.Runners) > 0 {
			runners = l.Runners[0]
			if more := len(l.Runners) - 1; more > 0 {
				runners += fmt.Sprintf(" +%d", more)
			}
		}
		if short {
			end := l.ID[strings.LastIndexByte(l.ID, '-')+1:] // it is enough to name the run
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", end, orDash(c.line(l.Suite, 40)),
				l.Passed, l.Failed, l.Errored, l.Planned)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", l.ID, orDash(c.line(l.Suite, 40)), c.line(runners, 60),
			l.State, l.Passed, l.Failed, l.Errored, l.Planned, dollars(l.CostUSD))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range lines {
		if l.Error != "" {
			fmt.Fprintf(c.Stderr, "plumb: run %s is damaged: %s\n", l.ID, c.clean(l.Error))
		}
	}
	return nil
}

// reportCmd is plumb report.
type reportCmd struct {
	*app
	projectFlags
	reports []string
	browser bool
}

func reportCommand(a *app) *cobra.Command {
	c := &reportCmd{app: a}
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Render the report of an earlier run again",
		Long: `Render the report of an earlier run, in any of the formats. RUN is the same as for plumb resume; without it,
the last run.`,
		Example: `  plumb report last
  plumb report last --report junit:results.xml --report markdown:comment.md
  plumb report last --report html                  writes report.html beside the run
  plumb report last --open                         the same as plumb view last`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), runOf(args)) },
	}
	cmd.Flags().StringArrayVar(&c.reports, "report", nil, config.ReportHelp()+"; repeatable (default terminal)")
	cmd.Flags().BoolVar(&c.browser, "open", false, "write the HTML report and open it in a browser")
	c.register(cmd.Flags())
	return cmd
}

func (c *reportCmd) run(ctx context.Context, ref string) error {
	p, path, err := c.findLog(ctx, c.projectFlags, ref)
	if err != nil {
		return err
	}
	if c.browser && len(c.reports) == 0 {
		return c.view(p, path)
	}
	reports := c.reports
	if c.json {
		reports = append([]string{kind.JSONSummary}, reports...)
	}
	if err := reporting.Write(ctx, p, path, reports); err != nil || !c.browser {
		return err
	}
	return c.view(p, path)
}

// findRun opens the project and finds a run in it. From here on, the command prints the names of
// the cases and runners of the run even if they contain a secret.
func (a *app) findRun(ctx context.Context, f projectFlags, ref string) (*project.Project, string, error) {
	p, err := a.open(ctx, f)
	if err != nil {
		return nil, "", err
	}
	path, err := runlog.Find(p.Runs(), ref)
	if err != nil {
		return nil, "", err
	}
	a.know(p.RedactorOf(path))
	return p, path, nil
}

// findLog is [app.findRun] that also finds a log without its run directory, by its path.
func (a *app) findLog(ctx context.Context, f projectFlags, ref string) (*project.Project, string, error) {
	path := a.path(ref)
	if !runlog.IsLog(path) {
		return a.findRun(ctx, f, ref)
	}
	p, err := a.open(ctx, f)
	if err != nil {
		return nil, "", err
	}
	a.know(p.RedactorOf(path))
	return p, path, nil
}

// showCmd is plumb show.
type showCmd struct {
	*app
	projectFlags
	runner string
	// failed keeps the executions that did not pass.
	failed bool
}

func showCommand(a *app) *cobra.Command {
	c := &showCmd{app: a}
	cmd := &cobra.Command{
		Use:   "show [RUN] [CASE]",
		Short: "Show an earlier run, or the sessions of one case in it",
		Example: `  plumb show last
  plumb show last --failed
  plumb show last reasoning-003`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.register(cmd.Flags())
	cmd.Flags().BoolVar(&c.failed, "failed", false, "show only what failed or could not be measured")
	cmd.Flags().StringVar(&c.runner, "runner", "", "show only the runner with this `id`")
	return cmd
}

func (c *showCmd) run(ctx context.Context, args []string) error {
	p, path, err := c.findLog(ctx, c.projectFlags, runOf(args))
	if err != nil {
		return err
	}
	if len(args) == 2 {
		return c.showCase(path, args[1])
	}
	state, err := runlog.At(path).Fold(c.secrets())
	if err != nil {
		return err
	}
	if c.json {
		return results.NewWriter(results.Material{Sessions: reporting.Sessions(path).Without(c.secrets())}).Write(c.rawStdout, state)
	}
	return c.showRun(p, state, path)
}

// showRun lists the executions of a run.
func (c *showCmd) showRun(p *project.Project, state *plumb.Run, path string) error {
	info := state.Info
	fmt.Fprintf(c.Stdout, "Run    %s\nSuite  %s %s\nWhen   %s\nFiles  %s\n\n", info.ID, c.name(info.SuiteName),
		c.name(text.ShortHash(info.SuiteHash, hashDigits)), state.StartedAt.Format(time.RFC3339), c.shown(path))
	if err := c.showExecutions(state); err != nil {
		return err
	}
	if c.failed {
		return nil
	}
	env := c.env()
	screen := env.Display
	screen.Out, screen.Unicode, screen.Getenv = env.Stdout, unicode(c.Getenv), c.Getenv
	if err := terminal.WriteRates(screen, &report.Source{Redact: c.secrets()}, state); err != nil {
		return err
	}
	for _, n := range state.Notes {
		if !info.Share.Whole() {
			fmt.Fprintf(c.Stdout, "\n%s\n", c.clean(n.Text))
		}
	}
	name := info.ID
	if runlog.IsLog(path) {
		name = report.ShellWord(c.shown(path))
	}
	fmt.Fprintf(c.Stdout, "\nSessions of one case: %s\n", strings.TrimSpace("plumb show "+name+" CASE "+p.Flags))
	return nil
}

// showExecutions lists the executions of a run, with fewer columns on a narrow terminal.
func (c *showCmd) showExecutions(state *plumb.Run) error {
	const narrow = 80
	w, width := c.columns()
	short := width > 0 && width < narrow
	labels := report.Repeated(state)
	row := func(name, runner, status, outcome, samples, label, latency, why string) {
		name, runner = c.name(name), c.name(runner)
		cells := []string{name}
		if !short || len(state.Info.Runners) > 1 {
			cells = append(cells, runner)
		}
		if !short {
			cells = append(cells, status)
		}
		cells = append(cells, outcome)
		if !short {
			cells = append(cells, samples)
			if labels {
				cells = append(cells, label)
			}
			cells = append(cells, latency)
		}
		fmt.Fprintln(w, strings.Join(append(cells, why), "\t"))
	}
	row("CASE", "RUNNER", "STATUS", "OUTCOME", "SAMPLES", "LABEL", "LATENCY", "WHY")
	shown := 0
	for i := range state.Executions {
		e := &state.Executions[i]
		name, r := state.At(i)
		if c.runner != "" && c.runner != r ||
			c.failed && (e.State != plumb.ExecutionDone || e.Outcome == plumb.OutcomeSkipped || e.Status.OK()) {
			continue
		}
		shown++
		if e.State != plumb.ExecutionDone {
			row(name, r, string(plumb.StatusSkipped), string(plumb.OutcomeSkipped), "", "", "", "")
			continue
		}
		samples, label := fmt.Sprintf("%d/%d", e.Passed, e.Passed+e.Failed+e.Errored), ""
		if labels {
			samples, label = report.SampleCells(state, i)
		}
		row(name, r, string(e.Status), string(e.Outcome), samples, label, fmt.Sprintf("%d ms", e.LatencyMs),
			c.line(e.Reason, 60))
	}
	if shown == 0 && c.failed {
		fmt.Fprintln(c.Stdout, "Nothing failed, and nothing was left unmeasured.")
		return nil
	}
	return w.Flush()
}

// showCase prints the sessions of one case.
func (c *showCmd) showCase(path, caseID string) error {
	x, err := runlog.At(path).Index()
	if err != nil {
		return err
	}
	defer x.Close()
	state := x.Run()
	if state.Case(caseID) == nil {
		return unknownWord("case", caseID, caseIDs(state))
	}
	if c.runner != "" && state.Runner(c.runner) == nil {
		var ids []string
		for i := range state.Info.Runners {
			ids = append(ids, state.Info.Runners[i].ID)
		}
		return unknownWord("runner", c.runner, ids)
	}
	all := []plumb.Event{}
	for _, r := range state.Info.Runners {
		if c.runner != "" && r.ID != c.runner {
			continue
		}
		err := x.Sessions(caseID, r.ID, func(ev plumb.Event) error {
			all = append(all, ev)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if c.json {
		return c.print(all)
	}
	if len(all) == 0 {
		fmt.Fprintf(c.Stdout, "Case %s has no session in run %s.\n", c.name(caseID), state.Info.ID)
	}
	for _, ev := range all {
		c.showSession(ev)
		if ev.Type != plumb.EventSessionJudged || runlog.IsLog(path) {
			continue
		}
		if err := c.showAnswers(plumb.ExecutionDir(path, caseID, state.Runner(ev.Runner)), ev); err != nil {
			return err
		}
	}
	for _, r := range state.Info.Runners {
		i, err := state.Index(caseID, r.ID)
		if err != nil {
			return err
		}
		if words := report.CaseWords(state, i, c.dash()); words != "" && (c.runner == "" || c.runner == r.ID) {
			fmt.Fprintf(c.Stdout, "%s on %s: %s\n", c.name(caseID), c.name(r.ID), words)
		}
	}
	return nil
}

func caseIDs(state *plumb.Run) []string {
	ids := make([]string, len(state.Cases))
	for i := range state.Cases {
		ids[i] = state.Cases[i].ID
	}
	return ids
}

// dash returns the dash of ranges.
func (c *showCmd) dash() string {
	if unicode(c.Getenv) {
		return "–"
	}
	return "-"
}

// showSession prints one session, or the judgement of one.
func (c *showCmd) showSession(ev plumb.Event) {
	judged := ev.Type == plumb.EventSessionJudged && ev.Judgement != nil
	if !judged {
		fmt.Fprintf(c.Stdout, "%s on %s, repetition %d, session %d, %s\n", c.name(ev.Case), c.name(ev.Runner), ev.Repetition,
			ev.Session, ev.At.Format(time.RFC3339))
	}
	for _, f := range report.SessionFacts(ev) {
		fmt.Fprintf(c.Stdout, "  %-9s %s\n", f.Label, c.indent(f.Text, 12))
	}
	if judged {
		fmt.Fprintln(c.Stdout)
	}
}

// showAnswers prints what the agent answered when plumb explain asked about a session of the
// execution in dir.
func (c *showCmd) showAnswers(dir string, ev plumb.Event) error {
	stored, err := explain.Read(plumb.SessionDir(dir, ev.Repetition, ev.Session))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range stored.Questions {
		fmt.Fprintf(c.Stdout, "  asked     %s\n  answer    %s\n\n", c.indent(a.Question.Question, 12), c.indent(a.Answer, 12))
	}
	return nil
}
