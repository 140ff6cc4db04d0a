// Package copilot describes GitHub Copilot CLI and reads its stream, its event logs and its
// telemetry.
package copilot

import (
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec returns the spec of the agent.
func Spec() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "copilot",
			Login: "copilot login", KeyHelp: "GH_TOKEN or COPILOT_PROVIDER_API_KEY",
			Read:     readCopilot,
			Step:     copilotStep,
			Terminal: []string{"result"},
		},
		Programs: []string{"copilot"}, Install: "npm install -g @github/copilot",
		Native: []string{"@github/copilot-PLATFORM/copilot"},
		Skills: ".agents/skills", SkillDirs: []string{".github/skills", ".agents/skills", ".claude/skills"},
		Instructions:     []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"},
		UserInstructions: []string{".copilot/copilot-instructions.md"},
		MCP:              []string{".mcp.json", ".vscode/mcp.json", ".github/mcp.json"},
		UserMCP:          []string{".copilot/mcp-config.json"},
		Key:              "COPILOT_PROVIDER_API_KEY",
		Keys: []string{
			"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "COPILOT_PROVIDER_*", "COPILOT_MODEL",
		},
		Credentials: []spec.Credentials{{
			Variable: "COPILOT_HOME", Dir: ".copilot", File: "config.json",
			Only: []string{"logged_in_users", "last_logged_in_user", "copilot_tokens"},
		}},
		State:         []string{".copilot/session-state"},
		SharedCache:   true,
		PriceOf:       spec.NoPrice,
		SkillgymUsage: spec.SkillgymUsage(copilotSkillgym),
		Proof:         spec.Proof{Model: "gpt-5.5", Path: "/v1"},
		Launch:        launchCopilot,
	}
}

// copilotStep counts an assistant message, by its id.
func copilotStep(s *transcript.Steps, rec *transcript.Fields) {
	if rec.Text("type") == "assistant.message" {
		s.Once(rec.Get("data").Get("messageId"), true)
	}
}

// copilotSkillgym keeps cache writes in the input, and adds reasoning to the total a second time.
func copilotSkillgym(u *plumb.Usage, input, _, extra *int64) {
	*input, *extra = *u.InputTokens, transcript.OrZero(u.ReasoningTokens)
}

func launchCopilot(l *spec.Launch) error {
	l.AddPromptFlag()
	if l.Resume != "" {
		l.Add("--resume=" + l.Resume)
	}
	l.Add("--model", l.Cfg.Model, "--output-format", "json", "--stream", "on", "--no-auto-update")
	if l.Hermetic {
		l.Add("--disable-builtin-mcps")
	}
	l.Add("--no-remote")
	if l.Bypass {
		l.Add("--allow-all-tools")
	}
	l.Add("--disallow-temp-dir", "-C", l.Workspace)
	l.Env["COPILOT_AUTO_UPDATE"] = "false"
	telemetry := filepath.Join(l.Root, "otel.jsonl")
	l.Env["COPILOT_OTEL_FILE_EXPORTER_PATH"] = telemetry
	l.Keep["otel.jsonl"] = telemetry
	if l.Hermetic {
		l.Own["COPILOT_HOME"] = filepath.Join(l.Home, ".copilot")
		cache, err := spec.SharedCache("copilot")
		if err != nil {
			return err
		}
		if cache != "" {
			l.Own["XDG_CACHE_HOME"] = cache // it unpacks 235 MB there
		}
	}
	if l.Cfg.BaseURL != "" {
		l.Env["COPILOT_OFFLINE"] = "true"
		l.Env["COPILOT_MODEL"] = l.Cfg.Model
		l.Env["COPILOT_PROVIDER_TYPE"] = "openai"
		l.Env["COPILOT_PROVIDER_BASE_URL"] = l.Cfg.BaseURL
		if l.Key != "" {
			l.Env["COPILOT_PROVIDER_API_KEY"] = l.Key
		}
	} else if l.Cfg.APIKeyEnv != "" {
		l.Env["COPILOT_GITHUB_TOKEN"] = l.Key
	}
	if len(l.Servers) > 0 {
		all := []string{"*"}
		file, err := l.WriteServers("plumb-mcp.json", spec.ServerFormat{
			Remote: map[string]any{"type": "http", "tools": all}, Local: map[string]any{"type": "local", "tools": all},
			URL: "url", Env: "env",
		})
		if err != nil {
			return err
		}
		l.Add("--additional-mcp-config", "@"+file)
	}
	l.Add(l.Cfg.Args...)
	return nil
}
