package check

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/plumb-eval/plumb"
)

// Text says how texts are compared. A nil *Text compares them as they are.
type Text struct {
	// IgnoreCase compares in lower case: full lower-casing, not case folding, so that "ß" and "SS" differ.
	IgnoreCase bool
	// Unicode composes letters and their accents (NFC).
	Unicode bool
	// Typography maps typographic quotes, dashes, ellipses and spaces to their ASCII forms, and drops invisible ones.
	Typography bool
	// Whitespace collapses each run of space and line ends to one space, and cuts it at both ends.
	Whitespace bool
}

func (t *Text) mode() mode {
	if t == nil {
		return 0
	}
	var m mode
	for bit, on := range map[mode]bool{
		ignoreCase: t.IgnoreCase, composed: t.Unicode, typography: t.Typography, whitespace: t.Whitespace,
	} {
		if on {
			m |= bit
		}
	}
	return m
}

// mode is a [Text] in one byte: suites have very many checks.
type mode uint8

const (
	ignoreCase mode = 1 << iota
	composed
	typography
	whitespace
)

// normalize does all that m asks for, except for the letter case.
func (m mode) normalize(s string) string {
	if m&composed != 0 {
		s = norm.NFC.String(s)
	}
	if m&typography != 0 {
		s = plain(s)
	}
	if m&whitespace != 0 {
		s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	}
	return s
}

func (m mode) fold(s string) string {
	s = m.normalize(s)
	if m&ignoreCase != 0 {
		s = lower(s)
	}
	return s
}

func (m mode) describe(o *object) {
	o.boolean("case_sensitive", m&ignoreCase == 0)
	var modes []string
	if m&typography != 0 {
		modes = append(modes, "typography")
	}
	if m&composed != 0 {
		modes = append(modes, "unicode")
	}
	if m&whitespace != 0 {
		modes = append(modes, "whitespace")
	}
	o.strs("normalize", modes)
}

// textMatcher is exact_match, contains, contains_any and starts_with.
type textMatcher struct {
	offline
	kind   string
	terms  []string // as the author wrote them
	folded []string // as they are compared; shares the memory of terms where nothing changed
	mode   mode
}

func newText(kind string, terms []string, m mode) *textMatcher {
	t := &textMatcher{kind: kind, terms: terms, folded: terms, mode: m}
	if m == 0 && kind != typeExactMatch {
		return t
	}
	for i, term := range terms {
		f := m.normalize(term)
		if kind == typeExactMatch {
			f = strip(f)
		}
		if m&ignoreCase != 0 {
			f = lower(f)
		}
		if f != term {
			if &t.folded[0] == &t.terms[0] {
				t.folded = slices.Clone(terms)
			}
			t.folded[i] = f
		}
	}
	return t
}

// ExactMatch holds when the output equals want, both stripped of surrounding space.
func ExactMatch(want string, how *Text) *Check {
	return &Check{matcher: newText(typeExactMatch, []string{want}, how.mode())}
}

// Contains holds when the output contains term, which is not stripped, anywhere, also within a word.
func Contains(term string, how *Text) *Check {
	return &Check{matcher: newText(typeContains, []string{term}, how.mode())}
}

// ContainsAny holds when the output contains at least one of the terms.
func ContainsAny(terms []string, how *Text) *Check {
	return &Check{matcher: newText(typeContainsAny, slices.Clone(terms), how.mode())}
}

// StartsWith holds when the output, its leading space cut, starts with one of the prefixes.
func StartsWith(prefixes []string, how *Text) *Check {
	return &Check{matcher: newText(typeStartsWith, slices.Clone(prefixes), how.mode())}
}

func (t *textMatcher) Type() string { return t.kind }

func (t *textMatcher) describe(o *object) {
	t.mode.describe(o)
	o.strs("ideal", t.folded)
}

