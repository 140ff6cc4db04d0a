package agentcli

import (
	"path/filepath"
)

func geminiSpec() Spec {
	return Spec{
		Format: Format{
			Name:  "gemini",
			Login: "gemini", KeyHelp: "GEMINI_API_KEY",
			Read:     normaliseGemini,
			Step:     geminiStep,
			Terminal: []string{"result"},
		},
		Programs: []string{"gemini"}, Install: "npm install -g @google/gemini-cli",
		Skills: ".agents/skills", SkillDirs: []string{".agents/skills", ".gemini/skills"},
		Instructions:        []string{"GEMINI.md"},
		UserInstructions:    []string{".gemini/GEMINI.md"},
		MachineInstructions: []string{"/etc/gemini-cli/settings.json"},
		MCP:                 []string{".gemini/settings.json"},
		UserMCP:             []string{".gemini/settings.json"},
		Key:                 "GEMINI_API_KEY",
		Keys:                []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"},
		Cloud:               map[string][]string{"GOOGLE_GENAI_USE_VERTEXAI": {"GOOGLE_*"}},
		Credentials:         []Credentials{{Dir: ".gemini", File: "oauth_creds.json"}, {Dir: ".gemini", File: "google_accounts.json"}},
		State:               []string{".gemini/tmp", ".gemini/projects.json"},
		PriceOf:             func(model string) (provider, priced string) { return "google", model },
		SkillgymUsage:       SkillgymUnknown,
		Proof:               Proof{Model: "gemini-2.5-flash"},
		Launch:              launchGemini,
	}
}

// geminiStep counts each tool use, and each run of assistant text between other records.
func geminiStep(s *steps, rec *fields) {
	kind := rec.text("type")
	text := kind == "message" && rec.text("role") == "assistant"
	if kind == "tool_use" || text && !s.text {
		s.n++
	}
	s.text = text
}

func launchGemini(l *launch) error {
	l.add("--output-format", "stream-json")
	if l.bypass {
		l.add("--yolo")
	}
	l.add("-m", l.cfg.Model)
	if l.resume != "" {
		l.add("--resume", l.resume)
	}
	l.env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
	l.env["GEMINI_CLI_NO_RELAUNCH"] = "true"
	l.env["GEMINI_TELEMETRY_ENABLED"] = "false"
	if l.cfg.BaseURL != "" {
		l.env["GOOGLE_GEMINI_BASE_URL"] = l.cfg.BaseURL
	}
	if l.key != "" {
		l.env["GEMINI_API_KEY"] = l.key
	}
	if l.hermetic {
		l.own["GEMINI_CLI_HOME"] = l.home
		if _, err := l.writeJSON(".gemini/settings.json", geminiSettings(l)); err != nil {
			return err
		}
	} else if len(l.servers) > 0 {
		// The user's own settings stand below those of the system, which are the only others that can be named.
		file, err := l.writeJSON("system-settings.json", map[string]any{"mcpServers": geminiServers(l.servers)})
		if err != nil {
			return err
		}
		l.env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = file
	}
	l.add(l.cfg.Args...)
	promptByFlag(l)
	return nil
}

func geminiSettings(l *launch) map[string]any {
	auth := "gemini-api-key"
	switch {
	case l.getenv("GOOGLE_GENAI_USE_VERTEXAI") == "true":
		auth = "vertex-ai"
	case l.key == "" && l.lent[filepath.Join(l.home, ".gemini", "oauth_creds.json")] != "":
		auth = "oauth-personal"
	default:
	}
	settings := map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": auth}},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "disableAutoUpdate": true, "disableUpdateNag": true},
	}
	if len(l.servers) > 0 {
		settings["mcpServers"] = geminiServers(l.servers)
	}
	return settings
}
