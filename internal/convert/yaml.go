package convert

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// object is a mapping with an order. Its values are string, bool, json.Number, nil, object and []any.
type object []member

type member struct {
	key   string
	value any
}

// set replaces or appends a key.
func (o *object) set(key string, value any) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

func (o *object) remove(key string) {
	*o = slices.DeleteFunc(*o, func(m member) bool { return m.key == key })
}

func (o object) get(key string) (any, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// with returns a copy with one more key.
func (o object) with(key string, value any) object {
	o = slices.Clone(o)
	o.set(key, value)
	return o
}

// plainText is a text that YAML reads as the same text without quotes.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*([ ./-][A-Za-z0-9_]+)*$`)

// widest is the widest line of a list or mapping on one line.
const widest = 100

// appendYAML appends a value as YAML. The text starts after the indentation of its first line;
// further lines have the given indentation.
func appendYAML(to *bytes.Buffer, v any, indent int) {
	pad := strings.Repeat(" ", indent)
	switch v := v.(type) {
	case object:
		if flat, ok := flow(v); ok && indent > 0 && indent+len(flat) <= widest && len(v) <= 6 {
			to.WriteString(flat)
			return
		}
		for i, m := range v {
			if i > 0 {
				to.WriteString("\n" + pad)
			}
			to.WriteString(scalar(m.key) + ":")
			appendNested(to, m.value, indent)
		}
	case []any:
		for i, e := range v {
			if i > 0 {
				to.WriteString("\n" + pad)
			}
			to.WriteString("- ")
			appendYAML(to, e, indent+2)
		}
	case string:
		if block, ok := literal(v, indent+2); ok {
			to.WriteString(block)
			return
		}
		to.WriteString(scalar(v))
	default:
		to.WriteString(scalar(v))
	}
}

// appendNested appends the value of a key.
func appendNested(to *bytes.Buffer, v any, indent int) {
	flat, ok := flow(v)
	_, text := v.(string)
	nested := indent
	if _, list := v.(object); list {
		nested += 2
	}
	switch {
	case !text && ok && indent+len(flat) <= widest-10 && !deep(v):
		to.WriteString(" " + flat)
	case isCollection(v):
		to.WriteString("\n" + strings.Repeat(" ", nested+listIndent(v)))
		appendYAML(to, v, nested+listIndent(v))
	default:
		to.WriteString(" ")
		appendYAML(to, v, indent)
	}
}

func listIndent(v any) int {
	if _, list := v.([]any); list {
		return 2
	}
	return 0
}

func isCollection(v any) bool {
	switch v := v.(type) {
	case object:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// deep reports whether a list has mappings, which are easier to read on lines of their own.
func deep(v any) bool {
	list, ok := v.([]any)
	return ok && slices.ContainsFunc(list, func(e any) bool { _, is := e.(object); return is })
}

// flow renders a value on one line. It is false for a text of several lines.
func flow(v any) (string, bool) {
	var b strings.Builder
	switch v := v.(type) {
	case object:
		b.WriteString("{")
		for i, m := range v {
			text, ok := flow(m.value)
			if !ok {
				return "", false
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(scalar(m.key) + ": " + text)
		}
		b.WriteString("}")
	case []any:
		b.WriteString("[")
		for i, e := range v {
			text, ok := flow(e)
			if !ok {
				return "", false
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(text)
		}
		b.WriteString("]")
	case string:
		if strings.Contains(v, "\n") {
			return "", false
		}
		return scalar(v), true
	default:
		return scalar(v), true
	}
	return b.String(), true
}

// scalar renders a scalar on one line: a plain word, or JSON, which is YAML too.
func scalar(v any) string {
	if text, ok := v.(string); ok {
		reserved := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
		if plainText.MatchString(text) && !slices.Contains(reserved, strings.ToLower(text)) {
			return text
		}
	}
	return quoteJSON(v)
}

// quoteJSON renders a value as JSON without escapes for HTML.
func quoteJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plain(v)); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain turns objects into raw JSON in their order.
func plain(v any) any {
	switch v := v.(type) {
	case object:
		var b bytes.Buffer
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoteJSON(m.key) + ":" + quoteJSON(m.value))
		}
		b.WriteByte('}')
		return json.RawMessage(b.Bytes())
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	}
	return v
}

// literal renders a text of several lines as a block, if YAML keeps each of its characters.
func literal(s string, indent int) (string, bool) {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || strings.HasPrefix(s, "\n") {
		return "", false
	}
	var b strings.Builder
	b.WriteString("|")
	if body == s {
		b.WriteString("-")
	}
	for i, line := range strings.Split(body, "\n") {
		if i == 0 && strings.HasPrefix(line, " ") || strings.TrimRight(line, " \t") != line {
			return "", false
		}
		for _, r := range line {
			if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
				return "", false
			}
		}
		b.WriteString("\n")
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
	return b.String(), true
}
