package template

import (
	"maps"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// function is a filter, a test, or a function of a text, a list or a number, with the numbers of its arguments.
type function struct {
	least, most int
	apply       func(*operation) any
}

// check fails for a call with too few or too many arguments.
func (f function) check(at int, name string, got int) {
	if got < f.least {
		fail(at, "%s needs %d arguments", name, f.least)
	} else if got > f.most {
		fail(at, "%s has at most %d arguments", name, f.most)
	}
}

// operation is a call of a function.
type operation struct {
	*evaluator
	at   int
	name string
	// method is set for a function of a value.
	method bool
	in     any
	args   []any
}

func changed(change func(string) string) func(*operation) any {
	return func(o *operation) any { return o.made(o.at, change(o.text())) }
}

// filters returns all filters. They depend on nothing but their input.
func filters() map[string]function {
	return map[string]function{
		"abs":        {0, 0, abs},
		"batch":      {1, 2, batch},
		"capitalize": {0, 0, changed(capitalized)},
		"center":     {0, 1, center},
		"d":          {1, 2, otherwise},
		"default":    {1, 2, otherwise},
		"dictsort":   {0, 0, dictsort},
		"dump":       {0, 1, dump},
		"e":          {0, 0, escape},
		"escape":     {0, 0, escape},
		"first":      {0, 0, first},
		"float":      {0, 1, float},
		"groupby":    {1, 1, groupby},
		"indent":     {0, 2, indent},
		"int":        {0, 1, integer},
		"join":       {0, 2, join},
		"json":       {0, 1, dump},
		"last":       {0, 0, last},
		"length":     {0, 0, length},
		"list":       {0, 0, func(o *operation) any { return &list{o.sequence(o.at, o.in)} }},
		"lower":      {0, 0, changed(lower)},
		"nl2br":      {0, 0, changed(strings.NewReplacer("\r\n", "<br />\n", "\n", "<br />\n").Replace)},
		"reject":     {0, 2, func(o *operation) any { return o.matching(false) }},
		"rejectattr": {1, 1, func(o *operation) any { return o.selected(false) }},
		"replace":    {2, 3, replace},
		"reverse":    {0, 0, reverse},
		"round":      {0, 2, round},
		"safe":       {0, 0, func(o *operation) any { return o.in }},
		"select":     {0, 2, func(o *operation) any { return o.matching(true) }},
		"selectattr": {1, 1, func(o *operation) any { return o.selected(true) }},
		"sort":       {0, 3, sorted},
		"string":     {0, 0, func(o *operation) any { return o.printed(o.at, o.in) }},
		"striptags":  {0, 0, changed(withoutTags)},
		"sum":        {0, 1, sum},
		"title":      {0, 0, changed(title)},
		"trim":       {0, 0, changed(trimmed)},
		"truncate":   {0, 3, truncate},
		"upper":      {0, 0, changed(upper)},
		"urlencode":  {0, 0, changed(encoded)},
		"wordcount":  {0, 0, wordcount},
	}
}

// Filters returns the names of all filters.
func Filters() []string { return slices.Sorted(maps.Keys(filters())) }

// methods returns the functions of a value. It has no other members.
func methods(of any) map[string]function {
	switch of.(type) {
	case string:
		return map[string]function{
			"endsWith":    {1, 1, func(o *operation) any { return strings.HasSuffix(o.text(), o.textArg(0)) }},
			"includes":    {1, 1, func(o *operation) any { return strings.Contains(o.text(), o.textArg(0)) }},
			"indexOf":     {1, 1, textIndex},
			"padEnd":      {1, 2, func(o *operation) any { return o.text() + o.padding() }},
			"padStart":    {1, 2, func(o *operation) any { return o.padding() + o.text() }},
			"repeat":      {1, 1, repeat},
			"replace":     {2, 2, replace},
			"replaceAll":  {2, 2, replace},
			"slice":       {0, 2, slice},
			"split":       {1, 2, split},
			"startsWith":  {1, 1, func(o *operation) any { return strings.HasPrefix(o.text(), o.textArg(0)) }},
			"substring":   {1, 2, substring},
			"toLowerCase": {0, 0, changed(lower)},
			"toUpperCase": {0, 0, changed(upper)},
			"trim":        {0, 0, changed(trimmed)},
			"trimEnd":     {0, 0, changed(func(s string) string { return strings.TrimRightFunc(s, isSpace) })},
			"trimStart":   {0, 0, changed(func(s string) string { return strings.TrimLeftFunc(s, isSpace) })},
		}
	case *list:
		return map[string]function{
			"includes": {1, 1, func(o *operation) any { return o.index(o.at, o.list(), o.arg(0)) >= 0 }},
			"indexOf":  {1, 1, func(o *operation) any { return fromInt(o.index(o.at, o.list(), o.arg(0))) }},
			"join":     {0, 1, join},
			"slice":    {0, 2, slice},
		}
	case number:
		return map[string]function{"toFixed": {0, 1, fixed}}
	}
	return nil
}

// tests returns the tests after is. Their results are true or false.
func tests() map[string]function {
	kind := func(kinds ...string) function {
		return function{0, 0, func(o *operation) any { return slices.Contains(kinds, describe(o.in)) }}
	}
	truth := func(want bool) function {
		return function{0, 0, func(o *operation) any { return truthy(o.in) == want }}
	}
	compared := func(operator string) function {
		return function{1, 1, func(o *operation) any { return o.operate(o.at, operator, o.in, o.arg(0)) }}
	}
	return map[string]function{
		"defined":     {0, 0, func(o *operation) any { return o.in != any(undefined{}) }},
		"divisibleby": {1, 1, func(o *operation) any { return o.rest(o.arg(0)) == "0" }},
		"eq":          compared("==="),
		"equalto":     compared("==="),
		"even":        {0, 0, func(o *operation) any { return o.rest(number("2")) == "0" }},
		"falsy":       truth(false),
		"ge":          compared(">="),
		"gt":          compared(">"),
		"iterable":    kind("a text", "a list"),
		"le":          compared("<="),
		"lt":          compared("<"),
		"mapping":     kind("an object"),
		"ne":          compared("!=="),
		"none":        kind("nothing"),
		"null":        kind("nothing"),
		"number":      kind("a number"),
		"odd":         {0, 0, func(o *operation) any { return o.rest(number("2")) == "1" }},
		"string":      kind("a text"),
		"truthy":      truth(true),
		"undefined":   kind("an undefined value"),
	}
}

// rest returns what a division of the value leaves.
func (o *operation) rest(divisor any) number {
	return compute(o.at, "%", o.number(o.at, o.in), o.number(o.at, divisor))
}

func (o *operation) fail(format string, args ...any) { fail(o.at, o.name+" "+format, args...) }

func (o *operation) arg(i int) any {
	if i < len(o.args) {
		return o.args[i]
	}
	return undefined{}
}

// textArg returns an argument that is a text.
func (o *operation) textArg(i int) string {
	switch v := o.arg(i).(type) {
	case string:
		return v
	case number:
		return string(v)
	}
	o.fail("needs a text as its argument, not %s", describe(o.arg(i)))
	return ""
}

func (o *operation) textOr(i int, otherwise string) string {
	if i >= len(o.args) {
		return otherwise
	}
	return o.textArg(i)
}

// intOr returns an argument that is an integer.
func (o *operation) intOr(i, otherwise int) int {
	if i >= len(o.args) {
		return otherwise
	}
	n := o.number(o.at, o.args[i]).value(o.at)
	if !n.IsInt() || n.Num().CmpAbs(big.NewInt(math.MaxInt32)) > 0 {
		o.fail("needs an integer as its argument")
	}
	return int(n.Num().Int64())
}

// text returns the value that a function was given, which must be a text. None is the empty text.
func (o *operation) text() string {
	switch v := o.in.(type) {
	case nil, undefined:
		return ""
	case string:
		o.step(o.at, len(v)/32)
		return v
	}
	o.fail("needs a text, not %s", describe(o.in))
	return ""
}

// list returns the value that a function was given, which must be a list.
func (o *operation) list() []any {
	l, ok := o.in.(*list)
	if !ok {
		o.fail("needs a list, not %s", describe(o.in))
	}
	o.step(o.at, len(l.items))
	return l.items
}

// attribute returns the value of an attribute, which may be a path with points. It is undefined if there is none.
func (o *operation) attribute(of any, name string) any {
	for key := range strings.SplitSeq(name, ".") {
		o.step(o.at, 1)
		of = o.member(o.at, of, key)
	}
	return of
}

func upper(text string) string   { return cases.Upper(language.Und).String(text) }
func lower(text string) string   { return cases.Lower(language.Und).String(text) }
func trimmed(text string) string { return strings.TrimFunc(text, isSpace) }

func capitalized(text string) string {
	text = lower(text)
	for i := range text {
		if i > 0 {
			return upper(text[:i]) + text[i:]
		}
	}
	return upper(text)
}

func title(text string) string {
	all := strings.Split(text, " ")
	for i, w := range all {
		all[i] = capitalized(w)
	}
	return strings.Join(all, " ")
}

var (
	tags      = regexp.MustCompile(`(?s)</?([A-Za-z][A-Za-z0-9]*)\b[^>]*>|<!--.*?-->`)
	someSpace = regexp.MustCompile(`[\t-\r\x{feff}\p{Z}]+`)
	words     = regexp.MustCompile(`\w+`)
)

func withoutTags(text string) string {
	return someSpace.ReplaceAllString(trimmed(tags.ReplaceAllString(text, "")), " ")
}

// encoded escapes a text as encodeURIComponent does.
func encoded(text string) string {
	unescaped := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	return unescaped.Replace(url.QueryEscape(text))
}

func abs(o *operation) any {
	return number(strings.TrimPrefix(string(o.number(o.at, o.in)), "-"))
}

func batch(o *operation) any {
	n, items := o.intOr(0, 0), o.list()
	if n < 1 {
		o.fail("needs the number of elements")
	}
	rows := &list{}
	for chunk := range slices.Chunk(items, n) {
		row := slices.Clone(chunk)
		if fill := o.arg(1); truthy(fill) {
			o.step(o.at, n-len(row))
			row = append(row, slices.Repeat([]any{fill}, n-len(row))...)
		}
		rows.items = append(rows.items, &list{row})
	}
	return rows
}

func center(o *operation) any {
	text := o.text()
	room := max(0, o.intOr(0, 80)-len(o.units(o.at, text)))
	o.grow(o.at, room)
	return o.made(o.at, strings.Repeat(" ", room/2)+text+strings.Repeat(" ", room-room/2))
}

func otherwise(o *operation) any {
	if o.in == any(undefined{}) || truthy(o.arg(1)) && !truthy(o.in) {
		return o.arg(0)
	}
	return o.in
}

func dictsort(o *operation) any {
	d, ok := o.in.(*dict)
	if !ok {
		o.fail("needs an object, not %s", describe(o.in))
	}
	pairs := &list{}
	for _, key := range slices.SortedStableFunc(slices.Values(d.keys), func(a, b string) int { return o.order(a, b, false) }) {
		pairs.items = append(pairs.items, &list{[]any{key, d.values[key]}})
	}
	return pairs
}

// order orders two values as sort and dictsort do.
func (o *operation) order(a, b any, caseSensitive bool) int {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY && !caseSensitive {
		a, b = upper(x), upper(y)
	}
	o.step(o.at, weight(a, b))
	order, known := o.compare(o.at, a, b)
	if !known {
		o.fail("cannot compare %s and %s", describe(a), describe(b))
	}
	return order
}

func dump(o *operation) any {
	indent := max(0, min(o.intOr(0, 0), 10))
	text := jsontext.Value(o.json(o.at, nil, o.in, 0, indent))
	if indent > 0 {
		if err := text.Indent(jsontext.WithIndent(strings.Repeat(" ", indent))); err != nil {
			o.fail("cannot indent this value")
		}
	}
	return o.made(o.at, string(text))
}

func escape(o *operation) any {
	escaped := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", "\\", "&#92;")
	return o.made(o.at, escaped.Replace(o.printed(o.at, o.in)))
}

func first(o *operation) any { return o.member(o.at, o.in, number("0")) }

func last(o *operation) any {
	n, ok := o.member(o.at, o.in, "length").(number)
	if !ok {
		o.fail("needs a list or a text, not %s", describe(o.in))
	}
	return o.member(o.at, o.in, compute(o.at, "-", n, "1"))
}

func float(o *operation) any { return o.parsed(decimals) }

func integer(o *operation) any {
	if n, ok := o.in.(number); ok && !n.value(o.at).IsInt() {
		return finite(o.at, math.Trunc(n.float(o.at)))
	}
	return o.parsed(whole)
}

// parsed returns the number that the value begins with, as parseFloat and parseInt do.
func (o *operation) parsed(form *regexp.Regexp) any {
	switch v := o.in.(type) {
	case number:
		o.step(o.at, len(v)/8)
		return written(string(v))
	case string:
		o.step(o.at, len(v)/8)
		if n := form.FindString(strings.TrimLeftFunc(v, isSpace)); n != "" {
			return written(n)
		}
	case nil, bool, undefined:
	default:
		o.fail("needs a text or a number, not %s", describe(v))
	}
	return o.arg(0)
}

func groupby(o *operation) any {
	var keys []string
	groups := map[string][]any{}
	for _, item := range o.list() {
		value := o.attribute(item, o.textArg(0))
		if value == any(undefined{}) {
			o.fail("finds no key %q", clip(o.textArg(0)))
		}
		key := o.concatenated(o.at, value)
		keys = append(keys, key)
		groups[key] = append(groups[key], item)
	}
	values := make([]any, len(keys))
	for i, key := range keys {
		values[i] = &list{groups[key]}
	}
	return newDict(keys, values)
}

func indent(o *operation) any {
	text, space := o.text(), strings.Repeat(" ", max(0, min(o.intOr(0, 4), 1000)))
	o.grow(o.at, strings.Count(text, "\n")*len(space))
	if text != "" && truthy(o.arg(1)) {
		text = space + text
	}
	return o.made(o.at, strings.ReplaceAll(text, "\n", "\n"+space))
}

// join is a filter, and a function of lists.
func join(o *operation) any {
	items, separator := o.list(), ""
	if o.method {
		separator = ","
	}
	separator = o.textOr(0, separator)
	if len(o.args) > 1 {
		items = slices.Clone(items)
		for i, item := range items {
			items[i] = o.attribute(item, o.textArg(1))
		}
	}
	o.grow(o.at, len(separator)*len(items))
	return o.joined(o.at, items, separator, 0)
}

func length(o *operation) any {
	switch v := o.in.(type) {
	case nil, undefined:
		return number("0")
	case string:
		return fromInt(len(o.units(o.at, v)))
	case *dict:
		return fromInt(len(v.keys))
	}
	return fromInt(len(o.list()))
}

// matching returns the elements that pass a test, or do not.
func (o *operation) matching(want bool) any {
	name, args := o.textOr(0, "truthy"), o.args[min(1, len(o.args)):]
	test, ok := tests()[name]
	if !ok {
		unknown(o.at, "test", name, tests())
	}
	test.check(o.at, name, len(args))
	return &list{slices.DeleteFunc(slices.Clone(o.list()), func(item any) bool {
		return test.apply(&operation{o.evaluator, o.at, name, false, item, args}) != any(want)
	})}
}

// selected returns the elements whose attribute is true, or is not.
func (o *operation) selected(want bool) any {
	return &list{slices.DeleteFunc(slices.Clone(o.list()), func(item any) bool {
		return truthy(o.member(o.at, item, o.textArg(0))) != want
	})}
}

// replace is a filter, and two functions of texts. The function replace replaces the first occurrence only.
func replace(o *operation) any {
	switch o.in.(type) {
	case string, number:
	default:
		o.fail("needs a text, not %s", describe(o.in))
	}
	text := o.printed(o.at, o.in)
	with, most := o.textArg(1), o.intOr(2, -1)
	if o.method && strings.Contains(with, "$") {
		o.fail("has a $ in its replacement, which has a meaning in JavaScript")
	}
	if r, ok := o.arg(0).(*regex); ok {
		return r.replace(o, text, with)
	}
	old := o.textArg(0)
	if old == "" {
		o.fail("needs a text to replace, which has characters")
	}
	if o.method && o.name == "replace" {
		most = 1
	}
	o.grow(o.at, len(text)+strings.Count(text, old)*max(0, len(with)-len(old)))
	return strings.Replace(text, old, with, most)
}

func reverse(o *operation) any {
	items := slices.Clone(o.sequence(o.at, o.in))
	slices.Reverse(items)
	if _, ok := o.in.(string); ok {
		return o.joined(o.at, items, "", 0)
	}
	return &list{items}
}

func round(o *operation) any {
	n, places := o.number(o.at, o.in), o.intOr(0, 0)
	if places < 0 || places > 100 {
		o.fail("needs a number of places from 0 to 100")
	}
	if n.value(o.at).IsInt() {
		return n
	}
	factor := math.Pow(10, float64(places))
	f := n.float(o.at) * factor
	switch o.textOr(1, "") {
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

func sorted(o *operation) any {
	items := slices.Clone(o.list())
	key := func(item any) any {
		if len(o.args) < 3 {
			return item
		}
		v := o.attribute(item, o.textArg(2))
		if v == any(undefined{}) {
			o.fail("finds no key %q", clip(o.textArg(2)))
		}
		return v
	}
	slices.SortStableFunc(items, func(a, b any) int {
		if truthy(o.arg(0)) {
			a, b = b, a
		}
		return o.order(key(a), key(b), truthy(o.arg(1)))
	})
	return &list{items}
}

func sum(o *operation) any {
	total := number("0")
	for _, item := range o.list() {
		if len(o.args) > 0 {
			item = o.attribute(item, o.textArg(0))
		}
		n, ok := item.(number)
		if !ok {
			o.fail("needs numbers, not %s", describe(item))
		}
		o.step(o.at, weight(total, n))
		total = compute(o.at, "+", total, n)
	}
	return total
}

func truncate(o *operation) any {
	text, most := o.text(), max(0, o.intOr(0, 255))
	u := o.units(o.at, text)
	if len(u) <= most {
		return text
	}
	end := most
	if !truthy(o.arg(1)) { // at the last space
		for end = min(most, len(u)-1); end > 0 && u[end] != ' '; {
			end--
		}
		if u[end] != ' ' {
			end = most
		}
	}
	return o.made(o.at, fromUnits(o.at, u[:end])+o.textOr(2, "..."))
}

func wordcount(o *operation) any {
	n := len(words.FindAllStringIndex(o.text(), -1))
	if n == 0 {
		return undefined{}
	}
	return fromInt(n)
}

func repeat(o *operation) any {
	text, n := o.text(), o.intOr(0, 0)
	if n < 0 {
		o.fail("needs a number that is not negative")
	}
	o.grow(o.at, n*len(text))
	return strings.Repeat(text, n)
}

// padding returns what padStart and padEnd add.
func (o *operation) padding() string {
	fill := o.textOr(1, " ")
	room, size := o.intOr(0, 0)-len(o.units(o.at, o.text())), len(o.units(o.at, fill))
	if room <= 0 || size == 0 {
		return ""
	}
	times := room/size + 1
	o.grow(o.at, times*len(fill)+len(o.text()))
	return fromUnits(o.at, o.units(o.at, strings.Repeat(fill, times))[:room])
}

func textIndex(o *operation) any {
	before, _, found := strings.Cut(o.text(), o.textArg(0))
	if !found {
		return number("-1")
	}
	return fromInt(len(o.units(o.at, before)))
}

// slice is a function of texts and lists. Negative numbers count from the end.
func slice(o *operation) any {
	place := func(i, n int) int {
		if i < 0 {
			i += n
		}
		return max(0, min(i, n))
	}
	bounds := func(n int) (from, to int) {
		from = place(o.intOr(0, 0), n)
		return from, max(from, place(o.intOr(1, n), n))
	}
	if text, ok := o.in.(string); ok {
		u := o.units(o.at, text)
		from, to := bounds(len(u))
		return o.made(o.at, fromUnits(o.at, u[from:to]))
	}
	from, to := bounds(len(o.list()))
	return &list{o.list()[from:to]}
}

func substring(o *operation) any {
	u := o.units(o.at, o.text())
	from, to := max(0, min(o.intOr(0, 0), len(u))), max(0, min(o.intOr(1, len(u)), len(u)))
	return o.made(o.at, fromUnits(o.at, u[min(from, to):max(from, to)]))
}

func split(o *operation) any {
	text, separator, l := o.text(), o.textArg(0), &list{}
	if separator == "" {
		l.items = o.sequence(o.at, text)
	} else {
		o.step(o.at, strings.Count(text, separator))
		for part := range strings.SplitSeq(text, separator) {
			l.items = append(l.items, part)
		}
	}
	if most := o.intOr(1, len(l.items)); most >= 0 {
		l.items = l.items[:min(most, len(l.items))]
	}
	return l
}

// fixed is toFixed: the binary value decides, as in JavaScript.
func fixed(o *operation) any {
	f, places := o.number(o.at, o.in).float(o.at), o.intOr(0, 0)
	if places < 0 || places > 100 || math.Abs(f) >= 1e21 {
		o.fail("needs a number of places from 0 to 100")
	}
	return new(big.Rat).SetFloat64(f).FloatString(places)
}

// numbers is range.
func numbers(o *operation) any {
	start, stop, step := o.intOr(0, 0), o.intOr(1, 0), o.intOr(2, 1)
	switch {
	case len(o.args) == 0 || len(o.args) > 3 || step == 0:
		o.fail("needs a number, or a start, an end and a step that is not 0")
	case len(o.args) == 1:
		start, stop = 0, start
	}
	l := &list{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		o.step(o.at, 2)
		l.items = append(l.items, fromInt(i))
	}
	return l
}

// regex is a regular expression of JavaScript that means the same in RE2.
type regex struct {
	*regexp.Regexp
	global bool
}

// portable matches a regular expression that means the same in JavaScript and in RE2, with its flags.
var portable = regexp.MustCompile(`^r/((?:\\[dwbnrts.?*+()\[\]{}|^$/-]|[)|*+?^$]|\((?:\?:)?|[^\\\[\](){}|*+?^$]|` +
	`\[\^?(?:[A-Za-z0-9 _.,:;'"@#%&=<>/!?*+(){}|$-]|\\[dwnrt\]\[/.-])+\])+)/(g?)$`)

func newRegex(t token) *regex {
	if parts := portable.FindStringSubmatch(t.text); parts != nil {
		r, err := regexp.Compile(strings.ReplaceAll(parts[1], `\s`, `[\t-\r\x{feff}\p{Z}]`))
		if err == nil && !r.MatchString("") {
			return &regex{r, parts[2] != ""}
		}
	}
	fail(t.at, "invalid template: a regular expression that templates do not have")
	return nil
}

func (r *regex) replace(o *operation, text, with string) string {
	// RE2 counts characters, and . matches these ends of lines.
	inexact := func(c rune) bool { return c > 0xFFFF || c == '\r' || c == '\u2028' || c == '\u2029' }
	switch {
	case strings.ContainsFunc(text, inexact):
		o.fail("cannot match this text exactly")
	case strings.Contains(with, "$"):
		o.fail("has a $ in its replacement, which has a meaning in JavaScript")
	case o.name == "replaceAll" && !r.global:
		o.fail("needs a regular expression with the flag g")
	}
	most := 1
	if r.global {
		most = -1
	}
	o.step(o.at, len(text)*len(r.String())/8)
	found := r.FindAllStringIndex(text, most)
	o.grow(o.at, len(text)+len(found)*len(with))
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m[0]] + with)
		at = m[1]
	}
	return b.String() + text[at:]
}
