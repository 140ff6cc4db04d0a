package template

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/js"
)

// function is a filter, a test, or a function of a text, a list or a number.
type function struct {
	// required is the number of arguments beside the value.
	required int
	// optional has the values of further arguments, for calls without them.
	optional opt
	apply    func(call) any
}

type opt = []any

// check fails for a wrong number of arguments beside the value.
func (f function) check(name string, n int) {
	most := f.required + len(f.optional)
	need(n >= f.required, "%s needs %d arguments", name, f.required)
	need(n <= most, "%s has at most %d arguments", name, most)
}

// checked applies a function that the parser did not check.
func (f function) checked(c call) any {
	f.check(c.name, len(c.args)-1)
	return f.call(c)
}

// call applies the function.
func (f function) call(c call) any {
	c.args = append(c.args, f.optional[len(c.args)-1-f.required:]...)
	c.step(10)
	switch v := f.apply(c).(type) {
	case int:
		return js.FromInt(v)
	case []any:
		return js.NewList(v)
	default:
		return c.counted(v)
	}
}

// need fails unless something holds for this call.
func (c call) need(ok bool, format string, args ...any) { need(ok, c.name+" needs "+format, args...) }

// given reports whether there is an optional argument.
func (c call) given(i int) bool { return !js.Is(c.args[i], js.NotDefined) }

// text returns an argument that is a text or a number, or the value, which is a text or nothing.
func (c call) text(i int) string {
	if i == 0 {
		return c.textOf(i, js.Text, js.Nothing, js.NotDefined)
	}
	return c.textOf(i, js.Text, js.Numeric)
}

func (c call) textOf(i int, kinds ...js.Kind) string {
	c.need(js.Is(c.args[i], kinds...), "a text, not %s", js.KindOf(c.args[i]))
	return c.printed(c.args[i])
}

// integer returns an argument that is an integer.
func (c call) integer(i int) int {
	n, ok := must(js.NumberOf(c.args[i])).Int()
	c.need(ok, "an integer as its argument")
	return n
}

// items returns the elements of the value, which must be a list.
func (c call) items() []any {
	c.need(js.Is(c.args[0], js.Array), "a list, not %s", js.KindOf(c.args[0]))
	return slices.Clone(c.elements(c.args[0]))
}

// attribute returns what an element has at the path in an argument; without one, the element.
func (c call) attribute(of any, i int) any {
	if c.given(i) {
		for key := range strings.SplitSeq(c.text(i), ".") {
			c.step(1)
			of = must(js.Member(of, key))
		}
	}
	return of
}

// texts returns a filter that makes one text of another.
func texts(change func(string) string) function {
	return function{apply: func(c call) any { return change(c.text(0)) }}
}

func remainder(a, b any) js.Number { return must(js.Compute("%", a, b)) }

func ofKind(kinds ...js.Kind) function {
	return function{apply: func(c call) any { return js.Is(c.args[0], kinds...) }}
}

//nolint:gochecknoglobals // never changed
var filters = map[string]function{
	"abs":        {0, nil, func(c call) any { return must(js.NumberOf(c.args[0])).Abs() }},
	"batch":      {1, opt{nil}, batch},
	"capitalize": texts(capitalized),
	"center":     {0, opt{js.Number("80")}, center},
	"d":          {1, opt{false}, otherwise},
	"default":    {1, opt{false}, otherwise},
	"dictsort":   {0, nil, dictsort},
	"dump":       {0, opt{js.Number("0")}, dump},
	"e":          {0, nil, escape},
	"escape":     {0, nil, escape},
	"first":      {0, nil, func(c call) any { return must(js.Member(c.args[0], js.Number("0"))) }},
	"float":      {0, opt{js.Undefined{}}, parsed(js.ParseFloat)},
	"groupby":    {1, nil, groupby},
	"indent":     {0, opt{js.Number("4"), false}, indent},
	"int":        {0, opt{js.Undefined{}}, parsed(js.ParseInt)},
	"join":       {0, opt{"", js.Undefined{}}, join},
	"json":       {0, opt{js.Number("0")}, dump},
	"last":       {0, nil, func(c call) any { return must(js.Member(c.args[0], js.FromInt(js.Size(c.args[0])-1))) }},
	"length":     {0, nil, length},
	"list":       {0, nil, func(c call) any { return c.elements(c.args[0]) }},
	"lower":      texts(js.Lower),
	"nl2br":      texts(strings.NewReplacer("\r\n", "<br />\n", "\n", "<br />\n").Replace),
	"reject":     {0, opt{"truthy", js.Undefined{}}, selected(false)},
	"rejectattr": {1, nil, having(false)},
	"replace":    {2, opt{js.Number("-1")}, func(c call) any { return c.replaced(c.integer(3), false) }},
	"reverse":    {0, nil, reverse},
	"round":      {0, opt{js.Number("0"), ""}, round},
	"safe":       {0, nil, func(c call) any { return c.args[0] }},
	"select":     {0, opt{"truthy", js.Undefined{}}, selected(true)},
	"selectattr": {1, nil, having(true)},
	"sort":       {0, opt{false, false, js.Undefined{}}, sorted(js.Lower)},
	"string":     {0, nil, func(c call) any { return c.printed(c.args[0]) }},
	"striptags":  texts(withoutTags),
	"sum":        {0, opt{js.Undefined{}}, sum},
	"title":      texts(title),
	"trim":       texts(js.Trim),
	"truncate":   {0, opt{js.Number("255"), false, "..."}, truncate},
	"upper":      texts(js.Upper),
	"urlencode":  texts(js.EncodeURIComponent),
	"wordcount":  {0, nil, wordcount},
}

