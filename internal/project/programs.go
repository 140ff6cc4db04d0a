package project

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/files"
)

// AgentPath finds the program of an agent. command is the program that the config names, or "".
func (p *Project) AgentPath(name, command string) (string, bool) {
	if strings.ContainsAny(command, `/\`) {
		path := p.Env.Path(command)
		return path, files.Exists(path)
	}
	programs := []string{command}
	if spec, err := agent.Find(name); command == "" && err == nil {
		programs = spec.Programs
	}
	for _, program := range programs {
		if path, ok := LookPath(program, p.Getenv("PATH"), p.Env.Dir); ok {
			return path, true
		}
	}
	return "", false
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
