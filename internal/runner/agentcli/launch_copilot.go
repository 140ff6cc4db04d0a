package agentcli

import (
	"path/filepath"

	"github.com/plumb-eval/plumb"
)

func copilotSpec() Spec {
	return Spec{
		Format: Format{
			Name:  "copilot",
			Login: "copilot login", KeyHelp: "GH_TOKEN or COPILOT_PROVIDER_API_KEY",
			Read:     normaliseCopilot,
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
		Keys:             []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "COPILOT_PROVIDER_*", "COPILOT_MODEL"},
		Credentials: []Credentials{{
			Variable: "COPILOT_HOME", Dir: ".copilot", File: "config.json",
			Only: []string{"logged_in_users", "last_logged_in_user", "copilot_tokens"},
		}},
		State:         []string{".copilot/session-state"},
		SharedCache:   true,
		PriceOf:       NoPrice,
		SkillgymUsage: SkillgymUsage(copilotSkillgym),
		Proof:         Proof{Model: "gpt-5.5", Path: "/v1"},
		Launch:        launchCopilot,
	}
}

// copilotStep counts an assistant message, by its id.
func copilotStep(s *steps, rec *fields) {
	if rec.text("type") == "assistant.message" {
		s.once(rec.get("data").Get("messageId"), true)
	}
}

// copilotSkillgym keeps cache writes in the input, and adds reasoning to the total a second time.
func copilotSkillgym(u *plumb.Usage, input, _, extra *int64) {
	*input, *extra = *u.InputTokens, value(u.ReasoningTokens)
}

func launchCopilot(l *launch) error {
	promptByFlag(l)
	if l.resume != "" {
		l.add("--resume=" + l.resume)
	}
	l.add("--model", l.cfg.Model, "--output-format", "json", "--stream", "on", "--no-auto-update")
	if l.hermetic {
		l.add("--disable-builtin-mcps")
	}
	l.add("--no-remote")
	if l.bypass {
		l.add("--allow-all-tools")
	}
	l.add("--disallow-temp-dir", "-C", l.workspace)
	l.env["COPILOT_AUTO_UPDATE"] = "false"
	telemetry := filepath.Join(l.root, "otel.jsonl")
	l.env["COPILOT_OTEL_FILE_EXPORTER_PATH"] = telemetry
	l.keep["otel.jsonl"] = telemetry
	if l.hermetic {
		l.own["COPILOT_HOME"] = filepath.Join(l.home, ".copilot")
		cache, err := sharedCache("copilot")
		if err != nil {
			return err
		}
		if cache != "" {
			l.own["XDG_CACHE_HOME"] = cache // it unpacks 235 MB there
		}
	}
	if l.cfg.BaseURL != "" {
		l.env["COPILOT_OFFLINE"] = "true"
		l.env["COPILOT_MODEL"] = l.cfg.Model
		l.env["COPILOT_PROVIDER_TYPE"] = "openai"
		l.env["COPILOT_PROVIDER_BASE_URL"] = l.cfg.BaseURL
		if l.key != "" {
			l.env["COPILOT_PROVIDER_API_KEY"] = l.key
		}
	} else if l.cfg.APIKeyEnv != "" {
		l.env["COPILOT_GITHUB_TOKEN"] = l.key
	}
	if len(l.servers) > 0 {
		servers := claudeServers(l.servers)
		for _, s := range servers {
			server := s.(map[string]any) //nolint:forcetypeassert // as it was made
			if server["type"] == "stdio" {
				server["type"] = "local"
			}
			server["tools"] = []string{"*"}
		}
		file, err := l.writeJSON("plumb-mcp.json", map[string]any{"mcpServers": servers})
		if err != nil {
			return err
		}
		l.add("--additional-mcp-config", "@"+file)
	}
	l.add(l.cfg.Args...)
	return nil
}
