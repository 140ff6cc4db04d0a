package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

func numericKind() Kind {
	return Kind{
		Name: "numeric", Doc: "the last number in the output is close enough", Reads: "output",
		Keys: []Key{
			{Name: "value", Type: "number", Default: "the last number of the ideal", Doc: "the expected number"},
			idealKey(),
			{
				Name: "tolerance", Type: "number", Min: new(0.0), Default: "0",
				Doc: "the largest accepted difference from the expected number",
			},
			{
				Name: "tolerance_percent", Type: "number", Min: new(0.0), Default: "0",
				Doc: "the same in percent of the expected number; the wider tolerance applies",
			},
		},
		Details: "`expected` (a list), `got`", FailDetails: "the same; without `got` if the output has no number",
		parse: (*spec).numericMatcher,
	}
}

func (s *spec) numericMatcher() matcher {
	want, at := []string{string(s.raw("value"))}, "value"
	if s.Get("value") == nil {
		var terms []string
		var ok bool
		if terms, at, ok = s.terms(); !ok {
			s.bad("", `numeric needs a "value" or an "ideal"`)
			return nil
		}
		if len(terms) == 0 {
			s.bad(at, "the ideal is an empty list")
			return nil
		}
		want = nil
		for _, t := range terms {
			number, ok := lastNumber(t)
			if !ok {
				s.bad(at, "the ideal %s has no number", quote(t))
				return nil
			}
			want = append(want, number)
		}
	}
	tolerance := func(key string) string {
		return cmp.Or(string(s.raw(key)), "0")
	}
	m, err := newNumeric(want, tolerance("tolerance"), tolerance("tolerance_percent"))
	s.invalid(at, err)
	return m
}

// Tolerance is how far a number may be from the expected one. The wider bound counts, and the zero
// value accepts only the exact number.
type Tolerance struct {
	Absolute float64
	// Percent is relative to the expected number.
	Percent float64
}

// Numeric passes if the last number in the output is close enough to want. docs/assertions.md lists
// the spellings of numbers that are read.
func Numeric(want float64, within Tolerance) (*Check, error) {
	m, err := newNumeric([]string{fmt.Sprint(want)}, fmt.Sprint(within.Absolute), fmt.Sprint(within.Percent))
	return tryCheck("numeric", m, err)
}

// numericMatcher keeps its numbers as texts that [rational] can read, because they are small and
// exact.
type numericMatcher struct {
	offline
	want              []string
	absolute, percent string
}

func newNumeric(want []string, absolute, percent string) (*numericMatcher, error) {
	for _, s := range want {
		if _, err := rational(s); err != nil {
			return nil, err
		}
	}
	for _, s := range []*string{&absolute, &percent} {
		switch r, err := rational(*s); {
		case err != nil:
			return nil, err
		case r.Sign() < 0:
			return nil, errors.New("a tolerance is negative")
		case r.Sign() == 0:
			*s = "0"
		}
	}
	return &numericMatcher{want: want, absolute: absolute, percent: percent}, nil
}

func (n *numericMatcher) describe(o options) {
	exact := func(s string) string {
		r, err := rational(s)
		if err != nil {
			return s
		}
		return r.RatString()
	}
	values := make([]string, len(n.want))
	for i, s := range n.want {
		values[i] = exact(s)
	}
	o["value"] = values
	o["tolerance"] = exact(n.absolute)
	o["tolerance_percent"] = exact(n.percent)
}

func (n *numericMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	output := ev.Report.FinalOutput
	wanted := strings.Join(n.want, " or ")
	if within := n.within(); within != "" {
		wanted += within
	}
	s, ok := lastNumber(output)
	output = withoutSecrets(ev, output)
	if !ok {
		v := decided(false, "the output has no number, want "+wanted+": "+quote(output))
		v.Expected, v.Got, v.Details = wanted, text.Shorten(output, shownLimit), details("expected", n.want)
		return v
	}
	got, err := rational(s)
	if rest, _ := lastNumber(output); rest != s {
		s = partOfSecret
	}
	var v plumb.Verdict
	if err != nil { // such as 1e999999
		v = decided(false, "the last number cannot be read: "+err.Error())
	} else {
		near := slices.ContainsFunc(n.want, func(want string) bool { return n.near(got, want) })
		v = decided(near, "the last number is "+text.Shorten(s, quoteLimit)+", want "+wanted)
	}
	v.Expected, v.Got = wanted, text.Shorten(s, shownLimit)
	v.Details = details("expected", n.want, "got", v.Got)
	return v
}

