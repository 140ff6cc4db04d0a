package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// placeOf returns the place of a token, or the start of the file if it has none.
func placeOf(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{1, 1}
	}
	return Place{int32(max(t.Position.Line, 1)), int32(max(t.Position.Column, 1))}
}

func manyMessage(most int) string {
	return fmt.Sprintf("the file has more than %d values; an alias counts as all values of its anchor", most)
}

// yamlTokens splits a YAML text into tokens, and limits their number and depth: a token takes
// hundreds of bytes, and the memory of the parser grows with the square of the depth.
func yamlTokens(file string, data []byte, most int) (token.Tokens, *Problem) {
	if yamlMarks(data) > 2*most {
		return nil, &Problem{Pos: Place{1, 1}.In(file), Message: manyMessage(most)}
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
			if depth.add(t) > maxDepth {
				return nil, &Problem{Pos: placeOf(t).In(file), Message: deepMessage()}
			}
		}
		if err != nil {
			return tokens, nil // the parser reports the error of the last one
		}
	}
}

// yamlMarks counts the characters that can start a token, and quotes as half a token.
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

// yamlDepth computes the depth of the tokens of a YAML text from brackets and from the columns of
// keys and dashes.
type yamlDepth struct {
	flow    int
	columns []int
	// marks counts consecutive anchors and tags: each contains the following one.
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
	anchors map[string]Value
	values  int
	most    int
	depth   int
	problem *Problem
	file    string
	// odd are the numbers that are not written in decimal.
	odd Problems
	// written is set if scalars without quotes are texts.
	written bool
}

// plainNumber matches numbers in decimal, also with underscores between the digits of whole numbers.
var plainNumber = regexp.MustCompile(`^[+-]?(?:0|[1-9][0-9_]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?$`)

// decimal notes a number in another spelling: 0x10, 0b1, 0o7 or 010.
func (r *yamlReader) decimal(n ast.ScalarNode) {
	if text := n.GetToken().Value; !plainNumber.MatchString(text) {
		r.odd = append(r.odd, Problem{
			Pos: r.start(n).In(r.file), Message: fmt.Sprintf("the number %s is not written in decimal", text),
			Hint: fmt.Sprintf("write %v, or put a text in quotes", n.GetValue()),
		})
	}
}

// unprintable reports whether YAML forbids a character in the text of a document.
func unprintable(c rune) bool {
	const deleted, nextLine, lastControl = 0x7F, 0x85, 0x9F
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' ||
		c >= deleted && c <= lastControl && c != nextLine || c == 0xFFFE || c == 0xFFFF
}

// ParseYAML parses a YAML file with at most so many values. A key that a mapping has twice is a
// problem; one that a merge key brings is none.
func ParseYAML(file string, data []byte, most int) (Value, *Problem) {
	return (&yamlReader{file: file, most: most}).unique(data)
}

// ParseWritten is [ParseYAML] without the meaning of scalars, on which the versions of YAML do not
// agree: one without quotes is a string, as it is written, and [Value.Plain] tells it from others.
func ParseWritten(file string, data []byte, most int) (Value, *Problem) {
	return (&yamlReader{file: file, most: most, written: true}).unique(data)
}

// YAML is [ParseYAML] for a document of Plumb: it reports all duplicate keys, and numbers that are not
// written in decimal. ok reports whether there is a value, which can be used in spite of them.
func YAML(file string, data []byte, most int) (v Value, problems Problems, ok bool) {
	r := &yamlReader{file: file, most: most}
	v, problem := r.parse(data)
	if problem != nil {
		return Value{}, Problems{*problem}, false
	}
	return v, append(r.odd, v.duplicates(file)...).Sorted(), true
}

func (r *yamlReader) unique(data []byte) (Value, *Problem) {
	v, problem := r.parse(data)
	if problem != nil {
		return Value{}, problem
	}
	if twice := v.duplicates(r.file).Sorted(); len(twice) > 0 {
		return Value{}, &twice[0]
	}
	return v, nil
}

