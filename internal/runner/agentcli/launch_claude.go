package agentcli

import (
	"os"
	"path/filepath"
)

func claudeSpec() Spec {
	return Spec{
		Format: Format{
			Name:  "claude-code",
			Login: "claude /login", KeyHelp: "ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
			Read:     normaliseClaude,
			Step:     claudeStep,
			Terminal: []string{"result"},
		},
		Programs: []string{"claude"}, Install: "npm install -g @anthropic-ai/claude-code",
		Native: []string{"@anthropic-ai/claude-code-PLATFORM/claude"},
		Skills: ".claude/skills", SkillDirs: []string{".claude/skills"},
		Instructions:        []string{"CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"},
		UserInstructions:    []string{".claude/CLAUDE.md"},
		MachineInstructions: []string{"/etc/claude-code/CLAUDE.md", "/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-mcp.json"},
		MCP:                 []string{".mcp.json"},
		UserMCP:             []string{".claude.json"},
		Key:                 "ANTHROPIC_API_KEY",
		Keys:                []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN"},
		Cloud: map[string][]string{
			"CLAUDE_CODE_USE_BEDROCK": {"AWS_*", "ANTHROPIC_BEDROCK_*", "CLAUDE_CODE_SKIP_BEDROCK_AUTH"},
			"CLAUDE_CODE_USE_VERTEX":  {"GOOGLE_*", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_*", "VERTEX_REGION_*", "CLAUDE_CODE_SKIP_VERTEX_AUTH"},
			"CLAUDE_CODE_USE_FOUNDRY": {"AZURE_*", "ANTHROPIC_FOUNDRY_*"},
		},
		Credentials:   []Credentials{{Variable: "CLAUDE_CONFIG_DIR", Dir: ".claude", File: ".credentials.json"}},
		State:         []string{".claude/projects"},
		PriceOf:       func(model string) (provider, priced string) { return "anthropic", model },
		SkillgymUsage: SkillgymUsage(nil),
		Proof:         Proof{Model: "claude-sonnet-4-6"},
		Launch:        launchClaude,
	}
}

// claudeStep counts an assistant message, by its id. A message without an id is not a step.
func claudeStep(s *steps, rec *fields) {
	if rec.text("type") == "assistant" {
		s.once(rec.get("message").Get("id"), false)
	}
}

func launchClaude(l *launch) error {
	l.add("-p")
	if l.resume != "" {
		l.add("--resume", l.resume)
	}
	l.add("--output-format", "stream-json", "--verbose")
	if l.bypass {
		l.add("--dangerously-skip-permissions")
		if os.Geteuid() == 0 {
			l.env["IS_SANDBOX"] = "1" // root is refused the flag otherwise
		}
	}
	l.add("--model", l.cfg.Model)
	l.env["DISABLE_AUTOUPDATER"] = "1"
	if l.hermetic {
		l.own["CLAUDE_CONFIG_DIR"] = filepath.Join(l.home, ".claude")
		l.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
	}
	if l.cfg.BaseURL != "" {
		l.env["ANTHROPIC_BASE_URL"] = l.cfg.BaseURL
	}
	if l.key != "" {
		l.env["ANTHROPIC_API_KEY"] = l.key
	}
	// With strict only the servers of these files are there: those of the suite, and none of an account.
	var files []string
	if len(l.servers) > 0 {
		file, err := l.writeJSON("plumb-mcp.json", map[string]any{"mcpServers": claudeServers(l.servers)})
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	if project := filepath.Join(l.workspace, ".mcp.json"); l.hermetic && exists(project) {
		files = append(files, project)
	}
	for _, file := range files {
		l.add("--mcp-config=" + file)
	}
	if l.hermetic {
		l.add("--strict-mcp-config")
	}
	l.add(l.cfg.Args...)
	if !l.plain() {
		l.stdin = l.prompt
		return nil
	}
	l.add(l.prompt)
	return nil
}
