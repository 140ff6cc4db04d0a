package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// valueKind is what a [value] is.
type valueKind uint8

const (
	kindNull valueKind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindMap
)

func (k valueKind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a string", "a list", "a mapping"}[k]
}

// value is a YAML or JSON value with its place.
type value struct {
	kind         valueKind
	line, column int
	// text is the string, or the spelling of the number or boolean.
	text    string
	list    []value
	members []valueMember
}

// valueMember is one key of a mapping with its value.
type valueMember struct {
	key          string
	line, column int
	value        value
}

// parseTree reads a config in YAML or JSON. The second result is what makes it unusable as a whole; duplicate keys are
// reported when the tree is read.
func parseTree(file string, data []byte, isJSON bool) (value, *Problem) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if isJSON {
		return parseJSONTree(file, data)
	}
	if len(data) > doc.ConfigBytes {
		return value{}, configTooLarge(file, len(data))
	}
	return parseYAMLTree(file, data, doc.ConfigValues)
}

func configTooLarge(file string, size int) *Problem {
	return &Problem{
		Pos:     plumb.Position{File: file, Line: 1, Column: 1},
		Message: fmt.Sprintf("the config has %s, more than the %s that it may have", doc.Size(int64(size)), doc.Size(doc.ConfigBytes)),
	}
}

func place(file string, data []byte, offset int) plumb.Position {
	begin := bytes.LastIndexByte(data[:offset], '\n') + 1
	return plumb.Position{
		File: file, Line: bytes.Count(data[:begin], []byte("\n")) + 1, Column: utf8.RuneCount(data[begin:offset]) + 1,
	}
}

func parseJSONTree(file string, data []byte) (value, *Problem) {
	if len(data) > doc.ConfigBytes {
		return value{}, configTooLarge(file, len(data))
	}
	if at := tooDeep(data); at >= 0 {
		return value{}, &Problem{Pos: place(file, data, at), Message: deepMessage()}
	}
	n, faults, ok := (&syntax{}).value(data)
	for _, f := range faults {
		if !ok || !strings.HasPrefix(f.message, "duplicate key") {
			return value{}, &Problem{Pos: place(file, data, f.at), Message: f.message, Hint: f.hint}
		}
	}
	return (&jsonReader{data: data, line: 1, column: 1}).tree(n), nil
}

// deepMessage says that a text is nested too deep.
func deepMessage() string {
	return fmt.Sprintf("lists and mappings are nested more than %d deep", doc.Depth)
}

// jsonReader turns valid JSON into values. It goes on from one place to the next, since a file may have many.
type jsonReader struct {
	data             []byte
	at, line, column int
}

// to returns the place of an offset, which is not before the last one.
func (r *jsonReader) to(offset int) (line, column int) {
	for ; r.at < offset; r.at++ {
		switch c := r.data[r.at]; {
		case c == '\n':
			r.line, r.column = r.line+1, 1
		case utf8.RuneStart(c):
			r.column++
		}
	}
	return r.line, r.column
}

func (r *jsonReader) tree(n node) (v value) {
	v.line, v.column = r.to(n.at)
	switch n.kind() {
	case '{':
		v.kind = kindMap
		for m := range n.members() {
			line, column := r.to(m.name.at)
			v.members = append(v.members, valueMember{m.name.text(), line, column, r.tree(m.value)})
		}
	case '[':
		v.kind = kindList
		for e := range n.elements() {
			v.list = append(v.list, r.tree(e))
		}
	case '"':
		v.kind, v.text = kindString, n.text()
	case 't', 'f':
		v.kind, v.text = kindBool, string(n.raw)
	case 'n':
		v.kind = kindNull
	default:
		v.kind, v.text = kindNumber, string(n.raw)
	}
	return v
}

func manyMessage(most int) string {
	return fmt.Sprintf("the file holds more than %d values, aliases counted as what they stand for", most)
}

