package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/suite"
)

// mayStart returns an error unless command may start what the run.json of the run at path names: the run was made here, the
// user trusts it, or it names nothing.
//
// A run was made here when it is in this project's directory of runs, and this user's; see [run.MadeHere]. What is there is
// trusted like the project's config, which is executed, too. What a run says of itself counts for nothing.
//
// The code of the run's bundle is started, too, with code.
func (a *app) mayStart(p *project, path string, s *spec, code bool, command string, trust bool) error {
	if trust || run.MadeHere(p.runs(), path) {
		return nil
	}
	named := s.starts()
	if code {
		bundle, err := suite.Open(filepath.Join(path, run.BundleDir))
		if err != nil {
			return err
		}
		if bundle.Code() {
			named = append(named, "code of the suite "+bundle.Path)
		}
	}
	if len(named) == 0 {
		return nil
	}
	var list strings.Builder
	for _, line := range named {
		list.WriteString("\n  " + report.Line(line, 300))
	}
	return plumb.WithHint(
		errors.New(p.redactor(nil).String(fmt.Sprintf("run %s is not in %s, and it names what would be started:%s", a.shown(path), a.shown(p.runs()), list.String()))),
		fmt.Sprintf("plumb %s --trust %s, if you know who made it", command, report.ShellWord(a.shown(path))),
	)
}

// starts lists what a run has started, asked and written to outside of its directory.
func (s *spec) starts() []string {
	var named []string
	add := func(format string, args ...any) { named = append(named, fmt.Sprintf(format, args...)) }
	of := func(role string, r *runnerSpec) {
		role = strings.TrimSpace(role + " " + r.ID)
		key := func(env string) string {
			if env == "" {
				return ""
			}
			return ", with the key in " + env
		}
		switch g := r.Agent; {
		case len(r.Command) > 0:
			add("%s: the command %s", role, commandLine(r.Command...))
		case g != nil:
			add("%s: the agent %s", role, commandLine(slices.Concat([]string{cmp.Or(g.Command, g.Type)}, g.CommandArgs, g.Args)...))
			if g.BaseURL != "" {
				add("%s: requests to %s%s", role, g.BaseURL, key(g.APIKeyEnv))
			}
			for _, name := range slices.Sorted(maps.Keys(g.MCPServers)) {
				server := g.MCPServers[name]
				add("%s: the MCP server %s", role, commandLine(append([]string{cmp.Or(server.Command, server.URL)}, server.Args...)...))
			}
		case r.Model != "":
			add("%s %s: requests to %s%s", role, r.Model, cmp.Or(r.BaseURL, "its provider"), key(r.APIKeyEnv))
		}
	}
	for i := range s.Runners {
		of("runner", &s.Runners[i])
	}
	if s.Judge != nil {
		of("judge", s.Judge)
	}
	if s.Embedder != nil {
		of("embedder", s.Embedder)
	}
	if w := s.Workspace; w != nil && w.Bootstrap != nil {
		add("bootstrap of workspaces: %s", commandLine(append([]string{w.Bootstrap.Command}, w.Bootstrap.Args...)...))
	}
	if w := s.Workspace; w != nil && w.Cwd != "" {
		add("work in %s", w.Cwd)
	}
	if s.Output != "" {
		add("results appended to %s", s.Output)
	}
	if s.Snapshots != nil && s.Snapshots.Update {
		add("baselines written to %s", s.Snapshots.Path)
	}
	return named
}

func commandLine(all ...string) string {
	quoted := make([]string, len(all))
	for i, w := range all {
		quoted[i] = report.ShellWord(w)
	}
	return strings.Join(quoted, " ")
}
