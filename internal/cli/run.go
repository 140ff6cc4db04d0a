package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/suite"
)

// runCmd is plumb run.
type runCmd struct {
	*app
	settings
	// commandDir is the directory of --command, or "" for the folder of the config.
	commandDir string
}

func runCommand(a *app) *cobra.Command {
	c := &runCmd{app: a, settings: newSettings()}
	cmd := &cobra.Command{
		Use:   "run [SUITE...]",
		Short: "Run a suite and report what was measured",
		Long: `Run the cases of a suite on one or more runners, check the results, and report.

A SUITE is a .jsonl or .suite.yaml file, a TypeScript or JavaScript module, a directory with a manifest.toml, or a
published suite such as v1.0/cheap.
Without a SUITE, the suites of the config are run; with --tier alone, that tier of the newest published suite.
Several suites are separate runs, one after the other; {suite} in the path of a report is the name of each suite.`,
		Example: `  plumb run suite.jsonl --model gpt-5
  plumb run --tier cheap --model opus --judge openai:gpt-5
  plumb run suite.jsonl --model ollama:qwen3 --repeat 5 --report junit:results.xml
  plumb run skills.suite.ts --agent claude-code:sonnet --agent codex:gpt-5.5
  plumb run suite.jsonl --command ./answer.sh --parallel 4
  plumb run v1.0/comprehensive --model gpt-5 --plan`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd, args) },
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(groupedUsage)
	c.register(cmd, func(s *setting.Setting) string { return s.Help })
	return cmd
}

// checkNewRunners returns an error for a flag that no runner uses, because it is only for new ones.
func (c *runCmd) checkNewRunners(flags *pflag.FlagSet) error {
	if len(c.want.Models)+len(c.want.Agents) > 0 {
		return nil
	}
	for _, s := range c.want.List() {
		if s.NewRunner && changed(flags, &s) {
			return plumb.WithHint(fmt.Errorf("--%s applies only to the runners of --model and --agent", s.Flag),
				"give --model or --agent, or set it in the runner of the config")
		}
	}
	return nil
}

func (c *runCmd) run(ctx context.Context, cmd *cobra.Command, suites []string) error {
	p, jobs, err := c.prepare(ctx, cmd, suites)
	for _, j := range jobs {
		defer j.Close()
	}
	if err != nil {
		return err
	}
	if c.want.Plan {
		return c.showPlans(jobs)
	}
	return c.performAll(ctx, p, jobs)
}

// prepare opens the project and prepares the runs of the suites. The caller closes the jobs, also on
// an error.
func (c *runCmd) prepare(
	ctx context.Context, cmd *cobra.Command, suites []string,
) (*project.Project, []*job.Job, error) {
	p, err := c.openFor(ctx, c.projectFlags(), first(suites))
	if err != nil {
		return nil, nil, c.withAbsent(ctx, err, suites)
	}
	flags := cmd.Flags()
	if flags.Changed("command") && p.Config.Dir != c.Dir {
		c.commandDir = c.Dir
	}
	if err := c.check(flags, false); err != nil {
		return nil, nil, err
	}
	c.want.Copy(&p.Config.Run, func(s *setting.Setting) bool { return s.IsSet() && !changed(flags, s) })
	if c.want.UntilDecided && !flags.Changed("repeat") {
		c.want.Repeat = compare.DecideRepeat
	}
	if err := c.checkNewRunners(flags); err != nil {
		return nil, nil, err
	}
	if len(suites) == 0 && c.want.Tier == "" {
		for _, s := range p.Config.Suites {
			suites = append(suites, suiteRef(p, s))
		}
	}
	if len(suites) == 0 {
		if c.want.Tier == "" {
			return nil, nil, plumb.WithHint(errors.New("no suite given"),
				"plumb init creates one; or plumb run suite.jsonl, plumb run --tier cheap for the published suite, or suites in plumb.yaml")
		}
		suites = []string{""}
	}
	jobs, err := c.prepareAll(ctx, p, suites)
	return p, jobs, err
}