func (n *numericMatcher) within() string {
	var bounds []string
	if n.absolute != "0" {
		bounds = append(bounds, n.absolute)
	}
	if n.percent != "0" {
		bounds = append(bounds, n.percent+" %")
	}
	if len(bounds) == 0 {
		return ""
	}
	return " ± " + strings.Join(bounds, " or ")
}

// near calculates exactly, so that 1.1 is within 0.1 of 1.
func (n *numericMatcher) near(got *big.Rat, want string) bool {
	w, err1 := rational(want)
	absolute, err2 := rational(n.absolute)
	percent, err3 := rational(n.percent)
	if errors.Join(err1, err2, err3) != nil {
		return false // newNumeric has read them all
	}
	diff := new(big.Rat).Sub(got, w)
	diff.Abs(diff)
	if diff.Cmp(absolute) <= 0 {
		return true
	}
	relative := percent.Mul(percent, w.Abs(w))
	return diff.Cmp(relative.Quo(relative, big.NewRat(100, 1))) <= 0
}

// rational reads a decimal number exactly. A number whose arithmetic would be slow is an error.
func rational(s string) (*big.Rat, error) {
	const maxLength, maxExponent = 1000, 1000
	if len(s) > maxLength {
		return nil, fmt.Errorf("%s has too many digits", text.Shorten(s, quoteLimit))
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		if e, err := strconv.Atoi(s[at+1:]); err != nil || max(e, -e) > maxExponent {
			return nil, fmt.Errorf("%s has too large an exponent", text.Shorten(s, quoteLimit))
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || strings.ContainsAny(s, "/_xXbBoOpP") {
		return nil, fmt.Errorf("%s is not a number", quote(s))
	}
	return r, nil
}

// lastNumber returns the last number of a text as a plain decimal, such as "-1234.5e-3". Digits
// within a word, as in H2O, count only if there is no other number.
//
// The table in docs/assertions.md lists the spellings that are read. Add none: each new spelling
// changes how old outputs are read.
func lastNumber(text string) (string, bool) {
	s := asciiNumbers(text)
	var last, inWord string
	for at := 0; at < len(s); {
		if !isDigit(s[at]) && (s[at] != '.' || at+1 == len(s) || !isDigit(s[at+1]) || at > 0 && isDigit(s[at-1])) {
			at++
			continue
		}
		number, end := scanNumber(s, at)
		if at > 0 && (isLetter(s[at-1]) || s[at-1] == '_') {
			inWord = number
		} else {
			last = sign(s, at) + number
		}
		at = end
	}
	if last == "" {
		last = inWord
	}
	return last, last != ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// sign returns "-" if the number at at is negative: a minus comes directly before it, or before its
// currency, and no letter, digit or bracket comes directly before the minus.
func sign(s string, at int) string {
	before := s[:at]
	if r, size := utf8.DecodeLastRuneInString(before); unicode.Is(unicode.Sc, r) {
		before = strings.TrimSuffix(before[:len(before)-size], "\\") // LaTeX writes \$
	}
	before, ok := strings.CutSuffix(before, "-")
	if !ok {
		return ""
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	if before != "" && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-)]}_%", r)) {
		return ""
	}
	return "-"
}

// scanNumber reads the number that begins at at, and returns it as a plain decimal without its
// sign, and its end.
func scanNumber(s string, at int) (number string, end int) {
	whole, end := scanGroups(s, at)
	number = whole
	fraction := digits(s, end+1)
	if fraction > 0 && end < len(s) && (s[end] == '.' || s[end] == ',' && dotted(s[at:end])) {
		number += "." + s[end+1:end+1+fraction]
		end += 1 + fraction
	}
	if strings.HasPrefix(number, ".") {
		number = "0" + number
	}
	if number == "10" {
		if exponent, n := scanPower(s[end:]); n > 0 {
			return "1e" + exponent, end + n
		}
	}
	if exponent, stop := scanExponent(s, end); stop > end {
		return number + "e" + exponent, stop
	}
	return number, end
}

// dotted reports whether a whole number has its thousands marked by dots, so that a comma begins
// its fraction.
func dotted(group string) bool { return strings.Contains(group, ".") }

