package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/explain"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/setting"
)

// explainCmd is plumb explain.
type explainCmd struct {
	*app
	projectFlags
	runner     string
	all, rerun bool
	timeout    setting.Milliseconds
	// opened is the project once a session of it is asked.
	opened *project.Project
}

func explainCommand(a *app) *cobra.Command {
	c := &explainCmd{app: a}
	cmd := &cobra.Command{
		Use:   "explain RUN [CASE] | DIR",
		Short: "Ask the agent why a check failed",
		Long: `Resume a session that failed, and ask the agent the questions of its failed checks: why it did what it did.
RUN is "last", or the beginning or end of the id of a run; DIR is the artifact directory of a session, an execution or
a case. If several sessions have questions, choose one with CASE and --runner, or ask about all of them with --all.
Among the sessions of an execution, the last one is asked.

The agent works in the workspace of the session again, with the permissions that the runner gives it. The answers are
stored in explanations.json beside the questions, and printed from there the next time; --rerun asks again. plumb show
RUN CASE prints them, too, and plumb view shows them with the session.`,
		Example: `  plumb explain last open-main
  plumb explain last --all
  plumb explain .plumb/runs/20261120-101500-ab12cd/open-main/codex--1a2b3c4d --rerun`,
		Args: cobra.RangeArgs(1, 2), //nolint:mnd // RUN and CASE
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.all, "all", false, "ask about all failed checks of the run, one session after the other")
	fs.StringVar(&c.runner, "runner", "", "ask only about the sessions of the runner with this `id`")
	fs.BoolVar(&c.rerun, "rerun", false, "ask again, and replace the stored answers")
	fs.StringVar(&c.config, "config", "", "config `file` (default: the one nearest to the suite)")
	c.registerOutputDir(fs)
	c.timeout = setting.Milliseconds((5 * time.Minute).Milliseconds())
	fs.Var(&c.timeout, "timeout", "time limit of one answer")
	return cmd
}

func (c *explainCmd) run(ctx context.Context, args []string) error {
	if c.timeout <= 0 {
		return errors.New("--timeout must be at least 1ms")
	}
	dirs, err := c.find(ctx, args)
	if err != nil {
		return err
	}
	ctx, cancel := c.whileRead(ctx)
	defer cancel()
	if !c.all {
		out, err := c.explain(ctx, dirs[0])
		if err == nil && c.json {
			return c.print(out)
		}
		return err
	}
	answers, code := []*explain.Answers{}, exitOK
	for i, dir := range dirs {
		if i > 0 && !c.json {
			fmt.Fprintln(c.Stdout)
		}
		out, err := c.explain(ctx, dir)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil: // the other sessions can still be asked
			c.complain(fmt.Errorf("%s: %w", c.shown(dir), err))
			code = exitNotMeasured
		default:
			answers = append(answers, out)
		}
	}
	if c.json {
		return errors.Join(c.print(answers), exit(code))
	}
	return exit(code)
}

