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
		Proof: spec.Proof{
			Impossible: "it only works with the service of its vendor, which no scripted model can replace",
		},
		Launch: launchCursor,
	}
}

// cursorStep counts each assistant message, and each model call that starts tools, by its id.
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
	l.SetProvider("CURSOR_API_ENDPOINT", "CURSOR_API_KEY")
	if len(l.Servers) > 0 {
		if _, err := l.WriteServers(".cursor/mcp.json", spec.ClaudeServers()); err != nil {
			return err
		}
		l.Add("--approve-mcps")
	}
	l.Add(l.Cfg.Args...)
	l.AddPrompt()
	return nil
}
