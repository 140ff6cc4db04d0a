package template

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// filter is a filter, with the largest number of its arguments and the names of those that can be named.
type filter struct {
	name  string
	most  int
	named []string
	apply func(*operation) any
}

// filters returns all filters. They depend on nothing but their input.
func filters() []filter {
	return []filter{
		{"abs", 0, nil, abs},
		{"batch", 2, nil, batch},
		{"capitalize", 0, nil, func(o *operation) any { return o.made(capitalized(o.text())) }},
		{"center", 1, nil, center},
		{"d", 2, nil, otherwise},
		{"default", 2, nil, otherwise},
		{"dictsort", 2, nil, dictsort},
		{"dump", 1, nil, dump},
		{"e", 0, nil, escape},
		{"escape", 0, nil, escape},
		{"first", 0, nil, func(o *operation) any { return o.end(0) }},
		{"float", 1, nil, float},
		{"forceescape", 0, nil, escape},
		{"groupby", 1, nil, groupby},
		{"indent", 2, nil, indent},
		{"int", 2, nil, integer},
		{"join", 2, nil, join},
		{"json", 1, nil, dump},
		{"last", 0, nil, func(o *operation) any { return o.end(-1) }},
		{"length", 0, nil, length},
		{"list", 0, nil, listed},
		{"lower", 0, nil, func(o *operation) any { return o.made(lower(o.text())) }},
		{"nl2br", 0, nil, func(o *operation) any {
			return o.made(strings.NewReplacer("\r\n", "<br />\n", "\n", "<br />\n").Replace(o.text()))
		}},
		{"reject", 3, nil, func(o *operation) any { return o.selected(false) }},
		{"rejectattr", 1, nil, func(o *operation) any { return o.withAttribute(false) }},
		{"replace", 3, nil, func(o *operation) any { return replace(o, false) }},
		{"reverse", 0, nil, reverse},
		{"round", 2, nil, round},
		{"safe", 0, nil, func(o *operation) any { return o.in }},
		{"select", 3, nil, func(o *operation) any { return o.selected(true) }},
		{"selectattr", 1, nil, func(o *operation) any { return o.withAttribute(true) }},
		{"slice", 2, nil, slice},
		{"sort", 3, []string{"reverse", "case_sensitive", "attribute"}, sorted},
		{"string", 0, nil, func(o *operation) any { return o.printed(o.at, o.in) }},
		{"striptags", 1, nil, striptags},
		{"sum", 2, nil, sum},
		{"title", 0, nil, title},
		{"trim", 0, nil, func(o *operation) any { return strings.TrimFunc(o.text(), isSpace) }},
		{"truncate", 3, nil, truncate},
		{"upper", 0, nil, func(o *operation) any { return o.made(upper(o.text())) }},
		{"urlencode", 0, nil, urlencode},
		{"wordcount", 0, nil, wordcount},
	}
}

// Filters returns the names of all filters.
func Filters() (names []string) {
	for _, f := range filters() {
		names = append(names, f.name)
	}
	return names
}

