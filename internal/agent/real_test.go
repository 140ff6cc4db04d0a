package agent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	agentcli "github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/wire"
)

// The tests here run the real agent CLIs, which .ci/agents.sh installs, against a scripted model server on this machine. They
// compare the report with what the server knows that it asked the agent to do.

const (
	// secretName is the environment variable of the key, secretKey its value: it must not be in any artifact.
	secretName = "PLUMB_TEST_AGENT_KEY"
	secretKey  = "sk-plumb-test-5f1d7c0b9e"
	// poison is in everything that the user has configured for agents: no session may see it.
	poison = "PLUMBPOISON"
	// demoPrompt and whyPrompt begin the scenes of scripts.
	demoPrompt = "Please do the demo and tell me when it is ready."
	whyPrompt  = "Why did you do that?"
)

// realAgent is an agent CLI and what is special about it.
type realAgent struct {
	name, program, version, model string
	// path goes behind the address of a script.
	path string
	// retries makes the agent give up on the model soon.
	env  map[string]string
	args []string
	// only is the one test that runs the agent, "" for all.
	only string
}

func realAgents() []realAgent {
	return []realAgent{
		{name: "codex", program: "codex", version: "0.169.0", model: "gpt-5.5", path: "/v1"},
		{
			name: "claude-code", program: "claude", version: "2.1.328", model: "claude-sonnet-4-6",
			env: map[string]string{"CLAUDE_CODE_MAX_RETRIES": "1"},
		},
		{name: "opencode", program: "opencode", version: "1.18.33", model: "fake/fake-model", path: "/v1"},
		{name: "copilot", program: "copilot", version: "1.0.102", model: "gpt-5", path: "/v1"},
		{name: "gemini", program: "gemini", version: "0.61.0", model: "gemini-2.5-flash"},
		// Its sessions take ten times as long as those of others, and on a busy machine it loses outputs of commands.
		{name: "qwen", program: "qwen", version: "0.24.4", model: "qwen3-coder-plus", path: "/v1", only: "TestRealDemo"},
	}
}

// agentProgram finds the program of an agent, which PLUMB_CI=1 demands to be there. Without PLUMB_CI=1 the test is skipped:
// real agents take minutes.
func agentProgram(t *testing.T, program string) string {
	t.Helper()
	if os.Getenv("PLUMB_CI") != "1" {
		t.Skip("the real agents run with PLUMB_CI=1, when .ci/agents.sh has installed them")
	}
	dirs := []string{"/opt/plumb-agents/bin"}
	if dir := os.Getenv("PLUMB_AGENTS_DIR"); dir != "" {
		dirs = []string{filepath.Join(dir, "bin")}
	} else if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".cache", "plumb", "ci-agents", "bin"))
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, program); exists(path) {
			return path
		}
	}
	t.Fatalf("%s is not in %s: run .ci/agents.sh", program, strings.Join(dirs, ", "))
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// session is one session of a real agent to be had.
type session struct {
	t      *testing.T
	agent  realAgent
	server *fakemodel.Agents
	runner *agentcli.Runner
	script string
	req    plumb.Request
}

var sessions atomic.Int64

// options change what [prepare] makes.
type options struct {
	timeout time.Duration
	edit    func(*plumb.AgentConfig)
}

