package project

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/text"
)

// Trust is what a command needs to start what the run.json of a run from elsewhere names.
type Trust struct {
	// Given means that the user trusts the run.
	Given bool
	// Command is the command that the user may repeat with --trust.
	Command string
}

// MayStart returns an error unless a command may start what the spec of the run at path names: the
// run was made here, the user trusts it, or it names nothing. With code, this includes the code of
// the run's bundle.
//
// A run was made here if it is in this project's directory of runs and belongs to this user; see
// [runlog.MadeHere]. Such a run is trusted like the project's config, which may be code, too. What
// a run claims about itself does not matter.
func (p *Project) MayStart(ctx context.Context, path string, s *Spec, code bool, trust Trust) error {
	if trust.Given || runlog.MadeHere(p.Runs(), path) || runlog.MadeHere(p.Confirmations(), path) {
		return nil
	}
	named := s.starts()
	if code {
		bundle, err := suite.Open(filepath.Join(path, runlog.BundleDir))
		if err != nil {
			return err
		}
		named = append(named, bundle.Starts(ctx)...)
	}
	if len(named) == 0 {
		return nil
	}
	var list strings.Builder
	for _, line := range named {
		list.WriteString("\n  " + text.Line(line, 300))
	}
	shown := p.Env.Shown(path)
	err := fmt.Errorf("run %s is not in %s, and it names what would be started:%s", shown,
		p.Env.Shown(p.Runs()), list.String())
	hint := fmt.Sprintf("plumb %s --trust %s, if you know who made the run", trust.Command, report.ShellWord(shown))
	return p.redact.Error(plumb.WithHint(err, hint))
}

// starts lists the programs, servers and files outside of its directory that a run would use.
func (s *Spec) starts() []string {
	var named []string
	add := func(format string, args ...any) { named = append(named, fmt.Sprintf(format, args...)) }
	of := func(role string, r *plumb.RunnerConfig) {
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
			add("%s: the agent %s", role,
				commandLine(slices.Concat([]string{cmp.Or(g.Command, g.Type)}, g.CommandArgs, g.Args)...))
			if g.BaseURL != "" {
				add("%s: requests to %s%s", role, g.BaseURL, key(g.APIKeyEnv))
			}
			for _, name := range slices.Sorted(maps.Keys(g.MCPServers)) {
				server := g.MCPServers[name]
				add("%s: the MCP server %s", role,
					commandLine(append([]string{cmp.Or(server.Command, server.URL)}, server.Args...)...))
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
	if s.Snapshots != nil && (s.Snapshots.Update || s.Snapshots.Reset) {
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