func (r *yamlReader) parse(data []byte) (v Value, problem *Problem) {
	if !utf8.Valid(data) {
		return Value{}, new((&JSON{File: r.file}).invalidUTF8(data, 1))
	}
	for at, c := range string(data) {
		if unprintable(c) {
			return Value{}, &Problem{
				Pos: Position(r.file, data, at), Message: fmt.Sprintf("invalid YAML: the control character %U", c),
				Hint: `write it in double quotes, such as "\u0007"`,
			}
		}
	}
	lines := bytes.Count(data, []byte("\n")) + 1
	defer func() {
		if reason := recover(); reason != nil { // the parser panics on some malformed texts
			v, problem = Value{}, &Problem{
				Pos: Place{1, 1}.In(r.file), Message: fmt.Sprintf("invalid YAML: %v", reason),
			}
		}
		if problem != nil { // the parser can also report a line after the last
			problem.Pos.Line = min(problem.Pos.Line, lines)
		}
	}()
	tokens, problem := yamlTokens(r.file, data, r.most)
	if problem != nil {
		return Value{}, problem
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		p := &Problem{Pos: Place{1, 1}.In(r.file), Message: "invalid YAML: " + message}
		if e, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			p.Message, p.Pos = "invalid YAML: "+e.Message, placeOf(e.Token).In(r.file)
		}
		if strings.Contains(p.Message, "found character '\t'") || strings.Contains(p.Message, "tab character") {
			p.Hint = "indent YAML with spaces"
		}
		return Value{}, p
	}
	r.anchors = map[string]Value{}
	var docs []ast.Node
	for _, d := range parsed.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.DirectiveType {
			docs = append(docs, d.Body)
		}
	}
	switch len(docs) {
	case 0:
		return Value{Place: Place{1, 1}}, nil
	case 1:
		v = r.value(docs[0])
		return v, r.problem
	}
	return Value{}, &Problem{
		Pos: r.start(docs[1]).In(r.file), Message: "a second YAML document begins", Hint: "a file has only one",
	}
}

func (r *yamlReader) fail(n ast.Node, message string) Value {
	if r.problem == nil {
		r.problem = &Problem{Pos: r.start(n).In(r.file), Message: message}
	}
	return Value{Place: Place{1, 1}}
}

// start returns the place of a node; a block mapping begins at its first key.
func (r *yamlReader) start(n ast.Node) Place {
	switch m := n.(type) {
	case nil:
		return Place{1, 1}
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return r.start(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return r.start(m.Key)
	}
	return placeOf(n.GetToken())
}

func (r *yamlReader) value(n ast.Node) Value {
	r.values++
	r.depth++
	defer func() { r.depth-- }()
	switch {
	case r.values > r.most:
		return r.fail(n, manyMessage(r.most))
	case r.depth > maxDepth:
		return r.fail(n, deepMessage())
	}
	v := Value{Place: r.start(n)}
	if r.written {
		switch n.(type) {
		case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
			v.Kind, v.plain, v.raw = String, true, []byte(n.GetToken().Value)
			return v
		case *ast.StringNode:
			v.plain = n.GetToken().Type == token.StringType
		}
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.BoolNode:
		v.Kind, v.raw = Bool, []byte(strconv.FormatBool(n.Value))
	case *ast.IntegerNode:
		r.decimal(n)
		v.Kind, v.raw = Number, []byte(fmt.Sprint(n.Value))
		v.ambiguous = n.GetToken().Value != string(v.raw) // 010, 1_000, +5, -0
	case *ast.FloatNode:
		r.decimal(n)
		v.Kind, v.raw = Number, []byte(strconv.FormatFloat(n.Value, 'g', -1, 64))
		text := n.GetToken().Value
		if v.written = json.Valid([]byte(text)); v.written {
			v.raw = []byte(text)
		}
		v.ambiguous = !v.written // .5, 5., +1.5
	case *ast.InfinityNode:
		v.Kind, v.raw = Number, []byte(n.String())
	case *ast.NanNode:
		v.Kind, v.raw = Number, []byte("NaN")
	case *ast.StringNode:
		v.Kind, v.raw = String, []byte(n.Value)
	case *ast.LiteralNode:
		v.Kind = String
		if n.Value != nil {
			v.raw = []byte(n.Value.Value)
		}
	case *ast.SequenceNode:
		v.Kind = List
		for _, e := range n.Values {
			v.List = append(v.List, r.value(e))
		}
	case *ast.MappingNode:
		v.Kind = Map
		v.Members = r.members(n.Values)
	case *ast.MappingValueNode:
		v.Kind = Map
		v.Members = r.members([]*ast.MappingValueNode{n})
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

// members reads the keys of a mapping. Its own keys override those of a merge key (<<).
func (r *yamlReader) members(values []*ast.MappingValueNode) []Member {
	var members, merged []Member
	merges := 0
	for _, m := range values {
		v := r.value(m.Value)
		if m.Key.IsMergeKey() {
			if merges++; merges > 1 {
				r.fail(m.Key, `duplicate key "<<"`)
			}
			from := []Value{v}
			if v.Kind == List {
				from = v.List
			}
			for _, f := range from {
				if f.Kind != Map {
					r.fail(m.Key, "<< merges mappings only")
				}
				merged = append(merged, f.Members...)
			}
			continue
		}
		key := r.value(m.Key)
		if key.Kind == List || key.Kind == Map {
			r.fail(m.Key, "a key must be a word")
		}
		name := key.Text()
		if key.Kind == Null {
			name = "null"
		}
		members = append(members, Member{name, key.Place, v})
	}
	own := map[string]bool{}
	for _, m := range members {
		own[m.Key] = true
	}
	for _, m := range merged {
		if !own[m.Key] {
			own[m.Key] = true
			members = append(members, m)
		}
	}
	return members
}
