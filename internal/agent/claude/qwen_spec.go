package claude

import (
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Qwen returns the spec of Qwen Code.
func Qwen() spec.Spec {
	return spec.Spec{
		Format: transcript.Format{
			Name:  "qwen",
			Login: "qwen", KeyHelp: "OPENAI_API_KEY",
			Read:     readQwen,
			Step:     qwenStep,
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
		Credentials:      []spec.Credentials{{Dir: ".qwen", File: "oauth_creds.json"}},
		State:            []string{".qwen/projects", ".qwen/tmp"},
		InheritedMCPOnly: true,
		PriceOf:          spec.NoPrice,
		SkillgymUsage:    spec.SkillgymUnknown,
		Proof:            spec.Proof{Model: "qwen3-coder-plus", Path: "/v1"},
		Launch:           launchQwen,
	}
}

// qwenStep is [claudeStep] without the blocks before the last of a request.
func qwenStep(s *transcript.Steps, rec *transcript.Fields) {
	if !unused(rec.Get("message").Get("usage")) {
		claudeStep(s, rec)
	}
}

func launchQwen(l *spec.Launch) error {
	l.Add("--output-format", "stream-json")
	if l.Bypass {
		l.Add("--yolo")
	}
	l.Add("--model", l.Cfg.Model)
	if l.Resume != "" {
		l.Add("--resume", l.Resume)
	}
	l.SetProvider("OPENAI_BASE_URL", "OPENAI_API_KEY")
	l.Env["OPENAI_MODEL"] = l.Cfg.Model
	if l.Hermetic {
		auth := "openai"
		if l.Key == "" && l.Lent[filepath.Join(l.Home, ".qwen", "oauth_creds.json")] != "" {
			auth = "qwen-oauth"
		}
		general := map[string]any{"disableAutoUpdate": true, "disableUpdateNag": true}
		if err := l.WriteGeminiSettings(".qwen/settings.json", auth, general); err != nil {
			return err
		}
	}
	l.Add(l.Cfg.Args...)
	l.AddPromptFlag()
	return nil
}
