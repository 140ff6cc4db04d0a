package template

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/internal/doc"
)

// A value is nil, undefined, a bool, a number, unclear, a string, a *list, a *dict, a macro or a *regex. Lists and
// mappings never change.
type (
	undefined struct{}
	list      struct{ items []any }
	dict      struct {
		keys   []string
		values map[string]any
	}
	macro struct{ *node }
	// unclear is a number that no text and no computation can stand for. It says why.
	unclear string
)

// value returns the value of a variable.
func (s *Scope) value(at int, v *doc.Value) any {
	s.step(at, 1)
	switch v.Kind {
	case doc.Bool:
		return v.Text() == "true"
	case doc.Number:
		switch {
		case len(v.Infinite()) > 0:
			return unclear(v.Text() + " is not a number that can be written")
		case v.Ambiguous():
			return unclear("a number is inserted as it is written only if JSON has this form; YAML reads this one as " + v.Text())
		}
		return number(v.Text())
	case doc.String:
		return v.Text()
	case doc.List:
		l := &list{make([]any, len(v.List))}
		for i := range v.List {
			l.items[i] = s.value(at, &v.List[i])
		}
		return l
	case doc.Map:
		keys, values := make([]string, len(v.Members)), make([]any, len(v.Members))
		for i := range v.Members {
			keys[i], values[i] = v.Members[i].Key, s.value(at, &v.Members[i].Value)
		}
		return newDict(keys, values)
	case doc.Null:
	}
	return nil
}

// newDict returns an object. Its keys are in the order that they have in JavaScript: those that are indices come first.
func newDict(keys []string, values []any) *dict {
	d := &dict{values: map[string]any{}}
	for i, key := range keys {
		if _, has := d.values[key]; !has {
			d.keys = append(d.keys, key)
		}
		d.values[key] = values[i]
	}
	index := func(key string) uint64 {
		if i, err := strconv.ParseUint(key, 10, 32); err == nil && strconv.FormatUint(i, 10) == key {
			return i
		}
		return 1 << 32
	}
	slices.SortStableFunc(d.keys, func(a, b string) int { return cmp.Compare(index(a), index(b)) })
	return d
}

func (s *Scope) step(at, n int) {
	if s.steps += n; s.steps > maxSteps || n < 0 {
		failHint(at, "a loop may be too long", "the templates of the case take more than %d steps", maxSteps)
	}
}

// weight is the number of steps that a comparison of two values takes.
func weight(values ...any) int {
	n := 1
	for _, v := range values {
		switch v := v.(type) {
		case string:
			n += len(v) / 64
		case number:
			n += len(v) / 8
		}
	}
	return n
}

// made counts the bytes of a text that was made.
func (s *Scope) made(at int, text string) string {
	s.grow(at, len(text))
	return text
}

func (s *Scope) grow(at, n int) {
	if s.bytesMade += n; s.bytesMade > maxMade || n > doc.CaseBytes || n < 0 {
		fail(at, "the templates of the case need too much memory")
	}
}

// describe names the kind of a value in messages.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case undefined:
		return "an undefined value"
	case bool:
		return "true or false"
	case number, unclear:
		return "a number"
	case string:
		return "a text"
	case *list:
		return "a list"
	case *dict:
		return "an object"
	case *regex:
		return "a regular expression"
	}
	return "a macro"
}

// printed returns the text of a value that a tag inserts.
func (s *Scope) printed(at int, v any) string {
	switch v := v.(type) {
	case nil, undefined:
		return ""
	case string:
		return v
	case number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	case unclear:
		failHint(at, "put it in quotes", "%s", string(v))
	case *dict:
		failHint(at, "name one of its keys, or add | dump", "an object is not a text")
	case *list:
		return s.joined(at, v.items, ",", 0)
	}
	fail(at, "%s is not a text", describe(v))
	return ""
}

