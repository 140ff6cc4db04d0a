// Package claude describes Claude Code and reads its transcripts, and those of Qwen Code, whose
// stream has the same format.
package claude

import (
	"os"
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec returns the spec of the agent.
func Spec() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "claude-code",
			Login: "claude /login", KeyHelp: "ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
			Read:     readClaude,
			Step:     claudeStep,
			Terminal: []string{"result"},
		},
		Programs: []string{"claude"}, Install: "npm install -g @anthropic-ai/claude-code",
		Native: []string{"@anthropic-ai/claude-code-PLATFORM/claude"},
		Skills: ".claude/skills", SkillDirs: []string{".claude/skills"},
		Instructions:     []string{"CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"},
		UserInstructions: []string{".claude/CLAUDE.md"},
		MachineInstructions: []string{
			"/etc/claude-code/CLAUDE.md", "/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-mcp.json",
		},
		MCP:     []string{".mcp.json"},
		UserMCP: []string{".claude.json"},
		Key:     "ANTHROPIC_API_KEY",
		Keys: []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
			"CLAUDE_CODE_OAUTH_TOKEN",
		},
		Cloud: map[string][]string{
			"CLAUDE_CODE_USE_BEDROCK": {"AWS_*", "ANTHROPIC_BEDROCK_*", "CLAUDE_CODE_SKIP_BEDROCK_AUTH"},
			"CLAUDE_CODE_USE_VERTEX": {
				"GOOGLE_*", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_*", "VERTEX_REGION_*", "CLAUDE_CODE_SKIP_VERTEX_AUTH",
			},
			"CLAUDE_CODE_USE_FOUNDRY": {"AZURE_*", "ANTHROPIC_FOUNDRY_*"},
		},
		Credentials:   []spec.Credentials{{Variable: "CLAUDE_CONFIG_DIR", Dir: ".claude", File: ".credentials.json"}},
		State:         []string{".claude/projects"},
		PriceOf:       func(model string) (provider, priced string) { return "anthropic", model },
		SkillgymUsage: spec.SkillgymUsage(nil),
		Proof:         spec.Proof{Model: "claude-sonnet-4-6"},
		Launch:        launchClaude,
	}
}

// claudeStep counts an assistant message, by its id. A message without an id is not a step.
func claudeStep(s *transcript.Steps, rec *transcript.Fields) {
	if rec.Text("type") == "assistant" {
		s.Once(rec.Get("message").Get("id"), false)
	}
}

func launchClaude(l *spec.Launch) error {
	l.Add("-p")
	if l.Resume != "" {
		l.Add("--resume", l.Resume)
	}
	l.Add("--output-format", "stream-json", "--verbose")
	if l.Bypass {
		l.Add("--dangerously-skip-permissions")
		if os.Geteuid() == 0 {
			l.Env["IS_SANDBOX"] = "1" // otherwise Claude Code rejects the flag for root
		}
	}
	l.Add("--model", l.Cfg.Model)
	l.Env["DISABLE_AUTOUPDATER"] = "1"
	if l.Hermetic {
		l.Own["CLAUDE_CONFIG_DIR"] = filepath.Join(l.Home, ".claude")
		l.Env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
	}
	l.SetProvider("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
	// With --strict-mcp-config, Claude Code uses only the servers of these files, and none of the
	// user's account.
	var files []string
	if len(l.Servers) > 0 {
		file, err := l.WriteServers("plumb-mcp.json", spec.ClaudeServers())
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	if project := filepath.Join(l.Workspace, ".mcp.json"); l.Hermetic && transcript.Exists(project) {
		files = append(files, project)
	}
	for _, file := range files {
		l.Add("--mcp-config=" + file)
	}
	if l.Hermetic {
		l.Add("--strict-mcp-config")
	}
	l.Add(l.Cfg.Args...)
	l.AddPrompt()
	return nil
}
