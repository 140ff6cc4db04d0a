package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/redact"
)

// scene is a fake agent and what it needs.
type scene struct {
	*testing.T
	dir     string
	cfg     plumb.RunnerConfig
	env     Env
	environ []string
	req     plumb.Request
	marks   string
	notes   []plumb.Note
}

// newScene makes a scene of an agent that does what says. When the test ends, nothing of its
// sessions may be left.
func newScene(t *testing.T, agent, what string) *scene {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, dir: dir, marks: filepath.Join(dir, "marks"), environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "user")}}
	for _, d := range []string{"marks", "workspace", "artifacts", "user"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.cfg = plumb.RunnerConfig{ID: "under test", Agent: &plumb.AgentConfig{
		Type: agent, Model: "gpt-5", Command: os.Args[0],
		Env: map[string]string{fakeEnv: what, "MARKS": s.marks, "DUMP": filepath.Join(dir, "dump.txt")},
	}}
	s.env = Env{Secret: func(name string) bool {
		return strings.Contains(name, "KEY") || strings.Contains(name, "TOKEN") || strings.Contains(name, "PASSWORD")
	}}
	s.req = plumb.Request{
		CaseID: "a-1", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "hello"}}, Repetition: 1, Session: 1,
		Workspace: filepath.Join(dir, "workspace"), ArtifactDir: filepath.Join(dir, "artifacts"), Marker: filepath.Base(filepath.Dir(dir)) + "/1",
	}
	mark := s.req.Marker // which is of this scene alone, whatever the test makes of the request
	t.Cleanup(func() {
		left, err := proc.Reap(func(t proc.Trace) bool { return t.Marker != "" && strings.HasPrefix(t.Marker, mark) })
		if err != nil || len(left) > 0 {
			t.Errorf("processes are left: %v, %v", left, err)
		}
	})
	return s
}

func (s *scene) open() *Runner {
	s.Helper()
	s.env.Getenv, s.env.Environ, s.env.Dir = getenv(s.environ), func() []string { return s.environ }, s.dir
	s.env.Note = func(n plumb.Note) { s.notes = append(s.notes, n) }
	r, err := New(s.Context(), s.cfg, s.env)
	if err != nil {
		s.Fatal(err, plumb.Hint(err))
	}
	// What ends when it is asked to gets all the time that a busy machine may take, what does not
	// gets none.
	r.grace, r.linger = proc.Grace{Interrupt: time.Minute, Terminate: 200 * time.Millisecond}, time.Minute
	if strings.Contains(s.cfg.Agent.Env[fakeEnv], "deaf") {
		r.grace.Interrupt = 300 * time.Millisecond
	}
	if s.cfg.Agent.Env[fakeEnv] == "linger" {
		r.linger = 200 * time.Millisecond
	}
	return r
}

func (s *scene) run(ctx context.Context) (*plumb.SessionReport, error) {
	return s.open().Run(ctx, s.req) //nolint:contextcheck // a runner is made without one
}