// scanGroups reads whole digits. They may be in groups of three (or, before the last three, of two,
// as in India) with a mark between the groups: a comma, apostrophe, underscore, narrow or no-break
// space, LaTeX's {,} and \, or a dot that cannot be a decimal point.
func scanGroups(s string, at int) (whole string, end int) {
	first := digits(s, at)
	end = at + first
	whole = s[at:end]
	if first == 0 || first > 3 {
		return whole, end
	}
	const most = 20 // more groups are a list; the limit keeps the scan linear
	for _, mark := range []string{",", "'", "\u2019", "_", "\u00a0", "{,}", `\,`, "."} {
		groups, next, sizes := whole, end, []int(nil)
		for len(sizes) < most && strings.HasPrefix(s[next:], mark) {
			n := digits(s, next+len(mark))
			if n != 2 && n != 3 {
				break
			}
			groups += s[next+len(mark) : next+len(mark)+n]
			next += len(mark) + n
			sizes = append(sizes, n)
		}
		// A group that other digits follow is not a group: 1,234,5 is a list.
		if len(sizes) == 0 || !groupSizes(first, sizes) ||
			strings.HasPrefix(s[next:], mark) && digits(s, next+len(mark)) > 0 {
			continue
		}
		if mark == "." && len(sizes) == 1 && (!strings.HasPrefix(s[next:], ",") || digits(s, next+1) == 0) {
			continue // 1.234 is a decimal, 1.234,5 is not
		}
		return groups, next
	}
	return whole, end
}

func groupSizes(first int, sizes []int) bool {
	if sizes[len(sizes)-1] != 3 {
		return false
	}
	for _, n := range sizes[:len(sizes)-1] {
		if n != sizes[0] {
			return false
		}
	}
	return sizes[0] == 3 || first <= 2
}

// digits counts the digits at index at of s, which may be past its end.
func digits(s string, at int) int {
	n := 0
	for at+n < len(s) && isDigit(s[at+n]) {
		n++
	}
	return n
}

// scanExponent reads e-5, or a power of ten such as × 10^5, \times 10^{-5} or ×10⁵, and returns its
// end. Without an exponent the end is at.
func scanExponent(s string, at int) (exponent string, end int) {
	rest := s[at:]
	if rest != "" && rest[0]|0x20 == 'e' {
		if e, n := scanSigned(rest[1:]); n > 0 && (len(rest) == 1+n || !isLetter(rest[1+n])) {
			return e, at + 1 + n
		}
		return "", at
	}
	trimmed := strings.TrimLeft(rest, " \u00a0")
	for _, times := range []string{"\u00d7", `\times`, `\cdot`, "\u00b7", "\u22c5", "*", "x"} {
		power, ok := strings.CutPrefix(trimmed, times)
		if !ok {
			continue
		}
		power, ok = strings.CutPrefix(strings.TrimLeft(power, " \u00a0"), "10")
		if !ok {
			continue
		}
		if e, n := scanPower(power); n > 0 {
			return e, at + len(rest) - len(power) + n
		}
	}
	return "", at
}

// scanPower reads the exponent after the 10 of a power of ten: ^5, ^{-5}, **5 or a superscript.
func scanPower(s string) (exponent string, length int) {
	for _, open := range []string{"^{", "^(", "^", "**"} {
		power, ok := strings.CutPrefix(s, open)
		if !ok {
			continue
		}
		e, n := scanSigned(power)
		if n == 0 {
			return "", 0
		}
		n += len(open)
		if open != "^" && open != "**" && n < len(s) {
			n++ // the closing bracket
		}
		return e, n
	}
	return scanSuperscript(s)
}

func scanSigned(s string) (number string, length int) {
	signed := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		signed = 1
	}
	n := digits(s, signed)
	if n == 0 {
		return "", 0
	}
	return strings.TrimPrefix(s[:signed+n], "+"), signed + n
}

func scanSuperscript(s string) (number string, length int) {
	const superscripts = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
	for i, r := range s {
		if r == '\u207b' && number == "" {
			number = "-"
			continue
		}
		at := strings.IndexRune(superscripts, r)
		if at < 0 || len(number) > 8 {
			break
		}
		number += string(rune('0' + utf8.RuneCountInString(superscripts[:at])))
		length = i + utf8.RuneLen(r)
	}
	return number, length
}

// asciiNumbers rewrites the digits, minus signs and marks of other scripts as ASCII; other letters
// stay.
func asciiNumbers(s string) string {
	if utf8.RuneCountInString(s) == len(s) { // ASCII
		return s
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case 0x2212, 0xFE63, 0xFF0D: // minus signs
			return '-'
		case 0x66B, 0xFF0E: // decimal points
			return '.'
		case 0x66C: // thousands
			return ','
		case 0x2009, 0x202F, 0x2007: // thin, narrow no-break and figure space
			return 0xA0
		}
		if r < utf8.RuneSelf || !unicode.IsDigit(r) {
			return r
		}
		zero := r // the digits of each script follow each other, from its zero
		for unicode.IsDigit(zero - 1) {
			zero--
		}
		return '0' + (r-zero)%10
	}, s)
}
