package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/proc"
)

// Launch is how the agent of one session is started. The Launch function of the agent's spec completes it.
type Launch struct {
	// root is the session's directory outside its artifacts, home, tmp and workspace are the agent's own directories.
	Root, Home, Tmp, Workspace string
	// stdout and stderr are the files that the agent's streams go to.
	Stdout, Stderr string
	// lent are the user's credentials files that the agent works with, by their path in home.
	Lent    map[string]string
	Cfg     plumb.AgentConfig
	Program Program
	Getenv  func(string) string
	// prompt is what is asked, resume the session that it goes on with, "" for a new one.
	Prompt, Resume string
	// bypass lets the agent do all it wants, hermetic keeps the user's configuration from it.
	Bypass, Hermetic bool
	// keyName is the environment variable with the key for the model, key its value.
	KeyName, Key string
	// servers are the MCP servers to offer, references to the environment resolved.
	Servers map[string]plumb.MCPServer

	// The rest is for that function to fill in: the arguments, the environment (own stands above the user's), what is given on
	// stdin, and files outside the state directories that are to be kept.
	Args  []string
	Env   map[string]string
	Own   map[string]string
	Stdin string
	Keep  map[string]string

	Environ []string
	Grace   proc.Grace
}

// ArgLimit is how long a prompt may be to be an argument, in bytes: Linux takes 128 KiB for one, Windows 32 KiB for all.
func ArgLimit() int {
	if runtime.GOOS == "windows" {
		return 16 << 10
	}
	return 100 << 10
}

// Plain reports whether the prompt can be an argument that no program takes for anything else.
func (l *Launch) Plain() bool {
	return len(l.Prompt) <= ArgLimit() && !strings.HasPrefix(l.Prompt, "-")
}

// Add appends arguments.
func (l *Launch) Add(args ...string) { l.Args = append(l.Args, args...) }

// Write writes a file below the session's home that may hold secrets, and returns its path.
func (l *Launch) Write(name string, data []byte) (string, error) {
	path := filepath.Join(l.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o600)
}

// WriteJSON writes a value as a JSON file below the session's home and returns its path.
func (l *Launch) WriteJSON(name string, value any) (string, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return "", err
	}
	return l.Write(name, append(data, '\n'))
}

// ClaudeServers writes MCP servers as most agents take them.
func ClaudeServers(servers map[string]plumb.MCPServer) map[string]any {
	out := map[string]any{}
	for name, s := range servers {
		server := map[string]any{}
		if s.URL != "" {
			server["type"], server["url"] = "http", s.URL
			if len(s.Headers) > 0 {
				server["headers"] = s.Headers
			}
		} else {
			server["type"], server["command"], server["args"] = "stdio", s.Command, list(s.Args)
			if len(s.Env) > 0 {
				server["env"] = s.Env
			}
		}
		out[name] = server
	}
	return out
}

// list makes an empty list of nil, for JSON.
func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

// PromptByFlag adds the prompt as the value of a flag, in a way that none is taken for another flag; a long one goes to
// stdin.
func PromptByFlag(l *Launch) {
	switch {
	case len(l.Prompt) > ArgLimit():
		l.Stdin = l.Prompt
	case strings.HasPrefix(l.Prompt, "-"):
		l.Add("--prompt=" + l.Prompt)
	default:
		l.Add("-p", l.Prompt)
	}
}

// GeminiServers writes MCP servers as Gemini CLI and Qwen Code take them.
func GeminiServers(servers map[string]plumb.MCPServer) map[string]any {
	out := map[string]any{}
	for name, s := range servers {
		server := map[string]any{"trust": true}
		if s.URL != "" {
			server["httpUrl"] = s.URL
			if len(s.Headers) > 0 {
				server["headers"] = s.Headers
			}
		} else {
			server["command"], server["args"] = s.Command, list(s.Args)
			if len(s.Env) > 0 {
				server["env"] = s.Env
			}
		}
		out[name] = server
	}
	return out
}

// SharedCache is a directory for what an agent would otherwise unpack or fetch again for each session. It holds nothing of
// any session. It is "" for a user without a cache directory: one at a name that everybody knows could be somebody else's.
func SharedCache(agent string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", nil //nolint:nilerr // each session then has one of its own
	}
	dir := filepath.Join(base, "plumb", "agents", agent)
	return dir, os.MkdirAll(dir, 0o700)
}

// Program is what is started for an agent: args come before all that a session adds.
type Program struct {
	Path string
	Args []string
}

// TimeoutError is the cause of a runner's own time limit.
type TimeoutError time.Duration

func (e TimeoutError) Error() string { return fmt.Sprintf("no end within %s", time.Duration(e)) }
