package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/text"
)

// Launch is the start of an agent's session. The Launch function of the agent's spec completes it.
type Launch struct {
	// Root is the session's directory outside its artifacts. Home, Tmp and Workspace are the
	// agent's own directories.
	Root, Home, Tmp, Workspace string
	// Stdout and Stderr are the files that the agent's streams go to.
	Stdout, Stderr string
	// Lent maps paths in Home to the user's credentials files that the agent uses there.
	Lent    map[string]string
	Cfg     plumb.AgentConfig
	Program Program
	Getenv  func(string) string
	// Prompt is the prompt. Resume is the session to continue, "" for a new one.
	Prompt, Resume string
	// Bypass allows the agent all actions. Hermetic keeps the user's configuration from it.
	Bypass, Hermetic bool
	// KeyName is the environment variable with the key for the model, Key its value.
	KeyName, Key string
	// Servers are the MCP servers to offer, without references to the environment.
	Servers map[string]plumb.MCPServer

	// The function sets the fields below. Own takes precedence over the user's variables, Env does
	// not. Keep maps names to files outside the state directories that belong to the artifacts.
	Args  []string
	Env   map[string]string
	Own   map[string]string
	Stdin string
	Keep  map[string]string

	// Environ is the complete environment. It is set after the function returns.
	Environ []string
	Grace   proc.Grace
}

// ArgLimit returns the maximum length of a prompt that is an argument, in bytes. Linux accepts
// 128 KiB for one argument, Windows 32 KiB for all.
func ArgLimit() int {
	if runtime.GOOS == "windows" {
		return 16 << 10
	}
	return 100 << 10
}

// Add appends arguments.
func (l *Launch) Add(args ...string) { l.Args = append(l.Args, args...) }

// AddPrompt adds the prompt as the last argument. A prompt that is long or looks like a flag goes
// to stdin.
func (l *Launch) AddPrompt() {
	if len(l.Prompt) > ArgLimit() || strings.HasPrefix(l.Prompt, "-") {
		l.Stdin = l.Prompt
		return
	}
	l.Add(l.Prompt)
}

// AddPromptFlag adds the prompt as the value of a flag. A long prompt goes to stdin.
func (l *Launch) AddPromptFlag() {
	switch {
	case len(l.Prompt) > ArgLimit():
		l.Stdin = l.Prompt
	case strings.HasPrefix(l.Prompt, "-"):
		l.Add("--prompt=" + l.Prompt) // not a flag of its own
	default:
		l.Add("-p", l.Prompt)
	}
}

// SetProvider passes the address of the provider in the variable address, and the key in the
// variable key, if the configuration has them.
func (l *Launch) SetProvider(address, key string) {
	if l.Cfg.BaseURL != "" {
		l.Env[address] = l.Cfg.BaseURL
	}
	if l.Key != "" {
		l.Env[key] = l.Key
	}
}

// Write writes a file below the session's home, and returns its path. The file may hold secrets.
func (l *Launch) Write(name string, data []byte) (string, error) {
	path := filepath.Join(l.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o600)
}

// WriteJSON writes a value as a JSON file below the session's home, and returns its path.
func (l *Launch) WriteJSON(name string, value any) (string, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return "", err
	}
	return l.Write(name, append(data, '\n'))
}

// WriteServers writes the MCP servers to a JSON file below the session's home, and returns its
// path.
func (l *Launch) WriteServers(name string, f ServerFormat) (string, error) {
	return l.WriteJSON(name, map[string]any{"mcpServers": f.Servers(l.Servers)})
}

// ServerFormat describes how an agent's configuration lists MCP servers.
type ServerFormat struct {
	// Remote and Local are the constant members of a server with an address and of a program.
	Remote, Local map[string]any
	// URL and Env are the keys of the address and of the environment of a program.
	URL, Env string
	// OneList means that the command and its arguments are one list.
	OneList bool
}

// Servers returns the servers in the format.
func (f ServerFormat) Servers(servers map[string]plumb.MCPServer) map[string]any {
	out := map[string]any{}
	for name, s := range servers {
		server := map[string]any{}
		if s.URL != "" {
			maps.Copy(server, f.Remote)
			server[f.URL] = s.URL
			if len(s.Headers) > 0 {
				server["headers"] = s.Headers
			}
		} else {
			maps.Copy(server, f.Local)
			if f.OneList {
				server["command"] = slices.Concat([]string{s.Command}, s.Args)
			} else {
				server["command"], server["args"] = s.Command, append([]string{}, s.Args...) // never null
			}
			if len(s.Env) > 0 {
				server[f.Env] = s.Env
			}
		}
		out[name] = server
	}
	return out
}

// ClaudeServers is the format of most agents.
func ClaudeServers() ServerFormat {
	return ServerFormat{
		Remote: map[string]any{"type": "http"}, Local: map[string]any{"type": "stdio"}, URL: "url", Env: "env",
	}
}

// GeminiServers is the format of Gemini CLI and Qwen Code.
func GeminiServers() ServerFormat {
	trust := map[string]any{"trust": true}
	return ServerFormat{Remote: trust, Local: trust, URL: "httpUrl", Env: "env"}
}

// WriteGeminiSettings writes the settings of Gemini CLI or Qwen Code below the session's home. auth
// is the way to log in; general are the general settings.
func (l *Launch) WriteGeminiSettings(name, auth string, general map[string]any) error {
	settings := map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": auth}},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"general":   general,
	}
	if len(l.Servers) > 0 {
		settings["mcpServers"] = GeminiServers().Servers(l.Servers)
	}
	_, err := l.WriteJSON(name, settings)
	return err
}

// SharedCache returns the directory for data that the agent would otherwise unpack or download in
// each session. It holds no data of sessions. It is "" for a user without a cache directory,
// because another user could own a directory with a well-known name.
func SharedCache(agent string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", nil //nolint:nilerr // each session then has its own cache
	}
	dir := filepath.Join(base, "plumb", "agents", agent)
	return dir, os.MkdirAll(dir, 0o700)
}

// Program is the program of an agent. Args come before the arguments of the session.
type Program struct {
	Path string
	Args []string
}

// TimeoutError is the cause of a runner's own time limit.
type TimeoutError time.Duration

func (e TimeoutError) Error() string {
	return fmt.Sprintf("it did not end within %s", text.Duration(time.Duration(e)))
}
