package template

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// function is a filter, a test, or a function of a text, a list or a number.
type function struct {
	// required is the number of arguments beside the value, and optional has the values of others that are left out.
	required int
	optional opt
	apply    func(*call) any
}

type opt = []any

// check fails for a wrong number of arguments beside the value.
func (f function) check(name string, n int) {
	most := f.required + len(f.optional)
	need(n >= f.required && n <= most, "%s has %d to %d arguments, not %d", name, f.required, most, n)
}

// call applies the function.
func (f function) call(c *call) any {
	n := len(c.args) - 1
	f.check(c.name, n)
	c.args = append(c.args, f.optional[n-f.required:]...)
	c.step(10)
	switch v := f.apply(c).(type) {
	case string:
		return c.make(v)
	case int:
		return fromInt(v)
	case []any:
		return &list{v}
	default:
		return v
	}
}

// need fails unless something holds for this call.
func (c *call) need(ok bool, format string, args ...any) { need(ok, c.name+" needs "+format, args...) }

// given reports whether there is an optional argument.
func (c *call) given(i int) bool { return c.args[i] != undefined{} }

// text returns an argument that is a text or a number, or the value, which is a text or nothing.
func (c *call) text(i int) string {
	if i == 0 {
		return c.textOf(i, "a text", "nothing", "an undefined value")
	}
	return c.textOf(i, "a text", "a number")
}

func (c *call) textOf(i int, kinds ...string) string {
	c.need(isA(c.args[i], kinds...), "a text, not %s", describe(c.args[i]))
	return c.printed(c.args[i])
}

// integer returns an argument that is an integer.
func (c *call) integer(i int) int {
	n := c.rational(c.number(c.args[i]))
	c.need(n.IsInt() && n.Num().CmpAbs(big.NewInt(math.MaxInt32)) <= 0, "an integer as its argument")
	return int(n.Num().Int64())
}

// items returns the elements of the value, which must be a list.
func (c *call) items() []any {
	c.need(isA(c.args[0], "a list"), "a list, not %s", describe(c.args[0]))
	return slices.Clone(c.elements(c.args[0]))
}

// attribute returns the attribute of an element whose path an argument has, or the element if there is no argument.
func (c *call) attribute(of any, i int) any {
	if c.given(i) {
		for key := range strings.SplitSeq(c.text(i), ".") {
			c.step(1)
			of = c.member(of, key)
		}
	}
	return of
}

// texts returns a filter that makes one text of another.
func texts(change func(string) string) function {
	return function{apply: func(c *call) any { return change(c.text(0)) }}
}

func ofKind(kinds ...string) function {
	return function{apply: func(c *call) any { return isA(c.args[0], kinds...) }}
}

//nolint:gochecknoglobals // never changed
var filters = map[string]function{
	"abs":        {0, nil, func(c *call) any { return number(strings.TrimPrefix(string(c.number(c.args[0])), "-")) }},
	"batch":      {1, nil, batch},
	"capitalize": texts(capitalized),
	"center":     {0, opt{number("80")}, center},
	"d":          {1, opt{false}, otherwise},
	"default":    {1, opt{false}, otherwise},
	"dictsort":   {0, nil, dictsort},
	"dump":       {0, opt{number("0")}, dump},
	"e":          {0, nil, escape},
	"escape":     {0, nil, escape},
	"first":      {0, nil, func(c *call) any { return c.member(c.args[0], number("0")) }},
	"float":      {0, opt{undefined{}}, parsed(decimals)},
	"groupby":    {1, nil, groupby},
	"indent":     {0, opt{number("4"), false}, indent},
	"int":        {0, opt{undefined{}}, parsed(whole)},
	"join":       {0, opt{"", undefined{}}, join},
	"json":       {0, opt{number("0")}, dump},
	"last":       {0, nil, func(c *call) any { return c.member(c.args[0], fromInt(size(c.args[0])-1)) }},
	"length":     {0, nil, length},
	"list":       {0, nil, func(c *call) any { return c.elements(c.args[0]) }},
	"lower":      texts(lower),
	"nl2br":      texts(strings.NewReplacer("\r\n", "<br />\n", "\n", "<br />\n").Replace),
	"reject":     {0, opt{"truthy", undefined{}}, selected(false)},
	"rejectattr": {1, nil, having(false)},
	"replace":    {2, opt{number("-1")}, func(c *call) any { return c.replaced(c.integer(3), false) }},
	"reverse":    {0, nil, reverse},
	"round":      {0, opt{number("0"), ""}, round},
	"safe":       {0, nil, func(c *call) any { return c.args[0] }},
	"select":     {0, opt{"truthy", undefined{}}, selected(true)},
	"selectattr": {1, nil, having(true)},
	"sort":       {0, opt{false, false, undefined{}}, sorted(lower)},
	"string":     {0, nil, func(c *call) any { return c.printed(c.args[0]) }},
	"striptags":  texts(withoutTags),
	"sum":        {0, opt{undefined{}}, sum},
	"title":      texts(title),
	"trim":       texts(trimmed),
	"truncate":   {0, opt{number("255"), false, "..."}, truncate},
	"upper":      texts(upper),
	"urlencode":  texts(encoded),
	"wordcount":  {0, nil, wordcount},
}

