package cases

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/js"
	"github.com/plumb-eval/plumb/internal/promptfoo"
	"github.com/plumb-eval/plumb/internal/template"
)

// maxCombinations limits the cases that lists of variables make in one file.
const maxCombinations = 10_000

// expander turns the cases of a suite with prompts, variables, data and defaults into cases without
// them: one for each case, prompt and combination of variables. It works on the values of
// documents, so that a rendered case is the same as one that was written by hand.
type expander struct {
	sources   *sources
	file      *File
	templates *templates

	prompts []prompt
	// defaults has the keys that every case gets; nil if there are none.
	defaults *doc.Value
	// numbered is set if a case without an id is numbered. active is set if all cases are
	// templates.
	numbered, active bool
	combinations     int
	// lines is the number of lines of the last source.
	lines    int
	problems doc.Problems
	// failed are the problems of templates, each once; byText finds them by place and message.
	failed []*failure
	byText map[string]*failure
	// columns are the unknown columns that were reported, by file and name.
	columns map[string]bool
}

// failure is a problem of a template, with the first case that has it and the number of all.
type failure struct {
	problem doc.Problem
	first   string
	cases   int
}

func (x *expander) add(at doc.Place, message, hint string) {
	x.problems = append(x.problems, doc.Problem{Pos: x.sources.in(at), Message: message, Hint: hint})
}

// expandParts expands the cases of a suite in YAML, and the rows of its data. literal[i] is set if
// the texts of cases[i] are as they were written.
func (x *expander) expandParts(p parts) (cases []doc.Value, literal []bool) {
	x.numbered = p.prompts != nil || p.data != nil
	if p.defaults != nil {
		x.readDefaults(p.defaults)
	}
	x.active = x.numbered || x.defaults != nil && x.defaults.Get("vars") != nil
	if p.prompts != nil {
		x.readPrompts(p.prompts)
	}
	all := slices.Clone(p.cases)
	if p.data != nil {
		all = append(all, x.readData(p.data)...)
	}
	if p.cases == nil && p.data == nil && p.prompts != nil {
		all = []doc.Value{{Kind: doc.Map, Place: p.prompts.Place}} // prompts without variables
	}
	if len(x.problems) > 0 && p.prompts != nil && len(x.prompts) == 0 {
		return nil, nil // each case would lack its input
	}
	for i := range all {
		cases = append(cases, x.expand(&all[i], i+1)...)
		for len(literal) < len(cases) {
			literal = append(literal, !x.active && all[i].Get("vars") == nil)
		}
	}
	return cases, literal
}

// readDefaults checks the keys of the defaults.
func (x *expander) readDefaults(v *doc.Value) {
	if v.Kind != doc.Map {
		x.add(v.Place, "defaults must be a mapping of keys of a case, not "+v.Kind.String(), "")
		return
	}
	x.defaults = &doc.Value{Kind: doc.Map, Place: v.Place}
	for _, m := range v.Members {
		switch {
		case m.Key == "id" || m.Key == "prompts":
			x.add(m.Place, m.Key+" belongs to a case, not to defaults", "")
		case !slices.Contains(caseKeys(), m.Key):
			x.add(m.Place, fmt.Sprintf("unknown key %q in defaults", m.Key), caseKeyHint(&m))
		default:
			x.defaults.Members = append(x.defaults.Members, m)
		}
	}
}

// readData returns a case for each row of the data files.
func (x *expander) readData(v *doc.Value) []doc.Value {
	list := []doc.Value{*v}
	if v.Kind == doc.List {
		list = v.List
	}
	if len(list) == 0 {
		x.add(v.Place, "data is an empty list", "")
	}
	var all []doc.Value
	for i := range list {
		d := &list[i]
		if d.Kind != doc.String {
			x.add(d.Place, "data must be the path of a file, not "+d.Kind.String(), "")
			continue
		}
		names, _ := x.names(d.Place, d.Text())
		for _, name := range names {
			text, ok := x.readFile(d.Place, name)
			if !ok {
				continue
			}
			found := x.rows(x.file.Shown(name), text)
			base := x.sources.add(x.file.Shown(name), x.lines)
			x.lines = lineEnds([]byte(text)) + 1
			for i := range found {
				if found[i].Kind == doc.Map {
					found[i].Shift(base)
					if c, ok := x.row(&found[i]); ok {
						all = append(all, c)
					}
				}
			}
		}
	}
	return all
}

