package examples_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestInitOnARealAgent runs what plumb init writes on the real Claude Code with a scripted model: in a
// project that is a skill, in one with a skill whose directory has another name, and with instructions.
func TestInitOnARealAgent(t *testing.T) {
	claude := programs(t, "claude")["claude"]
	server := fakemodel.NewAgents(fakemodel.Behavior{})
	path, err := server.Add(agentscript.Script{Name: "greet", MaxRequests: 100, Scenes: []agentscript.Scene{
		{Prompt: "Do a small example", Turns: []agentscript.Turn{
			{Calls: []agentscript.Call{{Skill: "greet"}}}, {Text: "Hello."},
		}},
		{Prompt: "What does this project", Turns: []agentscript.Turn{{Text: "Run make test."}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(server)
	t.Cleanup(func() { server.Release(); hs.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", hs.URL+path)
	t.Setenv("ANTHROPIC_API_KEY", agentKey)
	t.Setenv("PATH", filepath.Dir(claude)+string(os.PathListSeparator)+os.Getenv("PATH"))

	const skill = "---\nname: greet\ndescription: Greets people politely.\n---\nSay hello.\n"
	for name, text := range map[string]string{"SKILL.md": skill, "skills/hello/SKILL.md": skill, "AGENTS.md": "Run make test.\n"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := plumbIn(t, dir, "init", "--agent", "claude-code")
			if code != 0 || !strings.HasSuffix(stdout, "\nNext: plumb run\n") {
				t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
			}
			if code, stdout, stderr := plumbIn(t, dir, "run"); code != 0 || !strings.Contains(stdout, "1/1 pass") {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
		})
	}
}
