// Package cursor describes Cursor's agent and reads its stream.
package cursor

import (
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec returns the spec of the agent.
func Spec() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "cursor-agent",
			Login: "cursor-agent login", KeyHelp: "CURSOR_API_KEY",
			Read:     readCursor,
			Step:     cursorStep,
			Terminal: []string{"result"},
		},
		Programs: []string{"agent", "cursor-agent"}, Install: "see https://cursor.com/cli",
		Skills: ".cursor/skills", SkillDirs: []string{".cursor/skills", ".agents/skills", ".claude/skills"},
		Instructions:     []string{"AGENTS.md", "CLAUDE.md", ".cursorrules"},
		MCP:              []string{".cursor/mcp.json"},
		UserMCP:          []string{".cursor/mcp.json"},
		Key:              "CURSOR_API_KEY",
		Keys:             []string{"CURSOR_API_KEY", "CURSOR_API_ENDPOINT"},
		Credentials:      []spec.Credentials{{Variable: "XDG_CONFIG_HOME", Dir: ".config", File: "cursor/auth.json"}},
		State:            []string{".cursor/chats", ".cursor/projects"},
		InheritedMCPOnly: true,
		PriceOf:          spec.NoPrice,
		SkillgymUsage:    spec.SkillgymUsage(nil),
		Proof: spec.Proof{Impossible: "it only works with the service of its vendor, so that no " +
			"scripted model can replace the service"},
		Launch: launchCursor,
	}
}

// cursorStep counts each assistant message, and each model call that starts tools, by its ID.
func cursorStep(s *transcript.Steps, rec *transcript.Fields) {
	switch kind := rec.Text("type"); {
	case kind == "assistant":
		s.N++
	case kind == "tool_call" && rec.Text("subtype") == "started":
		s.Once(rec.Get("model_call_id"), false)
	}
}

func launchCursor(l *spec.Launch) error {
	l.Add("-p", "--output-format", "stream-json", "--trust")
	if l.Bypass {
		l.Add("--force")
	}
	l.Add("--workspace", l.Workspace)
	if l.Resume != "" {
		l.Add("--resume", l.Resume)
	}
	l.Add("--model", l.Cfg.Model)
	if l.Hermetic {
		l.Own["CURSOR_CONFIG_DIR"] = filepath.Join(l.Home, ".cursor")
	}
	if l.Cfg.BaseURL != "" {
		l.Env["CURSOR_API_ENDPOINT"] = l.Cfg.BaseURL
	}
	if l.Key != "" {
		l.Env["CURSOR_API_KEY"] = l.Key
	}
	if len(l.Servers) > 0 {
		servers := map[string]any{"mcpServers": spec.ClaudeServers(l.Servers)}
		if _, err := l.WriteJSON(".cursor/mcp.json", servers); err != nil {
			return err
		}
		l.Add("--approve-mcps")
	}
	l.Add(l.Cfg.Args...)
	if !l.Plain() {
		l.Stdin = l.Prompt
		return nil
	}
	l.Add(l.Prompt)
	return nil
}
