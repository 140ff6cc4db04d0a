package cli

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/examples"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// demoSuite and demoEvents are a suite and the log of a run of it; see demo/README.md.
var (
	//go:embed demo/suite.jsonl
	demoSuite []byte
	//go:embed demo/events.jsonl
	demoEvents []byte
)

// demoDelay bounds the time of a recorded session, so that the demo shows a live run and ends soon.
const demoDelay = 350 * time.Millisecond

// demoCmd is plumb demo.
type demoCmd struct {
	*app
	agents bool
}

func demoCommand(a *app) *cobra.Command {
	c := &demoCmd{app: a}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a small suite on recorded answers or scripted agents, without a key or a network",
		Long: `Run a small suite on a recording in place of a model. One case fails, one is expected to fail, and one cannot
be measured, so that you see each result. No model is called.

With --agents, create a small project with a skill and suites for coding agents in a new directory, and run one suite
on two scripted agents: shell scripts that write the same output as codex. One does the task, the other only claims to.
You can experiment with the project; its README.md describes it.`,
		Example: "  plumb demo\n  plumb demo --agents",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.agents, "agents", false, "run a suite for coding agents, on scripted agents")
	return cmd
}

func (c *demoCmd) run(ctx context.Context) error {
	if c.agents {
		return c.runAgents(ctx)
	}
	root, err := proc.TempDemo.Dir()
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	p, err := c.project(&config.Config{Dir: root}, root)
	if err != nil {
		return err
	}
	j, err := c.openJob(ctx, p)
	if err != nil {
		return err
	}
	defer j.Close()
	if !c.json {
		fmt.Fprintln(c.Stdout, "This is a demo: the answers are a recording. "+
			"No model is called, and nothing leaves this machine.")
		fmt.Fprintln(c.Stdout)
	}
	_, code, err := c.perform(ctx, p, j, nil)
	if err != nil {
		return err
	}
	if code >= exitInterrupted {
		return exit(code)
	}
	if !c.json {
		c.showNextSteps(root, code)
	}
	return nil // the suite fails on purpose; the demo does not
}

// runAgents creates a project, and runs its suite on scripted agents with the same command as a
// user.
func (c *demoCmd) runAgents(ctx context.Context) error {
	if _, ok := project.LookPath("sh", c.Getenv("PATH"), c.Dir); !ok {
		return plumb.WithHint(errors.New("the scripted agents need sh, which is not on the PATH"),
			"plumb demo works without it")
	}
	root, err := proc.TempDemo.Dir()
	if err == nil {
		err = os.CopyFS(root, examples.Agents())
	}
	if err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	env := c.Env
	env.Dir = root
	env.Args = []string{"run", "release.suite.ts", "--config", "rehearsal.config.ts", "--report", "html"}
	if c.json {
		env.Args = append(env.Args, "--json")
	} else {
		env.Args = append(env.Args, "--report", "terminal")
		fmt.Fprintf(c.Stdout, "This is a demo: the agents are shell scripts that write the same output as codex. "+
			"No model is called.\nThe commands that it suggests work after: cd %s\n\n", report.ShellWord(root))
	}
	code := Main(ctx, env)
	if code != exitOK && code != exitFailed {
		return exit(code)
	}
	if !c.json {
		fmt.Fprintf(c.Stdout, `
The talker only claims that it did the task: its cases fail, and such a run exits with code %d.
The project is in %s, and the sessions are in .plumb/runs/*/report.html there. Next steps:

  cd %s
  plumb run --config rehearsal.config.ts                 run the same suite, and the one in YAML
  plumb run release.suite.ts --runner claude             run it on Claude Code, which costs money
  plumb doctor --agents                                  check that Plumb sees what your agents do; free

You can delete the directory at any time.
`, code, root, report.ShellWord(root))
	}
	return nil
}

// openJob opens the job of the demo. Only its suite and its sessions differ from other jobs.
func (c *demoCmd) openJob(ctx context.Context, p *project.Project) (*job.Job, error) {
	bundle := suite.NewBundle("demo", "demo.jsonl", demoSuite)
	suite, _, err := bundle.Suite(ctx, lib.Host{})
	if err != nil {
		return nil, fmt.Errorf("read the demo's suite: %w", err)
	}
	replay, err := runner.NewReplay(runner.ReplayOptions{ID: "recorded", MaxDelay: demoDelay}, readDemo)
	if err != nil {
		return nil, fmt.Errorf("read the demo's recording: %w", err)
	}
	want := job.Request{Settings: config.Defaults(), Demo: true, OwnRunners: []plumb.Runner{replay}}
	want.Schedule, want.Parallel = run.Parallel, 3
	return c.adoptJob(job.Open(ctx, p, &project.Source{Bundle: bundle, Suite: suite}, want))
}

// readDemo streams the recording.
func readDemo(fn func(plumb.Event) error) error {
	dec := json.NewDecoder(bytes.NewReader(demoEvents))
	for {
		var ev plumb.Event
		if err := dec.Decode(&ev); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := fn(ev); err != nil {
			return err
		}
	}
}

func (c *demoCmd) showNextSteps(root string, code int) {
	fmt.Fprintf(c.Stdout, `
That was a recording. With a real model, this run would exit with code %d, because a case failed.

  plumb doctor                              check what can run on this machine
  plumb init                                create a starter config and suite in this folder
  plumb run --tier cheap --model gpt-5      run the published suite on a real model
  plumb show last --output-dir %s

The demo is in %s. You can delete it at any time.
`, code, report.ShellWord(root), filepath.Clean(root))
}