// find returns the artifact directories of the sessions to ask about: one, or with --all at least
// one.
func (c *explainCmd) find(ctx context.Context, args []string) ([]string, error) {
	dir, caseID := c.path(args[0]), ""
	if len(args) > 1 {
		caseID = args[1]
	}
	ofRun := caseID != "" || !files.Exists(dir) && !strings.ContainsAny(args[0], `/\`)
	if ofRun {
		var err error
		if _, dir, err = c.findRun(ctx, c.projectFlags, args[0]); err != nil {
			return nil, err
		}
		if err := c.checkCase(dir, caseID); err != nil {
			return nil, err
		}
	}
	found, err := explain.FindQuestions(dir)
	if err != nil {
		return nil, err
	}
	var dirs, choices []string
	for _, d := range found {
		q, err := explain.ReadQuestions(d)
		if err != nil {
			return nil, err
		}
		if caseID != "" && q.CaseID != caseID || c.runner != "" && q.RunnerID != c.runner {
			continue
		}
		choice := "plumb explain " + report.ShellWord(c.shown(d))
		if ofRun {
			choice = fmt.Sprintf("plumb explain %s %s --runner %s", args[0], report.ShellWord(q.CaseID),
				report.ShellWord(q.RunnerID))
		}
		dirs, choices = append(dirs, d), append(choices, choice)
	}
	const few = 5
	switch {
	case len(dirs) == 0:
		err := fmt.Errorf("no failed check of %s asks a question", strings.TrimSpace(caseID+" "+c.runner))
		return nil, plumb.WithHint(err, "list what failed with: plumb show "+args[0]+" --failed")
	case len(dirs) > 1 && !c.all:
		err := fmt.Errorf("%d executions have questions: choose one of them, or all with --all", len(dirs))
		return nil, plumb.WithHint(err, strings.Join(choices[:min(len(choices), few)], "\n"))
	}
	return dirs, nil
}

// checkCase returns an error if the run in dir has no such case; "" is none.
func (c *explainCmd) checkCase(dir, caseID string) error {
	if caseID == "" {
		return nil
	}
	state, err := runlog.At(dir).Fold(c.secrets())
	if err != nil || state.Case(caseID) != nil {
		return err
	}
	return unknownWord("case", caseID, caseIDs(state))
}

// explain asks about the session in dir, unless its answers are stored.
func (c *explainCmd) explain(ctx context.Context, dir string) (_ *explain.Answers, err error) {
	if files.Exists(filepath.Join(dir, explain.AnswersFile)) && !c.rerun {
		return c.showStored(dir)
	}
	if c.opened == nil {
		if c.opened, err = c.open(ctx, c.projectFlags); err != nil {
			return nil, err
		}
	}
	interview, err := explain.Open(ctx, c.opened, dir, c.config != "")
	if err != nil {
		return nil, err
	}
	defer interview.Close()
	c.know(interview.Redactor())
	asking, answered := func(int, run.Question) {}, func(explain.Answer) {}
	if !c.json {
		c.showHead(dir, &interview.Explanation, len(interview.Questions))
		asking = func(i int, q run.Question) {
			c.showQuestion(i, q)
			fmt.Fprintf(c.Stderr, "Waiting for %s...\n", interview.RunnerID)
		}
		answered = func(a explain.Answer) { fmt.Fprintf(c.Stdout, "\nAgent\n%s\n", c.clean(a.Answer)) }
	}
	out, err := interview.Ask(ctx, c.timeout.Duration(), asking, answered)
	if err == nil && !c.json {
		fmt.Fprintf(c.Stdout, "\nSaved explanations %s\n", c.shown(filepath.Join(dir, explain.AnswersFile)))
	}
	return out, err
}

// showStored prints the stored answers.
func (c *explainCmd) showStored(dir string) (*explain.Answers, error) {
	stored, err := explain.Read(dir)
	if err != nil || c.json {
		return stored, err
	}
	c.showHead(dir, &stored.Explanation, len(stored.Questions))
	for i, a := range stored.Questions {
		c.showQuestion(i, a.Question)
		fmt.Fprintf(c.Stdout, "\nAgent\n%s\n", c.clean(a.Answer))
	}
	fmt.Fprintf(c.Stdout, "\nThese answers are from %s. To ask again: --rerun\n", stored.CreatedAt)
	return stored, nil
}

func (c *explainCmd) showHead(dir string, e *run.Explanation, questions int) {
	const head = "Case                %s\nRunner              %s\nArtifact Directory  %s\nQuestions           %d\n"
	fmt.Fprintf(c.Stdout, head, c.name(e.CaseID), c.name(e.RunnerID), c.shown(dir), questions)
}

func (c *explainCmd) showQuestion(i int, q run.Question) {
	s := q.Source
	s.FilePath = c.shown(strings.TrimPrefix(s.FilePath, "file://"))
	fmt.Fprintf(c.Stdout, "\nQuestion %d (%s)\n%s\n", i+1, s, c.clean(q.Question))
}
