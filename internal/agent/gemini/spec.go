// Package gemini describes Gemini CLI and reads its stream and its chat files.
package gemini

import (
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec returns the spec of the agent.
func Spec() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "gemini",
			Login: "gemini", KeyHelp: "GEMINI_API_KEY",
			Read:     readGemini,
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
		Keys: []string{
			"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
		},
		Cloud: map[string][]string{"GOOGLE_GENAI_USE_VERTEXAI": {"GOOGLE_*"}},
		Credentials: []spec.Credentials{
			{Dir: ".gemini", File: "oauth_creds.json"}, {Dir: ".gemini", File: "google_accounts.json"},
		},
		State:         []string{".gemini/tmp", ".gemini/projects.json"},
		PriceOf:       func(model string) (provider, priced string) { return "google", model },
		SkillgymUsage: spec.SkillgymUnknown,
		Proof:         spec.Proof{Model: "gemini-2.5-flash"},
		Launch:        launchGemini,
	}
}

// geminiStep counts each tool use, and each run of assistant text between other records.
func geminiStep(s *transcript.Steps, rec *transcript.Fields) {
	kind := rec.Text("type")
	text := kind == "message" && rec.Text("role") == "assistant"
	if kind == "tool_use" || text && !s.Text {
		s.N++
	}
	s.Text = text
}

func launchGemini(l *spec.Launch) error {
	l.Add("--output-format", "stream-json")
	if l.Bypass {
		l.Add("--yolo")
	}
	l.Add("-m", l.Cfg.Model)
	if l.Resume != "" {
		l.Add("--resume", l.Resume)
	}
	l.Env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
	l.Env["GEMINI_CLI_NO_RELAUNCH"] = "true"
	l.Env["GEMINI_TELEMETRY_ENABLED"] = "false"
	l.SetProvider("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY")
	if l.Hermetic {
		l.Own["GEMINI_CLI_HOME"] = l.Home
		general := map[string]any{
			"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
			"disableAutoUpdate": true, "disableUpdateNag": true,
		}
		if err := l.WriteGeminiSettings(".gemini/settings.json", geminiLogin(l), general); err != nil {
			return err
		}
	} else if len(l.Servers) > 0 {
		// Gemini CLI has no other setting for a second settings file. This file takes precedence
		// over the user's own settings.
		file, err := l.WriteServers("system-settings.json", spec.GeminiServers())
		if err != nil {
			return err
		}
		l.Env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = file
	}
	l.Add(l.Cfg.Args...)
	l.AddPromptFlag()
	return nil
}

// geminiLogin returns the name of the way in which Gemini CLI logs in.
func geminiLogin(l *spec.Launch) string {
	switch {
	case l.Getenv("GOOGLE_GENAI_USE_VERTEXAI") == "true":
		return "vertex-ai"
	case l.Key == "" && l.Lent[filepath.Join(l.Home, ".gemini", "oauth_creds.json")] != "":
		return "oauth-personal"
	default:
		return "gemini-api-key"
	}
}