// joined returns the texts of the elements of a list, as JavaScript does.
func (s *Scope) joined(at int, items []any, separator string, depth int) string {
	if depth > maxDepth {
		fail(at, "the lists are nested too deeply")
	}
	var b strings.Builder
	for i, v := range items {
		if i > 0 {
			b.WriteString(separator)
		}
		if inner, ok := v.(*list); ok {
			b.WriteString(s.joined(at, inner.items, ",", depth+1))
		} else {
			b.WriteString(s.printed(at, v))
		}
		s.step(at, 1)
		if b.Len() > doc.CaseBytes {
			s.grow(at, b.Len())
		}
	}
	return s.made(at, b.String())
}

// concatenated returns the text of a value that is added to a text.
func (s *Scope) concatenated(at int, v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case undefined:
		fail(at, "an undefined value cannot be a part of a text")
	}
	return s.printed(at, v)
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case number:
		mantissa, _, _ := strings.Cut(strings.ToLower(string(v)), "e")
		return strings.ContainsAny(mantissa, "123456789")
	case string:
		return v != ""
	}
	return true
}

// same reports whether two values are the same for ===.
func same(at int, a, b any) bool {
	x, isNumber := a.(number)
	y, both := b.(number)
	return a == b || isNumber && both && x.value(at).Cmp(y.value(at)) == 0
}

// equal reports whether two values are the same for ==.
func (s *Scope) equal(at int, a, b any) bool {
	none := func(v any) bool { return v == nil || v == undefined{} }
	switch {
	case none(a) || none(b):
		return none(a) && none(b)
	case describe(a) == describe(b):
		return same(at, a, b)
	}
	order, known := s.compare(at, a, b)
	return known && order == 0
}

// compare compares two values with <. known is false if JavaScript finds neither smaller.
func (s *Scope) compare(at int, a, b any) (order int, known bool) {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		return slices.Compare(s.units(at, x), s.units(at, y)), true
	}
	for _, v := range []any{a, b} {
		switch v.(type) {
		case *dict, *list, macro, *regex:
			fail(at, "%s cannot be compared with %s", describe(a), describe(b))
		}
	}
	m, okM := s.toNumber(at, a)
	n, okN := s.toNumber(at, b)
	if !okM || !okN {
		return 0, false
	}
	return m.value(at).Cmp(n.value(at)), true
}

// units returns a text in UTF-16, in which JavaScript counts.
func (s *Scope) units(at int, text string) []uint16 {
	s.step(at, len(text)/32)
	return utf16.Encode([]rune(text))
}

// fromUnits returns a text. It fails if it begins or ends within a character.
func fromUnits(at int, u []uint16) string {
	text := string(utf16.Decode(u))
	if !slices.Equal(utf16.Encode([]rune(text)), u) {
		fail(at, "the text would be cut within a character")
	}
	return text
}

// sequence returns the elements of a list, or the characters of a text.
func (s *Scope) sequence(at int, v any) (items []any) {
	switch v := v.(type) {
	case *list:
		s.step(at, len(v.items))
		return v.items
	case string:
		u := s.units(at, v)
		s.step(at, 2*len(u))
		for i := range u {
			items = append(items, fromUnits(at, u[i:i+1]))
		}
		return items
	}
	fail(at, "a list or a text is needed, not %s", describe(v))
	return nil
}

// json appends a value as JSON, as JSON.stringify does.
func (s *Scope) json(at int, b []byte, v any, depth, indent int) []byte {
	s.step(at, 1)
	s.grow(at, depth*indent)
	if depth > maxDepth || len(b) > doc.CaseBytes {
		fail(at, "the value is too large for JSON")
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case undefined:
		fail(at, "an undefined value has no JSON")
	case string:
		b, _ = jsontext.AppendQuote(b, v)
		return b
	case *list:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.json(at, b, item, depth+1, indent)
		}
		return append(b, ']')
	case *dict:
		b = append(b, '{')
		for i, key := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, key)
			b = s.json(at, append(b, ':'), v.values[key], depth+1, indent)
		}
		return append(b, '}')
	}
	return append(b, s.printed(at, v)...)
}
