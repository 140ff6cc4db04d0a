package agentcli

import "path/filepath"

func cursorAdapter() adapter {
	return adapter{
		agent: "cursor-agent", programs: []string{"agent", "cursor-agent"}, install: "see cursor.com/cli",
		skills: ".cursor/skills", skillDirs: []string{".cursor/skills", ".agents/skills", ".claude/skills"},
		instructions: []string{"AGENTS.md", "CLAUDE.md", ".cursorrules"},
		mcp:          []string{".cursor/mcp.json"},
		userMCP:      []string{".cursor/mcp.json"},
		key:          "CURSOR_API_KEY",
		keys:         []string{"CURSOR_API_KEY", "CURSOR_API_ENDPOINT"},
		credentials:  []credentials{{variable: "XDG_CONFIG_HOME", dir: ".config", file: "cursor/auth.json"}},
		state:        []string{".cursor/chats", ".cursor/projects"},
		launch:       launchCursor,
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