// rows returns the rows of a data file, which are mappings. Their lines count from the start of the
// file.
func (x *expander) rows(file, text string) []doc.Value {
	v, problems := doc.ParseData(file, []byte(text), doc.ParseYAML)
	add := func(at doc.Place, message, hint string) {
		problems = append(problems, doc.Problem{Pos: at.In(file), Message: message, Hint: hint})
	}
	table := slices.Contains([]string{".csv", ".tsv"}, strings.ToLower(filepath.Ext(file)))
	start := doc.Place{Line: 1, Column: 1}
	switch {
	case len(problems) > 0:
	case v.Kind != doc.List:
		add(v.Place, "the file must be a list of rows, not "+v.Kind.String(), "each row is a mapping of variables")
	case len(v.List) == 0:
		hint := map[bool]string{true: "each line after the names of the columns is one case"}[table]
		add(start, "the file has no rows", hint)
	}
	for i := range v.List {
		row := &v.List[i]
		if row.Kind != doc.Map {
			add(row.Place, "a row must be a mapping of variables, not "+row.Kind.String(), "")
		}
		for _, n := range row.Infinite() {
			add(n.Place, "a number must be finite", "")
		}
	}
	if table && len(v.List) > 0 {
		columns := v.List[0].Members
		if len(columns) == 1 && strings.ContainsAny(columns[0].Key, ";\t") {
			add(start, fmt.Sprintf("the file has one column with the name %q", columns[0].Key),
				"separate columns with commas, or use a .tsv file for tabs")
			v.List = nil
		}
		for i, c := range columns {
			if c.Key == "" {
				add(c.Place, fmt.Sprintf("column %d has no name", i+1), "")
			}
		}
	}
	x.problems = append(x.problems, problems...)
	return v.List
}

// row turns a row of data into a case. Its columns are variables, except id and those that begin
// with two underscores, which have the meaning that they have in promptfoo. ok is false for a row
// without checks that has an unknown column: the name of the column is the problem, and not each
// row.
func (x *expander) row(row *doc.Value) (c doc.Value, ok bool) {
	mapping := func(members []doc.Member) doc.Value {
		return doc.Value{Kind: doc.Map, Place: row.Place, Members: members}
	}
	c = mapping(nil)
	set := func(key string, m *doc.Member) {
		if m != nil {
			c.Members = append(c.Members, doc.Member{Key: key, Place: m.Place, Value: m.Value})
		}
	}
	r := promptfoo.ReadRow(row)
	var vars []doc.Member
	for _, m := range r.Vars {
		switch {
		case m.Key != "id":
			vars = append(vars, m)
		case m.Value.Kind == doc.Number:
			m.Value = doc.NewString(m.Value.Text(), m.Value.Place)
			set("id", &m)
		case !m.Value.Empty() || m.Value.Kind != doc.String:
			set("id", &m)
		}
	}
	set("__prefix", r.Prefix)
	set("__suffix", r.Suffix)
	set("vars", &doc.Member{Place: row.Place, Value: mapping(vars)})
	metadata := r.Metadata
	if r.Description != nil {
		metadata = append(metadata, doc.Member{Key: "description", Place: r.Description.Place, Value: r.Description.Value})
	}
	if len(metadata) > 0 {
		set("metadata", &doc.Member{Place: row.Place, Value: mapping(metadata)})
	}
	scored := r.Threshold != nil
	if scored {
		text := r.Threshold.Value.Text()
		least, isNumber := doc.NewNumber(text, r.Threshold.Value.Place)
		if isNumber {
			set("min_score", &doc.Member{Place: r.Threshold.Place, Value: least})
		} else {
			x.add(least.Place, fmt.Sprintf("__threshold must be a number from 0 to 1, not %q", text), "")
		}
	}
	checks := doc.Value{Kind: doc.List, Place: row.Place}
	for i := range r.Expected {
		if spec, read := x.expectation(&r.Expected[i], scored); read {
			if r.Metric != nil {
				spec.Set("name", doc.NewString(template.Literal(r.Metric.Value.Text()), row.Place))
			}
			checks.List = append(checks.List, spec)
		}
	}
	if len(checks.List) > 0 {
		set("assertions", &doc.Member{Place: row.Place, Value: checks})
	}
	return c, !x.unknownColumns(r.Unknown) || len(checks.List) > 0
}