// withAbsent adds the suites that do not exist to the problems of a config, so that both are fixed at
// once.
func (c *runCmd) withAbsent(ctx context.Context, err error, suites []string) error {
	problems, ok := errors.AsType[doc.Problems](err)
	if !ok {
		return err
	}
	for _, ref := range suites {
		if files.Exists(c.env().Path(ref)) {
			continue
		}
		if _, readErr := suite.Read(ctx, ref, suite.ReadOptions{Dir: c.Dir}); readErr != nil {
			problems = append(problems, doc.Problem{
				Pos: plumb.Position{File: ref}, Message: "there is no such suite", Hint: plumb.Hint(readErr),
			})
		}
	}
	return problems
}

// suiteRef returns a suite of the config in the form that [project.Project.Read] expects: a path
// from the folder of the config, or a published suite.
func suiteRef(p *project.Project, ref string) string {
	if path := p.Config.Resolve(ref); files.Exists(path) {
		return path
	}
	return ref
}

// prepareAll prepares the runs of all suites, before the first request.
func (c *runCmd) prepareAll(ctx context.Context, p *project.Project, refs []string) (jobs []*job.Job, err error) {
	for _, ref := range refs {
		source, err := p.Read(ctx, ref, c.want.Tier, c.want.TimeoutMs.Duration())
		if err != nil {
			return jobs, err
		}
		configs, err := c.runnerConfigs(p)
		if err != nil {
			return jobs, errors.Join(err, source.Close())
		}
		j, err := c.adoptJob(job.Open(ctx, p, source, job.Request{Settings: c.want, Runners: configs}))
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// performAll performs jobs one after the other, and returns the worst exit code.
func (c *runCmd) performAll(ctx context.Context, p *project.Project, jobs []*job.Job) error {
	reports, err := reportsOf(jobs, c.want.Reports)
	if err != nil {
		return err
	}
	for i, j := range jobs { // before the first one is paid for
		if err := j.CheckOutputs(reports[i]); err != nil {
			return err
		}
	}
	var to *sending
	if c.want.Submit != "" {
		if to, err = c.sending(p, submitFlags{context: contextAuto}); err == nil {
			err = to.agree(ctx)
		}
		if err != nil {
			return err
		}
	}
	worst := exitOK
	for i, j := range jobs {
		result, code, err := c.perform(ctx, p, j, reports[i])
		if err != nil {
			return err
		}
		if to != nil && result != nil && !to.after(ctx, result.Dir) && c.want.Submit == submitRequired && worse(exitNotMeasured, code) {
			code = exitNotMeasured
		}
		if worse(code, worst) {
			worst = code
		}
		if code >= exitInterrupted {
			break
		}
	}
	return exit(worst)
}

// reportsOf returns the reports of each job: the requested ones, with the name of the suite for
// {suite}. No job may overwrite the report of another.
func reportsOf(jobs []*job.Job, specs []string) ([][]string, error) {
	all := make([][]string, len(jobs))
	writers := map[string]bool{}
	for i, j := range jobs {
		name := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(j.Suite.Name)
		for _, spec := range specs {
			own := strings.ReplaceAll(spec, "{suite}", name)
			if !config.IsModule(own) && strings.Contains(own, ":") && writers[own] {
				if own == spec {
					err := fmt.Errorf("%d suites would overwrite each other's report %s", len(jobs), spec)
					return nil, plumb.WithHint(err,
						"put {suite} into the file name, such as --report junit:{suite}.xml")
				}
				err := fmt.Errorf("two suites have the name %q, and would both write the report %s", name, own)
				return nil, plumb.WithHint(err, "run one after the other")
			}
			writers[own] = true
			all[i] = append(all[i], own)
		}
	}
	return all, nil
}

// worse reports whether exit code a is more important than b: a failure is more important than
// something not measured, and an interruption more than both.
func worse(a, b int) bool {
	order := []int{exitOK, exitNotMeasured, exitFailed, exitInterrupted, exitTerminated}
	return slices.Index(order, a) > slices.Index(order, b)
}

// perform performs a job, and returns what it left and the exit code. The result is nil if the run
// could not begin.
func (a *app) perform(
	ctx context.Context, p *project.Project, j *job.Job, reports []string,
) (result *job.Result, code int, err error) {
	result, code, err = a.performed(ctx, p, j, reports)
	if err == nil && result != nil && code < exitInterrupted {
		err = a.showLifts(j, result, p.Flags)
	}
	return result, code, err
}

// performed is perform without what an ablation shows.
func (a *app) performed(
	ctx context.Context, p *project.Project, j *job.Job, reports []string,
) (_ *job.Result, code int, err error) {
	if a.json {
		reports = append([]string{kind.JSONSummary}, reports...)
	}
	w := interrupts{app: a, job: j}
	result, err := j.Perform(ctx, reports, w.watch)
	switch {
	case result == nil:
		return nil, 0, err
	case err != nil:
		a.complain(err)
		fmt.Fprintf(a.Stderr, "  Results so far are in %s. To continue: %s\n", a.shown(result.Dir),
			strings.TrimSpace("plumb resume "+result.ID+" "+p.Flags))
		if analyze.Red(result.Run) {
			return result, exitFailed, nil
		}
		return result, exitNotMeasured, nil
	case w.first != nil:
		return result, w.code(), nil
	}
	switch d := result.Run.Decision; {
	case d != nil && result.Run.Totals.Broken == 0:
		return result, decisionCode(d), nil
	case analyze.Red(result.Run):
		return result, exitFailed, nil
	case analyze.NotMeasured(result.Run):
		return result, exitNotMeasured, nil
	default:
		return result, exitOK, nil
	}
}

// decisionCode returns the exit code of a run until a decision: that of plumb compare.
func decisionCode(d *plumb.Decision) int {
	switch d.Conclusion {
	case string(compare.Worse), string(compare.Violated):
		return exitFailed
	case string(compare.Better), string(compare.Equivalent), string(compare.Holds):
		return exitOK
	default:
		return exitNotMeasured
	}
}

// interrupts lets signals end a command. With a job, the first signal lets running sessions finish
// and the second ends them. Without a job, the first signal ends the command. One more signal has
// its default effect. A reader of the output that leaves counts as the first signal.
type interrupts struct {
	app *app
	job *job.Job
	// first is the first signal, or nil.
	first os.Signal
}

var errInterrupted = errors.New("interrupted")

// watch is a [job.Watch].
func (w *interrupts) watch(ctx context.Context) (context.Context, <-chan struct{}, func()) {
	signals, stop := w.app.signals()
	ctx, cancel := context.WithCancelCause(ctx)
	drain, finished, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer stop()
		select {
		case w.first = <-signals:
		case <-w.app.readerLeft:
			w.first = syscall.SIGPIPE
		case <-finished:
			return
		}
		close(drain)
		if w.job == nil {
			cancel(errInterrupted)
			return
		}
		w.job.Note(plumb.Note{
			Level: "warning", Live: true,
			Text: "Stopping: waiting for the running sessions. Press Ctrl-C again to stop now.",
		})
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-finished:
		}
	}()
	return ctx, drain, func() {
		close(finished)
		<-ended
		cancel(nil)
	}
}

// code returns the exit code for the first signal.
func (w *interrupts) code() int {
	switch w.first {
	case nil:
		return exitOK
	case syscall.SIGTERM:
		return exitTerminated
	default:
		return exitInterrupted
	}
}

// runOf returns the first argument, which names a run; without arguments that is the last one.
func runOf(args []string) string {
	if len(args) == 0 {
		return "last"
	}
	return args[0]
}

// first returns the first argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
