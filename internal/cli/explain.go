package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/run"
)

// explainCmd is plumb explain.
type explainCmd struct {
	*app
	projectFlags
	rerun   bool
	timeout time.Duration
}

func explainCommand(a *app) *cobra.Command {
	c := &explainCmd{app: a}
	cmd := &cobra.Command{
		Use:   "explain DIR",
		Short: "Ask the agent why a check failed",
		Long: `Resume a session that failed, and ask the agent the questions of its failed checks: why it did what it did.
DIR is the artifact directory of a session, an execution or a case, or of a run with one such failure. Among the
sessions of an execution, the last one is asked.

The agent works in the workspace of the session again, with the permissions that the runner gives it. The answers are
stored in explanations.json beside the questions, and printed from there the next time; --rerun asks again.`,
		Example: `  plumb explain .plumb/runs/20261120-101500-ab12cd/open-main/codex--1a2b3c4d
  plumb explain DIR --rerun`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&c.rerun, "rerun", false, "ask again, and replace the stored answers")
	fs.StringVar(&c.config, "config", "", "config `file` (default: the one nearest to the suite)")
	c.registerOutputDir(fs)
	fs.DurationVar(&c.timeout, "timeout", 5*time.Minute, "time limit of one answer")
	return cmd
}

func (c *explainCmd) run(ctx context.Context, path string) error {
	dir, err := job.FindQuestions(c.path(path))
	if err != nil {
		return err
	}
	if exists(filepath.Join(dir, job.ExplanationsFile)) && !c.rerun {
		return c.showStored(dir)
	}
	ctx, cancel := c.whileRead(ctx)
	defer cancel()
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	//nolint:contextcheck // finding a version has its own time limit
	interview, err := job.OpenInterview(p, dir, c.config != "")
	if err != nil {
		return err
	}
	defer interview.Close()
	c.redact = interview.Redactor()
	asking, answered := func(int, run.Question) {}, func(job.Answer) {}
	if !c.json {
		c.showHead(dir, &interview.Explanation, len(interview.Questions))
		asking = func(i int, q run.Question) {
			c.showQuestion(i, q)
			fmt.Fprintf(c.Stderr, "Waiting for %s...\n", interview.RunnerID)
		}
		answered = func(a job.Answer) { fmt.Fprintf(c.Stdout, "\nAgent\n%s\n", c.clean(a.Answer)) }
	}
	out, err := interview.Ask(ctx, c.timeout, asking, answered)
	if err != nil {
		return err
	}
	if c.json {
		return c.print(out)
	}
	fmt.Fprintf(c.Stdout, "\nSaved explanations %s\n", c.shown(filepath.Join(dir, job.ExplanationsFile)))
	return nil
}

// showStored prints the stored answers.
func (c *explainCmd) showStored(dir string) error {
	stored, err := job.ReadExplanations(dir)
	if err != nil {
		return err
	}
	if c.json {
		return c.print(stored)
	}
	c.showHead(dir, &stored.Explanation, len(stored.Questions))
	for i, a := range stored.Questions {
		c.showQuestion(i, a.Question)
		fmt.Fprintf(c.Stdout, "\nAgent\n%s\n", c.clean(a.Answer))
	}
	fmt.Fprintf(c.Stdout, "\nThese answers are from %s. To ask again: --rerun\n", stored.CreatedAt)
	return nil
}

func (c *explainCmd) showHead(dir string, e *run.Explanation, questions int) {
	const head = "Case                %s\nRunner              %s\nArtifact Directory  %s\nQuestions           %d\n"
	fmt.Fprintf(c.Stdout, head, c.clean(e.CaseID), c.clean(e.RunnerID), c.shown(dir), questions)
}

func (c *explainCmd) showQuestion(i int, q run.Question) {
	s := q.Source
	s.FilePath = c.shown(strings.TrimPrefix(s.FilePath, "file://"))
	fmt.Fprintf(c.Stdout, "\nQuestion %d (%s)\n%s\n", i+1, s, c.clean(q.Question))
}