// methods are the functions of values, by the kinds of these.
//
//nolint:gochecknoglobals // never changed
var methods = map[js.Kind]map[string]function{
	js.Text: {
		"endsWith":    {1, nil, func(c call) any { return strings.HasSuffix(c.text(0), c.text(1)) }},
		"includes":    {1, nil, func(c call) any { return c.index(c.args[0], c.args[1]) >= 0 }},
		"indexOf":     {1, nil, func(c call) any { return c.index(c.args[0], c.args[1]) }},
		"padEnd":      {1, opt{" "}, func(c call) any { return c.text(0) + c.padding() }},
		"padStart":    {1, opt{" "}, func(c call) any { return c.padding() + c.text(0) }},
		"repeat":      {1, nil, func(c call) any { return c.repeated(c.text(0), c.integer(1)) }},
		"replace":     {2, nil, func(c call) any { return c.replaced(1, true) }},
		"replaceAll":  {2, nil, func(c call) any { return c.replaced(-1, true) }},
		"slice":       {0, opt{js.Number("0"), js.Number("2147483647")}, slice},
		"split":       {1, opt{js.Number("-1")}, split},
		"startsWith":  {1, nil, func(c call) any { return strings.HasPrefix(c.text(0), c.text(1)) }},
		"substring":   {1, opt{js.Number("2147483647")}, substring},
		"toLowerCase": texts(js.Lower),
		"toUpperCase": texts(js.Upper),
		"trim":        texts(js.Trim),
		"trimEnd":     texts(func(s string) string { return strings.TrimRightFunc(s, js.IsSpace) }),
		"trimStart":   texts(func(s string) string { return strings.TrimLeftFunc(s, js.IsSpace) }),
	},
	js.Array: {
		"includes": {1, nil, func(c call) any { return c.index(c.args[0], c.args[1]) >= 0 }},
		"indexOf":  {1, nil, func(c call) any { return c.index(c.args[0], c.args[1]) }},
		"join":     {0, opt{",", js.Undefined{}}, join},
		"slice":    {0, opt{js.Number("0"), js.Number("2147483647")}, slice},
	},
	js.Numeric: {
		"toFixed": {0, opt{js.Number("0")}, func(c call) any { return must(js.ToFixed(c.args[0], c.places())) }},
	},
}

// tests are the tests after is. Their results are true or false.
//
//nolint:gochecknoglobals // never changed
var tests = map[string]function{
	"defined":     {0, nil, func(c call) any { return c.given(0) }},
	"divisibleby": {1, nil, func(c call) any { return remainder(c.args[0], c.args[1]) == "0" }},
	"eq":          {1, nil, operators["==="].apply},
	"equalto":     {1, nil, operators["==="].apply},
	"even":        {0, nil, func(c call) any { return remainder(c.args[0], js.Number("2")) == "0" }},
	"falsy":       {0, nil, func(c call) any { return !js.Truthy(c.args[0]) }},
	"ge":          {1, nil, operators[">="].apply},
	"gt":          {1, nil, operators[">"].apply},
	"iterable":    ofKind(js.Text, js.Array),
	"le":          {1, nil, operators["<="].apply},
	"lt":          {1, nil, operators["<"].apply},
	"mapping":     ofKind(js.Object),
	"ne":          {1, nil, operators["!=="].apply},
	"none":        ofKind(js.Nothing),
	"null":        ofKind(js.Nothing),
	"number":      ofKind(js.Numeric),
	"odd":         {0, nil, func(c call) any { return remainder(c.args[0], js.Number("2")) == "1" }},
	"string":      ofKind(js.Text),
	"truthy":      {0, nil, func(c call) any { return js.Truthy(c.args[0]) }},
	"undefined":   ofKind(js.NotDefined),
}
