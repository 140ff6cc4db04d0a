package doc

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// AppendYAML appends the value as a document of YAML. A list or a mapping that is short has one
// line, and a text of several lines is a block. [ParseYAML] reads a number without a point that has
// an exponent, such as 1e+21, and one of more than 64 bits as texts, as goccy/go-yaml v1.19.2 does.
func (v *Value) AppendYAML(to []byte) []byte {
	text := emptyLine.ReplaceAllString(v.yaml(1, false).String(), "")
	return append(append(to, text...), '\n')
}

// emptyLine matches the indentation of the empty lines of a block.
var emptyLine = regexp.MustCompile(`(?m)^ +$`)

// yamlIndent is the indentation of each level, and yamlWidth the last column of a list or a mapping
// on one line.
const yamlIndent, yamlWidth = 2, 100

// yaml returns the node of the value, whose text begins in a column. flow is set for a value on one
// line.
func (v *Value) yaml(column int, flow bool) ast.Node {
	at := &token.Position{Column: column, IndentNum: yamlIndent}
	node := func(v *Value, column int) ast.Node { return v.yaml(column, flow || v.short(yamlWidth-column)) }
	switch v.Kind {
	case Map:
		n := ast.Mapping(token.New("", "", at), flow)
		for i := range v.Members {
			m := &v.Members[i]
			inner := column
			if m.Value.Kind == List || m.Value.Kind == Map {
				inner += yamlIndent
			}
			key, value := yamlText(m.Key, at, false), node(&m.Value, inner)
			n.Values = append(n.Values, ast.MappingValue(token.New("", "", at), key, value))
		}
		return n
	case List:
		n := ast.Sequence(token.New("-", "-", at), flow)
		for i := range v.List {
			n.Values = append(n.Values, node(&v.List[i], column))
		}
		return n
	case String:
		return yamlText(v.Text(), at, !flow)
	default:
		text := string(v.JSON())
		return ast.String(token.String(text, text, at))
	}
}

// short reports whether a list or a mapping can be on one line. Mappings in a list are easier to
// read on lines of their own.
func (v *Value) short(width int) bool {
	if v.Kind != List && v.Kind != Map || len(v.JSON()) > width {
		return false
	}
	block := !v.Strings(func(s *Value) bool { return !strings.Contains(s.Text(), "\n") })
	return !block && !slices.ContainsFunc(v.List, func(e Value) bool { return e.Kind == Map })
}

// plainText matches texts that are no other values in any version of YAML, apart from its words.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*([ ./-][A-Za-z0-9_]+)*$`)

// yamlText returns the node of a text: plain, in quotes, or a block.
func yamlText(s string, at *token.Position, block bool) *ast.StringNode {
	s = strings.ToValidUTF8(s, "\uFFFD")
	block = block && strings.Contains(strings.TrimSuffix(s, "\n"), "\n") && !strings.HasSuffix(s, "\n\n")
	for i, line := range strings.Split(s, "\n") {
		block = block && !strings.HasSuffix(line, " ") && (i > 0 || line != "" && line[0] != ' ') &&
			!strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) })
	}
	if block || plainText.MatchString(s) && !token.IsNeedQuoted(s) {
		return ast.String(token.String(s, s, at))
	}
	return ast.String(token.DoubleQuote(s, s, at))
}
