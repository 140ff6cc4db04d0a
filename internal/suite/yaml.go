package suite

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
)

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// parseYAML reads a suite in YAML: a list of cases with the same keys as in JSON lines, or a mapping
// with the keys cases, workspace and skills. The suite hash is that of the same cases as JSON lines.
func (b *Bundle) parseYAML(keep bool) (all parsed) {
	data := bytes.TrimPrefix(b.data, []byte(byteOrderMark))
	tree, twice, ok := doc.YAML(b.Path, data, doc.YAMLValues)
	if !ok {
		return parsed{problems: twice}
	}
	var content config.Content
	switch tree.Kind {
	case doc.Null:
	case doc.List:
		content.Cases = tree.List
	case doc.Map:
		all.Sections, content, all.problems = config.ReadSections(b.Path, filepath.Dir(b.origin), tree)
		if len(all.problems) == 0 {
			all.problems = b.directories(all.Sections)
		}
	default:
		all.problems = doc.Problems{{
			Pos:     tree.In(b.Path),
			Message: "a suite must be a list of cases, or a mapping with cases, not " + tree.Kind.String(),
		}}
	}
	if b.files == nil {
		b.files = &included{dir: filepath.Dir(b.origin), shown: filepath.Dir(b.Path), opened: b.opened}
	}
	x := &expander{
		sources: oneSource(b.Path), files: b.files, templates: &templates{}, lines: lineEnds(data) + 1,
	}
	cases, literal := x.expandSections(content)
	all.problems = append(append(all.problems, twice...), x.all()...)
	r := &caseReader{sources: x.sources, keep: keep, strict: b.Version != "", code: b.checkCode}
	ids := newIDLines(x.sources)
	for i := range cases {
		v := &cases[i]
		for _, n := range v.Infinite() {
			r.add(n.Place, "a number must be finite", "")
		}
		r.literal = literal[i]
		c, idAt := r.read(v)
		r.problems = append(r.problems, ids.add(c.ID, idAt)...)
		if keep {
			all.cases = append(all.cases, c)
		}
	}
	all.summary = r.summary
	// Cases that share a prompt or the defaults have the same problems.
	all.problems = slices.Compact(append(all.problems, r.problems...).Sorted())
	if len(cases) == 0 && len(all.problems) == 0 {
		all.problems = doc.Problems{b.noCases()}
	}
	if len(all.problems.Errors()) > 0 {
		return all
	}
	var lines []byte
	for i := range cases {
		lines = append(cases[i].AppendJSON(lines), '\n')
	}
	hash, err := digest.Suite(lines)
	if err != nil {
		all.problems = append(all.problems, b.problem(err.Error(), ""))
	}
	b.hash = hash
	return all
}
