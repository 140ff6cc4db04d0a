package agent

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/golden"
)

// userEnvironment is what the user of the tests has set.
var userEnvironment = []string{
	"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nowhere", "SHELL=/bin/bash", "JAVA_HOME=/opt/java", "FORCE_COLOR=1",
	"HTTPS_PROXY=http://proxy.example:3128",
	// keys of providers and secrets of others
	"OPENAI_API_KEY=openai-key", "ANTHROPIC_API_KEY=anthropic-key", "GEMINI_API_KEY=gemini-key", "CURSOR_API_KEY=cursor-key",
	"GITHUB_TOKEN=github-token", "AWS_SECRET_ACCESS_KEY=aws-secret", "DATABASE_PASSWORD=hunter2", "SERVER_KEY=server-key",
	// what agents and this program set
	"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CODEX_HOME=/nowhere/codex", "CODEX_SANDBOX=seatbelt", "OPENCODE=1", "GEMINI_CLI=1",
	"COPILOT_HOME=/nowhere/copilot", "CLAUDE_CONFIG_DIR=/nowhere/claude", "XDG_CONFIG_HOME=/nowhere/config", "PLUMB_SESSION=outer/1",
	"SKILLGYM_CASE_ID=outer", "OTEL_EXPORTER_OTLP_ENDPOINT=http://outer", "GIT_DIR=/nowhere/.git", "GIT_AUTHOR_NAME=Somebody",
}

func getenv(environ []string) func(string) string {
	return func(name string) string {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

var models = map[string]string{
	"codex": "gpt-5.5", "claude-code": "claude-sonnet-4-6", "opencode": "anthropic/claude-sonnet-4-6", "cursor-agent": "auto", "copilot": "gpt-5",
	"gemini": "gemini-2.5-flash", "qwen": "qwen3-coder",
}

func modelOf(agent string) string {
	if model := models[agent]; model != "" {
		return model
	}
	return "a-model"
}

// TestLaunch compares all that each agent is given, in several configurations, with what it was given before.
func TestLaunch(t *testing.T) {
	t.Parallel()
	full := func(a *plumb.AgentConfig) {
		a.Args, a.Permissions = []string{"--extra", "two words"}, "default"
		a.BaseURL, a.APIKeyEnv = "http://127.0.0.1:1/v1", "SERVER_KEY"
		a.Env = map[string]string{"GIVEN": "a ${JAVA_HOME} b $HOME", "DATABASE_PASSWORD": "${DATABASE_PASSWORD}"}
		a.MCPServers = map[string]plumb.MCPServer{
			"files":  {Command: "mcp-files", Args: []string{"--root", `a "quoted" path`}, Env: map[string]string{"TOKEN": "${GITHUB_TOKEN}"}},
			"remote": {URL: "https://mcp.example/x", Headers: map[string]string{"Authorization": "Bearer ${GITHUB_TOKEN}"}},
		}
	}
	for _, tt := range []struct {
		name   string
		edit   func(*plumb.AgentConfig)
		prompt string
		skills bool
	}{
		{"default", nil, "Say \"hello\"\nand $HOME.", false},
		{"full", full, "Say hello.", true},
		{"inherit", func(a *plumb.AgentConfig) { full(a); a.InheritConfig = true; noServers(a) }, "Say hello.", false},
		{"dash", nil, "--version is what I ask of you", false},
		{"long", nil, strings.Repeat("long ", 40_000), false},
	} {
		for _, agent := range Types() {
			t.Run(agent+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, agent, "dump")
				s.cfg.Agent.Model = modelOf(agent)
				if tt.edit != nil {
					own := s.cfg.Agent.Env
					tt.edit(s.cfg.Agent)
					maps.Copy(own, s.cfg.Agent.Env)
					s.cfg.Agent.Env = own
				}
				if tt.skills {
					s.cfg.Agent.Skills = []string{s.skill("greet")}
				}
				s.req.Messages[0].Content = tt.prompt
				s.environ = userEnvironment
				_, err := s.run(t.Context()) // it says nothing, which is no session
				t.Log(err)
				s.golden(filepath.Join("testdata", "launch", agent+"-"+tt.name+".txt"))
			})
		}
	}
}

// TestLaunchResumed compares what each agent is given when a session goes on.
func TestLaunchResumed(t *testing.T) {
	t.Parallel()
	for _, agent := range Types() {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, agent, "dump")
			s.cfg.Agent.Model = modelOf(agent)
			s.environ = userEnvironment
			s.open().Explain(t.Context(), plumb.SessionRef{SessionID: "session-1", Workspace: s.req.Workspace, ArtifactDir: s.req.ArtifactDir}, "-- Why?")
			s.golden(filepath.Join("testdata", "launch", agent+"-resumed.txt"))
		})
	}
}

// noServers takes away the servers from agents that cannot have them with an inherited configuration.
func noServers(a *plumb.AgentConfig) {
	if spec, err := Find(a.Type); err != nil || check(*a, spec) != nil {
		a.MCPServers = nil
	}
}

// TestReach lists what an agent of any type looks for above its workspace.
func TestReach(t *testing.T) {
	have := Reach()
	for _, want := range []string{
		"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "CONTEXT.md", ".cursorrules", ".agents", ".claude",
		".codex", ".cursor", ".gemini", ".github", ".opencode", ".qwen", ".mcp.json", "opencode.json", "opencode.jsonc",
	} {
		if !slices.Contains(have, want) {
			t.Errorf("%s is not in %q", want, have)
		}
	}
}

// TestNoSharedCache is for a user without a cache directory.
func TestNoSharedCache(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(name, "")
	}
	if dir, err := spec.SharedCache("copilot"); dir != "" || err != nil {
		t.Errorf("%q, %v", dir, err)
	}
}

// golden compares what the agent was given with a file.
func (s *scene) golden(name string) {
	s.Helper()
	data, err := os.ReadFile(s.cfg.Agent.Env["DUMP"])
	if err != nil {
		s.Fatal(err)
	}
	got := string(data)
	for line := range strings.Lines(got) { // the session's directory is a new one each time
		if _, tmp, ok := strings.Cut(line, "TMPDIR="); ok {
			got = strings.ReplaceAll(got, filepath.Dir(strings.TrimSpace(tmp)), "ROOT")
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		s.Fatal(err)
	}
	got = strings.NewReplacer(s.dir, "DIR", cache, "CACHE").Replace(got)
	got = regexp.MustCompile(`(PLUMB_SESSION)=.*`).ReplaceAllString(got, "$1=MARKER")
	if os.Geteuid() == 0 {
		got = strings.ReplaceAll(got, "  IS_SANDBOX=1\n", "") // which only root is given
	}
	golden.Equal(s, name, got)
}