// skill makes a skill of the user's and returns its directory.
func (s *scene) skill(name string) string {
	s.Helper()
	dir := filepath.Join(s.dir, "user", "skills", name)
	if err := os.MkdirAll(filepath.Join(dir, "more"), 0o700); err != nil {
		s.Fatal(err)
	}
	for _, file := range []string{"SKILL.md", "more/notes.md"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("---\nname: "+name+"\n---\n"), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	return dir
}

func (s *scene) write(name, content string) string {
	s.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

func failure(t *testing.T, err error) *plumb.Failure {
	t.Helper()
	f, ok := errors.AsType[*plumb.Failure](err)
	if !ok {
		t.Fatalf("error %v, want a failure", err)
	}
	return f
}

func TestRun(t *testing.T) {
	s := newScene(t, "codex", "ok")
	report, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.FinalOutput != "done" || report.SessionID != "01a1f818-fake" || report.AgentVersion != "0.169.0" || *report.Usage.TotalTokens != 11 {
		t.Errorf("%+v", report)
	}
	if report.Runner.Kind != plumb.RunnerAgent || report.Runner.Agent != (plumb.AgentInfo{Type: "codex", Model: "gpt-5"}) || report.Runner.ID != "under test" {
		t.Errorf("runner %+v", report.Runner)
	}
	if report.StartedAt == nil || report.EndedAt.Before(*report.StartedAt) || report.Prompt != "hello" || *report.ExitCode != 0 {
		t.Errorf("from %v to %v: %q", report.StartedAt, report.EndedAt, report.Prompt)
	}
	if report.RawArtifacts.StdoutPath != filepath.Join(s.req.ArtifactDir, "stdout.log") || !transcript.Exists(report.RawArtifacts.StdoutPath) || !transcript.Exists(report.RawArtifacts.StderrPath) {
		t.Errorf("artifacts %+v", report.RawArtifacts)
	}
}

// TestRunNowhere has neither a workspace nor a place for artifacts.
func TestRunNowhere(t *testing.T) {
	s := newScene(t, "codex", "ok")
	s.req.Workspace, s.req.ArtifactDir, s.req.Marker = "", "", ""
	report, err := s.run(t.Context())
	if err != nil || report.FinalOutput != "done" || report.RawArtifacts != (plumb.RawArtifacts{}) {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what    string
		origin  plumb.Origin
		message string
		report  bool
	}{
		{"crash", plumb.OriginRunner, "panicked at", true},
		{"silent 0", plumb.OriginRunner, "without any output", false},
		{"silent 3", plumb.OriginRunner, "exit 3", false},
		{"complain", plumb.OriginRunner, "the moon is full", false},
		{"garbage", plumb.OriginNormalization, "garbage", false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "codex", tt.what)
			report, err := s.run(t.Context())
			if f := failure(t, err); f.Origin != tt.origin || !strings.Contains(f.Message, tt.message) {
				t.Errorf("%s: %s", f.Origin, f.Message)
			} else if tt.origin == plumb.OriginRunner && f.LogPath != filepath.Join(s.req.ArtifactDir, "stderr.log") {
				t.Errorf("log %q", f.LogPath)
			}
			if (report != nil) != tt.report {
				t.Errorf("report %+v", report)
			}
		})
	}
}