// yamlTokens takes a YAML text apart into tokens, which are few and not nested deep: for a token it takes hundreds of bytes,
// and the parser takes memory by the square of the depth.
func yamlTokens(file string, data []byte, most int) (token.Tokens, *Problem) {
	pos := plumb.Position{File: file, Line: 1, Column: 1}
	if yamlMarks(data) > 2*most {
		return nil, &Problem{Pos: pos, Message: manyMessage(most)}
	}
	var s scanner.Scanner
	s.Init(string(data))
	var tokens token.Tokens
	var depth yamlDepth
	for {
		next, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return tokens, nil
		}
		tokens.Add(next...)
		for _, t := range next {
			if depth.add(t) > doc.Depth {
				if t.Position != nil {
					pos.Line, pos.Column = t.Position.Line, t.Position.Column
				}
				return nil, &Problem{Pos: pos, Message: deepMessage()}
			}
		}
		if err != nil {
			return tokens, nil // the parser says what is wrong with the last one
		}
	}
}

// yamlMarks counts what may make a token of its own, or half of one.
func yamlMarks(data []byte) int {
	marks, quotes := 0, 0
	for i, c := range data {
		switch c {
		case '\n', ':', ',', '[', ']', '{', '}', '&', '*', '!', '#', '|', '>':
			marks++
		case '-', '?':
			if i+1 == len(data) || data[i+1] <= ' ' {
				marks++
			}
		case '"', '\'':
			quotes++
		}
	}
	return marks + quotes/2
}

// yamlDepth follows how deep the tokens of a YAML text stand: within brackets, and by the columns of keys and dashes.
type yamlDepth struct {
	flow    int
	columns []int
	// marks counts the anchors and tags in a row: each holds what follows.
	marks int
}

func (d *yamlDepth) add(t *token.Token) int {
	marks := d.marks
	d.marks = 0
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		d.flow++
	case token.SequenceEndType, token.MappingEndType:
		d.flow = max(d.flow-1, 0)
	case token.AnchorType, token.TagType:
		d.marks = marks + 1
	case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
		at := t.Position
		if t.Type == token.MappingValueType && t.Prev != nil { // the key before it
			at = t.Prev.Position
		}
		if d.flow > 0 || at == nil {
			break
		}
		for len(d.columns) > 0 && d.columns[len(d.columns)-1] >= at.Column {
			d.columns = d.columns[:len(d.columns)-1]
		}
		d.columns = append(d.columns, at.Column)
	default:
	}
	return d.flow + len(d.columns) + d.marks
}

// yamlReader turns the parser's tree into values, with aliases and merge keys resolved.
type yamlReader struct {
	anchors map[string]value
	values  int
	most    int
	depth   int
	problem *Problem
	file    string
}

// parseYAMLTree reads a YAML file of at most so many values.
func parseYAMLTree(file string, data []byte, most int) (v value, problem *Problem) {
	if !utf8.Valid(data) {
		at := invalidUTF8(data)
		return value{}, &Problem{
			Pos: place(file, data, at), Message: fmt.Sprintf("byte 0x%02X is not valid UTF-8", data[at]), Hint: "save the file as UTF-8",
		}
	}
	lines := bytes.Count(data, []byte("\n")) + 1
	defer func() {
		if r := recover(); r != nil { // the parser panics on some malformed texts
			v, problem = value{}, &Problem{Pos: plumb.Position{File: file, Line: 1, Column: 1}, Message: fmt.Sprintf("invalid YAML: %v", r)}
		}
		if problem != nil { // it also counts past the end of a text
			problem.Pos.Line = min(max(problem.Pos.Line, 1), lines)
			problem.Pos.Column = max(problem.Pos.Column, 1)
		}
	}()
	tokens, problem := yamlTokens(file, data, most)
	if problem != nil {
		return value{}, problem
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := &Problem{Pos: plumb.Position{File: file, Line: 1, Column: 1}, Message: "invalid YAML: " + firstLine(err.Error())}
		if e, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			p.Message = "invalid YAML: " + e.Message
			if e.Token != nil && e.Token.Position != nil {
				p.Pos.Line, p.Pos.Column = e.Token.Position.Line, e.Token.Position.Column
			}
		}
		if strings.Contains(p.Message, "found character '\t'") || strings.Contains(p.Message, "tab character") {
			p.Hint = "YAML is indented with spaces"
		}
		return value{}, p
	}
	r := &yamlReader{file: file, most: most, anchors: map[string]value{}}
	var docs []ast.Node
	for _, d := range parsed.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.DirectiveType {
			docs = append(docs, d.Body)
		}
	}
	switch len(docs) {
	case 0:
		return value{line: 1, column: 1}, nil
	case 1:
		v = r.value(docs[0])
		return v, r.problem
	}
	at := r.start(docs[1])
	return value{}, &Problem{Pos: at, Message: "a second YAML document begins", Hint: "a file holds one"}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (r *yamlReader) fail(n ast.Node, message string) value {
	if r.problem == nil {
		r.problem = &Problem{Pos: r.start(n), Message: message}
	}
	return value{line: 1, column: 1}
}

