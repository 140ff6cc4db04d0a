package config

import (
	"encoding/json"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Sections are the sections of a suite that have the form of a config. Their paths are absolute.
type Sections struct {
	Workspace *plumb.WorkspaceConfig
	Skills    []string
}

// ReadSections reads the sections of a suite in YAML, and returns the list of its cases. Relative
// paths start at dir.
func ReadSections(file, dir string, v doc.Value) (s Sections, cases []doc.Value, _ doc.Problems) {
	r := &reader{file: file, dir: dir, suite: true}
	r.object(v, "suite", append(r.sectionFields(&s), field{"cases", func(v value, _ string) {
		if r.is(v, "cases", doc.List) {
			cases = v.List
		}
	}}))
	r.missing(v, "suite", "cases", "a list of cases")
	return s, cases, r.problems
}

// ReadExports reads the sections of a suite in code from its exports, which are JSON or nil.
func ReadExports(file, dir string, workspace, skills json.RawMessage) (s Sections, _ doc.Problems) {
	r := &reader{file: file, dir: dir, code: true, suite: true}
	for i, f := range r.sectionFields(&s) {
		raw := [...]json.RawMessage{workspace, skills}[i]
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if v, problem := parseExport(file, raw); problem != nil {
			r.problems = append(r.problems, *problem)
		} else {
			f.read(v, f.name)
		}
	}
	return s, r.problems
}

func (r *reader) sectionFields(s *Sections) []field {
	return []field{
		{"workspace", func(v value, _ string) { s.Workspace = r.workspace(v, "workspace") }},
		{"skills", func(v value, _ string) { s.Skills = r.each(v, "skills", r.path) }},
	}
}
