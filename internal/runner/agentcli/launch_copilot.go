package agentcli

import (
	"os"
	"path/filepath"
)

func copilotAdapter() adapter {
	return adapter{
		agent: "copilot", programs: []string{"copilot"}, install: "npm install -g @github/copilot",
		native: []string{"@github/copilot-PLATFORM/copilot"},
		skills: ".agents/skills", skillDirs: []string{".github/skills", ".agents/skills", ".claude/skills"},
		instructions: []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"},
		user:         []string{".copilot/copilot-instructions.md"},
		mcp:          []string{".mcp.json", ".vscode/mcp.json", ".github/mcp.json"},
		userMCP:      []string{".copilot/mcp-config.json"},
		key:          "COPILOT_PROVIDER_API_KEY",
		keys:         []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "COPILOT_PROVIDER_*", "COPILOT_MODEL"},
		credentials: []credentials{{
			variable: "COPILOT_HOME", dir: ".copilot", file: "config.json",
			only: []string{"logged_in_users", "last_logged_in_user", "copilot_tokens"},
		}},
		state:  []string{".copilot/session-state"},
		launch: launchCopilot,
	}
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

// sharedCache is a directory for what an agent would otherwise unpack or fetch again for each session. It holds nothing of
// any session. It is "" for a user without a cache directory: one at a name that everybody knows could be somebody else's.
func sharedCache(agent string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", nil //nolint:nilerr // each session then has one of its own
	}
	dir := filepath.Join(base, "plumb", "agents", agent)
	return dir, os.MkdirAll(dir, 0o700)
}
