package template

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/js"
)

func capitalized(text string) string {
	text = js.Lower(text)
	_, n := utf8.DecodeRuneInString(text)
	return js.Upper(text[:n]) + text[n:]
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
	return someSpace.ReplaceAllString(js.Trim(tags.ReplaceAllString(text, "")), " ")
}

func escape(c call) any {
	escaped := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", "\\", "&#92;")
	return escaped.Replace(c.printed(c.args[0]))
}

func wordcount(c call) any {
	if n := len(words.FindAllStringIndex(c.text(0), -1)); n > 0 {
		return n
	}
	return js.Undefined{}
}

// repeated returns a text n times.
func (c call) repeated(text string, n int) string {
	c.need(n >= 0, "a number that is not negative")
	fits(n * len(text))
	return strings.Repeat(text, n)
}

func center(c call) any {
	text := c.text(0)
	room := max(0, cmp.Or(c.integer(1), 80)-js.Size(text))
	return c.repeated(" ", room/2) + text + c.repeated(" ", room-room/2)
}

// padding returns what padStart and padEnd add.
func (c call) padding() string {
	fill, room := c.text(2), max(0, c.integer(1)-js.Size(c.args[0]))
	if fill == "" {
		return ""
	}
	return must(js.Cut(c.repeated(fill, room/js.Size(fill)+1), 0, room))
}

func indent(c call) any {
	text, space := c.text(0), c.repeated(" ", cmp.Or(c.integer(1), 4))
	fits(strings.Count(text, "\n") * len(space))
	if text != "" && js.Truthy(c.args[2]) {
		text = space + text
	}
	return strings.ReplaceAll(text, "\n", "\n"+space)
}

func truncate(c call) any {
	text, most := c.text(0), max(0, cmp.Or(c.integer(1), 255))
	u, end := js.Units(text), most
	if len(u) <= most {
		return text
	}
	for i, unit := range u[:most+1] {
		if unit == ' ' && !js.Truthy(c.args[2]) { // the last space
			end = i
		}
	}
	return must(js.Cut(text, 0, end)) + c.text(3)
}

func otherwise(c call) any {
	if !c.given(0) || js.Truthy(c.args[2]) && !js.Truthy(c.args[0]) {
		return c.args[1]
	}
	return c.args[0]
}

func dump(c call) any {
	c.step(js.Nodes(c.args[0]))
	return must(js.Stringify(c.args[0], c.integer(1)))
}

// parsed returns the number of a value, or the argument if it has none.
func parsed(parse func(any) (any, error)) func(call) any {
	return func(c call) any {
		if n := must(parse(c.args[0])); n != any(js.Undefined{}) {
			return n
		}
		return c.args[1]
	}
}

// places returns the argument that is a number of decimal places.
func (c call) places() int {
	n := c.integer(1)
	c.need(n >= 0 && n <= 100, "a number of places from 0 to 100")
	return n
}

func round(c call) any {
	n, factor := must(js.NumberOf(c.args[0])), math.Pow(10, float64(c.places()))
	if n.Whole() {
		return n
	}
	f := must(n.Float()) * factor
	switch c.text(2) {
	case "ceil":
		f = math.Ceil(f)
	case "floor":
		f = math.Floor(f)
	default: // halves go up
		f = math.Floor(f) + math.Round(f-math.Floor(f))
	}
	return must(js.FromFloat(f / factor))
}

func length(c call) any {
	switch v := c.args[0].(type) {
	case nil, js.Undefined:
		return 0
	case *js.Dict:
		return len(v.Keys)
	case string:
		return js.Size(v)
	}
	return len(c.items())
}

func join(c call) any {
	items := c.items()
	for i, item := range items {
		items[i] = c.attribute(item, 2)
	}
	return must(js.Join(js.NewList(items), c.text(1)))
}

func reverse(c call) any {
	items := slices.Clone(c.elements(c.args[0]))
	slices.Reverse(items)
	if js.Is(c.args[0], js.Text) {
		return must(js.Join(js.NewList(items), ""))
	}
	return items
}

func batch(c call) any {
	size, rows := c.integer(1), opt{}
	c.need(size > 0, "the number of elements")
	for row := range slices.Chunk(c.items(), size) {
		for fill := c.args[2]; js.Truthy(fill) && len(row) < size; row = append(row, fill) {
			c.step(1)
		}
		rows = append(rows, js.NewList(row))
	}
	return rows
}

func sum(c call) any {
	total := js.Number("0")
	for _, item := range c.items() {
		item = c.attribute(item, 1)
		c.need(js.Is(item, js.Numeric), "numbers, not %s", js.KindOf(item))
		c.step(weight(total))
		total = must(js.Compute("+", total, item))
	}
	return total
}