func TestNotInstalled(t *testing.T) {
	s := newScene(t, "codex", "ok")
	s.cfg.Agent.Command = "no-such-agent-here"
	if _, err := New(t.Context(), s.cfg, s.env); err == nil || !strings.Contains(err.Error(), "no-such-agent-here") || plumb.Hint(err) == "" {
		t.Error(err)
	}
	s.env.Planning = true
	r, err := New(t.Context(), s.cfg, s.env)
	if err != nil {
		t.Fatal(err, "while planning nothing need be installed")
	}
	if report, err := r.Run(t.Context(), s.req); report != nil || failure(t, err).Origin != plumb.OriginRunner {
		t.Error(report, err)
	}
	// A program that vanishes between the check and the run, and one that is none.
	s.env.Planning = false
	s.cfg.Agent.Command = s.write("agent.sh", "#!/no/such/interpreter\n")
	if err := os.Chmod(s.cfg.Agent.Command, 0o700); err != nil {
		t.Fatal(err)
	}
	r = s.open()
	for range 2 {
		report, err := r.Run(t.Context(), s.req)
		if f := failure(t, err); report != nil || f.Origin != plumb.OriginRunner || !strings.Contains(f.Message, "agent.sh") || f.Hint == "" {
			t.Errorf("%+v, %+v", report, f)
		}
		os.Remove(s.cfg.Agent.Command)
	}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*plumb.AgentConfig)
		want string
	}{
		{"type", func(a *plumb.AgentConfig) { a.Type = "codexx" }, `unknown agent "codexx" (did you mean "codex"?)`},
		{"no type", func(a *plumb.AgentConfig) { a.Type = "" }, "no type"},
		{"model", func(a *plumb.AgentConfig) { a.Model = " " }, "no model"},
		{"dash", func(a *plumb.AgentConfig) { a.Model = "--yolo" }, "invalid model"},
		{"permissions", func(a *plumb.AgentConfig) { a.Permissions = "all" }, `unknown permissions "all"`},
		{"env", func(a *plumb.AgentConfig) { a.Env = map[string]string{"A=B": ""} }, "cannot be an environment variable"},
		{"server", func(a *plumb.AgentConfig) { a.MCPServers = map[string]plumb.MCPServer{"x": {}} }, "needs either a command or a url"},
		{"server name", func(a *plumb.AgentConfig) { a.MCPServers = map[string]plumb.MCPServer{"a.b": {Command: "x"}} }, "cannot be the name"},
		{"skill", func(a *plumb.AgentConfig) { a.Skills = []string{"nowhere"} }, "has no SKILL.md"},
	} {
		s := newScene(t, "codex", "ok")
		tt.edit(s.cfg.Agent)
		if _, err := New(t.Context(), s.cfg, s.env); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestMaxSteps(t *testing.T) {
	s := newScene(t, "codex", "steps 5")
	s.req.MaxSteps = 2
	report, err := s.run(t.Context())
	f := failure(t, err)
	if f.Origin != plumb.OriginMaxSteps || !strings.HasPrefix(f.Message, "Exceeded maxSteps: observed 3 steps with limit 2") ||
		!strings.Contains(f.Message, "under test") || !strings.Contains(f.Message, "codex") {
		t.Errorf("%+v", f)
	}
	if report == nil || len(report.Events) < 3 || report.SessionID == "" {
		t.Errorf("what was obtained is lost: %+v", report)
	}
}

// TestMaxStepsAfterTheEnd takes too many steps and ends before anybody could stop it.
func TestMaxStepsAfterTheEnd(t *testing.T) {
	s := newScene(t, "claude-code", "ok")
	s.cfg.Agent.Command = s.write("claude.sh", "#!/bin/sh\nprintf '%s\\n' "+
		`'{"type":"system","subtype":"init","session_id":"s"}' `+
		`'{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"1"}]}}' `+
		`'{"type":"assistant","message":{"id":"b","content":[{"type":"text","text":"2"}]}}'`+"\n")
	os.Chmod(s.cfg.Agent.Command, 0o700)
	s.req.MaxSteps = 1
	if _, err := s.run(t.Context()); failure(t, err).Origin != plumb.OriginMaxSteps {
		t.Error(err)
	}
}

// ready runs fn once the agent has begun.
func (s *scene) ready(fn func()) {
	go func() {
		for range 2000 {
			if transcript.Exists(filepath.Join(s.dir, "begun")) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		fn()
	}()
}

func TestStopped(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"hang", "hang polite", "hang deaf", "hang tool", "hang deaf tool"} {
		t.Run(what+"/cancelled", func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "codex", what)
			why := errors.New("the user had enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			s.ready(func() { cancel(why) })
			report, err := s.run(ctx)
			if f := failure(t, err); f.Origin != plumb.OriginRunner || !errors.Is(err, why) {
				t.Errorf("%+v", f)
			}
			if report == nil || !report.Began() {
				t.Errorf("what was obtained is lost: %+v", report)
			}
		})
		t.Run(what+"/late", func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "codex", what)
			ctx, cancel := plumb.WithTimeLimit(t.Context(), 4*time.Second)
			defer cancel()
			report, err := s.run(ctx)
			if f := failure(t, err); f.Origin != plumb.OriginTimeout || f.Hint == "" {
				t.Errorf("%+v", f)
			}
			if report == nil || !report.Began() || report.FinishReason != plumb.FinishTimeout {
				t.Errorf("what was obtained is lost: %+v", report)
			}
		})
	}
}

func TestTimeoutOfTheRunner(t *testing.T) {
	s := newScene(t, "codex", "mute")
	s.cfg.TimeoutMs = 300
	report, err := s.run(t.Context())
	if f := failure(t, err); f.Origin != plumb.OriginTimeout || report.Began() || !strings.Contains(f.Message, "300ms") {
		t.Errorf("%+v, %+v", report, f)
	}
}

func TestStoppedBefore(t *testing.T) {
	s := newScene(t, "codex", "ok")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := s.run(ctx); report != nil || !errors.Is(err, context.Canceled) {
		t.Error(report, err)
	}
}

