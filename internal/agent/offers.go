package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/files"
)

// offers lists what the session is offered, as far as it can be known from outside: skills and servers of the suite and
// the runner, and the files of instructions that the agent finds. What lies in the workspace, the suite has put there.
func (r *Runner) offers(l *spec.Launch) []plumb.Offer {
	var all []plumb.Offer
	add := func(kind plumb.OfferKind, name, path, source string, undeclared bool) {
		all = append(all, plumb.Offer{Kind: kind, Name: name, Path: path, Source: source, Undeclared: undeclared})
	}
	for _, dir := range r.spec.SkillDirs {
		for name, path := range skillsIn(filepath.Join(l.Workspace, filepath.FromSlash(dir))) {
			add(plumb.OfferSkill, name, path, "project", false)
		}
	}
	for name := range l.Servers {
		add(plumb.OfferMCPServer, name, "", "runner", false)
	}
	for _, file := range r.spec.MCP {
		path := filepath.Join(l.Workspace, filepath.FromSlash(file))
		for _, name := range serversIn(path) {
			add(plumb.OfferMCPServer, name, path, "project", false)
		}
	}
	for _, name := range r.spec.Instructions {
		if path := filepath.Join(l.Workspace, filepath.FromSlash(name)); transcript.Exists(path) {
			add(plumb.OfferInstructions, name, path, "project", false)
		}
		for dir := filepath.Dir(l.Workspace); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
			if path := filepath.Join(dir, filepath.FromSlash(name)); transcript.Exists(path) {
				add(plumb.OfferInstructions, name, path, "parent", true)
			}
		}
	}
	for _, path := range r.spec.MachineInstructions {
		if transcript.Exists(path) {
			add(plumb.OfferInstructions, filepath.Base(path), path, "machine", true)
		}
	}
	if home := spec.UserHome(r.env.Getenv); !l.Hermetic && home != "" {
		for _, name := range r.spec.UserInstructions {
			if path := r.userPath(home, name); transcript.Exists(path) {
				add(plumb.OfferInstructions, name, path, "user", true)
			}
		}
		for _, file := range r.spec.UserMCP {
			path := r.userPath(home, file)
			for _, name := range serversIn(path) {
				add(plumb.OfferMCPServer, name, path, "user", true)
			}
		}
		for _, dir := range r.spec.SkillDirs {
			for name, path := range skillsIn(r.userPath(home, dir)) {
				add(plumb.OfferSkill, name, path, "user", true)
			}
		}
	}
	return all
}

// userPath returns where the user has a file of the agent's: below home, or where a variable says.
func (r *Runner) userPath(home, name string) string {
	for _, c := range r.spec.Credentials {
		if dir := r.env.Getenv(c.Variable); c.Variable != "" && dir != "" && strings.HasPrefix(name, c.Dir+"/") {
			return filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, c.Dir+"/")))
		}
	}
	return filepath.Join(home, filepath.FromSlash(name))
}

// serversIn lists the MCP servers that a file of configuration names: JSON, or the TOML of Codex.
func serversIn(path string) []string {
	data, err := os.ReadFile(path)
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

// skillsIn lists the skills in a directory, by name, with the paths of their SKILL.md.
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

// judgeOffers joins what the agent said that it was offered with what is known from outside, and flags what neither the
// suite nor the runner brought. In a hermetic session what the agent names, and nobody brought, is its own.
func (r *Runner) judgeOffers(said, known []plumb.Offer, p *sandbox) []plumb.Offer {
	all := slices.Clone(known)
	for _, o := range said {
		i := slices.IndexFunc(all, func(k plumb.Offer) bool {
			return k.Kind == o.Kind && (k.Name == o.Name || k.Path != "" && k.Path == o.Path)
		})
		if i >= 0 {
			if o.Source != "" {
				all[i].Source = o.Source
			}
			if all[i].Path == "" {
				all[i].Path = o.Path
			}
			continue
		}
		switch source := strings.ToLower(o.Source); {
		case source == "user" || source == "personal" || source == "global" || source == "plugin":
			o.Undeclared = true
		case builtin(source):
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
		return strings.Compare(string(a.Kind)+"\x00"+a.Name+"\x00"+a.Path, string(b.Kind)+"\x00"+b.Name+"\x00"+b.Path)
	})
	return all
}

func builtin(source string) bool {
	return source == "builtin" || source == "built-in" || source == "bundled" || source == "system" || strings.HasSuffix(source, "@builtin")
}

// inHome writes a path in the home of a session, which has another name each time, with a tilde. That of an earlier session
// counts too: one that was resumed still speaks of it.
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
