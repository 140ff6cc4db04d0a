package agentcli

import "path/filepath"

func qwenSpec() Spec {
	return Spec{
		Format: Format{
			Name:  "qwen",
			Login: "qwen", KeyHelp: "OPENAI_API_KEY",
			Read:     normaliseQwen,
			Step:     claudeStep,
			Terminal: []string{"result"},
		},
		Programs: []string{"qwen"}, Install: "npm install -g @qwen-code/qwen-code",
		Skills: ".qwen/skills", SkillDirs: []string{".qwen/skills", ".agents/skills"},
		Instructions:     []string{"QWEN.md", "AGENTS.md"},
		UserInstructions: []string{".qwen/QWEN.md"},
		MCP:              []string{".qwen/settings.json"},
		UserMCP:          []string{".qwen/settings.json"},
		Key:              "OPENAI_API_KEY",
		Keys:             []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"},
		Credentials:      []Credentials{{Dir: ".qwen", File: "oauth_creds.json"}},
		State:            []string{".qwen/projects", ".qwen/tmp"},
		InheritedMCPOnly: true,
		PriceOf:          NoPrice,
		SkillgymUsage:    SkillgymUnknown,
		Proof:            Proof{Model: "qwen3-coder-plus", Path: "/v1"},
		Launch:           launchQwen,
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
