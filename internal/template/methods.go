package template

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// method is a function of a text, a list or a number, or a global function.
type method func(o *operation) any

// methodOf returns a function of a value, or nil. These are the only ones: a value has no other members.
func methodOf(of any, name string) method {
	switch of.(type) {
	case string:
		return textMethods()[name]
	case *list:
		return listMethods()[name]
	case number:
		return numberMethods()[name]
	}
	return nil
}

// methods returns the names of the functions of a value.
func methods(of any) (names []string) {
	var all map[string]method
	switch of.(type) {
	case string:
		all = textMethods()
	case *list:
		all = listMethods()
	case number:
		all = numberMethods()
	}
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func textMethods() map[string]method {
	find := func(index func(text, part string) int) method {
		return func(o *operation) any {
			text := o.in.(string) //nolint:forcetypeassert // methodOf
			if len(o.args) != 1 {
				o.fail("has one argument here")
			}
			if i := index(text, o.textArg(0, "")); i >= 0 {
				return fromInt(unitLength(text[:i]))
			}
			return number("-1")
		}
	}
	has := func(test func(text, part string) bool) method {
		return func(o *operation) any {
			if len(o.args) != 1 {
				o.fail("has one argument here")
			}
			return test(o.text(), o.textArg(0, ""))
		}
	}
	changed := func(change func(string) string) method {
		return func(o *operation) any { return o.made(change(o.text())) }
	}
	padded := func(before bool) method {
		return func(o *operation) any {
			text, fill := o.text(), o.textArg(1, " ")
			room := o.intArg(0, 0) - unitLength(text)
			if room <= 0 || fill == "" {
				return text
			}
			o.grow(o.at, room)
			all := strings.Repeat(fill, room/max(1, unitLength(fill))+1)
			all = o.cut(all, 0, room)
			if before {
				return o.made(all + text)
			}
			return o.made(text + all)
		}
	}
	return map[string]method{
		"at": func(o *operation) any {
			u, i := o.units(o.at, o.text()), o.intArg(0, 0)
			if i < 0 {
				i += len(u)
			}
			if i < 0 || i >= len(u) {
				return undefined{}
			}
			return fromUnits(o.at, u[i:i+1])
		},
		"charAt": func(o *operation) any {
			u, i := o.units(o.at, o.text()), o.intArg(0, 0)
			if i < 0 || i >= len(u) {
				return ""
			}
			return fromUnits(o.at, u[i:i+1])
		},
		"concat": func(o *operation) any {
			text := any(o.text())
			for _, a := range o.args {
				text = o.join(o.at, text, a)
			}
			return text
		},
		"endsWith":    has(strings.HasSuffix),
		"includes":    has(strings.Contains),
		"indexOf":     find(strings.Index),
		"lastIndexOf": find(strings.LastIndex),
		"padEnd":      padded(false),
		"padStart":    padded(true),
		"repeat": func(o *operation) any {
			text, n := o.text(), o.intArg(0, 0)
			if n < 0 {
				o.fail("needs a number that is not negative")
			}
			o.grow(o.at, n*len(text))
			return strings.Repeat(text, n)
		},
		"replace":    func(o *operation) any { return replace(o, true) },
		"replaceAll": func(o *operation) any { return replace(o, true) },
		"slice": func(o *operation) any {
			text := o.text()
			from, to := o.bounds(unitLength(text))
			return o.cut(text, from, to)
		},
		"split":      split,
		"startsWith": has(strings.HasPrefix),
		"substring": func(o *operation) any {
			text := o.text()
			n := unitLength(text)
			from, to := max(0, min(o.intArg(0, 0), n)), max(0, min(o.intArg(1, n), n))
			return o.cut(text, min(from, to), max(from, to))
		},
		"toLowerCase": changed(lower),
		"toString":    changed(strings.Clone),
		"toUpperCase": changed(upper),
		"trim":        changed(func(s string) string { return strings.TrimFunc(s, isSpace) }),
		"trimEnd":     changed(func(s string) string { return strings.TrimRightFunc(s, isSpace) }),
		"trimStart":   changed(func(s string) string { return strings.TrimLeftFunc(s, isSpace) }),
	}
}

// bounds returns the range of slice: negative numbers count from the end.
func (o *operation) bounds(n int) (from, to int) {
	place := func(i int) int {
		if i < 0 {
			i += n
		}
		return max(0, min(i, n))
	}
	from = place(o.intArg(0, 0))
	return from, max(from, place(o.intArg(1, n)))
}

func split(o *operation) any {
	text, separator, most := o.text(), o.textArg(0, ""), o.intArg(1, -1)
	l := &list{}
	switch {
	case o.missing(0):
		l.items = []any{text}
	case separator == "":
		l.items = o.sequence()
	default:
		o.step(o.at, strings.Count(text, separator))
		for part := range strings.SplitSeq(text, separator) {
			l.items = append(l.items, part)
		}
	}
	if most >= 0 && most < len(l.items) {
		l.items = l.items[:most]
	}
	return l
}

func listMethods() map[string]method {
	find := func(o *operation) (first, last int) {
		if len(o.args) != 1 {
			o.fail("has one argument here")
		}
		first, last = -1, -1
		o.step(o.at, len(o.list())*weight(o.arg(0), nil))
		for i, item := range o.list() {
			if same(item, o.arg(0)) {
				if last = i; first < 0 {
					first = i
				}
			}
		}
		return first, last
	}
	return map[string]method{
		"at": func(o *operation) any {
			items, i := o.list(), o.intArg(0, 0)
			if i < 0 {
				i += len(items)
			}
			if i < 0 || i >= len(items) {
				return undefined{}
			}
			return items[i]
		},
		"concat": func(o *operation) any {
			items := slices.Clone(o.list())
			for _, a := range o.args {
				if l, ok := a.(*list); ok {
					o.step(o.at, len(l.items))
					items = append(items, l.items...)
				} else {
					items = append(items, a)
				}
			}
			return &list{items}
		},
		"includes": func(o *operation) any {
			first, _ := find(o)
			return first >= 0
		},
		"indexOf": func(o *operation) any {
			first, _ := find(o)
			return fromInt(first)
		},
		"join": func(o *operation) any {
			separator := o.textArg(0, ",")
			o.grow(o.at, len(separator)*len(o.list()))
			return o.joined(o.at, &list{o.list()}, separator, 0)
		},
		"lastIndexOf": func(o *operation) any {
			_, last := find(o)
			return fromInt(last)
		},
		"slice": func(o *operation) any {
			from, to := o.bounds(len(o.list()))
			return &list{slices.Clone(o.list()[from:to])}
		},
		"toString": func(o *operation) any { return o.printed(o.at, o.in) },
	}
}

func numberMethods() map[string]method {
	return map[string]method{
		"toFixed":  func(o *operation) any { return o.number(o.at, o.in).fixed(o.at, o.intArg(0, 0)) },
		"toString": func(o *operation) any { return o.printed(o.at, o.in) },
	}
}

// globalOf returns a global function, or nil. It has no value: it can only be called.
func globalOf(name string) method {
	return map[string]method{"range": numbers, "cycler": cycler, "joiner": joiner}[name]
}

// numbers is range.
func numbers(o *operation) any {
	start, stop := o.intArg(0, 0), o.intArg(1, 0)
	step := o.intArg(2, 1)
	if o.missing(0) {
		o.fail("needs a number")
	}
	if o.missing(1) {
		start, stop = 0, start
	}
	if step == 0 {
		o.fail("needs a step that is not 0")
	}
	n := max(0, (stop-start+step-sign(step))/step)
	o.step(o.at, 2*n)
	l := &list{make([]any, n)}
	for i := range n {
		l.items[i] = fromInt(start + i*step)
	}
	return l
}

func sign(i int) int {
	if i < 0 {
		return -1
	}
	return 1
}

func cycler(o *operation) any {
	at := -1
	current := func() any {
		if at < 0 || len(o.args) == 0 {
			return nil
		}
		return o.args[at%len(o.args)]
	}
	return callable{current: current, members: map[string]callable{
		"next": {call: func(int, []any, map[string]any) any {
			at++
			return current()
		}},
		"reset": {call: func(int, []any, map[string]any) any {
			at = -1
			return undefined{}
		}},
	}}
}

func joiner(o *operation) any {
	separator, first := o.textArg(0, ","), true
	return callable{call: func(int, []any, map[string]any) any {
		if first {
			first = false
			return ""
		}
		return separator
	}}
}

// regex is a regular expression of JavaScript that means the same in RE2.
type regex struct {
	*regexp.Regexp
	global, fold bool
	// units is set if it may match a part of a character of two units.
	units bool
	// size is the number of instructions for each character.
	size int
}

// portable matches one part of a regular expression that means the same in JavaScript and in RE2.
var portable = regexp.MustCompile(`^(?:\\[dwbnrt.?*+()\[\]{}|^$/\\-]|\[\^?(?:[A-Za-z0-9 _.,:;'"@#%&=<>/!?*+(){}|$-]|\\[dwnrt\]\[\\/.-])+\]|` +
	`\((?:\?:)?|[)|*+?^$]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\}|\\s|[^\\\[\](){}|*+?^$])`)

func newRegex(t token) *regex {
	r := &regex{}
	var b strings.Builder
	for rest := t.text; rest != ""; {
		part := portable.FindString(rest)
		switch part {
		case "":
			fail(t.at, "invalid template: a regular expression that templates do not have, at %s", clip(rest))
		case ".":
			r.units = true
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
		case `\s`:
			b.WriteString(`[\t-\r\x{feff}\p{Z}]`)
		default:
			r.units = r.units || strings.HasPrefix(part, "[^")
			b.WriteString(part)
		}
		rest = rest[len(part):]
	}
	source := b.String()
	for _, flag := range t.flags {
		switch flag {
		case 'g':
			r.global = true
		case 'i':
			r.fold = true
		default:
			fail(t.at, "invalid template: the flag %c of a regular expression", flag)
		}
	}
	if r.fold {
		source = "(?i)" + source
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err == nil {
		var program *syntax.Prog
		if program, err = syntax.Compile(parsed.Simplify()); err == nil {
			r.size = len(program.Inst)
		}
		r.Regexp, err = regexp.Compile(source)
	}
	if err != nil || r.MatchString("") {
		fail(t.at, "invalid template: a regular expression that does not compile, or that matches the empty text")
	}
	return r
}

func (r *regex) replace(o *operation, text, with string) string {
	ascii := strings.IndexFunc(text, func(c rune) bool { return c > 0xFFFF && r.units || (c == 'ſ' || c == 'K') && r.fold }) < 0
	switch {
	case !ascii:
		o.fail("cannot match this text exactly")
	case strings.Contains(with, "$"):
		o.fail("has a $ in its replacement, which has a meaning in JavaScript")
	}
	most := 1
	if r.global || o.name == "replaceAll" {
		most = -1
	}
	o.step(o.at, len(text)*r.size/8)
	found := r.FindAllStringIndex(text, most)
	o.step(o.at, len(found))
	o.grow(o.at, len(text)+len(found)*len(with))
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m[0]])
		b.WriteString(with)
		at = m[1]
	}
	b.WriteString(text[at:])
	return b.String()
}
