package agentcli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// offers lists what the session is offered, as far as it can be known from outside: skills and servers of the suite and
// the runner, and the files of instructions that the agent finds. What lies in the workspace, the suite has put there.
func (r *Runner) offers(l *launch) []plumb.Offer {
	var all []plumb.Offer
	add := func(kind plumb.OfferKind, name, path, source string, undeclared bool) {
		all = append(all, plumb.Offer{Kind: kind, Name: name, Path: path, Source: source, Undeclared: undeclared})
	}
	for _, dir := range r.adapter.skillDirs {
		for name, path := range skillsIn(filepath.Join(l.workspace, filepath.FromSlash(dir))) {
			add(plumb.OfferSkill, name, path, "project", false)
		}
	}
	for name := range l.servers {
		add(plumb.OfferMCPServer, name, "", "runner", false)
	}
	for _, name := range r.adapter.mcp {
		if path := filepath.Join(l.workspace, filepath.FromSlash(name)); exists(path) && name != ".codex/config.toml" {
			add(plumb.OfferInstructions, name, path, "project", false)
		}
	}
	for _, name := range r.adapter.instructions {
		if path := filepath.Join(l.workspace, filepath.FromSlash(name)); exists(path) {
			add(plumb.OfferInstructions, name, path, "project", false)
		}
		for dir := filepath.Dir(l.workspace); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
			if path := filepath.Join(dir, filepath.FromSlash(name)); exists(path) {
				add(plumb.OfferInstructions, name, path, "parent", true)
			}
		}
	}
	for _, path := range r.adapter.machine {
		if exists(path) {
			add(plumb.OfferInstructions, filepath.Base(path), path, "machine", true)
		}
	}
	if home := userHome(r.env.Getenv); !l.hermetic && home != "" {
		for _, name := range r.adapter.user {
			if path := filepath.Join(home, filepath.FromSlash(name)); exists(path) {
				add(plumb.OfferInstructions, name, path, "user", true)
			}
		}
		for _, dir := range r.adapter.skillDirs {
			for name, path := range skillsIn(filepath.Join(home, filepath.FromSlash(dir))) {
				add(plumb.OfferSkill, name, path, "user", true)
			}
		}
	}
	return all
}

// skillsIn lists the skills in a directory, by name, with the paths of their SKILL.md.
func skillsIn(dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name(), "SKILL.md"); exists(path) {
			found[e.Name()] = path
		}
	}
	return found
}

// judgeOffers joins what the agent said that it was offered with what is known from outside, and flags what neither the
// suite nor the runner brought. In a hermetic session what the agent names, and nobody brought, is its own.
func (r *Runner) judgeOffers(said, known []plumb.Offer, p *place) []plumb.Offer {
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
		case filepath.IsAbs(o.Path) && !within(o.Path, p.workspace) && inHome(o.Path) == o.Path:
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
