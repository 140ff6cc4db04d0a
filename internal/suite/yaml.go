package suite

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
)

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// placed is where a value that begins at an offset of a text was written.
type placed struct{ at, line, column int }

// original returns where the value at an offset was written: the nearest known place before it.
func (r *caseReader) original(at int) plumb.Position {
	i, found := slices.BinarySearchFunc(r.places, at, func(p placed, at int) int { return p.at - at })
	if !found {
		i = max(i-1, 0)
	}
	return plumb.Position{File: r.file, Line: r.places[i].line, Column: r.places[i].column}
}

// parseYAML reads a suite in YAML: a list of cases with the keys that they have as JSON lines, or a mapping with the cases
// under cases, a workspace and skills. Each case is brought into the form of a JSON line, of which all its offsets are known in
// the file; these lines are also what is hashed.
func (b *Bundle) parseYAML(keep bool) parsed {
	fail := func(p Problem) parsed { return parsed{problems: Problems{p}} }
	data := bytes.TrimPrefix(b.data, []byte("\xEF\xBB\xBF"))
	tree, problem := parseYAMLTree(b.Path, data, doc.YAMLValues)
	if problem != nil {
		return fail(*problem)
	}
	var all parsed
	cases, problems := b.sections(tree, &all)
	r := &caseReader{file: b.Path, keep: keep}
	var ids []idPlace
	var lines []byte
	for _, v := range cases {
		w := &lineWriter{}
		w.value(v)
		for _, at := range w.nan {
			problems = append(problems, Problem{Pos: plumb.Position{File: b.Path, Line: at.line, Column: at.column}, Message: "a number must be finite"})
		}
		r.places = w.places
		c, idAt := r.read(w.text, 0)
		if c.ID != "" {
			ids = append(ids, r.idPlace(c.ID, idAt))
		}
		if keep {
			all.cases = append(all.cases, c)
		}
		lines = append(append(lines, w.text...), '\n')
	}
	all.summary = r.summary
	all.problems = append(problems, append(r.problems, b.duplicateIDs(map[string]idPlace{}, ids)...)...).sorted()
	if len(cases) == 0 && len(all.problems) == 0 {
		all.problems = append(all.problems, Problem{
			Pos: plumb.Position{File: b.Path, Line: 1, Column: 1}, Message: "the suite has no cases", Warning: true,
		})
	}
	if len(all.problems.Errors()) > 0 {
		return all
	}
	hash, err := digest.Suite(lines)
	if err != nil {
		return fail(Problem{Pos: plumb.Position{File: b.Path, Line: 1, Column: 1}, Message: err.Error()})
	}
	b.hash = hash
	return all
}

// sections takes the top level of a suite apart.
func (b *Bundle) sections(tree value, all *parsed) (cases []value, _ Problems) {
	r := &configReader{file: b.Path, dir: filepath.Dir(b.origin), suite: true}
	read := func(v value, path string) {
		if r.is(v, path, kindList) {
			cases = v.list
		}
	}
	switch tree.kind {
	case kindNull:
	case kindList:
		cases = tree.list
	case kindMap:
		r.object(tree, "suite", []field{
			{"workspace", func(v value, _ string) { all.workspace = r.workspace(v, "workspace") }},
			{"skills", func(v value, _ string) { all.skills = r.each(v, "skills", r.path) }},
			{"cases", func(v value, _ string) { read(v, "cases") }},
		})
		r.missing(tree, "suite", "cases", "a list of cases")
	default:
		r.add(tree.line, tree.column, "a suite must be a list of cases, or a mapping with cases, not "+tree.kind.String(), "")
	}
	if len(r.problems) == 0 {
		r.problems = b.places(all.workspace, all.skills)
	}
	return cases, r.problems
}

// lineWriter writes a value as a line of JSON.
type lineWriter struct {
	text   []byte
	places []placed
	// nan are the places of numbers that JSON does not have.
	nan []placed
}

func (w *lineWriter) place(line, column int) {
	w.places = append(w.places, placed{len(w.text), line, column})
}

func (w *lineWriter) value(v value) {
	w.place(v.line, v.column)
	switch v.kind {
	case kindNull:
		w.text = append(w.text, "null"...)
	case kindBool:
		w.text = append(w.text, v.text...)
	case kindNumber:
		w.number(v)
	case kindString:
		w.string(v.text)
	case kindList:
		w.text = append(w.text, '[')
		for i, e := range v.list {
			if i > 0 {
				w.text = append(w.text, ',')
			}
			w.value(e)
		}
		w.text = append(w.text, ']')
	case kindMap:
		w.text = append(w.text, '{')
		for i, m := range v.members {
			if i > 0 {
				w.text = append(w.text, ',')
			}
			w.place(m.line, m.column)
			w.string(m.key)
			w.text = append(w.text, ':')
			w.value(m.value)
		}
		w.text = append(w.text, '}')
	}
}

func (w *lineWriter) string(s string) {
	text, err := jsontext.AppendQuote(w.text, s)
	if err != nil { // not UTF-8, which the whole file is
		text = strconv.AppendQuote(w.text, fmt.Sprintf("%q", s))
	}
	w.text = text
}

func (w *lineWriter) number(v value) {
	if f, err := strconv.ParseFloat(v.text, 64); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		w.nan = append(w.nan, placed{len(w.text), v.line, v.column})
		w.text = append(w.text, '0')
		return
	}
	w.text = append(w.text, v.text...)
}
