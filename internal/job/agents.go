package job

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// Agent is a coding-agent CLI that Plumb can run.
type Agent struct{ Name, Program, Install string }

// Agents returns all coding-agent CLIs that Plumb can run.
func Agents() []Agent {
	return []Agent{
		{"codex", "codex", "npm install -g @openai/codex"},
		{"claude-code", "claude", "npm install -g @anthropic-ai/claude-code"},
		{"opencode", "opencode", "npm install -g opencode-ai"},
		{"cursor-agent", "cursor-agent", "see https://cursor.com/cli"},
		{"copilot", "copilot", "npm install -g @github/copilot"},
		{"gemini", "gemini", "npm install -g @google/gemini-cli"},
		{"qwen", "qwen", "npm install -g @qwen-code/qwen-code"},
	}
}

// AgentPath finds the program of an agent. command is the program that the config names, or "".
func (p *Project) AgentPath(agent, command string) (string, bool) {
	for _, a := range Agents() {
		if a.Name == agent && command == "" {
			command = a.Program
		}
	}
	if strings.ContainsAny(command, `/\`) {
		path := p.env.Path(command)
		return path, exists(path)
	}
	return LookPath(command, p.Getenv("PATH"), p.env.Dir)
}

// LookPath finds a program in the directories of the list path. Relative directories are relative
// to dir.
func LookPath(program, path, dir string) (string, bool) {
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		if found, err := exec.LookPath(filepath.Join(d, program)); err == nil {
			return found, true
		}
	}
	return "", false
}
