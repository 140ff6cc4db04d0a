package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/snapshot"
)

// path reads a path and makes it absolute.
func (r *reader) path(v value, path string) string {
	return r.absolute(r.Text(v, path))
}

// directory reads the path of a directory that runs need.
func (r *reader) directory(v value, path string) string {
	dir := r.path(v, path)
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		r.absent = append(r.absent, doc.Problem{
			Pos: r.Position(v.Place), Message: fmt.Sprintf("%s: there is no directory %q", path, v.Text()),
		})
	}
	return dir
}

func (r *reader) absolute(path string) string { return (&Config{Dir: r.dir}).Resolve(path) }

// program reads a program or one of its arguments. It makes those absolute that begin with ./ or
// ../; other words can be names or flags.
func (r *reader) program(v value, path string) string {
	text := r.Text(v, path)
	for _, prefix := range []string{"./", "../", `.\`, `..\`} {
		if text == "." || text == ".." || strings.HasPrefix(text, prefix) {
			return filepath.Join(r.dir, text)
		}
	}
	return text
}

// each reads a list, or one value as a list of one.
func (r *reader) each(v value, path string, read func(v value, path string) string) []string {
	switch v.Kind {
	case doc.String:
		return []string{read(v, path)}
	case doc.List:
		words := make([]string, 0, len(v.List))
		for i, e := range v.List {
			words = append(words, read(e, fmt.Sprintf("%s[%d]", path, i)))
		}
		return words
	default:
		r.Wrong(v, path, "a list of strings")
		return nil
	}
}

func workspaceModes() []string {
	return []string{string(plumb.WorkspaceNone), string(plumb.WorkspaceShared), string(plumb.WorkspaceIsolated)}
}

func (r *reader) workspaceFields(w *plumb.WorkspaceConfig) []setting.Field {
	return []setting.Field{
		{Name: "mode", Read: func(v value, path string) { w.Mode = plumb.WorkspaceMode(r.Choice(v, path, workspaceModes())) }},
		{Name: "cwd", Read: func(v value, path string) { w.Cwd = r.directory(v, path) }},
		{Name: "templateDir", Read: func(v value, path string) { w.TemplateDir = r.directory(v, path) }},
		{Name: "bootstrap", Read: func(v value, path string) { w.Bootstrap = r.bootstrap(v, path) }},
	}
}

// notFor returns the keys that a workspace of a mode must not have.
func notFor(mode plumb.WorkspaceMode) []string {
	switch mode {
	case plumb.WorkspaceNone:
		return []string{"templateDir", "bootstrap"}
	case plumb.WorkspaceIsolated:
		return []string{"cwd"}
	default:
		return nil
	}
}

func (r *reader) workspace(v value, path string) *plumb.WorkspaceConfig {
	if !r.Is(v, path, doc.Map) {
		return nil
	}
	w := &plumb.WorkspaceConfig{}
	r.Object(v, path, r.workspaceFields(w))
	if v.Get("mode") == nil {
		r.Add(v.Place, path+".mode is missing", "one of "+strings.Join(workspaceModes(), ", "))
	}
	for _, m := range v.Members {
		if slices.Contains(notFor(w.Mode), m.Key) {
			r.Add(m.Place, fmt.Sprintf("%s.%s%s%q", path, m.Key, leftOut, w.Mode), workspaceHint(w.Mode))
		}
	}
	return w
}

const leftOut = " must be left out when the workspace mode is "

func workspaceHint(mode plumb.WorkspaceMode) string {
	if mode == plumb.WorkspaceIsolated {
		return "each session gets a directory of its own; shared may have a cwd"
	}
	return "nothing is prepared; shared and isolated may have it"
}

// missing reports that a mapping does not have a required key.
func (r *reader) missing(v value, path, key, hint string) {
	if v.Get(key) == nil {
		r.Add(v.Place, path+"."+key+" is missing", hint)
	}
}

func (r *reader) bootstrapFields(b *plumb.Bootstrap) []setting.Field {
	return []setting.Field{
		{Name: "command", Read: func(v value, path string) { b.Command = r.program(v, path) }},
		{Name: "args", Read: func(v value, path string) { b.Args = r.each(v, path, r.program) }},
		{Name: "timeoutMs", Read: func(v value, path string) { b.TimeoutMs = r.Duration(v, path) }},
		{Name: "env", Read: func(v value, path string) { b.Env = r.Pairs(v, path) }},
	}
}

func (r *reader) bootstrap(v value, path string) *plumb.Bootstrap {
	if !r.Is(v, path, doc.Map) {
		return nil
	}
	b := &plumb.Bootstrap{}
	r.Object(v, path, r.bootstrapFields(b))
	r.missing(v, path, "command", "the program that prepares the workspace; it runs without a shell")
	return b
}

func permissions() []string { return []string{"bypass", "default"} }

func (r *reader) agentFields(a *plumb.AgentConfig) []setting.Field {
	return []setting.Field{
		{Name: "type", Read: func(v value, path string) { a.Type = r.agentType(v, path) }},
		{Name: "model", Read: func(v value, path string) { a.Model = r.Text(v, path) }},
		{Name: "command", Read: func(v value, path string) { a.Command = r.program(v, path) }},
		{Name: "commandArgs", Read: func(v value, path string) { a.CommandArgs = r.each(v, path, r.program) }},
		{Name: "args", Read: func(v value, path string) { a.Args = r.each(v, path, r.program) }},
		{Name: "env", Read: func(v value, path string) { a.Env = r.Pairs(v, path) }},
		{Name: "version", Read: func(v value, path string) { a.Version = r.Text(v, path) }},
		{Name: "permissions", Read: func(v value, path string) { a.Permissions = r.Choice(v, path, permissions()) }},
		{Name: "skills", Read: func(v value, path string) { a.Skills = r.each(v, path, r.directory) }},
		{Name: "mcpServers", Read: func(v value, path string) { a.MCPServers = r.mcpServers(v, path) }},
		{Name: "inheritConfig", Read: func(v value, path string) { a.InheritConfig = r.Yes(v, path) }},
		{Name: "baseURL", Read: func(v value, path string) { a.BaseURL = r.address(v, path) }},
		{Name: "apiKeyEnv", Read: func(v value, path string) { a.APIKeyEnv = r.Variable(v, path) }},
	}
}

func (r *reader) agent(v value, path string) *plumb.AgentConfig {
	if !r.Is(v, path, doc.Map) {
		return nil
	}
	a := &plumb.AgentConfig{}
	r.Object(v, path, r.agentFields(a))
	r.missing(v, path, "type", "one of "+strings.Join(agent.Types(), ", "))
	r.missing(v, path, "model", "the agent's own name for it")
	if r.tool() == "skillgym" && a.Type == "codex" && a.Command != "" {
		a.CommandArgs = launched(a.Command, a.CommandArgs)
	}
	return a
}

// launched returns the arguments with which a command starts codex in a config of skillgym. There,
// the command is always a launcher, with the name of the program as its last argument.
func launched(command string, args []string) []string {
	last := filepath.Base(command)
	if len(args) > 0 {
		last = args[len(args)-1]
	}
	if last == "codex" {
		return args
	}
	return append(args, "codex")
}

// tool returns the tool in the name of the config file.
func (r *reader) tool() string {
	if tool, _, _ := strings.Cut(filepath.Base(r.File), "."); tool == "skillgym" {
		return tool
	}
	return "plumb"
}

// agentType reads the name of an agent. Its first word is enough for a hint: claude is claude-code.
func (r *reader) agentType(v value, path string) string {
	word := r.Text(v, path)
	if word == "" || slices.Contains(agent.Types(), word) {
		return word
	}
	hint := doc.DidYouMean(word, agent.Types())
	for _, known := range agent.Types() {
		if first, _, _ := strings.Cut(known, "-"); strings.HasPrefix(strings.ToLower(word), first) {
			hint = fmt.Sprintf("did you mean %q?", known)
		}
	}
	r.Add(v.Place, fmt.Sprintf("%s: there is no agent %q", path, word), hint)
	return ""
}

func (r *reader) mcpFields(s *plumb.MCPServer) []setting.Field {
	return []setting.Field{
		{Name: "command", Read: func(v value, path string) { s.Command = r.program(v, path) }},
		{Name: "args", Read: func(v value, path string) { s.Args = r.each(v, path, r.program) }},
		{Name: "env", Read: func(v value, path string) { s.Env = r.Pairs(v, path) }},
		{Name: "url", Read: func(v value, path string) { s.URL = r.address(v, path) }},
		{Name: "headers", Read: func(v value, path string) { s.Headers = r.Headers(v, path) }},
	}
}

// mcpServers reads servers of tools by name: a program with its arguments, or an address with its
// headers.
func (r *reader) mcpServers(v value, path string) map[string]plumb.MCPServer {
	servers := map[string]plumb.MCPServer{}
	for _, m := range r.Members(v, path) {
		at := path + "." + m.Key
		var s plumb.MCPServer
		if r.Is(m.Value, at, doc.Map) {
			r.Object(m.Value, at, r.mcpFields(&s))
			if (m.Value.Get("command") == nil) == (m.Value.Get("url") == nil) {
				r.Add(m.Value.Place, at+" needs either a command or a url", "")
			}
			for _, wrong := range [][2]string{{"args", "command"}, {"env", "command"}, {"headers", "url"}} {
				if m.Value.Get(wrong[0]) != nil && m.Value.Get(wrong[1]) == nil {
					r.Add(m.Value.Place, fmt.Sprintf("%s.%s has no effect without a %s", at, wrong[0], wrong[1]), "")
				}
			}
		}
		servers[m.Key] = s
	}
	return servers
}

// autoTolerance is the tolerance that follows from the variance of the samples.
const autoTolerance = "auto"

func (r *reader) snapshotFields(s *snapshot.Settings) []setting.Field {
	return []setting.Field{
		{Name: "path", Read: func(v value, path string) { s.Path = r.path(v, path) }},
		{Name: "metric", Read: func(v value, path string) { s.Metric = r.Choice(v, path, snapshot.Metrics()) }},
		{Name: "tolerance", Read: func(v value, path string) {
			if v.Kind == doc.String {
				s.Auto = r.Choice(v, path, []string{autoTolerance}) == autoTolerance
				return
			}
			r.Object(v, path, r.toleranceFields(s))
			if v.Kind == doc.Map && v.Get("absolute") == nil && v.Get("percent") == nil {
				r.Add(v.Place, path+" needs one of absolute and percent", "such as {percent: 10}, or auto")
			}
		}},
	}
}

func (r *reader) toleranceFields(s *snapshot.Settings) []setting.Field {
	return []setting.Field{
		{Name: "absolute", Read: func(v value, path string) { s.Absolute = new(r.Number(v, path, setting.NoLimit)) }},
		{Name: "percent", Read: func(v value, path string) { s.Percent = new(r.Number(v, path, setting.NoLimit)) }},
	}
}

// snapshots reads how baselines are compared. By default their file is beside the config, with the
// same tool in its name.
func (r *reader) snapshots(v value, path string) *snapshot.Settings {
	if !r.Is(v, path, doc.Map) {
		return nil
	}
	s := &snapshot.Settings{Path: filepath.Join(r.dir, r.tool()+".snapshots.json"), Metric: "totalTokens"}
	r.Object(v, path, r.snapshotFields(s))
	r.missing(v, path, "tolerance", "such as {percent: 10}, or auto")
	if m := v.Get("metric"); m != nil && !s.Auto && slices.Contains(snapshot.OnlyAuto(), s.Metric) {
		r.Add(m.Place, fmt.Sprintf("%s.metric: %s needs tolerance: auto", path, s.Metric),
			"it varies from session to session, also for equal work")
	}
	return s
}