// unknownColumns reports the names of the columns of cells with a text, each once.
func (x *expander) unknownColumns(cells []doc.Member) (found bool) {
	for _, m := range cells {
		if m.Value.Kind == doc.String && m.Value.Empty() {
			continue
		}
		found = true
		column := x.sources.in(m.Place).File + "\x00" + m.Key
		if x.columns[column] {
			continue // one mistake of a header is one problem
		}
		if x.columns == nil {
			x.columns = map[string]bool{}
		}
		x.columns[column] = true
		x.add(m.Place, fmt.Sprintf("unknown column %q", m.Key), "known: "+promptfoo.Columns)
	}
	return found
}

// expectation returns the check that a cell of a column __expected stands for, in the words of
// promptfoo: a word and a value, such as contains:Paris, or the right answer itself. scored is set
// if the row has a threshold.
func (x *expander) expectation(cell *doc.Member, scored bool) (spec doc.Value, ok bool) {
	v := &cell.Value
	if v.Kind == doc.Map || v.Kind == doc.List || v.Kind == doc.Null {
		x.add(v.Place, cell.Key+" must be a text, not "+v.Kind.String(), "")
		return spec, false
	}
	spec, why, hint := promptfoo.Check(v.Text(), v.Place, scored)
	if why != "" {
		x.add(v.Place, why, hint)
	}
	return spec, why == ""
}

// own are the keys of a case that the expanded cases do not have.
func own(key string) bool {
	return key == "vars" || key == "prompts" || key == "__prefix" || key == "__suffix"
}

// expand returns the cases that a case stands for. number counts the cases of the file from 1.
func (x *expander) expand(c *doc.Value, number int) []doc.Value {
	if c.Kind != doc.Map {
		return []doc.Value{*c} // the reader of cases reports it
	}
	merged := x.withDefaults(c)
	vars := merged.Get("vars")
	if vars != nil && vars.Kind != doc.Map {
		x.add(vars.Place, "vars must be a mapping, not "+vars.Kind.String(), "")
		return nil
	}
	if !x.active && vars == nil {
		if labels := merged.Get("prompts"); labels != nil {
			x.add(labels.Place, "the suite has no prompts", "")
		}
		return []doc.Value{merged}
	}
	id, ok := merged.Get("id"), true
	switch {
	case id == nil && x.numbered:
		id = new(doc.NewString("case-"+strconv.Itoa(number), c.Place))
	case id == nil, id.Kind != doc.String:
		id = new(doc.NewString("", c.Place))
		ok = false
	}
	prompts := x.promptsOf(&merged)
	var expanded []doc.Value
	combinations := x.combine(vars)
	for k, values := range combinations {
		item := id.Text()
		if len(combinations) > 1 {
			item += "-" + strconv.Itoa(k+1)
		}
		for _, p := range prompts {
			v := x.one(&merged, p, &values, item)
			full := item
			if len(x.prompts) > 1 {
				full += "." + safeID(p.label)
			}
			if ok {
				v.Set("id", doc.NewString(full, id.Place))
			}
			if p.label != "" {
				v.Set("prompt", doc.NewString(p.label, p.at))
			}
			if vars != nil && runsCode(&v, "js", "command") {
				v.Set("vars", values)
			}
			if vars != nil && runsCode(&v, "js") {
				x.exact(&values)
			}
			if full != item {
				v.Set("item", doc.NewString(item, id.Place))
			}
			expanded = append(expanded, v)
		}
	}
	return expanded
}

// runsCode reports whether a case or a check has code of its own, of one of the given types, which
// gets the variables.
func runsCode(v *doc.Value, types ...string) bool {
	if v.Get("transform") != nil {
		return true
	}
	return slices.ContainsFunc(checksOf(v), func(spec doc.Value) bool {
		kind := spec.Get("type")
		return kind != nil && slices.Contains(types, kind.Text()) || runsCode(&spec, types...)
	})
}

// exact reports variables for JavaScript whose digits it would lose.
func (x *expander) exact(v *doc.Value) {
	if v.Kind == doc.Number && len(v.Infinite()) == 0 && !js.Number(v.Text()).Exact() {
		x.add(v.Place, fmt.Sprintf("JavaScript cannot hold the number %s exactly", v.Text()), "put it in quotes")
	}
	for i := range v.List {
		x.exact(&v.List[i])
	}
	for i := range v.Members {
		x.exact(&v.Members[i].Value)
	}
}