// sorted returns a filter that sorts a list. It changes texts before, unless their case counts.
func sorted(change func(string) string) func(call) any {
	return func(c call) any {
		items := c.items()
		slices.SortStableFunc(items, func(a, b any) int {
			if js.Truthy(c.args[1]) {
				a, b = b, a
			}
			a, b = c.attribute(a, 3), c.attribute(b, 3)
			if js.Is(a, js.Text) && js.Is(b, js.Text) && !js.Truthy(c.args[2]) {
				a, b = change(c.printed(a)), change(c.printed(b))
			}
			c.step(weight(a) + weight(b))
			order := must(js.Compare(a, b))
			c.need(order != js.Unordered, "values with an order, not %s and %s", js.KindOf(a), js.KindOf(b))
			return order
		})
		return items
	}
}

func dictsort(c call) any {
	d, ok := c.args[0].(*js.Dict)
	c.need(ok, "an object, not %s", js.KindOf(c.args[0]))
	return sorted(js.Upper)(call{c.evaluator, c.name, opt{js.NewList(d.Pairs()), false, false, "0"}})
}

func groupby(c call) any {
	var keys []string
	groups := map[string]opt{}
	for _, item := range c.items() {
		key := must(js.Concat("", c.attribute(item, 1)))
		keys, groups[key] = append(keys, key), append(groups[key], item)
	}
	lists := make(opt, len(keys))
	for i, key := range keys {
		lists[i] = js.NewList(groups[key])
	}
	return js.NewDict(keys, lists)
}

// selected returns a filter that keeps the elements that pass a test, or those that do not.
func selected(want bool) func(call) any {
	return func(c call) any {
		name := c.text(1)
		test := known(tests, "test", name)
		args := c.args[1:]
		if !c.given(2) {
			args = args[:1]
		}
		return slices.DeleteFunc(c.items(), func(item any) bool {
			return test.checked(call{c.evaluator, name, append(opt{item}, args[1:]...)}) != any(want)
		})
	}
}

// having returns a filter that keeps the elements with an attribute that is true, or is not.
func having(want bool) func(call) any {
	return func(c call) any {
		return slices.DeleteFunc(c.items(), func(item any) bool {
			return js.Truthy(must(js.Member(item, c.args[1]))) != want
		})
	}
}

// index returns the place of a value in a list, or in a text, or -1.
func (c call) index(in, v any) int {
	switch in := in.(type) {
	case *js.List:
		return slices.IndexFunc(c.elements(in), func(item any) bool { return must(js.Same(item, v)) })
	case string:
		before, _, found := strings.Cut(in, must(js.Concat("", v)))
		if !found {
			return -1
		}
		return js.Size(before)
	}
	fail("a list, a text or an object is needed, not %s", js.KindOf(in))
	return 0
}

// isIn is the operator in.
func isIn(c call) any {
	if d, ok := c.args[1].(*js.Dict); ok {
		_, found := d.Values[must(js.Concat("", c.args[0]))]
		return found
	}
	return c.index(c.args[1], c.args[0]) >= 0
}

// slice is a function of texts and lists. Negative numbers count from the end.
func slice(c call) any {
	c.step(js.Nodes(c.args[0]))
	n := js.Size(c.args[0])
	place := func(at int) int {
		if at < 0 {
			at += n
		}
		return max(0, min(at, n))
	}
	from := place(c.integer(1))
	return must(js.Part(c.args[0], from, max(from, place(c.integer(2)))))
}

func substring(c call) any {
	n := js.Size(c.args[0])
	from, to := max(0, min(c.integer(1), n)), max(0, min(c.integer(2), n))
	return must(js.Part(c.args[0], min(from, to), max(from, to)))
}

func split(c call) any {
	parts := opt{}
	if separator := c.text(1); separator == "" {
		parts = c.elements(c.text(0))
	} else {
		for part := range strings.SplitSeq(c.text(0), separator) {
			c.step(1)
			parts = append(parts, part)
		}
	}
	if n := c.integer(2); n >= 0 && n < len(parts) {
		parts = parts[:n]
	}
	return parts
}

// numbers is range.
func numbers(c call) any {
	start, stop, step, all := 0, c.integer(0), c.integer(2), opt{}
	if c.given(1) {
		start, stop = stop, c.integer(1)
	}
	c.need(step != 0, "a step that is not 0")
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		c.step(2)
		all = append(all, js.FromInt(i))
	}
	return all
}

// replaced replaces a text, at most so often, or a regular expression. dollar is set if $ has a
// meaning in what replaces it, as it always has for a regular expression.
func (c call) replaced(most int, dollar bool) any {
	text, with := c.textOf(0, js.Text, js.Numeric), c.text(2)
	r, isRegex := c.args[1].(*js.Regex)
	plain := !isRegex && !dollar || !strings.Contains(with, "$")
	c.need(plain, "a replacement without $, which has a meaning in JavaScript")
	if isRegex {
		c.step(len(text) * len(r.String()) / 8)
		return must(r.Replace(text, with))
	}
	c.need(c.text(1) != "", "a text to replace, which has characters")
	fits(len(text) + strings.Count(text, c.text(1))*len(with))
	return strings.Replace(text, c.text(1), with, most)
}
