package check

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// Text is how texts are compared. A nil *Text compares them as they are.
type Text struct {
	// IgnoreCase compares in lower case. This is full lower-casing and not case folding, so "ß" and
	// "SS" differ.
	IgnoreCase bool
	// Unicode composes letters and their accents (NFC).
	Unicode bool
	// Typography replaces typographic quotes, dashes, ellipses and spaces with ASCII, and removes
	// invisible characters.
	Typography bool
	// Whitespace replaces each run of spaces and line ends with one space, and trims both ends.
	Whitespace bool
}

// value returns the zero Text for nil.
func (t *Text) value() Text {
	if t == nil {
		return Text{}
	}
	return *t
}

// normalize does everything that t asks for, except for the letter case.
func (t Text) normalize(s string) string {
	if t.Unicode {
		s = norm.NFC.String(s)
	}
	if t.Typography {
		s = asciiTypography(s)
	}
	if t.Whitespace {
		s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	}
	return s
}

func (t Text) fold(s string) string {
	s = t.normalize(s)
	if t.IgnoreCase {
		s = lower(s)
	}
	return s
}

func (t Text) describe(o options) {
	o["case_sensitive"] = !t.IgnoreCase
	var modes []string
	if t.Typography {
		modes = append(modes, "typography")
	}
	if t.Unicode {
		modes = append(modes, "unicode")
	}
	if t.Whitespace {
		modes = append(modes, "whitespace")
	}
	o["normalize"] = modes
}

// textKind describes a kind that looks for the ideal in the output.
func textKind(name, doc string) Kind {
	return Kind{
		Name: name, Doc: doc, Reads: "output",
		Keys:    slices.Concat(TextKeys(), []Key{idealKey()}, documentedKeys("case_sensitive")),
		Details: "`matched_term`", FailDetails: "`terms`",
		parse: (*spec).textMatcher,
	}
}

const (
	exactMatch  = "exact_match"
	equalsAny   = "equals_any"
	contains    = "contains"
	containsAny = "contains_any"
	containsAll = "contains_all"
	startsWith  = "starts_with"
	endsWith    = "ends_with"
)

// trimKey is the key of the kinds that ignore white space around the output.
func trimKey() Key {
	return Key{
		Name: "trim", Type: "boolean", Default: "`true`", Doc: "`false` compares the white space around the output, too",
	}
}

func exactMatchKind() Kind {
	k := textKind(exactMatch, "the output equals the ideal; white space around both is ignored")
	k.Details, k.FailDetails = "`expected`, `got`: the two texts as they were compared", ""
	k.Keys = append(k.Keys, trimKey())
	return k
}

// plainTextKind is textKind for a kind that the documented format does not have.
func plainTextKind(name, doc string, keys ...Key) Kind {
	k := textKind(name, doc)
	k.Keys = slices.Concat(TextKeys(), []Key{idealKey()}, keys)
	return k
}

func equalsAnyKind() Kind {
	return plainTextKind("equals_any", "the output equals one of the ideals; white space around both is ignored", trimKey())
}

func containsAllKind() Kind {
	k := plainTextKind("contains_all", "the output contains each of the ideals")
	k.Details, k.FailDetails = "`terms`", "`terms`, `missing`"
	return k
}

func endsWithKind() Kind {
	return plainTextKind("ends_with", "the output ends with one of the ideals; white space after it is ignored", trimKey())
}

func containsKind() Kind {
	k := textKind(contains, "the output contains the ideal")
	k.Details, k.FailDetails = "`search_term`", ""
	return k
}

func containsAnyKind() Kind {
	return textKind(containsAny, "the output contains at least one of the ideals")
}

func startsWithKind() Kind {
	return plainTextKind(startsWith, "the output starts with one of the ideals; white space before it is ignored", trimKey())
}

// textMatcher is the kinds that look for ideals in the output.
type textMatcher struct {
	offline
	kind   *Kind
	exact  bool     // white space around the output counts
	terms  []string // as the author wrote them
	folded []string // as they are compared; shares the memory of terms if nothing changed
	how    Text
}

