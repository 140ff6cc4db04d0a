package template

import (
	"cmp"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

func upper(text string) string   { return cases.Upper(language.Und).String(text) }
func lower(text string) string   { return cases.Lower(language.Und).String(text) }
func trimmed(text string) string { return strings.TrimFunc(text, isSpace) }

func capitalized(text string) string {
	text = lower(text)
	_, n := utf8.DecodeRuneInString(text)
	return upper(text[:n]) + text[n:]
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

func escape(c *call) any {
	escaped := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "<", "&lt;", ">", "&gt;", "\\", "&#92;")
	return escaped.Replace(c.printed(c.args[0]))
}

func wordcount(c *call) any {
	if n := len(words.FindAllStringIndex(c.text(0), -1)); n > 0 {
		return n
	}
	return undefined{}
}

// repeated returns a text n times.
func (c *call) repeated(text string, n int) string {
	c.need(n >= 0, "a number that is not negative")
	fits(n * len(text))
	return strings.Repeat(text, n)
}

func center(c *call) any {
	text := c.text(0)
	room := max(0, cmp.Or(c.integer(1), 80)-size(text))
	return c.repeated(" ", room/2) + text + c.repeated(" ", room-room/2)
}

// padding returns what padStart and padEnd add.
func (c *call) padding() string {
	fill, room := c.text(2), max(0, c.integer(1)-size(c.args[0]))
	if fill == "" {
		return ""
	}
	return c.printed(part(c.repeated(fill, room/size(fill)+1), 0, room))
}

func indent(c *call) any {
	text, space := c.text(0), c.repeated(" ", cmp.Or(c.integer(1), 4))
	fits(strings.Count(text, "\n") * len(space))
	if text != "" && truthy(c.args[2]) {
		text = space + text
	}
	return strings.ReplaceAll(text, "\n", "\n"+space)
}

func truncate(c *call) any {
	text, most := c.text(0), max(0, cmp.Or(c.integer(1), 255))
	u := units(text)
	if len(u) <= most {
		return text
	}
	end := most
	if !truthy(c.args[2]) { // at the last space
		for end > 0 && u[end] != ' ' {
			end--
		}
		if u[end] != ' ' {
			end = most
		}
	}
	return c.printed(part(text, 0, end)) + c.text(3)
}

func otherwise(c *call) any {
	if !c.given(0) || truthy(c.args[2]) && !truthy(c.args[0]) {
		return c.args[1]
	}
	return c.args[0]
}

func dump(c *call) any {
	indent := max(0, min(c.integer(1), 10))
	text := jsontext.Value(c.json(nil, c.args[0], indent))
	if indent > 0 {
		err := text.Indent(jsontext.WithIndent(strings.Repeat(" ", indent)))
		c.need(err == nil, "less: %v", err)
	}
	return string(text)
}

// parsed returns the number that a value begins with, as parseFloat and parseInt do.
func parsed(form *regexp.Regexp) func(*call) any {
	return func(c *call) any {
		text := ""
		switch v := c.args[0].(type) {
		case number:
			text = string(written(string(v)))
		case string:
			text = strings.TrimLeftFunc(v, isSpace)
		case nil, bool, undefined:
		default:
			c.need(false, "a text or a number, not %s", describe(v))
		}
		if n := form.FindString(text); n != "" {
			return written(n)
		}
		return c.args[1]
	}
}

// places returns the argument that is a number of decimal places.
func (c *call) places() int {
	n := c.integer(1)
	c.need(n >= 0 && n <= 100, "a number of places from 0 to 100")
	return n
}

func round(c *call) any {
	n, factor := c.number(c.args[0]), math.Pow(10, float64(c.places()))
	if c.rational(n).IsInt() {
		return n
	}
	f := float(n) * factor
	switch c.text(2) {
	case "ceil":
		f = math.Ceil(f)
	case "floor":
		f = math.Floor(f)
	default: // halves go up
		f = math.Floor(f) + math.Round(f-math.Floor(f))
	}
	return fromFloat(f / factor)
}

// fixed is toFixed: the binary value decides, as in JavaScript.
func fixed(c *call) any {
	f := float(c.number(c.args[0]))
	c.need(math.Abs(f) < 1e21, "a smaller number")
	return new(big.Rat).SetFloat64(f).FloatString(c.places())
}

func length(c *call) any {
	switch v := c.args[0].(type) {
	case nil, undefined:
		return 0
	case *dict:
		return len(v.keys)
	case string:
		return size(v)
	}
	return len(c.items())
}

func join(c *call) any {
	items := c.items()
	for i, item := range items {
		items[i] = c.attribute(item, 2)
	}
	return c.joined(items, c.text(1))
}

func reverse(c *call) any {
	items := slices.Clone(c.elements(c.args[0]))
	slices.Reverse(items)
	if isA(c.args[0], "a text") {
		return c.joined(items, "")
	}
	return items
}

func batch(c *call) any {
	size, rows := c.integer(1), opt{}
	c.need(size > 0, "the number of elements")
	for row := range slices.Chunk(c.items(), size) {
		rows = append(rows, &list{row})
	}
	return rows
}

func sum(c *call) any {
	total := number("0")
	for _, item := range c.items() {
		item = c.attribute(item, 1)
		c.need(isA(item, "a number"), "numbers, not %s", describe(item))
		total = c.compute((*big.Rat).Add, total, item)
	}
	return total
}

// sorted returns a filter that sorts a list. Texts are compared after a change, if their case does not count.
func sorted(change func(string) string) func(*call) any {
	return func(c *call) any {
		items := c.items()
		slices.SortStableFunc(items, func(a, b any) int {
			if truthy(c.args[1]) {
				a, b = b, a
			}
			a, b = c.attribute(a, 3), c.attribute(b, 3)
			if isA(a, "a text") && isA(b, "a text") && !truthy(c.args[2]) {
				a, b = change(c.printed(a)), change(c.printed(b))
			}
			order, known := c.compare(a, b)
			c.need(known, "values with an order, not %s and %s", describe(a), describe(b))
			return order
		})
		return items
	}
}

func dictsort(c *call) any {
	d, ok := c.args[0].(*dict)
	c.need(ok, "an object, not %s", describe(c.args[0]))
	return sorted(upper)(&call{c.evaluator, c.name, opt{&list{d.pairs()}, false, false, "0"}})
}

func groupby(c *call) any {
	var keys []string
	groups := map[string]opt{}
	for _, item := range c.items() {
		key := c.concatenated(c.attribute(item, 1))
		keys, groups[key] = append(keys, key), append(groups[key], item)
	}
	lists := make(opt, len(keys))
	for i, key := range keys {
		lists[i] = &list{groups[key]}
	}
	return newDict(keys, lists)
}

// selected returns a filter that keeps the elements that pass a test, or those that do not.
func selected(want bool) func(*call) any {
	return func(c *call) any {
		name := c.text(1)
		test := known(tests, "test", name)
		args := c.args[1:]
		if !c.given(2) {
			args = args[:1]
		}
		return slices.DeleteFunc(c.items(), func(item any) bool {
			return test.call(&call{c.evaluator, name, append(opt{item}, args[1:]...)}) != any(want)
		})
	}
}

// having returns a filter that keeps the elements with an attribute that is true, or is not.
func having(want bool) func(*call) any {
	return func(c *call) any {
		return slices.DeleteFunc(c.items(), func(item any) bool { return truthy(c.member(item, c.args[1])) != want })
	}
}

// index returns the place of a value in a list, or in a text, or -1.
func (c *call) index(in, v any) int {
	switch in := in.(type) {
	case *list:
		return slices.IndexFunc(c.elements(in), func(item any) bool { return c.same(item, v) })
	case string:
		before, _, found := strings.Cut(in, c.concatenated(v))
		if !found {
			return -1
		}
		return size(before)
	}
	fail("a list, a text or an object is needed, not %s", describe(in))
	return 0
}

// isIn is the operator in.
func isIn(c *call) any {
	if d, ok := c.args[1].(*dict); ok {
		_, found := d.values[c.concatenated(c.args[0])]
		return found
	}
	return c.index(c.args[1], c.args[0]) >= 0
}

// slice is a function of texts and lists. Negative numbers count from the end.
func slice(c *call) any {
	n := size(c.args[0])
	place := func(at int) int {
		if at < 0 {
			at += n
		}
		return max(0, min(at, n))
	}
	from := place(c.integer(1))
	return part(c.args[0], from, max(from, place(c.integer(2))))
}

func substring(c *call) any {
	n := size(c.args[0])
	from, to := max(0, min(c.integer(1), n)), max(0, min(c.integer(2), n))
	return part(c.args[0], min(from, to), max(from, to))
}

func split(c *call) any {
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
func numbers(c *call) any {
	start, stop, step, all := 0, c.integer(0), c.integer(2), opt{}
	if c.given(1) {
		start, stop = stop, c.integer(1)
	}
	c.need(step != 0, "a step that is not 0")
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		c.step(2)
		all = append(all, fromInt(i))
	}
	return all
}

// regex is a regular expression of JavaScript that means the same in RE2.
type regex struct {
	*regexp.Regexp
	global bool
}

// portable matches a regular expression that means the same in JavaScript and in RE2, with its flags.
var portable = regexp.MustCompile(`^r/((?:\\[dwbnrts.?*+()\[\]{}|^$/-]|[)|*+?^$]|\((?:\?:)?|[^\\\[\](){}|*+?^$]|` +
	`\[\^?(?:[A-Za-z0-9 _.,:;'"@#%&=<>/!?*+(){}|$-]|\\[dwnrt\]\[/.-])+\])+)/(g?)$`)

func newRegex(text string) *regex {
	if parts := portable.FindStringSubmatch(text); parts != nil {
		r, err := regexp.Compile(strings.ReplaceAll(parts[1], `\s`, `[\t-\r\x{feff}\p{Z}]`))
		if err == nil && !r.MatchString("") {
			return &regex{r, parts[2] != ""}
		}
	}
	fail("invalid template: a regular expression that templates do not have")
	return nil
}

// replaced replaces a text, at most so often, or a regular expression. In JavaScript, $ has a meaning in what replaces it.
func (c *call) replaced(most int, dollar bool) any {
	text, with := c.textOf(0, "a text", "a number"), c.text(2)
	r, isRegex := c.args[1].(*regex)
	c.need(!isRegex && !dollar || !strings.Contains(with, "$"), "a replacement without $, which has a meaning in JavaScript")
	if isRegex {
		return r.replaced(c, text, with)
	}
	c.need(c.text(1) != "", "a text to replace, which has characters")
	fits(len(text) + strings.Count(text, c.text(1))*len(with))
	return strings.Replace(text, c.text(1), with, most)
}

func (r *regex) replaced(c *call, text, with string) string {
	// RE2 counts characters, and . matches these ends of lines.
	inexact := func(c rune) bool { return c > 0xFFFF || c == '\r' || c == '\u2028' || c == '\u2029' }
	c.need(!strings.ContainsFunc(text, inexact), "a text that it can match exactly")
	c.step(len(text) * len(r.String()) / 8)
	size := 0
	return r.ReplaceAllStringFunc(text, func(match string) string {
		if size > 0 && !r.global {
			return match
		}
		size += 1 + len(with)
		fits(size)
		return with
	})
}
