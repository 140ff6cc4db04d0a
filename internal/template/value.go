package template

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/internal/doc"
)

// A value is nil, undefined, a bool, a number, a string, a *list, a *dict, a callable or a *regex. Lists and mappings
// never change.
type (
	undefined struct{}
	list      struct{ items []any }
	dict      struct {
		keys   []string
		values map[string]any
	}
	// callable is a macro, or a value of cycler or joiner. It can only be called, or asked for its members.
	callable struct {
		call    func(at int, args []any, named map[string]any) any
		members map[string]callable
		// current is the member of the name, which is no function.
		current func() any
	}
)

// value returns the value of a variable.
func (s *Scope) value(at int, v *doc.Value) any {
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
		s.step(at, len(l.items))
		return l
	case doc.Map:
		d := &dict{}
		for i := range v.Members {
			d.set(v.Members[i].Key, s.value(at, &v.Members[i].Value))
		}
		s.step(at, len(d.keys))
		return d.ordered()
	case doc.Null:
	}
	return nil
}

// unclear is a number that no text and no computation can stand for. It says why.
type unclear string

func (d *dict) set(key string, value any) {
	if d.values == nil {
		d.values = map[string]any{}
	}
	if _, has := d.values[key]; !has {
		d.keys = append(d.keys, key)
	}
	d.values[key] = value
}

// ordered puts the keys into the order that they have in JavaScript: those that are indices come first.
func (d *dict) ordered() *dict {
	index := func(key string) int {
		if i, err := strconv.ParseUint(key, 10, 32); err == nil && i < 1<<32-1 && strconv.FormatUint(i, 10) == key {
			return int(i) //nolint:gosec // 32 bits
		}
		return 1 << 32
	}
	slices.SortStableFunc(d.keys, func(a, b string) int { return index(a) - index(b) })
	return d
}

func (s *Scope) step(at, n int) {
	if s.steps += n; s.steps > maxSteps || n < 0 {
		failHint(at, "a loop may be too long", "the templates of the case take more than %d steps", maxSteps)
	}
}

// weight is the number of steps that a comparison of two values takes.
func weight(a, b any) int {
	n := 1
	for _, v := range [...]any{a, b} {
		switch v := v.(type) {
		case string:
			n += len(v) / 64
		case number:
			n += len(v) / 8
		}
	}
	return n
}

// text counts the bytes of a text that was made.
func (s *Scope) text(at int, text string) string {
	s.grow(at, len(text))
	return text
}

func (s *Scope) grow(at, n int) {
	if s.made += n; s.made > maxMade || n > doc.CaseBytes || n < 0 {
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
	return "a function"
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
		return s.joined(at, v, ",", 0)
	}
	fail(at, "%s is not a text", describe(v))
	return ""
}

// joined returns the texts of the elements of a list, as JavaScript does.
func (s *Scope) joined(at int, l *list, separator string, depth int) string {
	if depth > maxDepth {
		fail(at, "the lists are nested too deeply")
	}
	var b strings.Builder
	for i, v := range l.items {
		if i > 0 {
			b.WriteString(separator)
		}
		if inner, ok := v.(*list); ok {
			b.WriteString(s.joined(at, inner, ",", depth+1))
		} else {
			b.WriteString(s.printed(at, v))
		}
		s.step(at, 1)
		if b.Len() > doc.CaseBytes {
			s.grow(at, b.Len())
		}
	}
	return s.text(at, b.String())
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
		return v.decimal().digits != ""
	case string:
		return v != ""
	}
	return true
}

// same reports whether two values are the same for ===.
func same(a, b any) bool {
	if x, ok := a.(number); ok {
		y, ok := b.(number)
		return ok && x.decimal() == y.decimal()
	}
	if _, ok := a.(callable); ok {
		return false
	}
	if _, ok := b.(callable); ok {
		return false
	}
	return a == b
}

// equal reports whether two values are the same for ==.
func (s *Scope) equal(at int, a, b any) bool {
	none := func(v any) bool { return v == nil || v == undefined{} }
	switch kind := describe(a); {
	case none(a) || none(b):
		return none(a) && none(b)
	case kind == describe(b):
		return same(a, b)
	}
	for _, p := range [][2]any{{a, b}, {b, a}} {
		switch x := p[0].(type) {
		case bool:
			return s.equal(at, fromBool(x), p[1])
		case *list:
			if _, isDict := p[1].(*dict); isDict {
				return false
			}
			return s.equal(at, s.printed(at, x), p[1])
		}
	}
	x, okX := s.toNumber(at, a)
	y, okY := s.toNumber(at, b)
	return okX && okY && x.decimal() == y.decimal()
}

func fromBool(b bool) number {
	if b {
		return "1"
	}
	return "0"
}

