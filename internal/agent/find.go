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

// find returns the program of an agent. Without a command in the configuration, it looks for the
// agent in node_modules of the project's directory and its parents, as npx does, and then on the
// PATH. If npm installed a script that starts a native program, find returns the native program,
// because it starts faster and receives signals.
func find(cfg plumb.AgentConfig, a spec.Spec, env Env) (spec.Program, error) {
	if cfg.Command == "" && len(cfg.CommandArgs) > 0 && a.Launcher != "" {
		cfg.Command = a.Launcher // documented: the arguments are those of the launcher
	}
	names := strings.Join(a.Programs, " or ")
	if cfg.Command == "" || slices.Contains(a.Programs, cfg.Command) && len(cfg.CommandArgs) == 0 {
		for _, name := range a.Programs {
			if path, ok := lookPath(name, env.Dir); ok {
				return spec.Program{Path: native(path, a), Args: slices.Clone(cfg.CommandArgs)}, nil
			}
		}
		err := fmt.Errorf("the agent %s is not installed: there is no %s", a.Name, names)
		return spec.Program{}, plumb.WithHint(err,
			fmt.Sprintf("install it (%s), or set command to its path", a.Install))
	}
	name := cfg.Command
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(env.Dir, name) // a relative path begins at the config file
	}
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		return spec.Program{}, plumb.WithHint(fmt.Errorf("command %s: %w", cfg.Command, err), fmt.Sprintf(
			"check that the program exists and is executable; without command it is %s (%s)", names, a.Install))
	}
	if path, err = filepath.Abs(path); err != nil {
		return spec.Program{}, err
	}
	p := spec.Program{Path: path, Args: slices.Clone(cfg.CommandArgs)}
	// A launcher needs the agent's name. It is documented that users of codex may leave it out.
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".cmd"), ".exe")
	launchers := []string{"npx", "pnpm", "pnpx", "bunx", "bun", "yarn", "npm", "env"}
	if a.LauncherArg != "" && slices.Contains(launchers, base) &&
		!slices.ContainsFunc(p.Args, func(arg string) bool { return namesAgent(arg, a.LauncherArg) }) {
		p.Args = append(p.Args, a.LauncherArg)
	}
	return p, nil
}

// namesAgent reports whether an argument of a launcher names the agent: "@openai/codex@latest",
// "/opt/bin/codex".
func namesAgent(arg, name string) bool {
	base := arg[strings.LastIndexByte(arg, '/')+1:]
	base, _, _ = strings.Cut(base, "@")
	return base == name || base == name+".js"
}

// lookPath looks for a program in node_modules of dir and its parents, then on the PATH.
func lookPath(name, dir string) (string, bool) {
	for d, last := dir, ""; d != last; d, last = filepath.Dir(d), d {
		if path, err := exec.LookPath(filepath.Join(d, "node_modules", ".bin", name)); err == nil {
			return path, true
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}

// native returns the native program that the script of an npm package at path starts, or path.
func native(path string, a spec.Spec) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.Contains(filepath.ToSlash(real), "/node_modules/") {
		return path
	}
	platform, exe := npmPlatform(), ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	for d := filepath.Dir(real); filepath.Dir(d) != d; d = filepath.Dir(d) {
		for _, pattern := range a.Native {
			pattern = filepath.FromSlash(strings.ReplaceAll(pattern, "PLATFORM", platform) + exe)
			if found, err := filepath.Glob(filepath.Join(d, "node_modules", pattern)); err == nil && len(found) > 0 {
				return found[0]
			}
		}
	}
	return path
}

// npmPlatform returns the name of this platform in npm packages, such as "linux-x64".
func npmPlatform() string {
	names := strings.NewReplacer("windows", "win32", "amd64", "x64", "386", "ia32")
	return names.Replace(runtime.GOOS + "-" + runtime.GOARCH)
}
