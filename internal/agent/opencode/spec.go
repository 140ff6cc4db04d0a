// Package opencode describes opencode and reads its stream and its exports.
package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
)

// Spec returns the spec of the agent.
func Spec() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "opencode",
			Login: "opencode auth login", KeyHelp: "the key of the model's provider",
			Read:       readOpencode,
			Step:       opencodeStep,
			NoTerminal: true,
		},
		Programs: []string{"opencode"}, Install: "npm install -g opencode-ai",
		Native: []string{
			"opencode-PLATFORM/bin/opencode", "opencode-PLATFORM-baseline/bin/opencode",
			"opencode-PLATFORM-musl/bin/opencode",
		},
		Skills:              ".agents/skills",
		SkillDirs:           []string{".agents/skills", ".opencode/skill", ".opencode/skills", ".claude/skills"},
		Instructions:        []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"},
		UserInstructions:    []string{".config/opencode/AGENTS.md", ".claude/CLAUDE.md"},
		MachineInstructions: []string{"/etc/opencode/opencode.json"},
		MCP:                 []string{"opencode.json", "opencode.jsonc"},
		UserMCP:             []string{".config/opencode/opencode.json"},
		Keys: []string{
			"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
			"OPENROUTER_API_KEY", "XAI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY",
			"OPENCODE_API_KEY", "CEREBRAS_API_KEY", "TOGETHER_API_KEY", "FIREWORKS_API_KEY", "MOONSHOT_API_KEY",
			"ZHIPU_API_KEY", "DASHSCOPE_API_KEY", "AZURE_API_KEY", "AZURE_RESOURCE_NAME",
		},
		Credentials: []spec.Credentials{{Dir: ".local/share/opencode", File: "auth.json"}},
		State: []string{
			".local/share/opencode/opencode.db", ".local/share/opencode/opencode.db-wal",
			".local/share/opencode/storage", ".local/share/opencode/log",
		},
		PriceOf: func(model string) (provider, priced string) {
			provider, priced, _ = strings.Cut(model, "/")
			return provider, priced
		},
		SkillgymUsage: spec.SkillgymUsage(opencodeSkillgym),
		Proof:         spec.Proof{Model: "openai/gpt-proof", Path: "/v1"},
		Collect:       collectOpencode,
		Launch:        launchOpencode,
	}
}

// opencodeStep counts the end of a step.
func opencodeStep(s *transcript.Steps, rec *transcript.Fields) {
	if rec.Text("type") == "step_finish" {
		s.N++
	}
}

// opencodeSkillgym removes reasoning from the output, and keeps it in the total, as skillgym does.
func opencodeSkillgym(u *plumb.Usage, _, output, extra *int64) {
	*output -= transcript.OrZero(u.ReasoningTokens)
	*extra = transcript.OrZero(u.ReasoningTokens)
}

func launchOpencode(l *spec.Launch) error {
	l.Add("run", "--model", l.Cfg.Model, "--format", "json", "--thinking")
	l.Add("--print-logs", "--log-level", "ERROR") // otherwise it hides errors such as an unknown model
	if l.Bypass {
		l.Add("--auto")
	}
	if l.Resume != "" {
		l.Add("--session", l.Resume)
	} else {
		l.Add("--title", "plumb") // otherwise it asks the model for a title
	}
	l.Add(l.Cfg.Args...)
	// It quotes an argument with spaces (https://github.com/anomalyco/opencode/pull/4979). The
	// prompt can be an argument when the model gets it unchanged.
	l.Stdin = l.Prompt

	config := map[string]any{"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled"}
	if l.Cfg.BaseURL != "" {
		config["provider"] = opencodeProvider(l)
	}
	if len(l.Servers) > 0 {
		config["mcp"] = spec.ServerFormat{
			Remote: map[string]any{"enabled": true, "type": "remote"},
			Local:  map[string]any{"enabled": true, "type": "local"},
			URL:    "url", Env: "environment", OneList: true,
		}.Servers(l.Servers)
	}
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	l.Env["OPENCODE_CONFIG_CONTENT"] = string(data)
	l.Env["OPENCODE_DISABLE_AUTOUPDATE"] = "1"
	if !l.Hermetic {
		return nil
	}
	l.Env["OPENCODE_DISABLE_LSP_DOWNLOAD"] = "1"
	l.Env["OPENCODE_DISABLE_DEFAULT_PLUGINS"] = "1"
	if l.Cfg.BaseURL != "" {
		l.Env["OPENCODE_DISABLE_MODELS_FETCH"] = "1"
	}
	return seedOpencode(filepath.Join(l.Home, ".config", "opencode"))
}

