// Package proof tries the adapters of agents. An agent runs two sessions with a scripted model: one
// with actions, and one that only talks about them. The adapter is right if its reports have the
// actions that happened, and no others. The package hides the scripts, and how an agent reaches no
// other model.
package proof

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
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	// timeLimit limits one session. The slowest agent takes some seconds on an idle machine.
	timeLimit = 2 * time.Minute
	// keyEnv is the environment variable with the key for the scripted model, which is not a
	// secret.
	keyEnv = "PLUMB_PROOF_KEY"

	prompt    = "This is a check of your tools. Begin."
	command   = "echo plumb-was-here"
	fileName  = "plumb-proof.txt"
	skillName = "plumb-proof"
	done      = "The check is done."
	// probe asks for a skill that does not exist, as agents do before they decide. Nothing of it
	// may count as read or as used.
	probe = "cat .agents/skills/plumb-absent/SKILL.md 2>/dev/null || echo none"
	// talk mentions each action and does nothing: a wrong adapter reports the words as
	// actions.
	talk = "I could run `" + command + "`, read " + fileName + " and use the skill " + skillName +
		", but I only asked whether another skill exists."
)

// Result is the result for the adapter of one agent. Its keys are documented.
type Result struct {
	Config  plumb.RunnerConfig `json:"-"`
	Name    string             `json:"name"`
	Agent   string             `json:"agent"`
	Version string             `json:"version,omitempty"`
	Path    string             `json:"path,omitempty"`
	// OK means that the adapter reports each action that happened, and no other.
	OK      bool     `json:"ok"`
	Detects []Detect `json:"detects,omitempty"`
	// Unproven is the reason why the adapter could not be tried. It is not an error of the adapter.
	Unproven string `json:"unproven,omitempty"`
	Error    string `json:"error,omitempty"`
	Hint     string `json:"hint,omitempty"`
	// Ms is the duration of both sessions.
	Ms int64 `json:"durationMs,omitempty"`
	// Misreports means that the adapter is wrong, and not the agent or the machine.
	Misreports bool `json:"-"`
}

// Detect describes one kind of action. Yes means that the report of a session with the action has
// it, and No that the report of a session without the action does not.
type Detect struct {
	What string `json:"what"`
	Yes  bool   `json:"yes"`
	No   bool   `json:"no"`
}

// All tries the adapters of the agents, as many at once as there are processors. The results are in
// the order of the configurations.
func All(ctx context.Context, configs []plumb.RunnerConfig, env agent.Env) []Result {
	results := make([]Result, len(configs))
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	var all sync.WaitGroup
	for i, c := range configs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = try(ctx, c, env)
		})
	}
	all.Wait()
	return results
}

// try tries the adapter of one agent.
func try(ctx context.Context, c plumb.RunnerConfig, env agent.Env) Result {
	p := Result{Config: c, Name: cmp.Or(c.ID, c.Agent.Type), Agent: c.Agent.Type, Path: c.Agent.Command}
	spec, err := agent.Find(c.Agent.Type)
	if err != nil {
		p.Error, p.Hint = err.Error(), plumb.Hint(err)
		return p
	}
	if p.Unproven = spec.Proof.Impossible; p.Unproven != "" {
		return p
	}
	began := time.Now()
	err = p.run(ctx, c, spec, env)
	p.Ms = time.Since(began).Milliseconds()
	if err != nil {
		p.Error, p.Hint = err.Error(), plumb.Hint(err)
		f, ok := errors.AsType[*plumb.Failure](err)
		p.Misreports = len(p.Detects) > 0 || ok && f.Origin == plumb.OriginNormalization
	}
	p.OK = err == nil
	return p
}

// run runs both sessions and compares their reports.
func (p *Result) run(ctx context.Context, c plumb.RunnerConfig, spec agent.Spec, env agent.Env) error {
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
		d := Detect{What: what, Yes: slices.Contains(did, what), No: !slices.Contains(talked, what)}
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
func (p *Result) session(
	ctx context.Context, dir string, c plumb.RunnerConfig, spec agent.Spec, env agent.Env,
	server *agentscript.Server, address string, does bool,
) (found []string, refused []plumb.SessionEvent, err error) {
	turns := []agentscript.Turn{{Calls: []agentscript.Call{{Run: probe}}}, {Text: talk}}
	if does {
		turns = []agentscript.Turn{
			{Calls: []agentscript.Call{{Skill: skillName}}},
			{Calls: []agentscript.Call{{Read: fileName}}},
			{Calls: []agentscript.Call{{Run: command}}},
			{Text: done},
		}
	}
	script := filepath.Base(dir)
	path, err := server.Add(agentscript.Script{
		Name: script, Scenes: []agentscript.Scene{{Prompt: prompt, Turns: turns}},
	})
	if err != nil {
		return nil, nil, err
	}
	workspace, artifacts := filepath.Join(dir, "workspace"), filepath.Join(dir, "artifacts")
	skill := filepath.Join(dir, "skills", skillName)
	for _, d := range []string{workspace, artifacts, skill} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, nil, err
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(workspace, fileName), []byte("This file is for a check of the agent.\n"), 0o600),
		os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: "+skillName+
			"\ndescription: Checks that skills are seen.\n---\nGo on.\n"), 0o600),
	); err != nil {
		return nil, nil, err
	}
	runner, err := agent.New(ctx, scripted(c, address+path+spec.Proof.Path), scriptedEnv(env))
	if err != nil {
		return nil, nil, err
	}
	rep, err := runner.Run(ctx, plumb.Request{
		CaseID: "doctor", Repetition: 1, Session: 1,
		Messages:  []plumb.Message{{Role: plumb.RoleUser, Content: prompt}},
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
	want := talk
	if does {
		want = done
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
	return seen(rep, filepath.Join(workspace, fileName)), refused, nil
}

// seen lists the actions in a report. In the session without actions, any action counts.
func seen(rep *plumb.SessionReport, file string) []string {
	did := rep.FinalOutput == done
	var found []string
	for _, e := range rep.Events {
		switch {
		case e.Type == plumb.SessionCommand && (!did && e.Command != probe || e.Command == command):
			found = append(found, "command")
		case e.Type == plumb.SessionFileRead && (!did || e.Path == file):
			found = append(found, "file read")
		}
	}
	for _, s := range rep.DetectedSkills {
		if !did || s.Skill == skillName {
			found = append(found, "skill")
		}
	}
	return found
}

// scripted returns the program and the arguments of c, without settings that lead to another
// model than the scripted one.
func scripted(c plumb.RunnerConfig, address string) plumb.RunnerConfig {
	own := *c.Agent // keep its model: an agent offers different tools to different models
	own.Skills, own.MCPServers, own.InheritConfig, own.Permissions = nil, nil, false, ""
	own.BaseURL, own.APIKeyEnv = address, keyEnv
	own.Env = maps.Clone(own.Env)
	maps.DeleteFunc(own.Env, func(name, _ string) bool { return leadsElsewhere(name) })
	c.Agent, c.TimeoutMs, c.MaxParallel = &own, timeLimit.Milliseconds(), 0
	return c
}

// scriptedEnv returns env without variables that lead to another model than the scripted one.
func scriptedEnv(env agent.Env) agent.Env {
	getenv, environ := env.Getenv, env.Environ
	env.Getenv = func(name string) string {
		switch {
		case name == keyEnv:
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
		return append(kept, keyEnv+"=no-secret")
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
