package template

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/internal/doc"
)

// A value is nil, undefined, a bool, a number, unclear, a string, a *list, a *dict, a *macro or a *regex. Lists and
// mappings never change.
type (
	undefined struct{}
	list      struct{ items []any }
	dict      struct {
		keys   []string
		values map[string]any
	}
	// unclear is a number that no text and no computation can stand for. It says why.
	unclear string
)

// value returns the value of a variable.
func (s *Scope) value(v *doc.Value) any {
	s.step(1)
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
		l := &list{}
		for i := range v.List {
			l.items = append(l.items, s.value(&v.List[i]))
		}
		return l
	case doc.Map:
		var keys []string
		var values []any
		for i := range v.Members {
			keys, values = append(keys, v.Members[i].Key), append(values, s.value(&v.Members[i].Value))
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
	slices.SortStableFunc(d.keys, func(a, b string) int { return cmp.Compare(index(a), index(b)) })
	return d
}

// pairs returns a list of keys and values.
func (d *dict) pairs() (all []any) {
	for _, key := range d.keys {
		all = append(all, &list{[]any{key, d.values[key]}})
	}
	return all
}

// index returns the number of a key that is an index of JavaScript, and for others one that is larger.
func index(key string) int {
	if i, err := strconv.ParseUint(key, 10, 32); err == nil && strconv.FormatUint(i, 10) == key {
		return int(i)
	}
	return math.MaxInt
}

// member returns the value of a key, an index, or length; undefined if there is none.
func (s *Scope) member(of, key any) any {
	if !isA(key, "a text", "a number") {
		return undefined{}
	}
	name := s.printed(key)
	if d, ok := of.(*dict); ok {
		if v, ok := d.values[name]; ok {
			return v
		}
		return undefined{}
	}
	i, n := index(name), size(of)
	l, isList := of.(*list)
	switch {
	case name == "length" && n >= 0:
		return fromInt(n)
	case i >= n:
		return undefined{}
	case isList:
		return l.items[i]
	}
	return part(of, i, i+1)
}

// describe names the kind of a value.
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

// isA reports whether a value has one of these kinds.
func isA(v any, kinds ...string) bool { return slices.Contains(kinds, describe(v)) }

// printed returns the text of a value that a tag inserts.
func (s *Scope) printed(v any) string {
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
		failHint("put it in quotes", "%s", string(v))
	case *dict:
		failHint("name one of its keys, or add | dump", "an object is not a text")
	case *list:
		return s.joined(v.items, ",")
	}
	fail("%s is not a text", describe(v))
	return ""
}

// joined returns the texts of the elements of a list, as JavaScript does.
func (s *Scope) joined(items []any, separator string) string {
	defer s.enter("the lists are")()
	size, texts := 0, make([]string, len(items))
	for i, v := range items {
		s.step(1)
		texts[i] = s.printed(v)
		size += len(texts[i]) + len(separator)
		fits(size)
	}
	return s.make(strings.Join(texts, separator))
}

// concatenated returns the text of a value that is added to a text.
func (s *Scope) concatenated(v any) string {
	need(!isA(v, "nothing", "an undefined value"), "%s cannot be a part of a text", describe(v))
	return s.printed(v)
}

// json appends a value as JSON, as JSON.stringify does.
func (s *Scope) json(b []byte, v any, indent int) []byte {
	defer s.enter("the lists are")()
	s.step(1 + s.depth*indent/16)
	fits(len(b))
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		b, _ = jsontext.AppendQuote(b, v)
		return b
	case *list:
		b = append(b, '[')
		for _, item := range v.items {
			b = append(s.json(b, item, indent), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), ']')
	case *dict:
		b = append(b, '{')
		for _, key := range v.keys {
			b, _ = jsontext.AppendQuote(b, key)
			b = append(s.json(append(b, ':'), v.values[key], indent), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), '}')
	}
	return append(b, s.concatenated(v)...)
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
func (s *Scope) same(a, b any) bool {
	x, isNumber := a.(number)
	y, both := b.(number)
	return a == b || isNumber && both && s.rational(x).Cmp(s.rational(y)) == 0
}

// equal reports whether two values are the same for ==.
func (s *Scope) equal(a, b any) bool {
	none := func(v any) bool { return isA(v, "nothing", "an undefined value") }
	switch {
	case none(a) || none(b):
		return none(a) && none(b)
	case describe(a) == describe(b):
		return s.same(a, b)
	}
	order, known := s.compare(a, b)
	return known && order == 0
}

// compare compares two values with <. known is false if JavaScript finds neither smaller.
func (s *Scope) compare(a, b any) (order int, known bool) {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		s.step(weight(x) + weight(y))
		return slices.Compare(units(x), units(y)), true
	}
	for _, v := range []any{a, b} {
		ordered := !isA(v, "a list", "an object", "a macro", "a regular expression")
		need(ordered, "%s cannot be compared with %s", describe(a), describe(b))
	}
	m, okM := s.toNumber(a)
	n, okN := s.toNumber(b)
	if !okM || !okN {
		return 0, false
	}
	return s.rational(m).Cmp(s.rational(n)), true
}

// units returns a text in UTF-16, in which JavaScript counts.
func units(text string) []uint16 { return utf16.Encode([]rune(text)) }

// size returns the number of elements of a list, or of the units of a text; -1 for other values.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(units(v))
	case *list:
		return len(v.items)
	}
	return -1
}

// part returns a part of a list or of a text. It fails for one that begins or ends within a character.
func part(v any, from, to int) any {
	if l, ok := v.(*list); ok {
		return &list{l.items[from:to]}
	}
	text, _ := v.(string)
	u := units(text)[from:to]
	text = string(utf16.Decode(u))
	need(slices.Equal(units(text), u), "the text would be cut within a character")
	return text
}

// elements returns the elements of a list, or the characters of a text.
func (s *Scope) elements(v any) (items []any) {
	switch v := v.(type) {
	case *list:
		for _, item := range v.items {
			s.step(weight(item))
		}
		return v.items
	case string:
		for _, r := range v {
			s.step(2)
			items = append(items, part(string(r), 0, 1))
		}
		return items
	}
	fail("a list or a text is needed, not %s", describe(v))
	return nil
}