// toNumber returns a value as a number, and false if it is none.
func (s *Scope) toNumber(at int, v any) (number, bool) {
	switch v := v.(type) {
	case nil:
		return "0", true
	case bool:
		return fromBool(v), true
	case number:
		return v, true
	case unclear:
		s.printed(at, v)
	case *list:
		return s.toNumber(at, s.printed(at, v))
	case string:
		s.step(at, len(v)/32)
		text := strings.TrimFunc(v, isSpace)
		if text == "" {
			return "0", true
		}
		if n := leadingNumber(text, true); n == text {
			return written(n), true
		}
		if len(text) > 1 && text[0] == '0' && strings.IndexByte("xXbBoO", text[1]) >= 0 || strings.HasSuffix(text, "Infinity") {
			fail(at, "%q is a number in a form that templates do not have", clip(text))
		}
	}
	return "", false
}

// leadingNumber returns the decimal number that a text begins with, in the syntax of JavaScript; "" if it begins with none.
func leadingNumber(text string, fraction bool) string {
	i := 0
	for i < len(text) && i < 1 && strings.IndexByte("+-", text[i]) >= 0 {
		i++
	}
	some := 0
	run := func() {
		for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			some++
		}
	}
	run()
	if !fraction {
		if some == 0 {
			return ""
		}
		return text[:i]
	}
	if i < len(text) && text[i] == '.' {
		i++
		run()
	}
	if some == 0 {
		return ""
	}
	if mark := i; i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && strings.IndexByte("+-", text[i]) >= 0 {
			i++
		}
		some = 0
		if run(); some == 0 {
			i = mark
		}
	}
	return text[:i]
}

// compare compares two values with <. known is false if JavaScript finds neither smaller.
func (s *Scope) compare(at int, a, b any) (order int, known bool) {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		s.step(at, weight(a, b))
		return compareTexts(x, y), true
	}
	s.step(at, weight(a, b))
	for _, v := range []any{a, b} {
		switch v.(type) {
		case *dict, *list, callable, *regex:
			fail(at, "%s cannot be compared", describe(v))
		}
	}
	m, okM := s.toNumber(at, a)
	n, okN := s.toNumber(at, b)
	if !okM || !okN {
		return 0, false
	}
	return m.decimal().compare(n.decimal()), true
}

// compareTexts compares by UTF-16, as JavaScript does: what needs two units comes before U+E000.
func compareTexts(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	order := int(a[i]) - int(b[i])
	const fourBytes, private = 0xF0, 0xEE // the first bytes of U+10000, and of U+E000
	if (a[i] >= fourBytes) != (b[i] >= fourBytes) && min(a[i], b[i]) >= private {
		return -order
	}
	return order
}

// units returns a text in UTF-16, in which JavaScript counts.
func units(text string) []uint16 { return utf16.Encode([]rune(text)) }

func unitLength(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// fromUnits returns a text. It fails if it begins or ends within a character.
func fromUnits(at int, u []uint16) string {
	for i := 0; i < len(u); i++ {
		if utf16.IsSurrogate(rune(u[i])) {
			if i+1 == len(u) || utf16.DecodeRune(rune(u[i]), rune(u[i+1])) == '\uFFFD' {
				fail(at, "the text would be cut within a character")
			}
			i++
		}
	}
	return string(utf16.Decode(u))
}

// dump appends a value as JSON, as JSON.stringify does. It is false for a value that has none.
func (s *Scope) dump(at int, b *strings.Builder, v any, indent, before string, depth int) bool {
	s.step(at, 1)
	if depth > maxDepth || b.Len() > doc.CaseBytes {
		fail(at, "the value is too large for JSON")
	}
	after := before
	if indent != "" {
		before += indent
	}
	each := func(open, close string, n int, one func(i int)) {
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(before)
			one(i)
		}
		if n > 0 {
			b.WriteString(after)
		}
		b.WriteString(close)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		text, _ := jsontext.AppendQuote(nil, v)
		b.Write(text)
	case *list:
		each("[", "]", len(v.items), func(i int) {
			if !s.dump(at, b, v.items[i], indent, before, depth+1) {
				b.WriteString("null")
			}
		})
	case *dict:
		keys := slices.DeleteFunc(slices.Clone(v.keys), func(key string) bool { return v.values[key] == undefined{} })
		each("{", "}", len(keys), func(i int) {
			text, _ := jsontext.AppendQuote(nil, keys[i])
			b.Write(text)
			b.WriteByte(':')
			if indent != "" {
				b.WriteByte(' ')
			}
			s.dump(at, b, v.values[keys[i]], indent, before, depth+1)
		})
	case undefined:
		return false
	default:
		b.WriteString(s.printed(at, v))
	}
	return true
}