func filterOf(name string) *filter {
	all := filters()
	if i := slices.IndexFunc(all, func(f filter) bool { return f.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func upper(text string) string { return cases.Upper(language.Und).String(text) }
func lower(text string) string { return cases.Lower(language.Und).String(text) }

func capitalized(text string) string {
	text = lower(text)
	for i := range text {
		if i > 0 {
			return upper(text[:i]) + text[i:]
		}
	}
	return upper(text)
}

func abs(o *operation) any {
	return number(strings.TrimPrefix(string(o.number(o.at, o.in)), "-"))
}

// sequence returns the elements of a list, or the characters of a text.
func (o *operation) sequence() (items []any) {
	text, ok := o.in.(string)
	if !ok {
		return o.list()
	}
	for _, c := range o.characters(o.at, text) {
		items = append(items, c)
	}
	return items
}

func batch(o *operation) any {
	n := o.intArg(0, 0)
	items := o.sequence()
	var rows []any
	for rest := items; len(rest) > 0; {
		k := len(rest)
		if n > 0 {
			k = min(n, k)
		}
		row := slices.Clone(rest[:k])
		if rest = rest[k:]; len(rest) == 0 && truthy(o.arg(1)) {
			for o.step(o.at, n); len(row) < n; {
				row = append(row, o.arg(1))
			}
		}
		rows = append(rows, &list{row})
	}
	return &list{rows}
}

func center(o *operation) any {
	text, width := o.text(), o.intArg(0, 80)
	room := width - unitLength(text)
	if room <= 0 {
		return text
	}
	o.grow(o.at, room)
	return o.made(strings.Repeat(" ", room/2) + text + strings.Repeat(" ", room-room/2))
}

func otherwise(o *operation) any {
	if o.in == any(undefined{}) || truthy(o.arg(1)) && !truthy(o.in) {
		return o.arg(0)
	}
	return o.in
}

func (o *operation) dict() *dict {
	d, ok := o.in.(*dict)
	if !ok {
		o.fail("needs an object, not %s", describe(o.in))
	}
	o.step(o.at, len(d.keys))
	return d
}

// less orders two values as sort and dictsort do.
func (o *operation) order(a, b any, caseSensitive bool) int {
	if x, ok := a.(string); ok && !caseSensitive {
		a = upper(x)
	}
	if x, ok := b.(string); ok && !caseSensitive {
		b = upper(x)
	}
	o.step(o.at, 1)
	order, known := o.compare(o.at, a, b)
	if !known {
		o.fail("cannot compare %s and %s", describe(a), describe(b))
	}
	return order
}

func dictsort(o *operation) any {
	d, by := o.dict(), 0
	switch o.textArg(1, "key") {
	case "key":
	case "value":
		by = 1
	default:
		o.fail("is by key or by value")
	}
	pairs := make([]any, len(d.keys))
	for i, key := range d.keys {
		pairs[i] = &list{[]any{key, d.values[key]}}
	}
	slices.SortStableFunc(pairs, func(a, b any) int {
		return o.order(a.(*list).items[by], b.(*list).items[by], truthy(o.arg(0))) //nolint:forcetypeassert // made above
	})
	return &list{pairs}
}

func dump(o *operation) any {
	const most = 10
	space := ""
	switch v := o.arg(0).(type) {
	case number:
		space = strings.Repeat(" ", max(0, min(o.intArg(0, 0), most)))
	case string:
		space = v[:min(len(v), most)]
	case nil, undefined:
	default:
		o.fail("needs the number of spaces, not %s", describe(v))
	}
	var b strings.Builder
	before := ""
	if space != "" {
		before = "\n"
	}
	if !o.dump(o.at, &b, o.in, space, before, 0) {
		return undefined{}
	}
	return o.made(b.String())
}

func escape(o *operation) any {
	if o.in == nil || o.in == any(undefined{}) {
		return ""
	}
	return o.made(strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", "\\", "&#92;").
		Replace(o.printed(o.at, o.in)))
}

// end returns the first or the last element.
func (o *operation) end(i int) any {
	items := o.in
	if text, ok := items.(string); ok {
		u := o.units(o.at, text)
		if len(u) == 0 {
			return undefined{}
		}
		i = max(0, min(-i*len(u)-1+1, len(u)-1), -i*(len(u)-1))
		return fromUnits(o.at, u[i:i+1])
	}
	all := o.list()
	if len(all) == 0 {
		return undefined{}
	}
	return all[-i*(len(all)-1)]
}

// parsed returns the number that the value begins with, as parseFloat and parseInt do.
func (o *operation) parsed(fraction bool) any {
	switch v := o.in.(type) {
	case number:
		if i := v.integer(); i != nil {
			return exact(o.at, i)
		}
		if fraction {
			return v
		}
		return finite(o.at, math.Trunc(v.float(o.at)))
	case string:
		o.step(o.at, len(v)/32)
		text := strings.TrimLeftFunc(v, isSpace)
		if n := leadingNumber(text, fraction); n != "" {
			return written(n)
		}
	case nil, bool, undefined:
	default:
		o.fail("needs a text or a number, not %s", describe(v))
	}
	return o.arg(0)
}

func float(o *operation) any { return o.parsed(true) }

func integer(o *operation) any {
	base := o.intArg(1, 10)
	if text, ok := o.in.(string); ok && base != 10 {
		i, err := strconv.ParseInt(strings.TrimSpace(text), base, 53)
		if err != nil || base < 2 {
			o.fail("cannot read %q with the base %d", clip(text), base)
		}
		return number(strconv.FormatInt(i, 10))
	}
	return o.parsed(false)
}

// attribute returns the value of an attribute, which may be a path with points.
func (o *operation) attribute(of any, name string) any {
	o.step(o.at, 1+len(name)/8)
	for key := range strings.SplitSeq(name, ".") {
		of = o.member(o.at, of, key)
	}
	return of
}

func groupby(o *operation) any {
	d, groups := &dict{}, map[string]*list{}
	for _, item := range o.list() {
		value := o.attribute(item, o.textArg(0, ""))
		if value == any(undefined{}) {
			o.fail("finds no key %q", clip(o.textArg(0, "")))
		}
		key := o.concatenated(o.at, value)
		if groups[key] == nil {
			groups[key] = &list{}
			d.set(key, groups[key])
		}
		groups[key].items = append(groups[key].items, item)
	}
	return d.ordered()
}

func indent(o *operation) any {
	text, space := o.text(), strings.Repeat(" ", max(0, min(o.intArg(0, 4), 1000)))
	lines := strings.Count(text, "\n")
	o.step(o.at, lines)
	o.grow(o.at, lines*len(space))
	if text == "" {
		return ""
	}
	if truthy(o.arg(1)) {
		text = space + text
	}
	return o.made(strings.ReplaceAll(text, "\n", "\n"+space))
}

func join(o *operation) any {
	items := o.list()
	if name := o.textArg(1, ""); name != "" {
		values := make([]any, len(items))
		for i, item := range items {
			values[i] = o.attribute(item, name)
		}
		items = values
	}
	separator := o.textArg(0, "")
	o.grow(o.at, len(separator)*len(items))
	return o.joined(o.at, &list{items}, separator, 0)
}

func length(o *operation) any {
	switch v := o.in.(type) {
	case nil, undefined:
		return number("0")
	case string:
		o.step(o.at, len(v)/32)
		return fromInt(unitLength(v))
	case *dict:
		return fromInt(len(v.keys))
	}
	return fromInt(len(o.list()))
}

func listed(o *operation) any {
	d, ok := o.in.(*dict)
	if !ok {
		return &list{o.sequence()}
	}
	l := &list{}
	for _, key := range o.dict().keys {
		l.items = append(l.items, &dict{[]string{"key", "value"}, map[string]any{"key": key, "value": d.values[key]}})
	}
	return l
}

// selected returns the elements that pass a test, or do not. Without a test they pass if they are true.
func (o *operation) selected(want bool) any {
	passes, args := test(isTruthy), o.args
	if len(args) > 0 {
		passes, args = testOf(o.at, o.textArg(0, "")), args[1:]
	}
	return o.only(func(item any) bool { return passes(o.evaluator, o.at, item, args) == want })
}

// withAttribute returns the elements whose attribute is true, or is not.
func (o *operation) withAttribute(want bool) any {
	name := o.textArg(0, "")
	return o.only(func(item any) bool { return truthy(o.member(o.at, item, name)) == want })
}

func (o *operation) only(keep func(item any) bool) any {
	return &list{slices.DeleteFunc(slices.Clone(o.list()), func(item any) bool { return !keep(item) })}
}

func replace(o *operation, first bool) any {
	var text string
	switch v := o.in.(type) {
	case number:
		text = string(v)
	case string:
		text = v
	default:
		if first {
			o.fail("needs a text, not %s", describe(v))
		}
		return v
	}
	if o.missing(1) {
		o.fail("needs what to replace, and by what")
	}
	with := o.textArg(1, "")
	if r, ok := o.arg(0).(*regex); ok {
		return r.replace(o, text, with)
	}
	old, most := o.textArg(0, ""), o.intArg(2, -1)
	switch {
	case old == "":
		o.fail("needs a text to replace, which has characters")
	case first && strings.Contains(with, "$"):
		o.fail("has a $ in its replacement, which has a meaning in JavaScript")
	case first && o.name == "replace":
		most = 1
	}
	n := strings.Count(text, old)
	if most >= 0 {
		n = min(n, most)
	}
	o.grow(o.at, len(text)+n*max(0, len(with)-len(old)))
	return strings.Replace(text, old, with, n)
}

func reverse(o *operation) any {
	items := slices.Clone(o.sequence())
	slices.Reverse(items)
	if _, ok := o.in.(string); ok {
		return o.joined(o.at, &list{items}, "", 0)
	}
	return &list{items}
}

func round(o *operation) any {
	n, places := o.number(o.at, o.in), o.intArg(0, 0)
	if n.integer() != nil && places >= 0 {
		return n
	}
	if places < -300 || places > 300 {
		o.fail("needs a number of places from -300 to 300")
	}
	factor := math.Pow(10, float64(places))
	f := n.float(o.at) * factor
	switch o.textArg(1, "") {
	case "ceil":
		f = math.Ceil(f)
	case "floor":
		f = math.Floor(f)
	default:
		if below := math.Floor(f); f-below >= 0.5 {
			f = below + 1
		} else {
			f = below
		}
	}
	return finite(o.at, f/factor)
}

func slice(o *operation) any {
	items, n := o.list(), o.intArg(0, 0)
	if n < 1 {
		o.fail("needs the number of slices")
	}
	o.step(o.at, n)
	l, each, extra := &list{}, len(items)/n, len(items)%n
	for i := range n {
		k := each
		if i < extra {
			k++
		}
		row := slices.Clone(items[:k])
		if items = items[k:]; truthy(o.arg(1)) && i >= extra {
			row = append(row, o.arg(1))
		}
		l.items = append(l.items, &list{row})
	}
	return l
}

func sorted(o *operation) any {
	items := slices.Clone(o.list())
	name := o.textArg(2, "")
	key := func(item any) any {
		if name == "" {
			return item
		}
		v := o.attribute(item, name)
		if v == any(undefined{}) {
			o.fail("finds no key %q", clip(name))
		}
		return v
	}
	slices.SortStableFunc(items, func(a, b any) int {
		order := o.order(key(a), key(b), truthy(o.arg(1)))
		if truthy(o.arg(0)) {
			return -order
		}
		return order
	})
	return &list{items}
}

var (
	tags       = regexp.MustCompile(`(?s)</?([A-Za-z][A-Za-z0-9]*)\b[^>]*>|<!--.*?-->`)
	someSpace  = regexp.MustCompile(`[\t-\r\x{feff}\p{Z}]+`)
	lineSpace  = regexp.MustCompile(`(?m)^ +| +$`)
	manySpaces = regexp.MustCompile(` +`)
	manyLines  = regexp.MustCompile(`\n\n\n+`)
	words      = regexp.MustCompile(`\w+`)
)

func striptags(o *operation) any {
	text := strings.TrimFunc(tags.ReplaceAllString(o.text(), ""), isSpace)
	if !truthy(o.arg(0)) {
		return o.made(someSpace.ReplaceAllString(text, " "))
	}
	text = lineSpace.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	text = manySpaces.ReplaceAllString(text, " ")
	return o.made(manyLines.ReplaceAllString(text, "\n\n"))
}

func sum(o *operation) any {
	total := o.arg(1)
	if o.missing(1) {
		total = number("0")
	}
	for _, item := range o.list() {
		if name := o.arg(0); truthy(name) {
			item = o.attribute(item, o.textArg(0, ""))
		}
		if _, text := item.(string); text {
			o.fail("needs numbers, not a text")
		}
		total = compute(o.at, "+", o.number(o.at, total), o.number(o.at, item))
	}
	return total
}

func title(o *operation) any {
	all := strings.Split(o.text(), " ")
	o.step(o.at, len(all))
	for i, w := range all {
		all[i] = capitalized(w)
	}
	return o.made(strings.Join(all, " "))
}

func truncate(o *operation) any {
	text, most := o.text(), o.intArg(0, 255)
	u := o.units(o.at, text)
	if len(u) <= most {
		return text
	}
	k := max(0, most)
	if !truthy(o.arg(1)) {
		for i := min(k, len(u)-1); i >= 0; i-- {
			if u[i] == ' ' {
				k = i
				break
			}
		}
	}
	return o.made(fromUnits(o.at, u[:k]) + o.textArg(2, "..."))
}

func urlencode(o *operation) any {
	switch v := o.in.(type) {
	case string:
		return o.made(encoded(v))
	case *dict:
		var parts []string
		for _, key := range o.dict().keys {
			parts = append(parts, encoded(key)+"="+encoded(o.concatenated(o.at, v.values[key])))
		}
		return o.made(strings.Join(parts, "&"))
	case *list:
		var parts []string
		for _, item := range o.list() {
			pair, ok := item.(*list)
			if !ok || len(pair.items) != 2 {
				o.fail("needs a list of names and values")
			}
			parts = append(parts, encoded(o.concatenated(o.at, pair.items[0]))+"="+encoded(o.concatenated(o.at, pair.items[1])))
		}
		return o.made(strings.Join(parts, "&"))
	}
	o.fail("needs a text, an object or a list, not %s", describe(o.in))
	return nil
}

// encoded escapes a text as encodeURIComponent does.
func encoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.!~*'()", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(strconv.FormatInt(int64(c)+0x100, 16))[1:])
		}
	}
	return b.String()
}

