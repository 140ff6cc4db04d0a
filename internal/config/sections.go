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

// Content are the keys of a suite in YAML that its cases are made of. A value is nil if its key is missing.
type Content struct {
	Cases                   []doc.Value
	Prompts, Defaults, Data *doc.Value
}

// ReadSections reads a suite in YAML: its sections, and the values of its cases. Relative paths start at dir.
func ReadSections(file, dir string, v doc.Value) (s Sections, c Content, _ doc.Problems) {
	r := &reader{file: file, dir: dir, suite: true}
	keep := func(to **doc.Value) func(v value, _ string) {
		return func(v value, _ string) { *to = &v }
	}
	r.object(v, "suite", append(r.sectionFields(&s),
		field{"prompts", keep(&c.Prompts)}, field{"defaults", keep(&c.Defaults)}, field{"data", keep(&c.Data)},
		field{"cases", func(v value, _ string) {
			if r.is(v, "cases", doc.List) {
				c.Cases = v.List
			}
		}}))
	if c.Prompts == nil && c.Data == nil {
		r.missing(v, "suite", "cases", "a list of cases")
	}
	return s, c, r.all()
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
	return s, r.all()
}

func (r *reader) sectionFields(s *Sections) []field {
	return []field{
		{"workspace", func(v value, _ string) { s.Workspace = r.workspace(v, "workspace") }},
		{"skills", func(v value, _ string) { s.Skills = r.each(v, "skills", r.directory) }},
	}
}
