package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/js"
)

// source is a file that is converted, or one that it names.
type source struct {
	// name is the path in messages.
	name string
	// lines are the lines of a YAML file; nil for other files.
	lines [][]rune
}

// node is a value of a source. A node without a value stands for a key that is not there.
type node struct {
	src *source
	*doc.Value
}

func (n node) ok() bool { return n.Value != nil && n.Kind != doc.Null }

// there reports whether the key is there, also with null.
func (n node) there() bool { return n.Value != nil }

func (n node) get(key string) node {
	if n.Value == nil {
		return n
	}
	return node{n.src, n.Get(key)}
}

func (n node) list() (list []node) {
	if n.Value != nil {
		for i := range n.List {
			list = append(list, node{n.src, &n.List[i]})
		}
	}
	return list
}

func (n node) kind() doc.Kind {
	if n.Value == nil {
		return doc.Null
	}
	return n.Kind
}

func (n node) text() string {
	if n.Value == nil {
		return ""
	}
	if text, ok := n.js().(string); ok {
		return text
	}
	return n.Text()
}

// place returns the place of the value.
func (n node) place() doc.Place {
	if n.Value == nil {
		return doc.Place{}
	}
	return n.Place
}

// date stands for an unquoted date, which is an object in JavaScript.
type date string

var (
	yamlInt   = regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	yamlFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlDate  = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(([Tt]|[ \t]+)[0-9:.]+.*)?$`)
	token     = regexp.MustCompile(`^[^\s,\]}#]+`)
)

// js returns the value that JavaScript sees: string, bool, json.Number, nil, date, object or []any.
// Plain scalars of YAML are read as YAML 1.2 has them: 010 is 10, and 1_000 is a text.
func (n node) js() any {
	if n.Value == nil {
		return nil
	}
	switch n.Kind {
	case doc.Map:
		o := object{}
		for i := range n.Members {
			o.set(n.Members[i].Key, node{n.src, &n.Members[i].Value}.js())
		}
		return o
	case doc.List:
		list := []any{}
		for _, e := range n.list() {
			list = append(list, e.js())
		}
		return list
	case doc.Bool:
		return n.Text() == "true"
	case doc.String:
		if n.src.lines != nil && n.source() != "" && !strings.ContainsAny(n.Text(), "\n") {
			return plainScalar(n.Text())
		}
		return n.Text()
	case doc.Number:
		if plain := n.source(); plain != "" {
			return plainScalar(plain)
		}
		return number(n.Text())
	default:
		return nil
	}
}

// source returns the text of a plain scalar in YAML, or "".
func (n node) source() string {
	line := int(n.Line) - 1
	if n.src.lines == nil || line < 0 || line >= len(n.src.lines) || int(n.Column) > len(n.src.lines[line]) {
		return ""
	}
	rest := string(n.src.lines[line][max(n.Column, 1)-1:])
	if rest == "" || strings.ContainsRune(`"'|>&*!`, rune(rest[0])) {
		return ""
	}
	if n.Kind == doc.String {
		if text := n.Text(); text != "" && strings.HasPrefix(rest, text) {
			return text
		}
		return ""
	}
	return token.FindString(rest)
}

// plainScalar reads a plain scalar by the rules of YAML 1.2.
func plainScalar(text string) any {
	switch {
	case text == "true", text == "True", text == "TRUE":
		return true
	case text == "false", text == "False", text == "FALSE":
		return false
	case text == "~", text == "null", text == "Null", text == "NULL":
		return nil
	case yamlInt.MatchString(text), yamlFloat.MatchString(text):
		return number(text)
	case yamlDate.MatchString(text):
		return date(text)
	}
	return text
}

// number returns a number as JavaScript prints it, or the text if that is none.
func number(text string) any {
	f, err := doc.ParseNumber(text)
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") {
		var i int64
		i, err = strconv.ParseInt(text, 0, 64)
		f = float64(i)
	}
	if err != nil {
		return text
	}
	n, _ := js.FromFloat(f) // it is finite
	return json.Number(n)
}

// printed returns a value as JavaScript converts it to a text. It is false for what prints as
// nothing useful.
func printed(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), true
	case bool:
		return fmt.Sprint(v), true
	case nil:
		return "", true
	case []any:
		var parts []string
		for _, e := range v {
			text, ok := printed(e)
			if !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ","), true
	}
	return "", false
}

// hasDate reports whether there is a date in a value.
func hasDate(v any) bool {
	switch v := v.(type) {
	case date:
		return true
	case []any:
		return slices.ContainsFunc(v, hasDate)
	case object:
		return slices.ContainsFunc(v, func(m member) bool { return hasDate(m.value) })
	}
	return false
}

// parse reads a document in YAML or JSON.
func parse(name string, data []byte) (node, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	var v doc.Value
	var problem *doc.Problem
	src := &source{name: name}
	if strings.EqualFold(filepath.Ext(name), ".json") {
		v, problem = doc.ParseJSON(name, data)
	} else {
		v, problem = doc.ParseYAML(name, data, doc.YAMLValues)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			src.lines = append(src.lines, []rune(strings.TrimSuffix(string(line), "\r")))
		}
	}
	if problem != nil {
		return node{}, doc.Problems{*problem}
	}
	return node{src, &v}, nil
}

// open reads a file that the converted file names. ref may begin with file://.
func (w *work) open(ref string) (name string, data []byte, err error) {
	name = w.named(ref)
	data, err = w.read(name)
	if err != nil {
		return name, nil, doc.Cause(err)
	}
	return name, data, nil
}

// named returns the path of a file that the converted file names.
func (w *work) named(ref string) string {
	ref = strings.TrimPrefix(ref, "file://")
	if filepath.IsAbs(ref) {
		return ref
	}
	return filepath.Join(w.dir, filepath.FromSlash(ref))
}

// glob returns the files that a path or a pattern names, in the order of promptfoo: the last name first.
func (w *work) glob(ref string) ([]string, error) {
	name := w.named(ref)
	if !strings.ContainsAny(name, "*?[{") {
		if _, err := os.Stat(name); err != nil {
			return nil, errors.New("there is no such file")
		}
		return []string{name}, nil
	}
	if strings.ContainsAny(name, "{") || strings.Contains(name, "**") {
		return nil, plumb.WithHint(errors.New("this pattern is not supported"), "name the files")
	}
	found, err := filepath.Glob(name)
	if err != nil || len(found) == 0 {
		return nil, errors.New("no file matches")
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}