func wordcount(o *operation) any {
	n := len(words.FindAllStringIndex(o.text(), -1))
	if n == 0 {
		return undefined{}
	}
	o.step(o.at, n)
	return fromInt(n)
}

// test is a test after is.
type test func(e *evaluator, at int, v any, args []any) bool

func isTruthy(_ *evaluator, _ int, v any, _ []any) bool { return truthy(v) }

// testOf returns a test. It fails if there is none of this name.
func testOf(at int, name string) test {
	kind := func(kinds ...string) test {
		return func(_ *evaluator, _ int, v any, _ []any) bool { return slices.Contains(kinds, describe(v)) }
	}
	compared := func(accept func(order int) bool) test {
		return func(e *evaluator, at int, v any, args []any) bool {
			order, known := e.compare(at, v, argument(at, args))
			return known && accept(order)
		}
	}
	equal := func(e *evaluator, at int, v any, args []any) bool {
		e.step(at, weight(v, argument(at, args)))
		return same(v, argument(at, args))
	}
	parity := func(want int) test {
		return func(e *evaluator, at int, v any, _ []any) bool {
			n, ok := e.toNumber(at, v)
			i := n.integer()
			return ok && i != nil && int(i.Bit(0)) == want && (want == 0 || i.Sign() > 0)
		}
	}
	cased := func(change func(string) string) test {
		return func(_ *evaluator, at int, v any, _ []any) bool {
			text, ok := v.(string)
			if !ok {
				fail(at, "only a text is lower or upper, not %s", describe(v))
			}
			return change(text) == text
		}
	}
	all := map[string]test{
		"callable": kind("a function"), "defined": not(kind("an undefined value")), "divisibleby": divisible,
		"eq": equal, "equalto": equal, "sameas": equal, "ne": not(equal),
		"escaped": kind(), "even": parity(0), "odd": parity(1), "falsy": not(isTruthy), "truthy": isTruthy,
		"ge": compared(func(o int) bool { return o >= 0 }), "gt": compared(func(o int) bool { return o > 0 }),
		"greaterthan": compared(func(o int) bool { return o > 0 }), "le": compared(func(o int) bool { return o <= 0 }),
		"lt": compared(func(o int) bool { return o < 0 }), "lessthan": compared(func(o int) bool { return o < 0 }),
		"iterable": kind("a text", "a list"), "lower": cased(lower), "upper": cased(upper), "mapping": kind("an object"),
		"none": kind("nothing"), "null": kind("nothing"), "number": kind("a number"), "string": kind("a text"),
		"undefined": kind("an undefined value"),
	}
	t, ok := all[name]
	if !ok {
		names := make([]string, 0, len(all))
		for n := range all {
			names = append(names, n)
		}
		slices.Sort(names)
		panic(&fault{at, Problem{Message: "unknown test \"" + clip(name) + "\"", Word: name, Known: names}})
	}
	return t
}

func argument(at int, args []any) any {
	if len(args) == 0 {
		fail(at, "the test needs a value in parentheses")
	}
	return args[0]
}

func not(t test) test {
	return func(e *evaluator, at int, v any, args []any) bool { return !t(e, at, v, args) }
}

func divisible(e *evaluator, at int, v any, args []any) bool {
	n, d := e.number(at, v), e.number(at, argument(at, args))
	return d.decimal().digits != "" && compute(at, "%", n, d).decimal().digits == ""
}