// prepare makes a workspace, a poisoned home, and a server that plays the scenes.
func prepare(t *testing.T, agent realAgent, o options, scenes ...agentscript.Scene) *session {
	t.Helper()
	program := agentProgram(t, agent.program)
	dir := t.TempDir()
	s := &session{t: t, agent: agent, script: fmt.Sprintf("%s-%d", agent.name, sessions.Add(1))}
	write(t, dir, "ws/notes.txt", "alpha\nbeta\n")
	write(t, dir, "skills/demo/SKILL.md", "---\nname: demo\ndescription: Shows how the demo is done.\n---\nSay that the demo is ready.\n")
	if err := os.MkdirAll(filepath.Join(dir, "artifacts"), 0o700); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	poisonHome(t, home)

	s.server = fakemodel.NewAgents(fakemodel.Behavior{Key: secretKey})
	path, err := s.server.Add(agentscript.Script{Name: s.script, Scenes: scenes})
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(s.server)
	t.Cleanup(func() { s.server.Release(); hs.Close() })

	cfg := plumb.AgentConfig{
		Type: agent.name, Model: agent.model, Command: program, Args: agent.args, Env: agent.env,
		BaseURL: hs.URL + path + agent.path, APIKeyEnv: secretName,
	}
	if o.edit != nil {
		o.edit(&cfg)
	}
	environ := append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HOME=") }),
		"HOME="+home, secretName+"="+secretKey, "OPENAI_API_KEY=sk-"+poison, "ANTHROPIC_API_KEY=sk-"+poison, "GEMINI_API_KEY=sk-"+poison,
		"ANTHROPIC_BASE_URL=http://127.0.0.1:1/"+poison, "OPENAI_BASE_URL=http://127.0.0.1:1/"+poison,
		"ANTHROPIC_MODEL="+poison, "CODEX_HOME="+filepath.Join(home, ".codex"), "CLAUDE_CONFIG_DIR="+filepath.Join(home, ".claude"),
		"XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "COPILOT_HOME="+filepath.Join(home, ".copilot"), "GEMINI_CLI_HOME="+home)
	getenv := func(name string) string {
		for _, v := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	s.runner, err = agentcli.New(t.Context(), plumb.RunnerConfig{ID: agent.name, Agent: &cfg, TimeoutMs: o.timeout.Milliseconds()},
		agentcli.Env{
			Getenv: getenv, Environ: func() []string { return environ }, Dir: dir,
			Note: func(n plumb.Note) { t.Logf("note: %s", n.Text) },
		})
	if err != nil {
		t.Fatal(err)
	}
	s.req = plumb.Request{ // of no run: `plumb gc` in another test would take one without an owner for dead
		CaseID: "case", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: demoPrompt}}, Repetition: 1, Session: 1,
		Workspace: filepath.Join(dir, "ws"), ArtifactDir: filepath.Join(dir, "artifacts"),
		Marker: "test-" + rand.Text() + "/1", Skills: []string{filepath.Join(dir, "skills", "demo")},
	}
	return s
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// poisonHome puts a skill, instructions and an MCP server for every agent where its user would have them.
func poisonHome(t *testing.T, home string) {
	t.Helper()
	skill := "---\nname: " + strings.ToLower(poison) + "\ndescription: " + poison + " is for every task.\n---\n" + poison + "\n"
	for _, dir := range []string{".claude", ".codex", ".agents", ".config/opencode", ".opencode", ".copilot", ".gemini", ".github"} {
		for _, sub := range []string{"skills", "skill"} {
			write(t, home, dir+"/"+sub+"/"+strings.ToLower(poison)+"/SKILL.md", skill)
		}
		for _, name := range []string{"CLAUDE.md", "AGENTS.md", "GEMINI.md", "copilot-instructions.md"} {
			write(t, home, dir+"/"+name, "Always say "+poison+".\n")
		}
	}
	server := `"` + poison + `":{"command":"` + poison + `","args":[]}`
	write(t, home, ".claude.json", `{"mcpServers":{`+server+`}}`)
	write(t, home, ".claude/settings.json", `{"env":{"ANTHROPIC_MODEL":"`+poison+`"}}`)
	write(t, home, ".codex/config.toml", "model = \""+poison+"\"\n[mcp_servers."+poison+"]\ncommand = \""+poison+"\"\n")
	write(t, home, ".config/opencode/opencode.json", `{"mcp":{"`+poison+`":{"type":"local","command":["`+poison+`"]}}}`)
	write(t, home, ".copilot/mcp-config.json", `{"mcpServers":{"`+poison+`":{"type":"local","command":"`+poison+`","args":[],"tools":["*"]}}}`)
	write(t, home, ".gemini/settings.json", `{"mcpServers":{`+server+`},"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
}

// run has the session, and checks what must hold whatever becomes of it.
func (s *session) run(ctx context.Context) (*plumb.SessionReport, error) {
	s.t.Helper()
	report, err := s.runner.Run(ctx, s.req)
	s.aftermath(report)
	return report, err
}

// aftermath checks that nothing is left running, that no secret is in an artifact, and that nothing of the user's own got to
// the model.
func (s *session) aftermath(report *plumb.SessionReport) {
	s.t.Helper()
	if left := marked(s.t, s.req.Marker); len(left) > 0 {
		s.t.Errorf("still running: %q", left)
	}
	for _, dir := range []string{s.req.ArtifactDir, s.req.Workspace} {
		for _, word := range []string{secretKey, "sk-" + poison} {
			if files := containing(s.t, dir, word); len(files) > 0 {
				s.t.Errorf("%s is in %q", word, files)
			}
		}
	}
	for i, r := range s.server.Requests(s.script) {
		if at := bytes.Index(r.Body, []byte(poison)); at >= 0 {
			s.t.Errorf("request %d has what the user configured: …%s…", i, r.Body[max(0, at-80):min(len(r.Body), at+80)])
		}
	}
	for _, p := range s.server.Problems(s.script) {
		s.t.Errorf("the script: %s", p)
	}
	if report != nil {
		for _, o := range report.Offered {
			if o.Undeclared || strings.Contains(strings.ToUpper(o.Name), poison) {
				s.t.Errorf("offered, and nobody asked for it: %+v", o)
			}
		}
	}
}

// containing returns the files below dir that have the word in their content or name.
func containing(t *testing.T, dir, word string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(word)) || strings.Contains(path, word) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// played lists what the server had the agent do in the main conversation.
func (s *session) played() []agentscript.Played {
	var all []agentscript.Played
	for _, r := range s.server.Requests(s.script) {
		if r.Fault == "" {
			all = append(all, r.Played...)
		}
	}
	return all
}

func (s *session) failure(err error, origin plumb.Origin) *plumb.Failure {
	s.t.Helper()
	f, ok := errors.AsType[*plumb.Failure](err)
	if !ok {
		s.t.Fatalf("the error is %v, want a failure of origin %s", err, origin)
	}
	if f.Origin != origin {
		s.t.Errorf("the failure has origin %s, want %s: %v", f.Origin, origin, f)
	}
	if f.Hint == "" {
		s.t.Errorf("the failure has no hint: %v", f)
	}
	return f
}

func (s *session) succeeded(report *plumb.SessionReport, err error) *plumb.SessionReport {
	s.t.Helper()
	if err != nil || report == nil {
		s.t.Fatalf("no session: %v\n%s", err, s.output())
	}
	return report
}

// output is the end of what the agent printed, for messages.
func (s *session) output() string {
	var b strings.Builder
	_ = filepath.WalkDir(s.req.ArtifactDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), "stdout") || strings.HasPrefix(d.Name(), "stderr")) {
			data, _ := os.ReadFile(path) // for a message only
			fmt.Fprintf(&b, "--- %s\n%s\n", d.Name(), data[max(0, len(data)-3000):])
		}
		return nil
	})
	return b.String()
}

// trial is a test of one agent.
type trial struct {
	t     *testing.T
	agent realAgent
}

// each runs f for each agent, some at a time.
func each(t *testing.T, f func(r trial)) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs real agents")
	}
	t.Parallel()
	for _, agent := range realAgents() {
		if agent.only != "" && agent.only != t.Name() {
			continue
		}
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			f(trial{t, agent})
		})
	}
}

// demo is a session in which everything is done once.
func demo() agentscript.Scene {
	tokens := func(in, read, written, out, reasoning int) wire.Tokens {
		return wire.Tokens{Input: in, CacheRead: read, CacheWrite: written, Output: out, Reasoning: reasoning}
	}
	return agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{
		{Thinking: "The demo skill will tell me.", Text: "I load the skill.", Calls: []agentscript.Call{{Skill: "demo"}}, Tokens: tokens(1000, 200, 100, 50, 10)},
		{Calls: []agentscript.Call{{Read: "notes.txt"}}, Tokens: tokens(1200, 1000, 100, 40, 0)},
		{Calls: []agentscript.Call{{Run: `echo "hello from" 'the tool'`}}, Tokens: tokens(1400, 1200, 0, 20, 0)},
		{Calls: []agentscript.Call{{Run: "echo oops >&2; exit 3"}}, Tokens: tokens(1500, 1300, 0, 20, 0)},
		{Calls: []agentscript.Call{{Write: "out.txt", Content: "made by the agent\n"}}, Tokens: tokens(1600, 1400, 0, 20, 0)},
		{Calls: []agentscript.Call{{Edit: "notes.txt", Old: "alpha", New: "omega"}}, Tokens: tokens(1700, 1500, 0, 20, 0)},
		{Thinking: "That is all.", Text: "The demo is ready.", Tokens: tokens(1800, 1600, 0, 10, 2)},
	}}
}

func TestRealDemo(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		s := prepare(t, agent, options{}, demo())
		report := s.succeeded(s.run(t.Context()))
		defer func() {
			if t.Failed() {
				data, _ := json.MarshalIndent(report, "", " ")
				t.Logf("%s\n%s", data, s.output())
			}
		}()
		if report.FinalOutput != "The demo is ready." {
			t.Errorf("the final output is %q", report.FinalOutput)
		}
		ended := report.ExitCode != nil && *report.ExitCode == 0 || agent.only != "" && report.ExitCode == nil // Plumb ended it
		if report.AgentVersion != agent.version || report.SessionID == "" || !ended {
			t.Errorf("version %q, session %q, exit code %v", report.AgentVersion, report.SessionID, report.ExitCode)
		}
		s.compareDeeds(report)
		s.compareTexts(report)
		s.compareUsage(report)
		if got := report.DetectedSkills; len(got) != 1 || got[0].Skill != "demo" || got[0].Confidence != "explicit" && got[0].Confidence != "strong" {
			t.Errorf("skills: %+v", got)
		}
		if !slices.ContainsFunc(report.Offered, func(o plumb.Offer) bool { return o.Kind == plumb.OfferSkill && o.Name == "demo" }) {
			t.Errorf("the skill is not among what was offered: %+v", report.Offered)
		}
		notes, err := os.ReadFile(filepath.Join(s.req.Workspace, "notes.txt"))
		out, err2 := os.ReadFile(filepath.Join(s.req.Workspace, "out.txt"))
		if string(notes) != "omega\nbeta\n" || string(out) != "made by the agent\n" {
			t.Errorf("the workspace has %q, %v and %q, %v", notes, err, out, err2)
		}
	})
}