func newText(kind string, terms []string, how Text) *textMatcher {
	return trimmedText(kind, terms, how, false)
}

// trimmedText is newText for terms that are compared with the white space around them if exact is
// set.
func trimmedText(kind string, terms []string, how Text, exact bool) *textMatcher {
	t := &textMatcher{kind: kindOf(kind), terms: terms, folded: terms, how: how, exact: exact}
	for i, term := range terms {
		f := how.fold(term)
		if (kind == exactMatch || kind == equalsAny) && !exact {
			f = strip(f)
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

func (s *spec) textMatcher() matcher {
	terms, at, ok := s.terms()
	if !ok || len(terms) == 0 && s.kind.Name != containsAny {
		terms, at, ok = s.needTerms()
	}
	if !ok {
		return nil
	}
	kind := s.kind.Name
	if len(terms) == 0 {
		s.warn(at, "the ideal is an empty list, so this check always fails")
	}
	if len(terms) > 1 && (kind == exactMatch || kind == contains) {
		s.warn(at, "%s uses only the first of the %d ideals; contains_any looks for each of them", kind, len(terms))
		terms = slices.Clone(terms[:1])
	}
	t := trimmedText(kind, terms, s.compare(), s.Get("trim") != nil && !s.flag("trim"))
	if kind != exactMatch && kind != equalsAny && slices.Contains(t.folded, "") {
		if kind == startsWith || kind == endsWith {
			s.bad(at, "an ideal is empty: every output %s the empty text", verb(kind))
			return nil
		}
		s.warn(at, "an ideal is empty: every output contains the empty text, so this check never fails")
	}
	return t
}

// ExactMatch passes if the output equals want. White space around both is ignored.
func ExactMatch(want string, how *Text) *Check {
	return newCheck(exactMatch, newText(exactMatch, []string{want}, how.value()))
}

// Contains passes if the output contains term anywhere, also within a word. White space in term
// counts.
func Contains(term string, how *Text) *Check {
	return newCheck(contains, newText(contains, []string{term}, how.value()))
}

// ContainsAny passes if the output contains at least one of the terms.
func ContainsAny(terms []string, how *Text) *Check {
	return newCheck(containsAny, newText(containsAny, slices.Clone(terms), how.value()))
}

// StartsWith passes if the output starts with one of the prefixes. White space before the output is
// ignored.
func StartsWith(prefixes []string, how *Text) *Check {
	return newCheck(startsWith, newText(startsWith, slices.Clone(prefixes), how.value()))
}

// EqualsAny passes if the output equals one of the texts. White space around both is ignored.
func EqualsAny(texts []string, how *Text) *Check {
	return newCheck(equalsAny, newText(equalsAny, slices.Clone(texts), how.value()))
}

// ContainsAll passes if the output contains each of the terms.
func ContainsAll(terms []string, how *Text) *Check {
	return newCheck(containsAll, newText(containsAll, slices.Clone(terms), how.value()))
}

// EndsWith passes if the output ends with one of the suffixes. White space after the output is
// ignored.
func EndsWith(suffixes []string, how *Text) *Check {
	return newCheck(endsWith, newText(endsWith, slices.Clone(suffixes), how.value()))
}

func (t *textMatcher) describe(o options) {
	t.how.describe(o)
	o["ideal"] = t.folded
	if t.exact {
		o["trim"] = false
	}
}

// verb says what an output does that a kind accepts.
func verb(kind string) string {
	switch kind {
	case startsWith:
		return "starts with"
	case endsWith:
		return "ends with"
	case equalsAny:
		return "equals"
	}
	return "contains"
}

// finder returns whether a text has a term as the kind demands.
func (t *textMatcher) finder(output string) func(term string) bool {
	got := t.how.fold(output)
	find := func(with func(s, term string) bool) func(string) bool {
		return func(term string) bool { return with(got, term) }
	}
	switch t.kind.Name {
	case startsWith:
		if !t.exact {
			got = strings.TrimLeftFunc(got, isSpace)
		}
		return find(strings.HasPrefix)
	case endsWith:
		if !t.exact {
			got = strings.TrimRightFunc(got, isSpace)
		}
		return find(strings.HasSuffix)
	case equalsAny:
		if !t.exact {
			got = strip(got)
		}
		return find(func(s, term string) bool { return s == term })
	}
	return find(strings.Contains)
}

func (t *textMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	output := ev.Report.FinalOutput
	switch t.kind.Name {
	case exactMatch:
		return t.same(ev, output)
	case containsAll:
		return t.all(ev, output)
	}
	hit := slices.IndexFunc(t.folded, t.finder(output))

	verb := verb(t.kind.Name) + " "
	word, rest, _ := strings.Cut(verb, " ") // "starts with " without its s is "start with "
	none := "does not " + strings.TrimSuffix(word, "s") + " " + rest
	if len(t.terms) > 1 {
		none += "any of "
	}
	var v plumb.Verdict
	if hit >= 0 {
		v = decided(true, "the output "+verb+quote(t.terms[hit]))
		v.Expected = text.Shorten(t.terms[hit], shownLimit)
	} else {
		v = decided(false, "the output "+none+quotes(t.terms)+": "+quote(shown(ev, output)))
		v.Expected = text.Shorten(strings.Join(t.terms, "\n"), shownLimit)
	}
	v.Got = text.Shorten(shown(ev, output), shownLimit)

	switch {
	case t.kind.Name == contains:
		v.Details = details("search_term", t.terms[0])
	case hit >= 0:
		v.Details = details("matched_term", t.terms[hit])
	default:
		v.Details = details("terms", t.terms)
	}
	return v
}

// all is the verdict of contains_all. Its score is the part of the terms that the output contains.
func (t *textMatcher) all(ev *plumb.Evidence, output string) plumb.Verdict {
	found := t.finder(output)
	var missing []string
	for i, term := range t.folded {
		if !found(term) {
			missing = append(missing, t.terms[i])
		}
	}
	v := decided(true, "the output contains "+quotes(t.terms))
	v.Details = details("terms", t.terms)
	if len(missing) > 0 {
		v = decided(false, "the output does not contain "+quotes(missing)+": "+quote(shown(ev, output)))
		v.Score = 1 - float64(len(missing))/float64(len(t.terms))
		v.Details = details("terms", t.terms, "missing", missing)
	}
	v.Expected, v.Got = text.Shorten(strings.Join(t.terms, "\n"), shownLimit), text.Shorten(shown(ev, output), shownLimit)
	return v
}

func (t *textMatcher) same(ev *plumb.Evidence, output string) plumb.Verdict {
	fold := func(s string) string {
		if s = t.how.fold(s); t.exact {
			return s
		}
		return strip(s)
	}
	want, got := t.folded[0], fold(output)
	same := want == got
	got = fold(withoutSecrets(ev, output))
	v := decided(false, "the output is "+quote(got)+", want "+quote(want))
	if same {
		v, want = decided(true, "the output is "+quote(got)), got // without secrets
	}
	v.Expected, v.Got = text.Shorten(want, shownLimit), text.Shorten(got, shownLimit)
	v.Details = details("expected", text.Shorten(want, detailsLimit), "got", text.Shorten(got, detailsLimit))
	return v
}

// strip trims the white space that Python's str.strip trims, as the documented format does. Byte
// order marks and zero-width spaces stay.
func strip(s string) string { return strings.TrimFunc(s, isSpace) }

func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F
}

// lower lower-cases s as Python's str.lower does, which is full Unicode lower-casing. It differs
// from [strings.ToLower] for two letters: U+0130 keeps its dot, and a capital sigma at the end of a
// word becomes a final sigma. golang.org/x/text/cases finds other ends of words than Python.
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

// isFinal applies the Final_Sigma condition of the Unicode standard, section 3.13: a cased letter
// comes before, and none after, with any ignorable characters in between.
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
	case '\'', '.', ':', 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027,
		0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A:
		return true // Word_Break MidLetter, MidNumLet and Single_Quote, which package unicode does not have
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// asciiTypography replaces typographic forms with ASCII.
func asciiTypography(s string) string {
	if utf8.RuneCountInString(s) == len(s) { // ASCII
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
