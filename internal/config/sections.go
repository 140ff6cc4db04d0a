package config

import (
	"encoding/json"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
)

// Sections are the sections of a suite that have the form of a config. Their paths are absolute.
type Sections struct {
	Workspace *plumb.WorkspaceConfig
	Skills    []string
}

// ReadSections reads a suite in YAML that is a mapping: its sections, and the given keys, which
// make its cases. Relative paths start at dir.
func ReadSections(file, dir string, v doc.Value, keys []setting.Field) (s Sections, _ doc.Problems) {
	r := newSuiteReader(file, dir)
	r.Object(v, "suite", append(r.sectionFields(&s), keys...))
	return s, r.all()
}

// ReadExports reads the sections of a suite in code from its exports, which are JSON or nil.
func ReadExports(file, dir string, workspace, skills json.RawMessage) (s Sections, _ doc.Problems) {
	r := newSuiteReader(file, dir)
	r.Code = true
	for i, f := range r.sectionFields(&s) {
		raw := [...]json.RawMessage{workspace, skills}[i]
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if v, problem := parseExport(file, raw); problem != nil {
			r.Problems = append(r.Problems, *problem)
		} else {
			f.Read(v, f.Name)
		}
	}
	return s, r.all()
}

func (r *reader) sectionFields(s *Sections) []setting.Field {
	return []setting.Field{
		{Name: "workspace", Read: func(v value, _ string) { s.Workspace = r.workspace(v, "workspace") }},
		{Name: "skills", Read: func(v value, _ string) { s.Skills = r.each(v, "skills", r.directory) }},
	}
}