func TestLingers(t *testing.T) {
	s := newScene(t, "codex", "linger")
	report, err := s.run(t.Context())
	if err != nil || report.FinalOutput != "done" || len(report.Notes) == 0 || !strings.Contains(report.Notes[len(report.Notes)-1], "had finished but did not end") {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestLeavesNothing(t *testing.T) {
	s := newScene(t, "codex", "litter")
	report, err := s.run(t.Context())
	if err != nil || report.FinalOutput != "done" || len(report.Notes) == 0 || !strings.Contains(report.Notes[0], "1 processes still ran") {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestParallel has 20 sessions at once, of which each leaves a tool behind.
func TestParallel(t *testing.T) {
	s := newScene(t, "codex", "litter")
	r := s.open()
	var wait sync.WaitGroup
	for i := range 20 {
		req := s.req
		req.ArtifactDir = filepath.Join(s.dir, "artifacts", strconv.Itoa(i))
		req.Marker = s.req.Marker + strconv.Itoa(i)
		wait.Go(func() {
			if report, err := r.Run(t.Context(), req); err != nil || report.FinalOutput != "done" {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
	wait.Wait()
}

// TestMemory has an agent print 200 MB.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("prints 200 MB")
	}
	s := newScene(t, "codex", "flood 200")
	s.cfg.Agent.Permissions = "default"
	s.req.MaxSteps = 5
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	report, err := s.run(t.Context())
	if err != nil || report.FinalOutput != "done" || len(report.Events) < 2000 {
		t.Fatalf("%v, %v", report, err)
	}
	if got := transcript.FileSize(report.RawArtifacts.StdoutPath); got < 200<<20 {
		t.Errorf("%d bytes on disk", got)
	}
	runtime.ReadMemStats(&after)
	t.Logf("memory: %d KiB before, %d KiB after", before.Sys>>10, after.Sys>>10)
	if after.Sys-min(before.Sys, after.Sys) > 100<<20 {
		t.Errorf("it took %d MiB", (after.Sys-before.Sys)>>20)
	}
}

func TestTurns(t *testing.T) {
	s := newScene(t, "codex", "ok")
	s.cfg.MaxParallel = 1
	r := s.open()
	r.slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := r.Run(ctx, s.req); report != nil || !errors.Is(err, context.Canceled) {
		t.Error(report, err)
	}
	<-r.slots
	if _, err := r.Run(t.Context(), s.req); err != nil || len(r.slots) != 0 {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	for pin, ok := range map[string]bool{"": true, "0.169.0": true, "0.169": true, "0": true, "v0.169": true, "0.16": false, "1": false, "0.169.0.1": false} {
		s := newScene(t, "codex", "ok")
		s.cfg.Agent.Version = pin
		s.env.Getenv = getenv(nil)
		_, err := New(t.Context(), s.cfg, s.env)
		if (err == nil) != ok {
			t.Errorf("%q: %v", pin, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "0.169.0") || plumb.Hint(err) == "") {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		"codex-cli 0.169.0\n": "0.169.0", "2.1.328 (Claude Code)": "2.1.328", "GitHub Copilot CLI 1.0.102.\n": "1.0.102", "1.18.33": "1.18.33",
		"2026.06.01-abc": "2026.06.01-abc", "": "", "none": "",
	} {
		if got := versionIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestSecrets has an agent print its key and write it into its state.
func TestSecrets(t *testing.T) {
	s := newScene(t, "codex", "leak")
	s.cfg.Agent.Env["MY_KEY"] = "sk-very-secret"
	s.env.Redact = redact.New([]redact.Secret{{Name: "MY_KEY", Value: "sk-very-secret"}})
	report, err := s.run(t.Context())
	if err != nil || !strings.Contains(report.FinalOutput, "sk-very-secret") {
		t.Errorf("the report is not made of what the agent wrote: %+v, %v", report, err)
	}
	found := 0
	filepath.Walk(s.req.ArtifactDir, func(name string, info os.FileInfo, err error) error {
		if strings.Contains(name, "sk-very-secret") || strings.ContainsAny(name[len(s.req.ArtifactDir):], ":") {
			t.Errorf("the name of %s", name)
		}
		if err != nil || info.IsDir() {
			return err
		}
		found++
		data, err := os.ReadFile(name)
		if strings.Contains(string(data), "sk-very-secret") || info.Name() == "auth.json" || info.Name() == "binary" {
			t.Errorf("%s holds %q", name, data)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s", name, info.Mode())
		}
		return err
	})
	if found != 4 {
		t.Errorf("%d artifacts", found)
	}
	named := filepath.Join(s.req.ArtifactDir, "session/.codex/sessions/2026/in-redacted-MY_KEY/a[1]-redacted-MY_KEY.jsonl")
	if _, err := os.Stat(named); err != nil {
		t.Error(err)
	}
}

// TestCredentials has an agent renew what it logs in with: the user must have the new token.
func TestCredentials(t *testing.T) {
	for _, how := range []string{"replace", "write"} {
		s := newScene(t, "codex", "renew "+how)
		auth := s.write("user/.codex/auth.json", `{"token":"old-token-of-twenty-and-more"}`)
		s.write("user/.codex/config.toml", "model = \"mine\"\n")
		if _, err := s.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(auth); err != nil || string(data) != `{"token":"renewed"}` {
			t.Errorf("%s: %s, %v", how, data, err)
		}
		found, err := filepath.Glob(filepath.Join(s.dir, "artifacts", "session", ".codex", "*"))
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v are with the artifacts, %v", how, found, err)
		}
	}
	s := newScene(t, "codex", "ok")
	s.write("user/.codex/auth.json", `{"OPENAI_API_KEY":null,"tokens":{"id":"abcdefghijklmnopqrstuvwxyz","n":5},"url":"https://chatgpt.com/a/long/path"}`)
	var all []string
	for name, value := range Secrets(s.cfg.Agent, getenv(append(s.environ, "OPENAI_API_KEY=k"))) {
		all = append(all, name+"="+value)
	}
	if got := strings.Join(all, " "); got != "OPENAI_API_KEY=k auth.json=abcdefghijklmnopqrstuvwxyz" {
		t.Error(got)
	}
}

// TestSkills checks that the workspace has the skills during the session, and not after it.
func TestSkills(t *testing.T) {
	s := newScene(t, "codex", "ok")
	s.cfg.Agent.Skills = []string{s.skill("greet"), s.skill("own")}
	s.req.Skills = []string{s.skill("suite")}
	own := s.write("workspace/.agents/skills/own/SKILL.md", "the workspace's own")
	r := s.open()
	var wait sync.WaitGroup
	for i := range 4 { // in one workspace
		req := s.req
		req.ArtifactDir = filepath.Join(s.dir, "artifacts", strconv.Itoa(i))
		req.Marker = s.req.Marker + strconv.Itoa(i)
		wait.Go(func() {
			report, err := r.Run(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			var names []string
			for _, o := range report.Offered {
				if o.Undeclared {
					t.Errorf("%+v", o)
				}
				names = append(names, o.Name)
			}
			if got := fmt.Sprint(names); got != "[greet own suite]" {
				t.Errorf("offered %s", got)
			}
		})
	}
	wait.Wait()
	if data, err := os.ReadFile(own); err != nil || string(data) != "the workspace's own" {
		t.Errorf("%s, %v", data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "workspace", ".agents", "skills", "*")); len(left) != 1 {
		t.Errorf("left in the workspace: %v", left)
	}
}

func TestOffers(t *testing.T) {
	s := newScene(t, "codex", "ok")
	s.write("AGENTS.md", "above the workspace")
	s.write("workspace/AGENTS.md", "of the template")
	s.write("user/.codex/AGENTS.md", "of the user")
	s.write("user/.agents/skills/private/SKILL.md", "of the user")
	s.write("workspace/.codex/config.toml", "model = \"x\"\n[mcp_servers.team]\ncommand = \"x\"\n[mcp_servers.team.env]\nA = \"b\"\n")
	s.write("user/.codex/config.toml", "[mcp_servers.\"own\"]\ncommand = \"x\"\n")
	offers := func() string {
		report, err := s.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, o := range report.Offered {
			all = append(all, fmt.Sprintf("%s %s %s %v", o.Kind, o.Name, o.Source, o.Undeclared))
		}
		return strings.Join(all, "\n")
	}
	hermetic := "instructions AGENTS.md parent true\ninstructions AGENTS.md project false\n"
	if got := offers(); got != hermetic+"mcp-server team project false" {
		t.Errorf("hermetic:\n%s", got)
	}
	s.cfg.Agent.InheritConfig = true
	if got := offers(); got != "instructions .codex/AGENTS.md user true\n"+hermetic+"mcp-server own user true\nmcp-server team project false\nskill private user true" {
		t.Errorf("inherited:\n%s", got)
	}
	s.environ = append(s.environ, "CODEX_HOME="+filepath.Join(s.dir, "elsewhere"))
	s.write("elsewhere/AGENTS.md", "of the user")
	if got := offers(); got != "instructions .codex/AGENTS.md user true\n"+hermetic+"mcp-server team project false\nskill private user true" {
		t.Errorf("inherited from elsewhere:\n%s", got)
	}
}

// TestServersIn has the formats that agents have for their servers.
func TestServersIn(t *testing.T) {
	s := newScene(t, "codex", "ok")
	for name, content := range map[string]string{
		"a.json": `{"mcpServers":{"one":{"command":"x"},"two":{"url":"y"}}}`,
		"b.json": `{"servers":{"one":{}},"mcp":{"two":{}}}`,
		"c.toml": "[mcp_servers.one]\nx = 1\n  [mcp_servers.\"two\"]\n[mcp_servers.two.env]\n[other]\n",
	} {
		if got := serversIn(s.write(name, content)); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := serversIn(s.write("broken.json", `{"mcpServers":`)); len(got) != 0 {
		t.Error(got)
	}
}

func TestExplain(t *testing.T) {
	s := newScene(t, "codex", "remember")
	r := s.open()
	report, err := r.Run(t.Context(), s.req)
	if err != nil {
		t.Fatal(err)
	}
	ref := plumb.SessionRef{SessionID: report.SessionID, Workspace: s.req.Workspace, ArtifactDir: s.req.ArtifactDir}
	for n, want := range []string{"1 before: Why?", "2 before: Why?"} {
		answer, err := r.Explain(t.Context(), ref, "Why?")
		dir := filepath.Join(s.req.ArtifactDir, "explain", fmt.Sprintf("question-%02d", n+1))
		if err != nil || answer.FinalOutput != want || answer.RawArtifacts.StdoutPath != filepath.Join(dir, "stdout.log") {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(s.req.ArtifactDir, "session", ".codex", "sessions", "count")); err != nil || string(data) != "x" {
		t.Errorf("the session's own state is now %q, %v", data, err)
	}
	for _, bad := range []plumb.SessionRef{
		{Workspace: ref.Workspace, ArtifactDir: ref.ArtifactDir},
		{SessionID: "--yolo", Workspace: ref.Workspace, ArtifactDir: ref.ArtifactDir},
		{SessionID: "x", Workspace: ref.Workspace},
		{SessionID: "x", Workspace: filepath.Join(s.dir, "gone"), ArtifactDir: ref.ArtifactDir},
	} {
		if report, err := r.Explain(t.Context(), bad, "Why?"); report != nil || failure(t, err).Origin != plumb.OriginRunner {
			t.Errorf("%+v: %+v, %v", bad, report, err)
		}
	}
}

// TestCredentialsAmongOthers has a file with credentials and with configuration: only the former is
// for the agent.
func TestCredentialsAmongOthers(t *testing.T) {
	s := newScene(t, "copilot", "dump")
	s.write("user/.copilot/config.json", `{"theme":"dark","trusted_folders":["/"],"copilot_tokens":{"x":"y"}}`)
	s.run(t.Context())
	dump, err := os.ReadFile(s.cfg.Agent.Env["DUMP"])
	if err != nil || !strings.Contains(string(dump), `| {"copilot_tokens":{"x":"y"}}`) {
		t.Errorf("%s, %v", dump, err)
	}
}

// TestSweep removes what a process that is dead has left of its sessions, and nothing of others.
func TestSweep(t *testing.T) {
	dead := exec.Command(os.Args[0])
	dead.Env = append(os.Environ(), fakeEnv+"=silent 0")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(os.TempDir(), rootPrefix+strconv.Itoa(dead.Process.Pid)+"-1234")
	if err := os.MkdirAll(filepath.Join(left, "home", "read-only"), 0o700); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(left, "home", "read-only", "x"), nil, 0o400)
	os.Chmod(filepath.Join(left, "home", "read-only"), 0o500)
	link := left + "-link" // nobody makes one but to have something else removed
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	own, err := newRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(own)
	removed, err := Sweep(false)
	if err != nil || !slices.Equal(removed, []string{left}) || transcript.Exists(left) || !transcript.Exists(own) {
		t.Errorf("%v, %v", removed, err)
	}
}

// BenchmarkRun has sessions of an agent that costs nothing.
func BenchmarkRun(b *testing.B) {
	script := filepath.Join(b.TempDir(), "agent.sh")
	stream := strings.Join([]string{codexBegin, codexMessage(0, "done"), codexEnd}, "\n")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat <<'EOF'\n"+stream+"\nEOF\n"), 0o700); err != nil {
		b.Fatal(err)
	}
	r, err := New(b.Context(), plumb.RunnerConfig{Agent: &plumb.AgentConfig{Type: "codex", Model: "gpt-5", Command: script}}, Env{Getenv: getenv(nil)})
	if err != nil {
		b.Fatal(err)
	}
	req := plumb.Request{Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "hello"}}, Workspace: b.TempDir(), ArtifactDir: b.TempDir()}
	for b.Loop() {
		if _, err := r.Run(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