// start returns where a node begins; that of a block mapping is its first key.
func (r *yamlReader) start(n ast.Node) plumb.Position {
	pos := plumb.Position{File: r.file, Line: 1, Column: 1}
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return r.start(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return r.start(m.Key)
	}
	if n == nil {
		return pos
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		pos.Line, pos.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return pos
}

func (r *yamlReader) value(n ast.Node) value {
	r.values++
	r.depth++
	defer func() { r.depth-- }()
	switch {
	case r.values > r.most:
		return r.fail(n, manyMessage(r.most))
	case r.depth > doc.Depth:
		return r.fail(n, deepMessage())
	}
	pos := r.start(n)
	v := value{line: pos.Line, column: pos.Column}
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.BoolNode:
		v.kind, v.text = kindBool, strconv.FormatBool(n.Value)
	case *ast.IntegerNode:
		v.kind, v.text = kindNumber, fmt.Sprint(n.Value)
	case *ast.FloatNode:
		v.kind, v.text = kindNumber, strconv.FormatFloat(n.Value, 'g', -1, 64)
	case *ast.InfinityNode:
		v.kind, v.text = kindNumber, n.String()
	case *ast.NanNode:
		v.kind, v.text = kindNumber, "NaN"
	case *ast.StringNode:
		v.kind, v.text = kindString, n.Value
	case *ast.LiteralNode:
		v.kind = kindString
		if n.Value != nil {
			v.text = n.Value.Value
		}
	case *ast.SequenceNode:
		v.kind = kindList
		for _, e := range n.Values {
			v.list = append(v.list, r.value(e))
		}
	case *ast.MappingNode:
		v.kind = kindMap
		v.members = r.members(n.Values)
	case *ast.MappingValueNode:
		v.kind = kindMap
		v.members = r.members([]*ast.MappingValueNode{n})
	case *ast.AnchorNode:
		v = r.value(n.Value)
		r.anchors[n.Name.String()] = v
	case *ast.AliasNode:
		of, ok := r.anchors[n.Value.String()]
		if !ok {
			return r.fail(n, fmt.Sprintf("there is no anchor %q before this alias", n.Value.String()))
		}
		if r.values += of.size(); r.values > r.most {
			return r.fail(n, manyMessage(r.most))
		}
		v = of
	case *ast.TagNode:
		return r.fail(n, fmt.Sprintf("tag %s is not supported", n.Start.Value))
	default:
		return r.fail(n, "unexpected "+strings.ToLower(n.Type().String()))
	}
	return v
}

// size counts the values in v. A long text counts as several, since an alias may repeat it.
func (v value) size() int {
	n := 1 + len(v.text)>>8
	for _, e := range v.list {
		n += e.size()
	}
	for _, m := range v.members {
		n += m.value.size()
	}
	return n
}

// members reads the keys of a mapping; those that come in by a merge key (<<) give way to the mapping's own.
func (r *yamlReader) members(values []*ast.MappingValueNode) []valueMember {
	var members, merged []valueMember
	for _, m := range values {
		v := r.value(m.Value)
		if m.Key.IsMergeKey() {
			from := []value{v}
			if v.kind == kindList {
				from = v.list
			}
			for _, f := range from {
				if f.kind != kindMap {
					r.fail(m.Key, "<< merges mappings only")
				}
				merged = append(merged, f.members...)
			}
			continue
		}
		key := r.value(m.Key)
		if key.kind == kindList || key.kind == kindMap {
			r.fail(m.Key, "a key must be a word")
		}
		if key.kind == kindNull {
			key.text = "null"
		}
		members = append(members, valueMember{key.text, key.line, key.column, v})
	}
	own := map[string]bool{}
	for _, m := range members {
		own[m.key] = true
	}
	for _, m := range merged {
		if !own[m.key] {
			own[m.key] = true
			members = append(members, m)
		}
	}
	return members
}
