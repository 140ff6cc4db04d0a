package promptfoo

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/js"
)

// Parse reads a document of promptfoo in YAML or JSON, with the values that JavaScript sees.
func Parse(name string, data []byte) (draft.Node, error) {
	parse := doc.ParseWritten
	if strings.EqualFold(filepath.Ext(name), ".json") {
		parse = func(name string, data []byte, _ int) (doc.Value, *doc.Problem) { return doc.ParseJSON(name, data) }
	}
	v, problem := parse(name, bytes.TrimPrefix(data, []byte("\uFEFF")), doc.YAMLValues)
	if problem != nil {
		return draft.Node{}, doc.Problems{*problem}
	}
	v = v.Copy()
	resolve(&v)
	return draft.Node{File: name, Value: &v}, nil
}

// resolve replaces the scalars of a copy of a document by the values that JavaScript sees. Those of
// YAML without quotes are read as YAML 1.2 has them: 010 is 10, and 1_000 is a text.
func resolve(v *doc.Value) {
	switch {
	case v.Plain():
		*v = scalar(v.Text(), v.Place)
	case v.Kind == doc.Number:
		*v = jsNumber(v.Text(), v.Place)
	}
	for i := range v.List {
		resolve(&v.List[i])
	}
	for i := range v.Members {
		resolve(&v.Members[i].Value)
	}
}

var (
	yamlInt   = pattern(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	yamlFloat = pattern(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlDate  = pattern(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(([Tt]|[ \t]+)[0-9:.]+.*)?$`)
)

// anObject is the key of the mapping that stands for an unquoted date, and what promptfoo inserts
// for it.
const anObject = "[object Object]"

// scalar reads a scalar without quotes by the rules of YAML 1.2.
func scalar(text string, at doc.Place) doc.Value {
	switch {
	case slices.Contains([]string{"true", "True", "TRUE", "false", "False", "FALSE"}, text):
		return doc.NewBool(strings.EqualFold(text, "true"), at)
	case slices.Contains([]string{"", "~", "null", "Null", "NULL"}, text):
		return doc.Value{Place: at}
	case yamlInt().MatchString(text), yamlFloat().MatchString(text):
		return jsNumber(text, at)
	case yamlDate().MatchString(text):
		date := doc.Value{Kind: doc.Map, Place: at}
		date.Set(anObject, doc.NewString(text, at))
		return date
	}
	return doc.NewString(text, at)
}

// hasDate reports whether there is an unquoted date in a value.
func hasDate(v *doc.Value) bool {
	return v.Get(anObject) != nil || slices.ContainsFunc(v.List, func(e doc.Value) bool { return hasDate(&e) }) ||
		slices.ContainsFunc(v.Members, func(m doc.Member) bool { return hasDate(&m.Value) })
}

// jsNumber returns a number as JavaScript prints it, or the text if that is none.
func jsNumber(text string, at doc.Place) doc.Value {
	f, err := doc.ParseNumber(text)
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") {
		var i int64
		i, err = strconv.ParseInt(text, 0, 64)
		f = float64(i)
	}
	if err != nil {
		return doc.NewString(text, at)
	}
	n, _ := js.FromFloat(f) // it is finite
	v, _ := doc.NewNumber(string(n), at)
	return v
}

// printed returns a value as JavaScript converts it to a text. It is false for what prints as
// nothing useful.
func printed(v *doc.Value) (string, bool) {
	if v.Kind == doc.Map {
		return "", false
	}
	if v.Kind != doc.List {
		return v.Text(), true
	}
	var parts []string
	for i := range v.List {
		text, ok := printed(&v.List[i])
		if !ok {
			return "", false
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ","), true
}

// quote returns a text as JSON, which is also an expression of JavaScript.
func quote(text string) string {
	v := doc.NewString(text, doc.Place{})
	return string(v.JSON())
}
