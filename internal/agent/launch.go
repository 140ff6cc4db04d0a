package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/proc"
)

// launch prepares the start of a session.
func (r *Runner) launch(t task, p *sandbox) (*spec.Launch, error) {
	l := &spec.Launch{
		Root: p.root, Home: p.home, Tmp: p.tmp, Workspace: p.workspace, Stdout: p.out, Stderr: p.err, Lent: p.lent, Cfg: r.cfg, Program: r.program, Grace: r.grace, Getenv: r.variable, Prompt: t.prompt, Resume: t.resume,
		Bypass: r.cfg.Permissions != permissionsDefault, Hermetic: !r.cfg.InheritConfig,
		Servers: map[string]plumb.MCPServer{}, Env: map[string]string{}, Own: map[string]string{}, Keep: map[string]string{},
	}
	l.KeyName = r.cfg.APIKeyEnv
	if l.KeyName == "" {
		l.KeyName = r.spec.Key
	}
	l.Key = r.variable(l.KeyName)
	if r.cfg.APIKeyEnv != "" && l.Key == "" {
		return nil, plumb.WithHint(fmt.Errorf("the environment variable %s of apiKeyEnv is not set", r.cfg.APIKeyEnv), "set it, or leave apiKeyEnv out")
	}
	for name, server := range r.cfg.MCPServers {
		server.Env, server.Headers = r.resolved(server.Env), r.resolved(server.Headers)
		l.Servers[name] = server
	}
	if err := r.spec.Launch(l); err != nil {
		return nil, err
	}
	if l.Stdin != "" {
		file := filepath.Join(p.root, "prompt")
		if err := os.WriteFile(file, []byte(l.Stdin), 0o600); err != nil {
			return nil, err
		}
	}
	l.Environ = r.environ(l, t.marker)
	return l, nil
}

// variable returns an environment variable as the agent is to see it: the configuration stands above the environment.
func (r *Runner) variable(name string) string {
	if value, ok := r.cfg.Env[name]; ok {
		return r.expand(value)
	}
	return r.env.Getenv(name)
}

// expand resolves references to environment variables, written ${NAME}.
func (r *Runner) expand(value string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(value, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed || !variableName(name) {
			b.WriteString(value)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(r.env.Getenv(name))
		value = after
	}
}

func variableName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func (r *Runner) resolved(values map[string]string) map[string]string {
	out := maps.Clone(values)
	for name, value := range out {
		out[name] = r.expand(value)
	}
	return out
}

// command is the program of the session, ready to run.
func command(l *spec.Launch) proc.Command {
	c := proc.Command{
		Path: l.Program.Path, Args: slices.Concat(l.Program.Args, l.Args), Dir: l.Workspace, Env: l.Environ,
		Stdout: l.Stdout, Stderr: l.Stderr,
	}
	if l.Stdin != "" {
		c.Stdin = filepath.Join(l.Root, "prompt")
	}
	return c
}

// environ makes the environment of a session: what the user has, without what belongs to other agents, to this program, or to
// nobody's business; the session's own directories; what the configuration says; and the mark.
func (r *Runner) environ(l *spec.Launch, marker string) []string {
	values := map[string]string{}
	for _, v := range r.env.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if name != "" && r.passes(name, l.Hermetic) {
			values[name] = value
		}
	}
	maps.Copy(values, map[string]string{"NO_COLOR": "1", "TERM": "dumb"})
	for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM"} {
		delete(values, name)
	}
	maps.Copy(values, l.Env)
	for name, value := range r.cfg.Env {
		values[name] = r.expand(value)
	}
	own := map[string]string{"TMPDIR": l.Tmp, "PWD": l.Workspace}
	if runtime.GOOS == "windows" {
		own["TEMP"], own["TMP"] = l.Tmp, l.Tmp
	}
	if l.Hermetic {
		maps.Copy(own, homeVariables(l.Home))
	}
	maps.Copy(own, l.Own)
	if marker != "" {
		own[plumb.MarkerEnv] = marker
	}
	maps.Copy(values, own)
	environ := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		environ = append(environ, name+"="+values[name])
	}
	return environ
}

// homeVariables say where a user's home is.
func homeVariables(home string) map[string]string {
	vars := map[string]string{
		"HOME":            home,
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"XDG_DATA_HOME":   filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME":  filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME":  filepath.Join(home, ".cache"),
	}
	if runtime.GOOS == "windows" {
		vars["USERPROFILE"] = home
		vars["APPDATA"] = filepath.Join(home, "AppData", "Roaming")
		vars["LOCALAPPDATA"] = filepath.Join(home, "AppData", "Local")
	}
	return vars
}

// foreign reports whether a variable belongs to agents or to this program.
func foreign(name string) bool {
	return matchesAny([]string{
		"PLUMB_*", "SKILLGYM_*", "CLAUDECODE", "CLAUDE_*", "CODEX_*", "OPENCODE*", "COPILOT_*", "GEMINI_*", "CURSOR_*", "QWEN_*", "ANTHROPIC_*",
		"OTEL_*", "AI_AGENT",
	}, name)
}

// ambient reports whether a variable tells a program what it is started from: a session of an agent, which must not think
// that it is part of another; a run; or, in a hook, a repository. Those never get through.
func ambient(name string) bool {
	return matchesAny([]string{
		"PLUMB_*", "SKILLGYM_*", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION*", "CODEX_SANDBOX*",
		"CODEX_THREAD_ID", "CODEX_CI", "OPENCODE", "OPENCODE_PID", "OPENCODE_CALLER", "GEMINI_CLI", "CURSOR_TRACE_ID", "CURSOR_AGENT",
		"QWEN_CODE", "COPILOT_CLI", "AI_AGENT",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES",
	}, name)
}

// passes reports whether a variable of the environment reaches the agent.
func (r *Runner) passes(name string, hermetic bool) bool {
	switch {
	case ambient(name):
		return false
	case !hermetic || r.ownKey(name):
		return true
	default:
		return !foreign(name) && !r.env.Secret(name)
	}
}

// ownKey reports whether a variable holds the agent's own credentials, or chooses its provider.
func (r *Runner) ownKey(name string) bool {
	if name == r.cfg.APIKeyEnv {
		return true
	}
	if r.cfg.BaseURL != "" && r.cfg.APIKeyEnv != "" {
		return false // the others are for the provider, and not for whoever answers there
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
