package agentcli

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// program is what is started for an agent: args come before all that a session adds.
type program struct {
	path string
	args []string
}

// launches reports whether a program starts others, which have to be named to it.
func launches(program string) bool {
	switch program {
	case "npx", "pnpm", "pnpx", "bunx", "bun", "yarn", "npm", "env":
		return true
	default:
		return false
	}
}

// find finds the program of an agent. Without a command in the configuration that is the agent itself: in node_modules
// beside the project or above it, where npx would take it from, or on the PATH. Where npm has put a script before the
// program that does the work, the program is taken: it starts sooner, and signals reach it.
func find(cfg plumb.AgentConfig, a adapter, env Env) (program, error) {
	if cfg.Command == "" && len(cfg.CommandArgs) > 0 && a.agent == "codex" {
		cfg.Command = "npx" // by documented habit, whose arguments they then are
	}
	if cfg.Command == "" || slices.Contains(a.programs, cfg.Command) && len(cfg.CommandArgs) == 0 {
		for _, name := range a.programs {
			if path, ok := lookPath(name, env.Dir); ok {
				return program{path: native(path, a), args: slices.Clone(cfg.CommandArgs)}, nil
			}
		}
		return program{}, plumb.WithHint(fmt.Errorf("the agent %s is not installed: there is no %s", a.agent, strings.Join(a.programs, " or ")),
			fmt.Sprintf("install it (%s), or set command to its path", a.install))
	}
	name := cfg.Command
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(env.Dir, name) // a program named by a relative path is beside the config file
	}
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		return program{}, plumb.WithHint(fmt.Errorf("command %s: %w", cfg.Command, err), fmt.Sprintf(
			"check that the program is there and may be executed; without command it is %s (%s)", strings.Join(a.programs, " or "), a.install))
	}
	if path, err = filepath.Abs(path); err != nil {
		return program{}, err
	}
	p := program{path: path, args: slices.Clone(cfg.CommandArgs)}
	// A launcher is told what to launch: by documented habit that is always so for codex, whose command is a launcher.
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".cmd"), ".exe")
	if a.agent == "codex" && launches(base) && !slices.ContainsFunc(p.args, namesCodex) {
		p.args = append(p.args, "codex")
	}
	return p, nil
}

// namesCodex reports whether an argument of a launcher already says what to launch: "@openai/codex@latest", "/opt/bin/codex".
func namesCodex(arg string) bool {
	base := arg[strings.LastIndexByte(arg, '/')+1:]
	base, _, _ = strings.Cut(base, "@")
	return base == "codex" || base == "codex.js"
}

// lookPath looks for a program as npx does: in node_modules of dir and of the directories above it, then on the PATH.
func lookPath(name, dir string) (string, bool) {
	for d := dir; ; d = filepath.Dir(d) {
		if path, err := exec.LookPath(filepath.Join(d, "node_modules", ".bin", name)); err == nil {
			return path, true
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}

// native returns the program that an npm package's script at path would start, or path.
func native(path string, a adapter) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || len(a.native) == 0 || !strings.Contains(filepath.ToSlash(real), "/node_modules/") {
		return path
	}
	platform := npmPlatform()
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	for d := filepath.Dir(real); filepath.Dir(d) != d; d = filepath.Dir(d) {
		modules := filepath.Join(d, "node_modules")
		for _, pattern := range a.native {
			found, err := filepath.Glob(filepath.Join(modules, filepath.FromSlash(strings.ReplaceAll(pattern, "PLATFORM", platform)+exe)))
			if err == nil && len(found) > 0 {
				return found[0]
			}
		}
	}
	return path
}

// npmPlatform is the name of this kind of machine in npm packages, such as "linux-x64".
func npmPlatform() string {
	goos, goarch := runtime.GOOS, runtime.GOARCH
	switch goos {
	case "windows":
		goos = "win32"
	default:
	}
	switch goarch {
	case "amd64":
		goarch = "x64"
	case "386":
		goarch = "ia32"
	default:
	}
	return goos + "-" + goarch
}
