package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/load"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

const (
	// probeTime limits how long a local server may take to answer.
	probeTime = 2 * time.Second
	// listTime limits how long a provider may take to list its models.
	listTime = 20 * time.Second
	// versionTime limits how long a program may take to tell its version.
	versionTime = 10 * time.Second
)

// finding is what the doctor knows of one thing that can run, or could.
type finding struct {
	// Kind is "provider", "server", "agent", "runner", "machine" or "project".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// OK says that it can be used.
	OK      bool   `json:"ok"`
	Status  string `json:"status"`
	CanRun  string `json:"canRun,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	// Models are what a local server offers.
	Models []string `json:"models,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	var config string
	var prove bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find keys, local servers and agent CLIs, and say what each can run",
		Long: `Look for keys in the environment and in .env, for model servers on this machine, and for agent CLIs on the
PATH. Only servers on this machine are asked anything; keys are not tried. The exit code is 3 when nothing can run.

With --agents it has each agent CLI play two sessions with a scripted model on this machine, one in which the agent runs
a command, reads a file and uses a skill, and one in which it only talks of it. An adapter that misses what took place,
or reports what did not, cannot measure anything: the exit code is then 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			broken := error(nil)
			read, err := a.config(cmd.Context(), config)
			if err != nil {
				read, broken = &load.Config{Dir: a.Dir}, err
			}
			p, err := a.project(read, "")
			if err != nil {
				return err
			}
			if prove {
				if broken != nil {
					return broken
				}
				return a.doctorAgents(cmd.Context(), p)
			}
			runners, err := a.diagnoseRunners(p)
			if err != nil {
				return err
			}
			found := slices.Concat(a.diagnose(cmd.Context(), p), runners, []finding{diagnoseMachine(), a.diagnoseProject(p, broken)})
			if a.json {
				if err := a.print(found); err != nil {
					return err
				}
			} else {
				a.showDiagnosis(p, found)
			}
			for _, f := range found {
				if f.OK && f.CanRun != "" {
					return nil
				}
			}
			return exit(exitNotMeasured)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "config `file`")
	cmd.Flags().BoolVar(&prove, "agents", false, "prove for each agent CLI that what it does is seen")
	return cmd
}

// diagnose looks at all there is, at the same time.
func (a *app) diagnose(ctx context.Context, p *project) []finding {
	transport := modelapi.NewTransport(modelapi.TransportOptions{Getenv: p.getenv, MaxAttempts: 1})
	defer transport.Close()
	var checks []func() finding
	for _, provider := range modelapi.Providers() {
		checks = append(checks, func() finding { return diagnoseProvider(ctx, p, provider, transport) })
	}
	for _, spec := range agent.All() {
		checks = append(checks, func() finding { return a.diagnoseAgent(ctx, p, spec) })
	}
	found := make([]finding, len(checks))
	var all sync.WaitGroup
	for i, look := range checks {
		all.Go(func() { found[i] = look() })
	}
	all.Wait()
	return found
}

func diagnoseProvider(ctx context.Context, p *project, provider modelapi.Provider, transport *modelapi.Transport) finding {
	f := finding{Kind: "provider", Name: provider.Name}
	key, variable := provider.Key(p.getenv)
	address := provider.Address(p.getenv)
	if !provider.Local {
		switch {
		case address == "":
			f.Status, f.Fix = "no address", "set "+provider.BaseURLEnv
		case key != "":
			f.OK, f.Status = true, variable+" is set"
			f.CanRun = "--model " + provider.Name + ":" + usualModel(provider.Name)
		case provider.NeedsKey(address):
			f.Status, f.Fix = "no key", "set "+strings.Join(provider.KeyEnv, " or ")+" (here or in .env)"
			if provider.KeyURL != "" {
				f.Fix += "; keys are made at " + provider.KeyURL
			}
		default:
			f.OK, f.Status, f.CanRun = true, "address "+address, "--model "+provider.Name+":"+usualModel(provider.Name)
		}
		return f
	}
	f.Kind = "server"
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	models, err := listLive(limited, p, provider, transport)
	if err != nil {
		f.Status = "not running at " + address
		if provider.Start != "" {
			f.Fix = provider.Start
		}
		return f
	}
	for _, m := range models {
		if !m.Embedding {
			f.Models = append(f.Models, m.ID)
		}
	}
	if len(f.Models) == 0 {
		f.Status, f.Fix = "running at "+address+", without a model", "load a model into it"
		return f
	}
	f.OK, f.Status = true, fmt.Sprintf("running at %s with %s", address, plural(len(f.Models), "model"))
	f.CanRun = "--model " + provider.Name + ":" + f.Models[0]
	return f
}

// diagnoseAgent finds an agent CLI and its version. Whether it is logged in only a run can tell.
func (a *app) diagnoseAgent(ctx context.Context, p *project, spec agent.Spec) finding {
	f := finding{Kind: "agent", Name: spec.Name}
	path, ok := a.agentPath(p, spec.Name, "")
	if !ok {
		f.Status, f.Fix = "not on the PATH", spec.Install
		return f
	}
	f.Path, f.Status = path, "found"
	limited, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(limited, path, "--version")
	cmd.Env, cmd.WaitDelay = p.environ(), time.Second
	out, err := cmd.CombinedOutput()
	f.Version = versionIn(string(out))
	switch {
	case err != nil:
		f.Status, f.Fix = "found, but --version does not work: "+firstLine(err.Error()), spec.Install
	case f.Version != "":
		f.OK, f.Status, f.CanRun = true, "version "+f.Version, "--agent "+spec.Name+":MODEL"
	}
	return f
}

// lookPath finds a program in the directories of path, as the user's environment has it.
func lookPath(program, path, dir string) (string, bool) {
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		if found, err := exec.LookPath(filepath.Join(d, program)); err == nil {
			return found, true
		}
	}
	return "", false
}

func versionIn(out string) string {
	return strings.TrimRight(regexp.MustCompile(`\d+\.\d+\.\d+[-+.\w]*`).FindString(out), ".-+") // not the end of a sentence
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// usualModel is the model of a provider to begin with.
func usualModel(provider string) string {
	switch provider {
	case "openai":
		return "gpt-5.4-mini"
	case "anthropic":
		return "haiku"
	case "google":
		return "gemini-flash-latest"
	default:
		return "MODEL"
	}
}

// diagnoseRunners finds out which runners of the config could run now.
func (a *app) diagnoseRunners(p *project) ([]finding, error) {
	shop, err := a.workshop(p, string(runner.CacheOff), 1, false, p.redactor(nil))
	if err != nil {
		return nil, err
	}
	defer shop.close()
	var found []finding
	for _, c := range p.config.Runners {
		f := finding{Kind: "runner", Name: c.ID, OK: true, CanRun: "plumb run --runner " + report.ShellWord(c.ID)}
		switch {
		case c.Model != "":
			f.Status = c.Model
		case c.Agent != nil:
			f.Status = c.Agent.Type + ":" + c.Agent.Model
		case c.Replay != "":
			f.Status = "a recording of run " + c.Replay
			if c.Replay, err = run.Find(p.runs(), c.Replay); err != nil {
				f.OK, f.Fix = false, plumb.Hint(err)
			}
		default:
			f.Status = strings.Join(c.Command, " ")
		}
		if f.OK {
			if _, err := runner.New(c, shop.env); err != nil {
				f.OK, f.CanRun, f.Status, f.Fix = false, "", f.Status+": "+err.Error(), plumb.Hint(err)
			}
		}
		f.Status = report.Line(shop.redact.String(f.Status), 100)
		found = append(found, f)
	}
	return found, nil
}

// diagnoseProject looks at the folder. broken is why its config cannot be read.
func (a *app) diagnoseProject(p *project, broken error) finding {
	f := finding{Kind: "project", Name: "folder", OK: true}
	switch {
	case broken != nil:
		f.OK, f.Status, f.Fix = false, "the config cannot be read: "+firstLine(broken.Error()), "plumb validate"
	case p.config.Path == "":
		f.Status, f.Fix = "no config here or above", "plumb init"
	default:
		f.Status = fmt.Sprintf("config %s with %s and %s", a.shown(p.config.Path), plural(len(p.config.Runners), "runner"),
			plural(len(p.config.Suites), "suite"))
		f.Path = p.config.Path
	}
	if err := writable(p.root); err != nil {
		f.OK, f.Status, f.Fix = false, "cannot write "+a.shown(p.root)+": "+err.Error(), "choose another place with --output-dir"
	}
	return f
}

// writable reports whether runs can be kept in dir, without leaving anything behind.
func writable(dir string) error {
	for !exists(dir) {
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".plumb-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// diagnoseMachine says how surely what an agent starts is ended with its session.
func diagnoseMachine() finding {
	return finding{Kind: "machine", Name: "processes", OK: true, Status: "held together by " + proc.Means()}
}

func (a *app) showDiagnosis(p *project, found []finding) {
	titles := map[string]string{
		"provider": "Providers", "server": "Servers on this machine", "agent": "Agent CLIs",
		"runner": "Runners of the config", "machine": "This machine", "project": "This folder",
	}
	kind := ""
	runnable, able := "", 0
	for _, k := range []string{"provider", "server", "agent", "runner", "machine", "project"} {
		for _, f := range found {
			if f.Kind != k {
				continue
			}
			if k != kind {
				kind = k
				fmt.Fprintf(a.Stdout, "%s\n", titles[k])
			}
			mark := "-"
			if f.OK || f.Kind == "agent" && f.Version != "" {
				mark = "+"
			}
			fmt.Fprintf(a.Stdout, "  %s %-18s %s\n", mark, f.Name, f.Status)
			if f.CanRun != "" {
				fmt.Fprintf(a.Stdout, "    %-18s runs: %s\n", "", f.CanRun)
			}
			switch {
			case !f.OK || f.CanRun == "":
			case f.Kind == "runner":
				if able++; able == 1 {
					runnable = f.CanRun
				}
			case runnable == "":
				runnable = "plumb run " + f.CanRun
			}
			if f.Fix != "" && !f.OK {
				fmt.Fprintf(a.Stdout, "    %-18s fix:  %s\n", "", f.Fix)
			}
		}
	}
	fmt.Fprintln(a.Stdout)
	if runnable == "" {
		fmt.Fprintln(a.Stdout, "Nothing can be asked yet: set one key, or start one server. Without either: plumb demo")
		return
	}
	if able > 0 && able == len(p.config.Runners) {
		runnable = "plumb run"
	}
	if len(p.config.Suites) == 0 {
		runnable += " --tier cheap"
	}
	fmt.Fprintln(a.Stdout, "Ready. Try:", runnable)
}
