// Package codex describes Codex and reads its stream and its rollouts.
package codex

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec returns the spec of the agent.
func Spec() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "codex",
			Login: "codex login", KeyHelp: "OPENAI_API_KEY or CODEX_API_KEY",
			Read:     readCodex,
			Step:     codexStep,
			Terminal: []string{"turn.completed", "turn.failed"},
		},
		Programs: []string{"codex"}, Install: "npm install -g @openai/codex",
		Native: []string{
			"@openai/codex-PLATFORM/vendor/*/bin/codex",
			"@openai/codex-PLATFORM/vendor/*/codex/codex",
			"@openai/codex/vendor/*/codex/codex",
		},
		Skills: ".agents/skills", SkillDirs: []string{".agents/skills", ".codex/skills"},
		Instructions:        []string{"AGENTS.md", "AGENTS.override.md"},
		UserInstructions:    []string{".codex/AGENTS.md", ".codex/AGENTS.override.md"},
		MachineInstructions: []string{"/etc/codex/config.toml", "/etc/codex/managed_config.toml", "/etc/codex/skills"},
		MCP:                 []string{".codex/config.toml"},
		UserMCP:             []string{".codex/config.toml"},
		Key:                 "OPENAI_API_KEY",
		Keys: []string{
			"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_API_KEY",
			"CODEX_ACCESS_TOKEN", "AZURE_OPENAI_API_KEY",
		},
		Credentials: []spec.Credentials{{Variable: "CODEX_HOME", Dir: ".codex", File: "auth.json"}},
		State:       []string{".codex/sessions"},
		Launcher:    "npx", LauncherArg: "codex",
		PriceOf:       func(model string) (provider, priced string) { return "openai", model },
		SkillgymUsage: spec.SkillgymUsage(codexSkillgym),
		Proof:         spec.Proof{Model: "gpt-5.5", Path: "/v1"},
		Launch:        launchCodex,
	}
}

// codexStep counts a message of the agent, by its item id.
func codexStep(s *transcript.Steps, rec *transcript.Fields) {
	if rec.Text("type") == "item.completed" && rec.Get("item").Get("type").Str == "agent_message" {
		s.Once(rec.Get("item").Get("id"), true)
	}
}

// codexSkillgym adds reasoning to the total a second time. An old version does not report
// reasoning; skillgym then uses the provider's total.
func codexSkillgym(u *plumb.Usage, _, _, extra *int64) {
	*extra = transcript.OrZero(u.ReasoningTokens)
	if u.ReasoningTokens == nil {
		*extra = transcript.OrZero(u.CacheTokens)
	}
}

func launchCodex(l *spec.Launch) error {
	l.Add("exec")
	if l.Resume != "" {
		l.Add("resume")
	}
	l.Add("--json", "--skip-git-repo-check")
	if l.Bypass {
		l.Add("--dangerously-bypass-approvals-and-sandbox")
	}
	if l.Resume == "" { // a resumed session works in the directory of the process
		l.Add("-C", l.Workspace)
	}
	l.Add("--model", l.Cfg.Model)

	var settings [][2]string // TOML keys and values
	set := func(key, value string) { settings = append(settings, [2]string{key, value}) }
	if l.Hermetic {
		set("check_for_update_on_startup", "false")
		set("analytics.enabled", "false")
		set("history.persistence", `"none"`)
	}
	if l.Cfg.BaseURL != "" {
		set("model_provider", `"plumb"`)
		set("model_providers.plumb.name", `"plumb"`)
		set("model_providers.plumb.base_url", tomlString(l.Cfg.BaseURL))
		set("model_providers.plumb.wire_api", `"responses"`)
		if l.Key != "" {
			set("model_providers.plumb.env_key", tomlString(l.KeyName))
			l.Env[l.KeyName] = l.Key
		}
	} else if l.Key != "" && l.Getenv("CODEX_API_KEY") == "" && (len(l.Lent) == 0 || l.Cfg.APIKeyEnv != "") {
		l.Env["CODEX_API_KEY"] = l.Key // codex exec ignores OPENAI_API_KEY
	}
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		server, key := l.Servers[name], "mcp_servers."+name
		if server.URL != "" {
			set(key+".url", tomlString(server.URL))
			if len(server.Headers) > 0 {
				set(key+".http_headers", tomlTable(server.Headers))
			}
			continue
		}
		set(key+".command", tomlString(server.Command))
		set(key+".args", tomlArray(server.Args))
		if len(server.Env) > 0 {
			set(key+".env", tomlTable(server.Env))
		}
	}
	if l.Hermetic {
		l.Own["CODEX_HOME"] = filepath.Join(l.Home, ".codex")
		l.Own["CODEX_SQLITE_HOME"] = filepath.Join(l.Home, ".codex", "sqlite")
		if err := os.MkdirAll(l.Own["CODEX_SQLITE_HOME"], 0o700); err != nil {
			return err
		}
		var file strings.Builder
		for _, s := range settings {
			fmt.Fprintf(&file, "%s = %s\n", s[0], s[1])
		}
		if _, err := l.Write(".codex/config.toml", []byte(file.String())); err != nil {
			return err
		}
	} else {
		for _, s := range settings {
			l.Add("-c", s[0]+"="+s[1])
		}
	}
	l.Add(l.Cfg.Args...)
	l.Add("--")
	if l.Resume != "" {
		l.Add(l.Resume)
	}
	if len(l.Prompt) > spec.ArgLimit() || l.Prompt == "-" {
		l.Stdin = l.Prompt
		l.Add("-")
		return nil
	}
	l.Add(l.Prompt)
	return nil
}

// tomlString returns a TOML string. TOML accepts all escapes of JSON.
func tomlString(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(string(data), "\u007f", `\u007f`)
}

func tomlArray(values []string) string {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, tomlString(v))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func tomlTable(values map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, tomlString(name)+" = "+tomlString(values[name]))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}
