package agentcli

import "path/filepath"

func cursorSpec() Spec {
	return Spec{
		Format: Format{
			Name:  "cursor-agent",
			Login: "cursor-agent login", KeyHelp: "CURSOR_API_KEY",
			Read:     normaliseCursor,
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
		Credentials:      []Credentials{{Variable: "XDG_CONFIG_HOME", Dir: ".config", File: "cursor/auth.json"}},
		State:            []string{".cursor/chats", ".cursor/projects"},
		InheritedMCPOnly: true,
		PriceOf:          NoPrice,
		SkillgymUsage:    SkillgymUsage(nil),
		Proof:            Proof{Impossible: "it talks to the service of its maker only, and no other model can take its place"},
		Launch:           launchCursor,
	}
}

// cursorStep counts each assistant message, and each model call that starts tools, by its id.
func cursorStep(s *steps, rec *fields) {
	switch kind := rec.text("type"); {
	case kind == "assistant":
		s.n++
	case kind == "tool_call" && rec.text("subtype") == "started":
		s.once(rec.get("model_call_id"), false)
	}
}

func launchCursor(l *launch) error {
	l.add("-p", "--output-format", "stream-json", "--trust")
	if l.bypass {
		l.add("--force")
	}
	l.add("--workspace", l.workspace)
	if l.resume != "" {
		l.add("--resume", l.resume)
	}
	l.add("--model", l.cfg.Model)
	if l.hermetic {
		l.own["CURSOR_CONFIG_DIR"] = filepath.Join(l.home, ".cursor")
	}
	if l.cfg.BaseURL != "" {
		l.env["CURSOR_API_ENDPOINT"] = l.cfg.BaseURL
	}
	if l.key != "" {
		l.env["CURSOR_API_KEY"] = l.key
	}
	if len(l.servers) > 0 {
		if _, err := l.writeJSON(".cursor/mcp.json", map[string]any{"mcpServers": claudeServers(l.servers)}); err != nil {
			return err
		}
		l.add("--approve-mcps")
	}
	l.add(l.cfg.Args...)
	if !l.plain() {
		l.stdin = l.prompt
		return nil
	}
	l.add(l.prompt)
	return nil
}
