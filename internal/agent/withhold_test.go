package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
)

func FuzzParseWithheld(f *testing.F) {
	for _, text := range []string{"", "skill", "skill=a", "mcp=x", "instructions", "instructions=x", "=", "skill=../a", "mpc"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := agent.ParseWithheld(text)
		switch {
		case err != nil && plumb.Hint(err) == "":
			t.Errorf("%q: no hint: %v", text, err)
		case err == nil && text != "" && !slices.Contains([]string{"skill", "instructions", "mcp"}, w.Kind):
			t.Errorf("%q: %+v", text, w)
		case err == nil && strings.ContainsAny(w.Name, `/\`):
			t.Errorf("%q: the name leads elsewhere: %+v", text, w)
		}
	})
}

// TestWithheldIsRemoved removes each kind of offer from a workspace, and leaves everything else.
func TestWithheldIsRemoved(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"main.go":                       "package main",
		"skills/notes/SKILL.md":         "not where an agent looks",
		".claude/skills/notes/SKILL.md": "notes", ".claude/skills/other/SKILL.md": "other",
		".agents/skills/notes/SKILL.md": "notes",
		"AGENTS.md":                     "do", "sub/CLAUDE.md": "do not", ".git/AGENTS.md": "of the repository",
		".mcp.json": `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}},"more":1}`,
	}
	for _, test := range []struct {
		text    string
		removed []string
	}{
		{"", nil},
		{"skill", []string{
			".agents/skills/notes/SKILL.md", ".claude/skills/notes/SKILL.md", ".claude/skills/other/SKILL.md",
		}},
		{"skill=notes", []string{".agents/skills/notes/SKILL.md", ".claude/skills/notes/SKILL.md"}},
		{"instructions", []string{"AGENTS.md", "sub/CLAUDE.md"}},
		{"mcp=c", nil},
	} {
		dir := t.TempDir()
		for name, text := range all {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, err := agent.ParseWithheld(test.text)
		if err == nil {
			err = w.Remove(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range all {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if gone := slices.Contains(test.removed, name); gone != (err != nil) || !gone && string(data) != text {
				t.Errorf("%q: %s: %q, %v", test.text, name, data, err)
			}
		}
	}
}

func TestWithheldServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}},"more":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := agent.ServersIn(dir); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("servers %q", got)
	}
	w := agent.Withheld{Kind: agent.WithholdMCP, Name: "a"}
	if err := w.Remove(dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if got := agent.ServersIn(dir); err != nil || !slices.Equal(got, []string{"b"}) || !strings.Contains(string(data), `"more": 1`) {
		t.Errorf("servers %q in %s, %v", got, data, err)
	}
	toml := filepath.Join(dir, ".codex", "config.toml")
	if err := os.MkdirAll(filepath.Dir(toml), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(toml, []byte("[mcp_servers.a]\ncommand = \"a\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(dir); err == nil || !strings.Contains(err.Error(), "offer the servers in mcpServers of the runner") {
		t.Errorf("got %v", err)
	}
}
