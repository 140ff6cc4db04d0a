package agent

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
)

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
func find(cfg plumb.AgentConfig, a spec.Spec, env Env) (spec.Program, error) {
	if cfg.Command == "" && len(cfg.CommandArgs) > 0 && a.Launcher != "" {
		cfg.Command = a.Launcher // by documented habit, whose arguments they then are
	}
	if cfg.Command == "" || slices.Contains(a.Programs, cfg.Command) && len(cfg.CommandArgs) == 0 {
		for _, name := range a.Programs {
			if path, ok := lookPath(name, env.Dir); ok {
				return spec.Program{Path: native(path, a), Args: slices.Clone(cfg.CommandArgs)}, nil
			}
		}
		return spec.Program{}, plumb.WithHint(fmt.Errorf("the agent %s is not installed: there is no %s", a.Name, strings.Join(a.Programs, " or ")),
			fmt.Sprintf("install it (%s), or set command to its path", a.Install))
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
		return spec.Program{}, plumb.WithHint(fmt.Errorf("command %s: %w", cfg.Command, err), fmt.Sprintf(
			"check that the program is there and may be executed; without command it is %s (%s)", strings.Join(a.Programs, " or "), a.Install))
	}
	if path, err = filepath.Abs(path); err != nil {
		return spec.Program{}, err
	}
	p := spec.Program{Path: path, Args: slices.Clone(cfg.CommandArgs)}
	// A launcher is told what to launch: by documented habit that is always so for codex, whose command is a launcher.
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".cmd"), ".exe")
	if a.LauncherArg != "" && launches(base) && !slices.ContainsFunc(p.Args, func(arg string) bool { return namesAgent(arg, a.LauncherArg) }) {
		p.Args = append(p.Args, a.LauncherArg)
	}
	return p, nil
}

// namesAgent reports whether an argument of a launcher already names the agent: "@openai/codex@latest", "/opt/bin/codex".
func namesAgent(arg, name string) bool {
	base := arg[strings.LastIndexByte(arg, '/')+1:]
	base, _, _ = strings.Cut(base, "@")
	return base == name || base == name+".js"
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
func native(path string, a spec.Spec) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || len(a.Native) == 0 || !strings.Contains(filepath.ToSlash(real), "/node_modules/") {
		return path
	}
	platform := npmPlatform()
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	for d := filepath.Dir(real); filepath.Dir(d) != d; d = filepath.Dir(d) {
		modules := filepath.Join(d, "node_modules")
		for _, pattern := range a.Native {
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
