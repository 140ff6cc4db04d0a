package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// The kinds of offers that a run can withhold from an agent.
const (
	WithholdSkill        = "skill"
	WithholdInstructions = "instructions"
	WithholdMCP          = "mcp"
)

// Withheld is what a runner does not offer to its agent, although the suite, the runner or the
// workspace has it. A Name of "" withholds everything of the kind.
type Withheld struct{ Kind, Name string }

// ParseWithheld parses KIND or KIND=NAME. "" withholds nothing.
func ParseWithheld(text string) (Withheld, error) {
	kind, name, named := strings.Cut(text, "=")
	w := Withheld{Kind: kind, Name: name}
	kinds := []string{WithholdSkill, WithholdInstructions, WithholdMCP}
	hint := "one of " + strings.Join(kinds, ", ") + "; or skill=NAME, mcp=NAME"
	switch {
	case text == "":
		return w, nil
	case !slices.Contains(kinds, kind):
		if near := plumb.Nearest(kind, kinds); near != "" {
			hint = "did you mean " + near + "?"
		}
		return w, plumb.WithHint(fmt.Errorf("--ablate: unknown kind %q", kind), hint)
	case named && (name == "" || strings.ContainsAny(name, `/\`)):
		return w, plumb.WithHint(fmt.Errorf("--ablate %s: %q is not a name", text, name), hint)
	case named && kind == WithholdInstructions:
		return w, plumb.WithHint(errors.New("--ablate instructions has no name: it withholds all instruction files"), hint)
	}
	return w, nil
}

// Has reports whether the offer of a kind with a name is withheld.
func (w Withheld) Has(kind, name string) bool {
	return w.Kind == kind && (w.Name == "" || w.Name == name)
}

// skills returns the directories of skills that are not withheld.
func (w Withheld) skills(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return w.Has(WithholdSkill, SkillName(dir)) })
}

// servers returns the servers that are not withheld.
func (w Withheld) servers(all map[string]plumb.MCPServer) map[string]plumb.MCPServer {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(name string, _ plumb.MCPServer) bool { return w.Has(WithholdMCP, name) })
	return kept
}

// Remove removes what is withheld from a workspace that was made for a session: the skills, the
// instruction files and the servers of any agent.
func (w Withheld) Remove(workspace string) error {
	err := filepath.WalkDir(workspace, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(workspace, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && path.Base(rel) == ".git":
			return filepath.SkipDir
		case d.IsDir() && w.Has(WithholdSkill, path.Base(rel)) && inSkillDir(rel):
			if err := os.RemoveAll(name); err != nil {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			return nil
		case w.Kind == WithholdInstructions && OffersIn(rel, func(s *Spec) []string { return s.Instructions }):
			return os.Remove(name)
		case w.Kind == WithholdMCP && OffersIn(rel, func(s *Spec) []string { return s.MCP }):
			return w.removeServers(name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("withhold %s: %w", w.Kind, err)
	}
	return nil
}

// inSkillDir reports whether a path is directly in a directory where an agent looks for skills.
func inSkillDir(rel string) bool {
	return slices.ContainsFunc(All(), func(s Spec) bool { return slices.Contains(s.SkillDirs, path.Dir(rel)) })
}

// OffersIn reports whether a path of a workspace is one of the files that any agent looks for, in the
// workspace itself or in a directory of it. names returns the files of one agent.
func OffersIn(rel string, names func(s *Spec) []string) bool {
	return slices.ContainsFunc(All(), func(s Spec) bool {
		return slices.ContainsFunc(names(&s), func(name string) bool {
			return rel == name || strings.HasSuffix(rel, "/"+name)
		})
	})
}

// removeServers removes the withheld servers from a configuration file.
func (w Withheld) removeServers(file string) error {
	names := serversIn(file)
	if !slices.ContainsFunc(names, func(name string) bool { return w.Has(WithholdMCP, name) }) {
		return nil
	}
	data, err := doc.Read(file, doc.StateBytes)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("%s is not JSON, and plumb cannot remove a server from it: offer the servers in mcpServers of the "+
			"runner: %w", filepath.Base(file), err)
	}
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		var servers map[string]json.RawMessage
		if json.Unmarshal(members[key], &servers) != nil {
			continue
		}
		maps.DeleteFunc(servers, func(name string, _ json.RawMessage) bool { return w.Has(WithholdMCP, name) })
		if members[key], err = json.Marshal(servers); err != nil {
			return err
		}
	}
	if data, err = json.MarshalIndent(members, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o600)
}

// ServersIn lists the MCP servers that a workspace template has for any agent.
func ServersIn(workspace string) []string {
	var names []string
	for _, s := range All() {
		for _, file := range s.MCP {
			names = append(names, serversIn(filepath.Join(workspace, filepath.FromSlash(file)))...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