// methods are the functions of values, by the kinds of these.
//
//nolint:gochecknoglobals // never changed
var methods = map[string]map[string]function{
	"a text": {
		"endsWith":    {1, nil, func(c *call) any { return strings.HasSuffix(c.text(0), c.text(1)) }},
		"includes":    {1, nil, func(c *call) any { return c.index(c.args[0], c.args[1]) >= 0 }},
		"indexOf":     {1, nil, func(c *call) any { return c.index(c.args[0], c.args[1]) }},
		"padEnd":      {1, opt{" "}, func(c *call) any { return c.text(0) + c.padding() }},
		"padStart":    {1, opt{" "}, func(c *call) any { return c.padding() + c.text(0) }},
		"repeat":      {1, nil, func(c *call) any { return c.repeated(c.text(0), c.integer(1)) }},
		"replace":     {2, nil, func(c *call) any { return c.replaced(1, true) }},
		"replaceAll":  {2, nil, func(c *call) any { return c.replaced(-1, true) }},
		"slice":       {0, opt{number("0"), number("2147483647")}, slice},
		"split":       {1, opt{number("-1")}, split},
		"startsWith":  {1, nil, func(c *call) any { return strings.HasPrefix(c.text(0), c.text(1)) }},
		"substring":   {1, opt{number("2147483647")}, substring},
		"toLowerCase": texts(lower),
		"toUpperCase": texts(upper),
		"trim":        texts(trimmed),
		"trimEnd":     texts(func(s string) string { return strings.TrimRightFunc(s, isSpace) }),
		"trimStart":   texts(func(s string) string { return strings.TrimLeftFunc(s, isSpace) }),
	},
	"a list": {
		"includes": {1, nil, func(c *call) any { return c.index(c.args[0], c.args[1]) >= 0 }},
		"indexOf":  {1, nil, func(c *call) any { return c.index(c.args[0], c.args[1]) }},
		"join":     {0, opt{",", undefined{}}, join},
		"slice":    {0, opt{number("0"), number("2147483647")}, slice},
	},
	"a number": {
		"toFixed": {0, opt{number("0")}, fixed},
	},
}

// tests are the tests after is. Their results are true or false.
//
//nolint:gochecknoglobals // never changed
var tests = map[string]function{
	"defined":     {0, nil, func(c *call) any { return c.given(0) }},
	"divisibleby": {1, nil, func(c *call) any { return c.compute(remainder, c.args[0], c.args[1]) == "0" }},
	"eq":          {1, nil, operators["==="].apply},
	"equalto":     {1, nil, operators["==="].apply},
	"even":        {0, opt{number("2")}, func(c *call) any { return c.compute(remainder, c.args[0], c.args[1]) == "0" }},
	"falsy":       {0, nil, func(c *call) any { return !truthy(c.args[0]) }},
	"ge":          {1, nil, operators[">="].apply},
	"gt":          {1, nil, operators[">"].apply},
	"iterable":    ofKind("a text", "a list"),
	"le":          {1, nil, operators["<="].apply},
	"lt":          {1, nil, operators["<"].apply},
	"mapping":     ofKind("an object"),
	"ne":          {1, nil, operators["!=="].apply},
	"none":        ofKind("nothing"),
	"null":        ofKind("nothing"),
	"number":      ofKind("a number"),
	"odd":         {0, opt{number("2")}, func(c *call) any { return c.compute(remainder, c.args[0], c.args[1]) == "1" }},
	"string":      ofKind("a text"),
	"truthy":      {0, nil, func(c *call) any { return truthy(c.args[0]) }},
	"undefined":   ofKind("an undefined value"),
}