// promptsOf returns the prompts of a case; one without a label if the suite has none.
func (x *expander) promptsOf(c *doc.Value) []prompt {
	labels, input := c.Get("prompts"), c.Get("input")
	if len(x.prompts) == 0 {
		if labels != nil {
			x.add(labels.Place, "the suite has no prompts", "")
		}
		if input == nil {
			return []prompt{{}}
		}
		return []prompt{{input: *input}}
	}
	if input != nil {
		x.add(input.Place, "a suite with prompts has no input", "remove input, or prompts")
	}
	if labels == nil {
		return x.prompts
	}
	list := []doc.Value{*labels}
	if labels.Kind == doc.List {
		list = labels.List
	}
	var chosen []prompt
	var known []string
	for _, p := range x.prompts {
		known = append(known, p.label)
		if slices.ContainsFunc(list, func(l doc.Value) bool { return l.Kind == doc.String && l.Text() == p.label }) {
			chosen = append(chosen, p)
		}
	}
	for _, l := range list {
		if l.Kind != doc.String || !slices.Contains(known, l.Text()) {
			x.add(l.Place, fmt.Sprintf("there is no prompt with the label %q", l.Text()), doc.DidYouMean(l.Text(), known))
		}
	}
	if len(list) == 0 {
		x.add(labels.Place, "prompts is an empty list", "leave it out for all prompts")
	}
	return chosen
}

// combine returns the combinations of the values of the variables that are lists of strings, the
// last one changing fastest.
func (x *expander) combine(vars *doc.Value) []doc.Value {
	if vars == nil {
		return []doc.Value{{Kind: doc.Map}}
	}
	total, lists := 1, []int(nil)
	for i, m := range vars.Members {
		many := m.Value.Kind == doc.List && len(m.Value.List) > 0 &&
			!slices.ContainsFunc(m.Value.List, func(e doc.Value) bool { return e.Kind != doc.String })
		if !many {
			continue
		}
		lists = append(lists, i)
		if total *= len(m.Value.List); total > maxCombinations {
			x.add(m.Place, fmt.Sprintf("the lists of variables make more than %d combinations", maxCombinations),
				"a list of strings in vars makes a case for each string")
			return nil
		}
	}
	if total > 1 {
		if before := x.combinations; before <= maxCombinations && before+total > maxCombinations {
			x.add(vars.Place, fmt.Sprintf("the lists of variables of this file make more than %d combinations", maxCombinations),
				"split the file")
		}
		if x.combinations += total; x.combinations > maxCombinations {
			return nil
		}
	}
	all := make([]doc.Value, total)
	for k := range all {
		all[k] = *vars
		all[k].Members = slices.Clone(vars.Members)
		rest := k
		for _, i := range slices.Backward(lists) {
			of := vars.Members[i].Value.List
			all[k].Members[i].Value = of[rest%len(of)]
			rest /= len(of)
		}
	}
	return all
}

// one returns the case of one prompt and one combination of variables, rendered.
func (x *expander) one(c *doc.Value, p prompt, vars *doc.Value, item string) doc.Value {
	v := doc.Value{Kind: doc.Map, Place: c.Place}
	if p.input.Kind != doc.Null {
		v.Set("input", p.input.Copy())
	}
	for i := range c.Members {
		m := &c.Members[i]
		if own(m.Key) || m.Key == "id" || m.Key == "input" {
			continue
		}
		v.Members = append(v.Members, doc.Member{Key: m.Key, Place: m.Place, Value: m.Value.Copy()})
	}
	var scope *template.Scope
	failed := false
	for _, s := range slots(&v) {
		if scope == nil {
			scope = template.NewScope(vars)
		}
		text := "1" // after a problem, so that no other is reported for these texts
		if !failed {
			rendered, err := x.templates.render(&s, scope)
			if problem, ok := errors.AsType[*template.Problem](err); ok {
				x.fail(s.Place, s.Text(), p.file && s.key == "input", item, problem, vars)
				failed = true
			} else {
				text = rendered
			}
		}
		s.SetText(text)
	}
	if input := v.Get("input"); input != nil {
		x.wrap(input, c)
	}
	return v
}

