package cases

import (
	"bytes"
	"context"
	"slices"

	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
)

// parts are the values in a suite in YAML that its cases are made of. A value is nil if its key is
// missing.
type parts struct {
	cases                   []doc.Value
	prompts, defaults, data *doc.Value
}

// yaml reads a suite in YAML: a list of cases with the same keys as in JSON lines, or a mapping
// with the keys cases, prompts, defaults and data, and its sections.
func (f *File) yaml(ctx context.Context) (all Content) {
	data := bytes.TrimPrefix(f.Data, []byte(byteOrderMark))
	tree, twice, ok := doc.YAML(f.Path, data, doc.YAMLValues)
	if !ok {
		return Content{Problems: twice}
	}
	var p parts
	switch tree.Kind {
	case doc.Null:
	case doc.List:
		p.cases = tree.List
	case doc.Map:
		p, all.Problems = f.mapping(tree)
	default:
		all.Problems = doc.Problems{{
			Pos:     tree.In(f.Path),
			Message: "a suite must be a list of cases, or a mapping with cases, not " + tree.Kind.String(),
		}}
	}
	x := &expander{
		sources: oneSource(f.Path), file: f, templates: &templates{}, lines: lineEnds(data) + 1,
	}
	cases, literal := x.expandParts(p)
	all.Problems = append(append(all.Problems, twice...), x.all()...)
	r := f.reader(ctx, x.sources)
	ids := newIDLines(x.sources)
	for i := range cases {
		v := &cases[i]
		for _, n := range v.Infinite() {
			r.add(n.Place, "a number must be finite", "")
		}
		r.literal = literal[i]
		c, idAt := r.read(v)
		r.problems = append(r.problems, ids.add(c.ID, idAt)...)
		if r.keep {
			all.Cases = append(all.Cases, c)
		}
	}
	all.Summary = r.summary
	// Cases that share a prompt or the defaults have the same problems.
	all.Problems = slices.Compact(append(all.Problems, r.problems...).Sorted())
	if len(cases) == 0 && len(all.Problems) == 0 {
		all.Problems = doc.Problems{f.noCases()}
	}
	if len(all.Problems.Errors()) > 0 {
		return all
	}
	var lines []byte
	for i := range cases {
		lines = append(cases[i].AppendJSON(lines), '\n')
	}
	hash, err := digest.Suite(lines)
	if err != nil {
		all.Problems = append(all.Problems, f.problem(err.Error(), ""))
	}
	all.Hash = hash
	return all
}

// mapping reads a suite that is a mapping.
func (f *File) mapping(suite doc.Value) (p parts, _ doc.Problems) {
	r := &setting.Reader{File: f.Path}
	keep := func(to **doc.Value) func(v doc.Value, _ string) {
		return func(v doc.Value, _ string) { *to = &v }
	}
	keys := []setting.Field{
		{Name: "prompts", Read: keep(&p.prompts)},
		{Name: "defaults", Read: keep(&p.defaults)},
		{Name: "data", Read: keep(&p.data)},
		{Name: "cases", Read: func(v doc.Value, _ string) {
			if r.Is(v, "cases", doc.List) {
				p.cases = v.List
			}
		}},
	}
	var problems doc.Problems
	if f.Sections != nil {
		problems = f.Sections(suite, keys)
	} else {
		unread := func(doc.Value, string) {}
		r.Object(suite, "suite", append([]setting.Field{{Name: "workspace", Read: unread}, {Name: "skills", Read: unread}}, keys...))
	}
	if p.prompts == nil && p.data == nil && suite.Get("cases") == nil {
		r.Add(suite.Place, "suite.cases is missing", "a list of cases")
	}
	return p, append(problems, r.Problems...)
}
