package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
)

// launch prepares the start of a session.
func (r *Runner) launch(t task, p *sandbox) (*spec.Launch, error) {
	l := &spec.Launch{
		Root: p.root, Home: p.home, Tmp: p.tmp, Workspace: p.workspace, Stdout: p.out, Stderr: p.err, Lent: p.lent,
		Cfg: r.cfg, Program: r.program, Grace: r.grace, Getenv: r.variable, Prompt: t.prompt, Resume: t.resume,
		Bypass: r.cfg.Permissions != permissionsDefault, Hermetic: !r.cfg.InheritConfig,
		Servers: map[string]plumb.MCPServer{}, Env: map[string]string{}, Own: map[string]string{},
		Keep: map[string]string{},
	}
	l.KeyName = r.cfg.APIKeyEnv
	if l.KeyName == "" {
		l.KeyName = r.spec.Key
	}
	l.Key = r.variable(l.KeyName)
	if r.cfg.APIKeyEnv != "" && l.Key == "" {
		return nil, plumb.WithHint(fmt.Errorf("the environment variable %s of apiKeyEnv is not set", r.cfg.APIKeyEnv),
			"set it, or leave out apiKeyEnv")
	}
	for name, server := range r.cfg.MCPServers {
		server.Env, server.Headers = r.expandAll(server.Env), r.expandAll(server.Headers)
		l.Servers[name] = server
	}
	if err := r.spec.Launch(l); err != nil {
		return nil, err
	}
	if l.Stdin != "" {
		p.stdin = filepath.Join(p.root, "prompt")
		if err := os.WriteFile(p.stdin, []byte(l.Stdin), 0o600); err != nil {
			return nil, err
		}
	}
	l.Environ = r.environ(l, t.marker)
	return l, nil
}

// variable returns an environment variable as the agent gets it. The configuration takes precedence
// over the environment.
func (r *Runner) variable(name string) string {
	if value, ok := r.cfg.Env[name]; ok {
		return r.expand(value)
	}
	return r.env.Getenv(name)
}

// reference is a reference to an environment variable.
var reference = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z_0-9]*\}`)

// expand replaces references to environment variables, written ${NAME}.
func (r *Runner) expand(value string) string {
	return reference.ReplaceAllStringFunc(value, func(ref string) string { return r.env.Getenv(ref[2 : len(ref)-1]) })
}

func (r *Runner) expandAll(values map[string]string) map[string]string {
	out := maps.Clone(values)
	for name, value := range out {
		out[name] = r.expand(value)
	}
	return out
}

// environ returns the environment of a session: the user's variables without those that are private
// or belong to Plumb or to other agents, the variables of the agent and of the configuration, the
// session's own directories, and the marker.
func (r *Runner) environ(l *spec.Launch, marker string) []string {
	values := map[string]string{}
	if r.env.Environ != nil {
		for _, v := range r.env.Environ() {
			if name, value, _ := strings.Cut(v, "="); name != "" && r.passes(name, l.Hermetic) {
				values[name] = value
			}
		}
	}
	values["NO_COLOR"], values["TERM"] = "1", "dumb"
	for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM"} {
		delete(values, name)
	}
	maps.Copy(values, l.Env)
	maps.Copy(values, r.expandAll(r.cfg.Env))
	values["TMPDIR"], values["PWD"] = l.Tmp, l.Workspace
	if runtime.GOOS == "windows" {
		values["TEMP"], values["TMP"] = l.Tmp, l.Tmp
	}
	if l.Hermetic {
		setHome(values, l.Home)
	}
	maps.Copy(values, l.Own)
	if marker != "" {
		values[plumb.MarkerEnv] = marker
	}
	environ := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		environ = append(environ, name+"="+values[name])
	}
	return environ
}

// setHome sets the variables for the user's home.
func setHome(values map[string]string, home string) {
	values["HOME"] = home
	values["XDG_CONFIG_HOME"] = filepath.Join(home, ".config")
	values["XDG_DATA_HOME"] = filepath.Join(home, ".local", "share")
	values["XDG_STATE_HOME"] = filepath.Join(home, ".local", "state")
	values["XDG_CACHE_HOME"] = filepath.Join(home, ".cache")
	if runtime.GOOS == "windows" {
		values["USERPROFILE"] = home
		values["APPDATA"] = filepath.Join(home, "AppData", "Roaming")
		values["LOCALAPPDATA"] = filepath.Join(home, "AppData", "Local")
	}
}

// foreign lists the variables of agents and of Plumb.
func foreign() []string {
	return []string{
		"PLUMB_*", "SKILLGYM_*", "CLAUDECODE", "CLAUDE_*", "CODEX_*", "OPENCODE*", "COPILOT_*", "GEMINI_*", "CURSOR_*",
		"QWEN_*", "ANTHROPIC_*", "OTEL_*", "AI_AGENT",
	}
}

// ambient lists the variables that describe the process that started Plumb: an agent's session,
// which the new session is not a part of, a run, or a repository with a hook. No session gets them.
func ambient() []string {
	return []string{
		"PLUMB_*", "SKILLGYM_*", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION*",
		"CODEX_SANDBOX*", "CODEX_THREAD_ID", "CODEX_CI", "OPENCODE", "OPENCODE_PID", "OPENCODE_CALLER", "GEMINI_CLI",
		"CURSOR_TRACE_ID", "CURSOR_AGENT", "QWEN_CODE", "COPILOT_CLI", "AI_AGENT",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES",
	}
}

// passes reports whether the agent gets a variable of the environment.
func (r *Runner) passes(name string, hermetic bool) bool {
	switch {
	case matchesAny(ambient(), name):
		return false
	case !hermetic || r.ownKey(name):
		return true
	default:
		return !matchesAny(foreign(), name) && !r.env.Secret(name)
	}
}

// ownKey reports whether a variable holds the agent's own credentials, or selects its provider.
func (r *Runner) ownKey(name string) bool {
	if name == r.cfg.APIKeyEnv {
		return true
	}
	if r.cfg.BaseURL != "" && r.cfg.APIKeyEnv != "" {
		return false // the other keys are for the provider, not for the server at this address
	}
	for variable, more := range r.spec.Cloud {
		if r.variable(variable) != "" && (name == variable || matchesAny(more, name)) {
			return true
		}
	}
	return matchesAny(r.spec.Keys, name)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}
