package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/report"
)

const (
	// proofTime limits one session of a proof. The slowest agent takes some seconds on an idle machine.
	proofTime = 2 * time.Minute
	// proofKey is the environment variable with the key for the scripted model, which is no secret.
	proofKey = "PLUMB_PROOF_KEY"

	proofPrompt  = "This is a check of your tools. Begin."
	proofCommand = "echo plumb-was-here"
	proofFile    = "plumb-proof.txt"
	proofSkill   = "plumb-proof"
	proofDone    = "The check is done."
	// proofTalk names everything and does nothing: an adapter that takes words for deeds reports it.
	proofTalk = "I could run `" + proofCommand + "`, read " + proofFile + " and use the skill " + proofSkill + ", but I did not."
)

// proof is what the doctor found out about the adapter of one agent.
type proof struct {
	Name    string `json:"name"`
	Agent   string `json:"agent"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	// OK says that the adapter detects each of Detects where it took place, and nothing where it did not.
	OK      bool     `json:"ok"`
	Detects []detect `json:"detects,omitempty"`
	// Unproven says why nothing could be tried; that is no failure of the adapter.
	Unproven string `json:"unproven,omitempty"`
	Error    string `json:"error,omitempty"`
	Hint     string `json:"hint,omitempty"`
	// Ms is how long the two sessions took.
	Ms int64 `json:"durationMs,omitempty"`
	// distrust says that the adapter itself fails, and not something around it.
	distrust bool
}

// detect says whether an adapter reports one kind of event, in a session that has it and in one that has not.
type detect struct {
	What string `json:"what"`
	Yes  bool   `json:"yes"`
	No   bool   `json:"no"`
}

// doctorAgents has every agent CLI that is installed or configured play two scripted sessions, and says whether its adapter
// sees what took place and nothing else. The exit code is 1 when an adapter does not, and 3 when there is none to try.
func (a *app) doctorAgents(ctx context.Context, p *project) error {
	var configs []plumb.RunnerConfig
	configured := map[string]bool{}
	for _, c := range p.config.Runners {
		if c.Agent != nil {
			configs = append(configs, c)
			configured[c.Agent.Type] = true
		}
	}
	for _, spec := range agent.All() {
		if _, ok := a.agentPath(p, spec.Name, ""); ok && !configured[spec.Name] {
			configs = append(configs, plumb.RunnerConfig{ID: spec.Name, Agent: &plumb.AgentConfig{Type: spec.Name, Model: spec.Proof.Model}})
		}
	}
	limited, over := a.untilSignal(ctx)
	proofs := make([]proof, len(configs))
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	var all sync.WaitGroup
	for i, c := range configs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			proofs[i] = proveAgent(limited, c, agent.Env{Getenv: p.getenv, Environ: p.environ, Dir: a.Dir})
			proofs[i].Path, _ = a.agentPath(p, c.Agent.Type, c.Agent.Command)
		})
	}
	all.Wait()
	switch signal := over(); {
	case signal == syscall.SIGTERM:
		return exit(exitTerminated)
	case signal != nil:
		return exit(exitInterrupted)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if err := a.keepDistrust(p, configs, proofs); err != nil {
		return err
	}
	if a.json {
		if err := a.print(proofs); err != nil {
			return err
		}
	} else {
		a.showProofs(proofs)
	}
	switch {
	case slices.ContainsFunc(proofs, func(p proof) bool { return !p.OK && p.Unproven == "" }):
		return exit(exitFailed)
	case !slices.ContainsFunc(proofs, func(p proof) bool { return p.OK }):
		return exit(exitNotMeasured)
	}
	return nil
}

// untilSignal returns a context that ends with the first signal, or when the reader of the output leaves, so that agents
// are ended too, and what to call at the end, which returns the signal if there was one.
func (a *app) untilSignal(ctx context.Context) (context.Context, func() os.Signal) {
	signals, stop := a.signals()
	limited, cancel := context.WithCancel(ctx)
	finished := make(chan struct{})
	var first os.Signal
	var watching sync.WaitGroup
	watching.Go(func() {
		defer stop()
		select {
		case first = <-signals:
			cancel()
		case <-a.readerLeft:
			first = syscall.SIGPIPE
			cancel()
		case <-finished:
		}
	})
	return limited, func() os.Signal {
		close(finished)
		watching.Wait()
		cancel()
		return first
	}
}

// agentPath finds the program of an agent; command is the one that the config names, or "".
func (a *app) agentPath(p *project, name, command string) (string, bool) {
	if strings.ContainsAny(command, `/\`) {
		path := a.path(command)
		return path, exists(path)
	}
	programs := []string{command}
	if spec, err := agent.Find(name); command == "" && err == nil {
		programs = spec.Programs
	}
	for _, program := range programs {
		if path, ok := lookPath(program, p.getenv("PATH"), a.Dir); ok {
			return path, true
		}
	}
	return "", false
}

func (a *app) showProofs(proofs []proof) {
	if len(proofs) == 0 {
		fmt.Fprintln(a.Stdout, "No agent CLI is on the PATH, and the config has no agents.")
		for _, spec := range agent.All() {
			fmt.Fprintf(a.Stdout, "  %-14s %s\n", spec.Name, spec.Install)
		}
		return
	}
	fmt.Fprintln(a.Stdout, "Agents, each in one session that does all of this and in one that only talks of it, with a scripted model:")
	fmt.Fprintf(a.Stdout, "  %-16s %-12s %-12s %-12s %s\n", "", "version", "command", "file read", "skill")
	for _, p := range proofs {
		fmt.Fprintf(a.Stdout, "  %-16s %-12s", a.line(p.Name, 16), cmp.Or(p.Version, "?"))
		for _, d := range p.Detects {
			word := "yes and no"
			switch {
			case !d.Yes && !d.No:
				word = "WRONG"
			case !d.Yes:
				word = "MISSES IT"
			case !d.No:
				word = "IMAGINES IT"
			}
			fmt.Fprintf(a.Stdout, " %-12s", word)
		}
		switch {
		case p.Unproven != "":
			fmt.Fprintf(a.Stdout, " %-38s", "not proven")
		case len(p.Detects) == 0:
			fmt.Fprintf(a.Stdout, " %-38s", "not measured")
		}
		fmt.Fprintf(a.Stdout, " %s\n", a.clean(p.Path))
		for _, line := range []string{p.Unproven, p.Error, p.Hint} {
			if line != "" {
				fmt.Fprintf(a.Stdout, "    %s\n", a.indent(line, 4))
			}
		}
	}
	fmt.Fprintln(a.Stdout)
	if slices.ContainsFunc(proofs, func(p proof) bool { return !p.OK && p.Unproven == "" }) {
		fmt.Fprintln(a.Stdout, "What an agent did cannot be told where its adapter fails: its sessions are errors until the doctor finds it well.")
		return
	}
	fmt.Fprintln(a.Stdout, "An adapter that says \"yes and no\" reports what took place, and does not report what did not.")
}

// proveAgent tries the adapter of one agent.
func proveAgent(ctx context.Context, c plumb.RunnerConfig, env agent.Env) proof {
	p := proof{Name: cmp.Or(c.ID, c.Agent.Type), Agent: c.Agent.Type, Path: c.Agent.Command}
	spec, err := agent.Find(c.Agent.Type)
	if err != nil {
		p.Error, p.Hint = err.Error(), plumb.Hint(err)
		return p
	}
	if p.Unproven = spec.Proof.Impossible; p.Unproven != "" {
		return p
	}
	began := time.Now()
	err = p.try(ctx, c, spec, env)
	p.Ms = time.Since(began).Milliseconds()
	if err != nil {
		p.Error, p.Hint = err.Error(), plumb.Hint(err)
		f, ok := errors.AsType[*plumb.Failure](err)
		p.distrust = len(p.Detects) > 0 || ok && f.Origin == plumb.OriginNormalization
	}
	p.OK = err == nil
	return p
}

// try has both sessions and compares them.
func (p *proof) try(ctx context.Context, c plumb.RunnerConfig, spec agent.Spec, env agent.Env) error {
	root, err := os.MkdirTemp("", "plumb-doctor-")
	if err != nil {
		return fmt.Errorf("make a directory for the proof: %w", err)
	}
	defer os.RemoveAll(root)
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	server := fakemodel.NewAgents(fakemodel.Options{})
	address, stop, err := serveScripts(ctx, server)
	if err != nil {
		return err
	}
	defer stop()
	did, err := p.session(ctx, filepath.Join(root, "did"), c, spec, env, server, address, true)
	if err != nil {
		return fmt.Errorf("a session that does all of it: %w", err)
	}
	talked, err := p.session(ctx, filepath.Join(root, "talked"), c, spec, env, server, address, false)
	if err != nil {
		return fmt.Errorf("a session that only talks: %w", err)
	}
	var wrong []string
	for _, what := range []string{"command", "file read", "skill"} {
		d := detect{What: what, Yes: slices.Contains(did, what), No: !slices.Contains(talked, what)}
		p.Detects = append(p.Detects, d)
		if !d.Yes {
			wrong = append(wrong, "a "+what+" that took place is not in the report")
		}
		if !d.No {
			wrong = append(wrong, "a "+what+" that did not take place is in the report")
		}
	}
	if len(wrong) > 0 {
		return plumb.WithHint(errors.New(strings.Join(wrong, "; ")),
			"this version of the agent writes its transcripts in a new way: use one that plumb knows, or a newer plumb")
	}
	return nil
}

// serveScripts serves the scripts on this machine until stop is called.
func serveScripts(ctx context.Context, server *fakemodel.Agents) (address string, stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve the scripted model: %w", err)
	}
	hs := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = hs.Serve(l) }) // it ends with Close
	return "http://" + l.Addr().String(), func() {
		server.Release()
		_ = hs.Close()
		serving.Wait()
	}, nil
}

// session has one session in dir, and returns what the report says that took place.
func (p *proof) session(ctx context.Context, dir string, c plumb.RunnerConfig, spec agent.Spec, env agent.Env,
	server *fakemodel.Agents, address string, does bool,
) ([]string, error) {
	turns := []fakemodel.Turn{{Text: proofTalk}}
	if does {
		turns = []fakemodel.Turn{
			{Calls: []fakemodel.Call{{Skill: proofSkill}}},
			{Calls: []fakemodel.Call{{Read: proofFile}}},
			{Calls: []fakemodel.Call{{Run: proofCommand}}},
			{Text: proofDone},
		}
	}
	script := filepath.Base(dir)
	path, err := server.Add(fakemodel.Script{Name: script, Scenes: []fakemodel.Scene{{Prompt: proofPrompt, Turns: turns}}})
	if err != nil {
		return nil, err
	}
	workspace, artifacts, skill := filepath.Join(dir, "workspace"), filepath.Join(dir, "artifacts"), filepath.Join(dir, "skills", proofSkill)
	for _, d := range []string{workspace, artifacts, skill} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(workspace, proofFile), []byte("This file is for a check of the agent.\n"), 0o600),
		os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: "+proofSkill+"\ndescription: Checks that skills are seen.\n---\nGo on.\n"), 0o600),
	); err != nil {
		return nil, err
	}
	runner, err := agent.New(proofConfig(c, address+path+spec.Proof.Path), proofEnv(env)) //nolint:contextcheck // it asks for a version at most
	if err != nil {
		return nil, err
	}
	rep, err := runner.Run(ctx, plumb.Request{
		CaseID: "doctor", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: proofPrompt}}, Repetition: 1, Session: 1,
		Workspace: workspace, ArtifactDir: artifacts, Skills: []string{skill},
	})
	if rep != nil {
		p.Version = rep.AgentVersion
	}
	if err != nil {
		return nil, err
	}
	if problems := server.Problems(script); len(problems) > 0 {
		return nil, fmt.Errorf("the script could not be played: %s", strings.Join(problems, "; "))
	}
	if len(server.Requests(script)) == 0 {
		return nil, plumb.WithHint(errors.New("the agent did not ask the scripted model"), "see whether its configuration names another address")
	}
	want := proofTalk
	if does {
		want = proofDone
	}
	if rep.FinalOutput != want {
		return nil, fmt.Errorf("the model's last words were %q, and the report says %q", want, report.Line(rep.FinalOutput, 100))
	}
	return seen(rep, filepath.Join(workspace, proofFile)), nil
}

// seen lists what a report says that took place: anything counts in a session in which nothing did.
func seen(rep *plumb.SessionReport, file string) []string {
	did := rep.FinalOutput == proofDone
	var found []string
	for _, e := range rep.Events {
		switch {
		case e.Type == plumb.SessionCommand && (!did || e.Command == proofCommand):
			found = append(found, "command")
		case e.Type == plumb.SessionFileRead && (!did || e.Path == file):
			found = append(found, "file read")
		}
	}
	for _, s := range rep.DetectedSkills {
		if !did || s.Skill == proofSkill {
			found = append(found, "skill")
		}
	}
	return found
}

// proofConfig is the configuration of a proof: the program, the arguments and the version of c, and nothing that leads
// elsewhere than to the scripted model.
func proofConfig(c plumb.RunnerConfig, address string) plumb.RunnerConfig {
	own := *c.Agent // with its own model: an agent offers other tools to other models
	own.Skills, own.MCPServers, own.InheritConfig, own.Permissions = nil, nil, false, ""
	own.BaseURL, own.APIKeyEnv = address, proofKey
	own.Env = maps.Clone(own.Env)
	maps.DeleteFunc(own.Env, func(name, _ string) bool { return leadsElsewhere(name) })
	c.Agent, c.TimeoutMs, c.MaxParallel = &own, proofTime.Milliseconds(), 0
	return c
}

// proofEnv is the environment of a proof.
func proofEnv(env agent.Env) agent.Env {
	getenv, environ := env.Getenv, env.Environ
	env.Getenv = func(name string) string {
		switch {
		case name == proofKey:
			return "no-secret"
		case leadsElsewhere(name):
			return ""
		default:
			return getenv(name)
		}
	}
	env.Environ = func() []string {
		kept := slices.DeleteFunc(environ(), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return leadsElsewhere(name)
		})
		return append(kept, proofKey+"=no-secret")
	}
	env.Shared = nil
	return env
}

// leadsElsewhere reports whether a variable chooses a provider, a model or an account.
func leadsElsewhere(name string) bool {
	for _, prefix := range []string{"ANTHROPIC_", "OPENAI_", "AZURE_", "GEMINI_", "GOOGLE_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH", "CODEX_API", "COPILOT_PROVIDER_", "COPILOT_MODEL", "OPENCODE_CONFIG"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
