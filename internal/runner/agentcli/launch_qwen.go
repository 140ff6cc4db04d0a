package agentcli

import "path/filepath"

func qwenAdapter() adapter {
	return adapter{
		agent: "qwen", programs: []string{"qwen"}, install: "npm install -g @qwen-code/qwen-code",
		skills: ".qwen/skills", skillDirs: []string{".qwen/skills", ".agents/skills"},
		instructions: []string{"QWEN.md", "AGENTS.md"},
		user:         []string{".qwen/QWEN.md"},
		mcp:          []string{".qwen/settings.json"},
		userMCP:      []string{".qwen/settings.json"},
		key:          "OPENAI_API_KEY",
		keys:         []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"},
		credentials:  []credentials{{dir: ".qwen", file: "oauth_creds.json"}},
		state:        []string{".qwen/projects", ".qwen/tmp"},
		launch:       launchQwen,
	}
}

func launchQwen(l *launch) error {
	l.add("--output-format", "stream-json")
	if l.bypass {
		l.add("--yolo")
	}
	l.add("--model", l.cfg.Model)
	if l.resume != "" {
		l.add("--resume", l.resume)
	}
	if l.cfg.BaseURL != "" {
		l.env["OPENAI_BASE_URL"] = l.cfg.BaseURL
	}
	if l.key != "" {
		l.env["OPENAI_API_KEY"] = l.key
	}
	l.env["OPENAI_MODEL"] = l.cfg.Model
	if l.hermetic {
		auth := "openai"
		if l.key == "" && l.lent[filepath.Join(l.home, ".qwen", "oauth_creds.json")] != "" {
			auth = "qwen-oauth"
		}
		settings := map[string]any{
			"security":  map[string]any{"auth": map[string]any{"selectedType": auth}},
			"privacy":   map[string]any{"usageStatisticsEnabled": false},
			"telemetry": map[string]any{"enabled": false},
			"general":   map[string]any{"disableAutoUpdate": true, "disableUpdateNag": true},
		}
		if len(l.servers) > 0 {
			settings["mcpServers"] = geminiServers(l.servers)
		}
		if _, err := l.writeJSON(".qwen/settings.json", settings); err != nil {
			return err
		}
	}
	l.add(l.cfg.Args...)
	promptByFlag(l)
	return nil
}