func (t *textMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	output := ev.Report.FinalOutput
	if t.kind == typeExactMatch {
		return t.exact(ev, output), nil
	}
	got := t.mode.fold(output)
	if t.kind == typeStartsWith {
		got = strings.TrimLeftFunc(got, isSpace)
	}
	hit := slices.IndexFunc(t.folded, func(term string) bool {
		if t.kind == typeStartsWith {
			return strings.HasPrefix(got, term)
		}
		return strings.Contains(got, term)
	})

	var verb, none string
	if t.kind == typeStartsWith {
		verb, none = "starts with ", "does not start with "
	} else {
		verb, none = "contains ", "does not contain "
	}
	if len(t.terms) > 1 {
		none += "any of "
	}
	var v plumb.Verdict
	if hit >= 0 {
		v = decided(true, "the output "+verb+quote(t.terms[hit]))
		v.Expected = short(t.terms[hit], shownLimit)
	} else {
		v = decided(false, "the output "+none+quotes(t.terms)+": "+quote(shown(ev, output)))
		v.Expected = short(strings.Join(t.terms, "\n"), shownLimit)
	}
	v.Got = short(shown(ev, output), shownLimit)

	var details object
	switch {
	case t.kind == typeContains:
		details.str("search_term", t.terms[0])
	case hit >= 0:
		details.str("matched_term", t.terms[hit])
	default:
		details.strs("terms", t.terms)
	}
	v.Details = details.json()
	return v, nil
}

func (t *textMatcher) exact(ev *plumb.Evidence, output string) plumb.Verdict {
	fold := func(s string) string {
		if s = strip(t.mode.normalize(s)); t.mode&ignoreCase != 0 {
			s = lower(s)
		}
		return s
	}
	want, got := t.folded[0], fold(output)
	same := want == got
	got = fold(withoutSecrets(ev, output))
	var v plumb.Verdict
	if same {
		v = decided(true, "the output is "+quote(got))
	} else {
		v = decided(false, "the output is "+quote(got)+", not "+quote(want))
	}
	if same { // so that the two are seen to be the same
		want = got
	}
	v.Expected, v.Got = short(want, shownLimit), short(got, shownLimit)
	var details object
	details.str("expected", short(want, detailsLimit))
	details.str("got", short(got, detailsLimit))
	v.Details = details.json()
	return v
}

// strip cuts the white space that Python's str.strip cuts: the documented meaning of "stripped". Byte order marks and
// zero-width spaces stay.
func strip(s string) string { return strings.TrimFunc(s, isSpace) }

func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F
}

// lower lower-cases s as Python's str.lower does, which is full Unicode lower-casing. It differs from [strings.ToLower]
// in two letters: U+0130 keeps its dot, and a capital sigma becomes a final one at the end of a word.
func lower(s string) string {
	if !strings.ContainsAny(s, "\u0130\u03A3") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range s {
		switch {
		case r == '\u0130':
			b.WriteString("i\u0307")
		case r == '\u03A3' && isFinal(s[:i], s[i+len("\u03A3"):]):
			b.WriteRune('\u03C2')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// isFinal applies the Final_Sigma condition of the Unicode standard, section 3.13: a cased letter comes before, and none
// after, whatever is ignorable in between.
func isFinal(before, after string) bool {
	for len(before) > 0 {
		r, size := utf8.DecodeLastRuneInString(before)
		before = before[:len(before)-size]
		if ignorable(r) {
			continue
		}
		if !cased(r) {
			return false
		}
		for _, r := range after {
			if !ignorable(r) {
				return !cased(r)
			}
		}
		return true
	}
	return false
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func ignorable(r rune) bool {
	switch r {
	case '\'', '.', ':', 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A:
		return true // Word_Break MidLetter, MidNumLet and Single_Quote, which package unicode does not have
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// plain maps typographic forms to ASCII.
func plain(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch r {
		case 0xB4, 0x2BC, 0x2018, 0x2019, 0x201A, 0x201B, 0x2032, 0xFF07:
			b.WriteByte('\'')
		case 0xAB, 0xBB, 0x201C, 0x201D, 0x201E, 0x201F, 0x2033, 0xFF02:
			b.WriteByte('"')
		case 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE58, 0xFE63, 0xFF0D:
			b.WriteByte('-')
		case 0x2026:
			b.WriteString("...")
		case 0xAD, 0x200B, 0x2060, 0xFEFF: // soft hyphen, zero-width space, word joiner, byte order mark
		default:
			if r > unicode.MaxASCII && unicode.Is(unicode.Zs, r) {
				r = ' '
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
