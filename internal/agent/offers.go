package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
)

// offers lists what is available to the session, as far as Plumb can see it: skills and servers of
// the suite and the runner, and instruction files that the agent finds. Everything in the workspace
// comes from the suite.
func (r *Runner) offers(l *spec.Launch) []plumb.Offer {
	var all []plumb.Offer
	add := func(kind plumb.OfferKind, name, path, source string) {
		declared := source == "project" || source == "runner"
		all = append(all, plumb.Offer{Kind: kind, Name: name, Path: path, Source: source, Undeclared: !declared})
	}
	instructions := func(name, path, source string) {
		if transcript.Exists(path) {
			add(plumb.OfferInstructions, name, path, source)
		}
	}
	from := func(source string, files, mcp []string, place func(name string) string) {
		for _, name := range files {
			instructions(name, place(name), source)
		}
		for _, file := range mcp {
			for _, name := range serversIn(place(file)) {
				add(plumb.OfferMCPServer, name, place(file), source)
			}
		}
		for _, dir := range r.spec.SkillDirs {
			for name, path := range skillsIn(place(dir)) {
				add(plumb.OfferSkill, name, path, source)
			}
		}
	}
	for name := range l.Servers {
		add(plumb.OfferMCPServer, name, "", "runner")
	}
	from("project", r.spec.Instructions, r.spec.MCP, func(name string) string {
		return filepath.Join(l.Workspace, filepath.FromSlash(name))
	})
	for dir := filepath.Dir(l.Workspace); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		for _, name := range r.spec.Instructions {
			instructions(name, filepath.Join(dir, filepath.FromSlash(name)), "parent")
		}
	}
	for _, path := range r.spec.MachineInstructions {
		instructions(filepath.Base(path), path, "machine")
	}
	if home := spec.UserHome(r.env.Getenv); !l.Hermetic && home != "" {
		from("user", r.spec.UserInstructions, r.spec.UserMCP, func(name string) string {
			return r.userPath(home, name)
		})
	}
	return all
}

// userPath returns the path of a user's file for the agent: below home, or in the directory that an
// environment variable names.
func (r *Runner) userPath(home, name string) string {
	for _, c := range r.spec.Credentials {
		if dir := r.env.Getenv(c.Variable); c.Variable != "" && dir != "" && strings.HasPrefix(name, c.Dir+"/") {
			return filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, c.Dir+"/")))
		}
	}
	return filepath.Join(home, filepath.FromSlash(name))
}

// serversIn lists the MCP servers in a configuration file: JSON, or the TOML of Codex.
func serversIn(path string) []string {
	data, err := doc.Read(path, doc.StateBytes)
	if err != nil {
		return nil
	}
	var names []string
	if filepath.Ext(path) == ".toml" {
		for _, found := range regexp.MustCompile(`(?m)^\s*\[mcp_servers\."?([^."\]]+)"?\]`).FindAllSubmatch(data, -1) {
			names = append(names, string(found[1]))
		}
		return names
	}
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		gjson.GetBytes(data, key).ForEach(func(name, _ gjson.Result) bool {
			names = append(names, name.String())
			return true
		})
	}
	return names
}

// skillsIn lists the skills in a directory by name, with the paths of their SKILL.md.
func skillsIn(dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name(), "SKILL.md"); transcript.Exists(path) {
			found[e.Name()] = path
		}
	}
	return found
}

// judgeOffers joins the offers that the agent reported with the known ones. It marks those that
// come neither from the suite nor from the runner. In a hermetic session, an unknown offer is the
// agent's own.
func (r *Runner) judgeOffers(reported, known []plumb.Offer, p *sandbox) []plumb.Offer {
	all := slices.Clone(known)
	for _, o := range reported {
		i := slices.IndexFunc(all, func(k plumb.Offer) bool {
			return k.Kind == o.Kind && (k.Name == o.Name || k.Path != "" && k.Path == o.Path)
		})
		if i >= 0 {
			all[i].Source = cmp.Or(o.Source, all[i].Source)
			all[i].Path = cmp.Or(all[i].Path, o.Path)
			continue
		}
		switch source := strings.ToLower(o.Source); {
		case slices.Contains([]string{"user", "personal", "global", "plugin"}, source):
			o.Undeclared = true
		case slices.Contains([]string{"builtin", "built-in", "bundled", "system"}, source),
			strings.HasSuffix(source, "@builtin"):
		case filepath.IsAbs(o.Path) && !files.Within(o.Path, p.workspace) && inHome(o.Path) == o.Path:
			o.Undeclared = true
		case source == "" && !r.cfg.InheritConfig:
			o.Source = "builtin"
		case source == "" && o.Kind == plumb.OfferMCPServer:
			o.Undeclared = true
		}
		o.Path = inHome(o.Path)
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b plumb.Offer) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	return all
}

// inHome replaces the home of a session, whose name is random, by a tilde. The path may be in the
// home of an earlier session, if the session was resumed.
func inHome(path string) string {
	_, rest, ok := strings.Cut(filepath.ToSlash(path), "/plumb-agent-")
	if !ok {
		return path
	}
	if _, rest, ok = strings.Cut(rest, "/home/"); !ok {
		return path
	}
	return "~/" + rest
}
