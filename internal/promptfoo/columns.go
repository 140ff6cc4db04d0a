package promptfoo

import (
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Row is a row of a data file: its variables, and what its columns with two underscores say. Cells
// of such columns without a text are left out.
type Row struct {
	Vars []doc.Member
	// Expected are the cells with assertions, Metadata those of __metadata:NAME by NAME.
	Expected, Metadata []doc.Member
	// The others are nil if the row has no such cell.
	Prefix, Suffix, Description, Metric, Threshold *doc.Member
	// Unknown are the cells of columns that promptfoo does not have, also those without a text.
	Unknown []doc.Member
}

// Columns lists the columns with a meaning.
const Columns = "__expected, __expected1, __prefix, __suffix, __description, __metric, __threshold, __metadata:NAME"

// ReadRow reads the columns of a row.
func ReadRow(row *doc.Value) (r Row) {
	for i := range row.Members {
		m := &row.Members[i]
		name, special := strings.CutPrefix(m.Key, "__")
		key, isMetadata := strings.CutPrefix(name, "metadata:")
		number, isExpected := strings.CutPrefix(name, "expected")
		if _, err := strconv.Atoi(number); err != nil && number != "" {
			isExpected = false
		}
		one := map[string]**doc.Member{
			"prefix": &r.Prefix, "suffix": &r.Suffix, "description": &r.Description, "metric": &r.Metric, "threshold": &r.Threshold,
		}[name]
		switch {
		case !special:
			r.Vars = append(r.Vars, *m)
		case !isExpected && one == nil && (!isMetadata || key == ""):
			r.Unknown = append(r.Unknown, *m)
		case m.Value.Kind == doc.String && (m.Value.Empty() || isExpected && strings.TrimSpace(m.Value.Text()) == ""):
		case isExpected:
			r.Expected = append(r.Expected, *m)
		case isMetadata:
			r.Metadata = append(r.Metadata, doc.Member{Key: key, Place: m.Place, Value: m.Value})
		default:
			*one = m
		}
	}
	return r
}

// Around puts the prefix and the suffix of the row around a prompt.
func (r *Row) Around(prompt string) string {
	if r.Prefix != nil {
		prompt = r.Prefix.Value.Text() + prompt
	}
	if r.Suffix != nil {
		prompt += r.Suffix.Value.Text()
	}
	return prompt
}

// test returns the test that the row of a CSV file stands for, as a config has it, and what in it
// cannot be carried over.
func (r *Row) test(n draft.Node) (test draft.Node, problems doc.Problems) {
	v := doc.Value{Kind: doc.Map, Place: n.Place}
	mapping := func(members []doc.Member) doc.Value {
		return doc.Value{Kind: doc.Map, Place: n.Place, Members: members}
	}
	v.Set("vars", mapping(r.Vars))
	v.Set("metadata", mapping(r.Metadata))
	if r.Description != nil {
		v.Set("description", r.Description.Value)
	}
	var options []doc.Member
	for key, affix := range map[string]*doc.Member{"prefix": r.Prefix, "suffix": r.Suffix} {
		if affix != nil {
			options = append(options, doc.Member{Key: key, Value: affix.Value})
		}
	}
	v.Set("options", mapping(options))
	refuse := func(at doc.Place, message string) {
		problems = append(problems, doc.Problem{Pos: at.In(n.File), Message: message})
	}
	for _, m := range r.Unknown {
		refuse(m.Place, "the column "+m.Key+" cannot be carried over")
	}
	for _, m := range r.Metadata {
		if strings.HasSuffix(m.Key, "[]") {
			refuse(m.Place, "the column __metadata:"+m.Key+" cannot be carried over")
		}
	}
	if r.Threshold != nil {
		text := strings.TrimSpace(r.Threshold.Value.Text())
		if _, err := doc.ParseNumber(text); err != nil {
			refuse(r.Threshold.Value.Place, "a __threshold that is no number")
		}
		v.Set("threshold", jsNumber(text, r.Threshold.Value.Place))
	}
	list := doc.Value{Kind: doc.List, Place: n.Place}
	for _, m := range r.Expected {
		assert, why := ofCell(m.Value.Text(), m.Value.Place)
		if why == "" && wordsWith(strings.TrimPrefix(assert.Get("type").Text(), "not-")).key == "provider" {
			why = notCarried(m.Value.Text()) // a question to a model that promptfoo chooses
		}
		if why != "" {
			refuse(m.Value.Place, why)
			continue
		}
		if r.Metric != nil {
			assert.Set("metric", r.Metric.Value)
		}
		list.List = append(list.List, assert)
	}
	v.Set("assert", list)
	return draft.Node{File: n.File, Value: &v}, problems
}

// Judge gives a case the checks of the row of a CSV file, and the lowest score that the row asks
// for. invalid is that of [Convert].
func (r *Row) Judge(d *draft.Draft, c *draft.Case, n draft.Node, invalid func(pattern string) string) {
	node, problems := r.test(n)
	for _, problem := range problems {
		d.Refuse(c, problem.Pos, problem.Message, problem.Hint)
	}
	p, t := &conversion{Draft: d, invalid: invalid}, &test{Case: c, node: node}
	p.threshold(t, []draft.Node{node})
	for _, a := range node.Get("assert").All() {
		if check, _ := p.assert(t, a); check.Kind == doc.Map {
			c.Checks = append(c.Checks, check)
		}
	}
}