// wrap puts the prefix and the suffix of a row around the text of a rendered prompt, or of its last
// message. They are no templates, as in promptfoo.
func (x *expander) wrap(input, c *doc.Value) {
	prefix, suffix := c.Get("__prefix"), c.Get("__suffix")
	if prefix == nil && suffix == nil {
		return
	}
	if input.Kind == doc.List && len(input.List) > 0 {
		input = input.List[len(input.List)-1].Get("content")
	}
	if input == nil || input.Kind != doc.String {
		return
	}
	text := input.Text()
	if prefix != nil {
		text = prefix.Text() + text
	}
	if suffix != nil {
		text += suffix.Text()
	}
	input.SetText(text)
}

// fail records a problem of a template. Cases with the same problem share one message.
func (x *expander) fail(at doc.Place, text string, file bool, item string, t *template.Problem, vars *doc.Value) {
	problem := doc.Problem{Pos: x.sources.in(at), Message: t.Message, Hint: t.Hint}
	if t.Line > 0 && (file || strings.Contains(text, "\n")) {
		if file {
			problem.Pos.Line += t.Line - 1
			problem.Pos.Column = t.Column
		} else {
			problem.Message += fmt.Sprintf(" on line %d of the template", t.Line)
		}
	}
	if t.Word != "" {
		known := t.Known
		if known == nil {
			for _, m := range vars.Members {
				known = append(known, m.Key)
			}
			slices.Sort(known)
		}
		problem.Hint = doc.DidYouMean(t.Word, known)
		switch {
		case t.Word == "env":
			problem.Hint = "templates cannot read the environment; set the value in vars"
		case len(known) == 0:
			problem.Hint = "the case has no variables"
		}
	}
	if x.byText == nil {
		x.byText = map[string]*failure{}
	}
	key := problem.Pos.String() + problem.Message
	f := x.byText[key]
	if f == nil {
		f = &failure{problem: problem, first: item}
		x.byText[key], x.failed = f, append(x.failed, f)
	}
	f.cases++
}

// all returns all problems.
func (x *expander) all() doc.Problems {
	for _, f := range x.failed {
		in := "case " + f.first
		if f.cases > 1 {
			in += fmt.Sprintf(" and %d more", f.cases-1)
		}
		f.problem.Message += ", in " + in
		x.problems = append(x.problems, f.problem)
	}
	x.failed = nil
	return x.problems
}

// withDefaults returns a case with the keys of the defaults that it does not have. Variables and
// metadata are merged by name, and the checks of the defaults come before those of the case.
func (x *expander) withDefaults(c *doc.Value) doc.Value {
	merged := doc.Value{Kind: doc.Map, Place: c.Place, Members: slices.Clone(c.Members)}
	if x.defaults == nil {
		return merged
	}
	for _, m := range x.defaults.Members {
		has := c.Get(m.Key)
		switch {
		case m.Key == "assertion" || m.Key == "assertions":
		case has == nil:
			merged.Members = append(merged.Members, m)
		case (m.Key == "vars" || m.Key == "metadata") && has.Kind == doc.Map && m.Value.Kind == doc.Map:
			both := doc.Value{Kind: doc.Map, Place: has.Place, Members: slices.Clone(has.Members)}
			for _, d := range m.Value.Members {
				if has.Get(d.Key) == nil {
					both.Members = append(both.Members, d)
				}
			}
			merged.Set(m.Key, both)
		}
	}
	first := checksOf(x.defaults)
	if len(first) == 0 {
		return merged
	}
	if list := c.Get("assertions"); list != nil && list.Kind != doc.List {
		return merged // the reader of cases reports it
	}
	checks := doc.Value{Kind: doc.List, Place: c.Place, List: append(first, checksOf(c)...)}
	merged.Members = slices.DeleteFunc(merged.Members, func(m doc.Member) bool { return m.Key == "assertion" })
	merged.Set("assertions", checks)
	return merged
}

// checksOf returns the specs of the checks of a case.
func checksOf(c *doc.Value) (specs []doc.Value) {
	if single := c.Get("assertion"); single != nil {
		specs = append(specs, *single)
	}
	switch list := c.Get("assertions"); {
	case list == nil:
	case list.Kind == doc.List:
		specs = append(specs, list.List...)
	default:
		specs = append(specs, *list)
	}
	return specs
}
