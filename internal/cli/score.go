package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/earlier"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/setting"
)

// scoreCmd is plumb score.
type scoreCmd struct {
	*app
	settings
	suite    string
	trust    bool
	sessions project.SessionsSpec
	// judgeRepeat is 0 without --judge-repeat.
	judgeRepeat int
}

func scoreCommand(a *app) *cobra.Command {
	c := &scoreCmd{app: a, settings: newSettings()}
	cmd := &cobra.Command{
		Use:   "score [RUN | SUITE --sessions DIR]",
		Short: "Judge the stored sessions of a run again, or sessions from elsewhere",
		Long: `Judge the sessions of an earlier run again, with a changed suite or another judge. No model is called except
the judge. The result is a new run; the earlier run stays as it is. Cases are matched by id and prompt.

With --judge-repeat, judge only the judged cases that passed in one repetition and failed in another, and each of
their outputs several times. The report says how much of the flips is the judge's own.

With --sessions, judge sessions that were not made by a run: below the directory, each case has a directory with its
name, and in it a directory for each session with its report.json, or, with --agent, with the stdout of the agent,
its stderr, and its session files in session/. A file CASE.json is one session, as plumb normalize prints it.`,
		Example: `  plumb score last --suite suite.jsonl
  plumb score 20261120-101500 --judge anthropic:claude-opus-4-6
  plumb score last --judge-repeat 3
  plumb score skills.suite.ts --sessions recordings --agent codex`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd.Flags(), first(args)) },
	}
	fs := cmd.Flags()
	fs.StringVar(&c.sessions.Dir, "sessions", "", "`directory` of sessions that were not made by a run")
	fs.StringVar(&c.sessions.Agent, "agent", "",
		"the agent that made the sessions, if they are transcripts: "+strings.Join(agent.Types(), ", "))
	fs.StringVar(&c.suite, "suite", "", "changed `suite` (default: the suite of the run)")
	numberVar(fs, &c.judgeRepeat, "judge-repeat", "", 0, "judge each output of the cases that flipped `n` times, at least 2")
	fs.BoolVar(&c.trust, "trust", false, trustHelp)
	c.register(cmd, func(s *setting.Setting) string { return s.Score })
	return cmd
}

func (c *scoreCmd) run(ctx context.Context, flags *pflag.FlagSet, ref string) error {
	if err := c.check(flags, false); err != nil {
		return err
	}
	switch {
	case !flags.Changed("judge-repeat"):
	case c.judgeRepeat < 2:
		return errors.New("--judge-repeat must be at least 2")
	case c.sessions.Dir != "":
		return plumb.WithHint(errors.New("--judge-repeat needs a run, and does not apply to --sessions"),
			"plumb score RUN --judge-repeat 3")
	}
	p, j, err := c.openJob(ctx, ref)
	if err != nil {
		return err
	}
	defer j.Close()
	_, code, err := c.perform(ctx, p, j, c.want.Reports)
	if err != nil {
		return err
	}
	return exit(code)
}

// openJob opens the job for the sessions of a run, or with --sessions for those in a directory.
func (c *scoreCmd) openJob(ctx context.Context, ref string) (*project.Project, *job.Job, error) {
	o := earlier.ScoreOptions{
		Settings: c.want, Suite: c.suite, Trust: project.Trust{Given: c.trust, Command: "score"},
		JudgeRepeat: c.judgeRepeat,
	}
	if c.sessions.Dir == "" {
		if c.sessions.Agent != "" {
			return nil, nil, plumb.WithHint(errors.New("--agent needs --sessions"), "--sessions DIR")
		}
		p, err := c.open(ctx, c.projectFlags())
		if err != nil {
			return nil, nil, err
		}
		j, err := c.adoptJob(earlier.Score(ctx, p, cmp.Or(ref, "last"), o))
		return p, j, err
	}
	p, err := c.openFor(ctx, c.projectFlags(), ref)
	if err != nil {
		return nil, nil, err
	}
	if ref == "" {
		return nil, nil, plumb.WithHint(errors.New("no suite given to judge the sessions with"),
			"plumb score suite.ts --sessions DIR")
	}
	if c.sessions.Agent != "" {
		if err := checkWord("agent", c.sessions.Agent, agent.Types()); err != nil {
			return nil, nil, err
		}
	}
	source, err := p.Read(ctx, ref, c.want.Tier, 0)
	if err != nil {
		return nil, nil, err
	}
	j, err := c.adoptJob(earlier.ScoreStored(ctx, p, source, c.sessions, o))
	return p, j, err
}
