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
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	// proofTime limits one session. The slowest agent takes some seconds on an idle machine.
	proofTime = 2 * time.Minute
	// proofKey is the environment variable with the key for the scripted model, which is not a
	// secret.
	proofKey = "PLUMB_PROOF_KEY"

	proofPrompt  = "This is a check of your tools. Begin."
	proofCommand = "echo plumb-was-here"
	proofFile    = "plumb-proof.txt"
	proofSkill   = "plumb-proof"
	proofDone    = "The check is done."
	// proofProbe asks for a skill that does not exist, as agents do before they decide. Nothing of it
	// may count as read or as used.
	proofProbe = "cat .agents/skills/plumb-absent/SKILL.md 2>/dev/null || echo none"
	// proofTalk mentions each action and does nothing: a wrong adapter reports the words as
	// actions.
	proofTalk = "I could run `" + proofCommand + "`, read " + proofFile + " and use the skill " + proofSkill +
		", but I only asked whether another skill exists."
)

// proof is the result for the adapter of one agent. Its keys are documented.
type proof struct {
	Name    string `json:"name"`
	Agent   string `json:"agent"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	// OK means that the adapter reports each action that happened, and no other.
	OK      bool     `json:"ok"`
	Detects []detect `json:"detects,omitempty"`
	// Unproven is the reason why the adapter could not be tried. It is not an error of the adapter.
	Unproven string `json:"unproven,omitempty"`
	Error    string `json:"error,omitempty"`
	Hint     string `json:"hint,omitempty"`
	// Ms is the duration of both sessions.
	Ms int64 `json:"durationMs,omitempty"`
	// misreports means that the adapter is wrong, and not the agent or the machine.
	misreports bool
}

// detect describes one kind of action. Yes means that the report of a session with the action has
// it, and No that the report of a session without the action does not.
type detect struct {
	What string `json:"what"`
	Yes  bool   `json:"yes"`
	No   bool   `json:"no"`
}

// runAgents runs two scripted sessions with each agent CLI that is installed or configured, and
// reports whether its adapter sees the actions that happened, and no others. The exit code is 1 if
// an adapter does not, and 3 if there is no adapter to try.
func (c *doctorCmd) runAgents(ctx context.Context, p *job.Project) error {
	var configs []plumb.RunnerConfig
	configured := map[string]bool{}
	for _, r := range p.Config.Runners {
		if r.Agent != nil {
			configs = append(configs, r)
			configured[r.Agent.Type] = true
		}
	}
	for _, spec := range agent.All() {
		if _, ok := p.AgentPath(spec.Name, ""); ok && !configured[spec.Name] {
			configs = append(configs, plumb.RunnerConfig{
				ID: spec.Name, Agent: &plumb.AgentConfig{Type: spec.Name, Model: spec.Proof.Model},
			})
		}
	}
	interrupted := interrupts{app: c.app}
	limited, _, ended := interrupted.watch(ctx)
	proofs := make([]proof, len(configs))
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	var all sync.WaitGroup
	for i, r := range configs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			proofs[i] = proveAgent(limited, r, agent.Env{Getenv: p.Getenv, Environ: p.Environ, Dir: c.Dir})
			proofs[i].Path, _ = p.AgentPath(r.Agent.Type, r.Agent.Command)
		})
	}
	all.Wait()
	ended()
	if code := interrupted.code(); code != exitOK || ctx.Err() != nil {
		return cmp.Or(exit(code), ctx.Err())
	}
	kept := make([]job.Proof, len(proofs))
	for i, f := range proofs {
		kept[i] = job.Proof{Config: configs[i], Version: f.Version, Error: f.Error, OK: f.OK, Misreports: f.misreports}
	}
	if err := p.KeepDistrust(ctx, kept); err != nil {
		return err
	}
	if c.json {
		if err := c.print(proofs); err != nil {
			return err
		}
	} else {
		c.showProofs(proofs)
	}
	switch {
	case slices.ContainsFunc(proofs, func(p proof) bool { return !p.OK && p.Unproven == "" }):
		return exit(exitFailed)
	case !slices.ContainsFunc(proofs, func(p proof) bool { return p.OK }):
		return exit(exitNotMeasured)
	}
	return nil
}

func (c *doctorCmd) showProofs(proofs []proof) {
	if len(proofs) == 0 {
		fmt.Fprintln(c.Stdout, "No agent CLI is on the PATH, and the config has no agents.")
		for _, spec := range agent.All() {
			fmt.Fprintf(c.Stdout, "  %-14s %s\n", spec.Name, spec.Install)
		}
		return
	}
	fmt.Fprintln(c.Stdout, "Agents, each in a session with these actions and in a session that only talks about them, "+
		"with a scripted model:")
	fmt.Fprintf(c.Stdout, "  %-16s %-12s %-14s %-14s %s\n", "", "version", "command", "file read", "skill")
	for _, p := range proofs {
		fmt.Fprintf(c.Stdout, "  %-16s %-12s", c.line(p.Name, 16), cmp.Or(p.Version, "?"))
		for _, d := range p.Detects {
			word := "ok"
			switch {
			case !d.Yes && !d.No:
				word = "WRONG"
			case !d.Yes:
				word = "missed"
			case !d.No:
				word = "false positive"
			}
			fmt.Fprintf(c.Stdout, " %-14s", word)
		}
		switch {
		case p.Unproven != "":
			fmt.Fprintf(c.Stdout, " %-44s", "not tried")
		case len(p.Detects) == 0:
			fmt.Fprintf(c.Stdout, " %-44s", "not measured")
		}
		fmt.Fprintf(c.Stdout, " %s\n", c.clean(p.Path))
		for _, line := range []string{p.Unproven, p.Error, p.Hint} {
			if line != "" {
				fmt.Fprintf(c.Stdout, "    %s\n", c.indent(line, 4))
			}
		}
	}
	fmt.Fprintln(c.Stdout)
	if slices.ContainsFunc(proofs, func(p proof) bool { return p.misreports }) {
		fmt.Fprintln(c.Stdout, "Plumb cannot measure an agent whose actions it misses or invents: "+
			"runs report its sessions as errors until this check passes.")
		return
	}
	fmt.Fprintln(c.Stdout, "\"ok\" means that Plumb reported the action when it happened, and not when it did not.")
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
		p.misreports = len(p.Detects) > 0 || ok && f.Origin == plumb.OriginNormalization
	}
	p.OK = err == nil
	return p
}

// try runs both sessions and compares their reports.
func (p *proof) try(ctx context.Context, c plumb.RunnerConfig, spec agent.Spec, env agent.Env) error {
	root, err := proc.TempDoctor.Dir()
	if err != nil {
		return fmt.Errorf("make a directory for the proof: %w", err)
	}
	defer os.RemoveAll(root)
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	server := &agentscript.Server{}
	address, stop, err := serveScripts(ctx, server)
	if err != nil {
		return err
	}
	defer stop()
	did, refused, err := p.session(ctx, filepath.Join(root, "did"), c, spec, env, server, address, true)
	if err != nil {
		return fmt.Errorf("the session with the actions: %w", err)
	}
	if len(refused) > 0 {
		return refusedError(refused)
	}
	talked, _, err := p.session(ctx, filepath.Join(root, "talked"), c, spec, env, server, address, false)
	if err != nil {
		return fmt.Errorf("the session without actions: %w", err)
	}
	var wrong []string
	for _, what := range []string{"command", "file read", "skill"} {
		d := detect{What: what, Yes: slices.Contains(did, what), No: !slices.Contains(talked, what)}
		p.Detects = append(p.Detects, d)
		if !d.Yes {
			wrong = append(wrong, "the report misses a "+what+" that happened")
		}
		if !d.No {
			wrong = append(wrong, "the report has a "+what+" that did not happen")
		}
	}
	if len(wrong) > 0 {
		return plumb.WithHint(errors.New(strings.Join(wrong, "; ")),
			"this version of the agent has a new transcript format: "+
				"use a version that Plumb supports, or a newer Plumb")
	}
	return nil
}

// refusedError returns the error of an agent whose own tools failed, so that there was no action to
// report.
func refusedError(refused []plumb.SessionEvent) error {
	var all []string
	hint := "run the agent by hand and use the tool, to see what it lacks"
	for _, e := range refused {
		all = append(all, fmt.Sprintf("%s: %s", e.Tool, text.Line(e.Output, 200)))
		if strings.Contains(strings.ToLower(e.Output), "ripgrep") {
			hint = "install ripgrep, so that rg is on the PATH: apt-get install ripgrep, brew install ripgrep, or " +
				"winget install BurntSushi.ripgrep.MSVC"
		}
	}
	return plumb.WithHint(fmt.Errorf("tools of the agent failed, so that Plumb could not test what it reports of them: %s",
		strings.Join(all, "; ")), hint)
}

// serveScripts serves the scripted models on this machine until stop is called.
func serveScripts(ctx context.Context, server *agentscript.Server) (address string, stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve the scripted model: %w", err)
	}
	hs := &http.Server{
		Handler: server, ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = hs.Serve(l) }) // it ends with Close
	return "http://" + l.Addr().String(), func() {
		_ = hs.Close()
		serving.Wait()
	}, nil
}

// session runs one session in dir, and returns the actions in its report, and the results of tools
// that failed.
func (p *proof) session(
	ctx context.Context, dir string, c plumb.RunnerConfig, spec agent.Spec, env agent.Env,
	server *agentscript.Server, address string, does bool,
) (found []string, refused []plumb.SessionEvent, err error) {
	turns := []agentscript.Turn{{Calls: []agentscript.Call{{Run: proofProbe}}}, {Text: proofTalk}}
	if does {
		turns = []agentscript.Turn{
			{Calls: []agentscript.Call{{Skill: proofSkill}}},
			{Calls: []agentscript.Call{{Read: proofFile}}},
			{Calls: []agentscript.Call{{Run: proofCommand}}},
			{Text: proofDone},
		}
	}
	script := filepath.Base(dir)
	path, err := server.Add(agentscript.Script{
		Name: script, Scenes: []agentscript.Scene{{Prompt: proofPrompt, Turns: turns}},
	})
	if err != nil {
		return nil, nil, err
	}
	workspace, artifacts := filepath.Join(dir, "workspace"), filepath.Join(dir, "artifacts")
	skill := filepath.Join(dir, "skills", proofSkill)
	for _, d := range []string{workspace, artifacts, skill} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, nil, err
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(workspace, proofFile), []byte("This file is for a check of the agent.\n"), 0o600),
		os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: "+proofSkill+
			"\ndescription: Checks that skills are seen.\n---\nGo on.\n"), 0o600),
	); err != nil {
		return nil, nil, err
	}
	//nolint:contextcheck // finding a version has its own time limit
	runner, err := agent.New(proofConfig(c, address+path+spec.Proof.Path), proofEnv(env))
	if err != nil {
		return nil, nil, err
	}
	rep, err := runner.Run(ctx, plumb.Request{
		CaseID: "doctor", Repetition: 1, Session: 1,
		Messages:  []plumb.Message{{Role: plumb.RoleUser, Content: proofPrompt}},
		Workspace: workspace, ArtifactDir: artifacts, Skills: []string{skill},
	})
	if rep != nil {
		p.Version = rep.AgentVersion
	}
	if err != nil {
		return nil, nil, err
	}
	if problems := server.Problems(script); len(problems) > 0 {
		return nil, nil, fmt.Errorf("the script of the model failed: %s", strings.Join(problems, "; "))
	}
	if len(server.Requests(script)) == 0 {
		return nil, nil, plumb.WithHint(errors.New("the agent did not call the scripted model"),
			"check whether its configuration names another address")
	}
	want := proofTalk
	if does {
		want = proofDone
	}
	if rep.FinalOutput != want {
		return nil, nil, fmt.Errorf("the model's last message was %q, but the report has %q", want,
			text.Line(rep.FinalOutput, 100))
	}
	for _, e := range rep.Events {
		if does && e.Type == plumb.SessionToolResult && e.IsError {
			refused = append(refused, e)
		}
	}
	return seen(rep, filepath.Join(workspace, proofFile)), refused, nil
}

// seen lists the actions in a report. In the session without actions, any action counts.
func seen(rep *plumb.SessionReport, file string) []string {
	did := rep.FinalOutput == proofDone
	var found []string
	for _, e := range rep.Events {
		switch {
		case e.Type == plumb.SessionCommand && (!did && e.Command != proofProbe || e.Command == proofCommand):
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

// proofConfig returns the program and the arguments of c, without settings that lead to another
// model than the scripted one.
func proofConfig(c plumb.RunnerConfig, address string) plumb.RunnerConfig {
	own := *c.Agent // keep its model: an agent offers different tools to different models
	own.Skills, own.MCPServers, own.InheritConfig, own.Permissions = nil, nil, false, ""
	own.BaseURL, own.APIKeyEnv = address, proofKey
	own.Env = maps.Clone(own.Env)
	maps.DeleteFunc(own.Env, func(name, _ string) bool { return leadsElsewhere(name) })
	c.Agent, c.TimeoutMs, c.MaxParallel = &own, proofTime.Milliseconds(), 0
	return c
}

// proofEnv returns env without variables that lead to another model than the scripted one.
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

// leadsElsewhere reports whether a variable selects a provider, a model or an account.
func leadsElsewhere(name string) bool {
	for _, prefix := range []string{
		"ANTHROPIC_", "OPENAI_", "AZURE_", "GEMINI_", "GOOGLE_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH", "CODEX_API",
		"COPILOT_PROVIDER_", "COPILOT_MODEL", "OPENCODE_CONFIG",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