// seedOpencode makes a configuration directory look as if opencode had installed its packages
// there. Otherwise each session installs them from the npm registry, and ignores signals during
// that. It can go when the installation can be disabled:
// https://github.com/anomalyco/opencode/issues/37888.
func seedOpencode(dir string) error {
	const dependencies = `{"dependencies":{"@opencode-ai/plugin":"*"}}`
	for name, content := range map[string]string{
		"package.json":      dependencies,
		"package-lock.json": `{"lockfileVersion":3,"packages":{"":` + dependencies + `}}`,
	} {
		if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// opencodeProvider returns the configuration of the model's provider with another address. It also
// describes a provider that opencode does not have.
func opencodeProvider(l *spec.Launch) map[string]any {
	provider, model, ok := strings.Cut(l.Cfg.Model, "/")
	if !ok {
		provider, model = "plumb", l.Cfg.Model
	}
	options := map[string]any{"baseURL": l.Cfg.BaseURL}
	if l.Key != "" {
		options["apiKey"] = "{env:" + l.KeyName + "}"
		l.Env[l.KeyName] = l.Key
	} else if !slices.Contains([]string{"openai", "anthropic", "google"}, provider) {
		options["apiKey"] = "none" // opencode needs a key, even for a server without keys
	}
	described := map[string]any{"options": options}
	entry := map[string]any{
		"name": model, "tool_call": true, "reasoning": true,
		"limit": map[string]any{"context": 200_000, "output": 32_000},
	}
	switch provider {
	case "openai":
		described["npm"] = "@ai-sdk/openai"
	case "anthropic":
		described["npm"] = "@ai-sdk/anthropic"
	case "google":
		described["npm"] = "@ai-sdk/google"
	default:
		described["npm"], described["name"] = "@ai-sdk/openai-compatible", provider
	}
	described["models"] = map[string]any{model: entry}
	return map[string]any{provider: described}
}

const (
	// exportLimit is the time limit of one export, exportTries the number of attempts.
	exportLimit = 30 * time.Second
	exportTries = 2
	// exportMost is the maximum number of exported sessions, with those of subagents.
	exportMost = 50
)

// collectOpencode exports a session and those of its subagents, because the stream lacks parts of
// them, and the state is a database.
func collectOpencode(ctx context.Context, l *spec.Launch, session string) error {
	seen := map[string]bool{session: true}
	name := "export.json"
	for queue := []string{session}; len(queue) > 0; queue = queue[1:] {
		file, err := exportOpencode(ctx, l, queue[0], name)
		if err != nil {
			return fmt.Errorf("export the session %s: %w", queue[0], err)
		}
		for _, child := range opencodeChildren(file) {
			if !seen[child] && len(seen) < exportMost {
				seen[child] = true
				queue = append(queue, child)
			}
		}
		if len(queue) > 1 {
			name = "export-" + queue[1] + ".json"
		}
	}
	return nil
}

// exportOpencode makes opencode write one session to a file, and keeps the file under the name.
func exportOpencode(ctx context.Context, l *spec.Launch, session, name string) (file string, err error) {
	if strings.ContainsAny(session, `/\`) || strings.HasPrefix(session, "-") {
		return "", fmt.Errorf("%q is not a session id", session)
	}
	file = filepath.Join(l.Root, name)
	errorsFile := filepath.Join(l.Root, "export.stderr")
	for range exportTries {
		c := proc.Command{
			Path: l.Program.Path, Args: slices.Concat(l.Program.Args, []string{"export", session}),
			Dir: l.Workspace, Env: l.Environ, Stdout: file, Stderr: errorsFile, Grace: l.Grace,
		}
		limited, cancel := context.WithTimeoutCause(ctx, exportLimit, spec.TimeoutError(exportLimit))
		var result proc.Result
		result, err = c.Run(limited)
		cancel()
		switch {
		case err != nil:
		case result.Stopped != nil:
			err = result.Stopped
		case result.ExitCode == nil || *result.ExitCode != 0:
			err = fmt.Errorf("%s: %s", result.Text(), transcript.LastLines(errorsFile))
		case !wholeJSON(file):
			err = errors.New("the export is not a JSON document")
		default:
			l.Keep[name] = file
			return file, nil
		}
	}
	return "", errors.Join(err, os.Remove(file))
}

// wholeJSON reports whether a file begins and ends as a JSON object.
func wholeJSON(file string) bool {
	f, err := files.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // opened only for reading
	var first, last [64]byte
	n, _ := f.ReadAt(first[:], 0) // a short file is no error
	at := max(0, transcript.FileSize(file)-int64(len(last)))
	m, _ := f.ReadAt(last[:], at) // the same
	return strings.HasPrefix(strings.TrimSpace(string(first[:n])), "{") &&
		strings.HasSuffix(strings.TrimSpace(string(last[:m])), "}")
}

// opencodeChildren lists the sessions of the subagents that an exported session started.
func opencodeChildren(file string) []string {
	var found []string
	_ = transcript.EachValue(file, []string{"", "messages", "messages[]", "messages[].parts"},
		func(path string, value []byte) error { // an unreadable export has none
			if part := gjson.ParseBytes(value); path == "messages[].parts[]" && part.Get("tool").Str == "task" {
				if id := part.Get("state.metadata.sessionId").String(); id != "" {
					found = append(found, id)
				}
			}
			return nil
		})
	return found
}
