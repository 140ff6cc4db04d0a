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
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/suite"
)

// demoSuite and demoEvents are a suite and the log of a run of it; demo/README.md says how they were made.
var (
	//go:embed demo/suite.jsonl
	demoSuite []byte
	//go:embed demo/events.jsonl
	demoEvents []byte
)

// demoDelay bounds how long a recorded session takes, so that the demo shows a live run and is over soon.
const demoDelay = 350 * time.Millisecond

func (a *app) demoCommand() *cobra.Command {
	var agents bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a small suite on recorded answers, or on actors for agents: no key, no network",
		Long: `Run a small suite through the whole of Plumb, on a recording instead of a model. One case fails, one is expected
to fail, and one cannot be measured, so that you see how each looks. Nothing is asked of anybody.

With --agents, write a small project with a skill and suites for coding agents to a new directory, and run one of them
on two actors: shell scripts that write what codex writes. One does the work, the other only says so. The project is
yours to try things with; its README.md says what is in it.`,
		Example: "  plumb demo\n  plumb demo --agents",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agents {
				return a.demoAgents(cmd.Context())
			}
			root, err := os.MkdirTemp("", "plumb-demo-")
			if err != nil {
				return fmt.Errorf("make a directory for the demo: %w", err)
			}
			p, err := a.project(&config.Config{Dir: root}, root)
			if err != nil {
				return err
			}
			j, err := a.demoJob(p)
			if err != nil {
				return err
			}
			defer j.shop.close()
			if !a.json {
				fmt.Fprintln(a.Stdout, "This is a demo: the answers are a recording. No model is asked, and nothing leaves this machine.")
				fmt.Fprintln(a.Stdout)
			}
			code, err := a.perform(cmd.Context(), p, j, nil, nil)
			if err != nil || code >= exitInterrupted {
				return exitWith(code, err)
			}
			if !a.json {
				a.afterDemo(root, code)
			}
			return nil // the suite fails on purpose; the demo does not
		},
	}
	cmd.Flags().BoolVar(&agents, "agents", false, "run a suite for coding agents, on actors")
	return cmd
}

// demoAgents runs a suite for agents on actors, as a user would in the directory that it is written to.
func (a *app) demoAgents(ctx context.Context) error {
	if _, ok := lookPath("sh", a.Getenv("PATH"), a.Dir); !ok {
		return plumb.WithHint(errors.New("the actors are shell scripts, and there is no sh on the PATH"), "plumb demo needs none")
	}
	root, err := os.MkdirTemp("", "plumb-demo-")
	if err == nil {
		err = os.CopyFS(root, examples.Agents())
	}
	if err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	env := a.Env
	env.Dir = root
	env.Args = []string{"run", "release.suite.ts", "--config", "rehearsal.config.ts", "--report", "html"}
	if a.json {
		env.Args = append(env.Args, "--json")
	} else {
		env.Args = append(env.Args, "--report", "terminal")
		fmt.Fprint(a.Stdout, "This is a demo: the agents are actors, shell scripts that write what codex writes. No model is asked.\n\n")
	}
	code := Main(ctx, env)
	if code != exitOK && code != exitFailed {
		return exit(code)
	}
	if !a.json {
		fmt.Fprintf(a.Stdout, `
The talker says that it did the work, and did not: its cases fail, and a run like this exits with code %d.
All of it is in %s, the sessions in .plumb/runs/*/report.html there. To go on:

  cd %s
  plumb run --config rehearsal.config.ts                 the same, and the suite in YAML
  plumb run release.suite.ts --runner claude             Claude Code itself, which costs money
  plumb doctor --agents                                  whether Plumb sees what your agents do; costs nothing

Remove the directory when you like.
`, code, root, report.ShellWord(root))
	}
	return nil
}

func exitWith(code int, err error) error {
	if err != nil {
		return err
	}
	return exit(code)
}

// demoJob is the job of the demo: an ordinary one, but for where its suite and sessions come from.
func (a *app) demoJob(p *project) (*job, error) {
	bundle := suite.NewBundle("demo", "demo.jsonl", demoSuite)
	suite, _, err := bundle.Suite()
	if err != nil {
		return nil, fmt.Errorf("read the demo's suite: %w", err)
	}
	replay, err := runner.NewReplay(runner.ReplayOptions{ID: "recorded", MaxDelay: demoDelay}, readDemo)
	if err != nil {
		return nil, fmt.Errorf("read the demo's recording: %w", err)
	}
	j, err := a.assemble(p, spec{
		PlumbVersion: version(), CreatedAt: a.Now().UTC(), Suite: suite.Name, Demo: true, Schedule: run.Parallel, Parallel: 3, Repeat: 1,
		TimeoutMs: run.DefaultTimeout.Milliseconds(), Cache: string(runner.CacheOff),
	}, bundle, suite)
	if err != nil {
		return nil, err
	}
	j.runners = []plumb.Runner{replay}
	j.options.Runners = j.runners
	return j, nil
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

func (a *app) afterDemo(root string, code int) {
	fmt.Fprintf(a.Stdout, `
That was a recording. On a model of yours, this run would exit with code %d, since a case failed.

  plumb doctor                              what can run on this machine
  plumb init                                a first config and suite for this folder
  plumb run --tier cheap --model gpt-5      the published suite, on a real model
  plumb show last --output-dir %s

The demo is in %s; remove it when you like.
`, code, report.ShellWord(root), filepath.Clean(root))
}
