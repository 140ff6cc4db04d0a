// Package text has the words and figures that people read: cleaned texts from outside, counts with
// their nouns, money, shares, sizes, durations, short hashes, and columns. All messages, reports and
// pages use it, so that one thing has one form.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Count renders a number with thousands separators: 9,830.
func Count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Plural renders a count with its noun: "1 case", "2 cases". many is the plural of a noun that does
// not end in s.
func Plural(n int, noun string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case many != nil:
		return Count(n) + " " + many[0]
	}
	return Count(n) + " " + noun + "s"
}

// Money renders US dollars with two significant digits below one dollar: $12.30, $0.0042.
func Money(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case math.Abs(usd) >= 1:
		whole, fraction, _ := strings.Cut(strconv.FormatFloat(usd, 'f', 2, 64), ".")
		n, _ := strconv.ParseInt(whole, 10, 64) // a run that costs 10^18 dollars shows $0
		return "$" + Count(n) + "." + fraction
	case math.Abs(usd) >= 0.1:
		return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
	default:
		digits := min(9, 1-int(math.Floor(math.Log10(math.Abs(usd)))))
		return "$" + strconv.FormatFloat(usd, 'f', digits, 64)
	}
}

// Percent renders a share without rounding up to 100 % or down to 0 %.
func Percent(share float64) string {
	p := math.Round(share * 100)
	switch {
	case p == 100 && share < 1:
		return ">99 %"
	case p == 0 && share > 0:
		return "<1 %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// Shares renders the bounds of a share, with a dash between them. They are rounded outward: the
// shown interval is never narrower than the computed one.
func Shares(lo, hi float64, dash string) string {
	return fmt.Sprintf("%.0f%s%.0f %%", math.Floor(lo*100), dash, math.Ceil(hi*100))
}

// Round removes the noise in the last digits of a sum of fractions: 12 digits are left.
func Round(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// Size renders a number of bytes: "300 bytes", "256 KiB", "1.5 GiB".
func Size(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	f, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if f < 1<<10 {
			break
		}
		f, unit = f/(1<<10), next
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + " " + unit
}

// ShortHash keeps the first hexadecimal digits of a hash, after the name of its algorithm if it has
// one.
func ShortHash(hash string, digits int) string {
	at := strings.IndexByte(hash, ':') + 1
	return hash[:min(len(hash), at+digits)]
}

// Clip returns at most n bytes of s, without a part of a character at the end.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Shorten is [Clip] with an ellipsis after a text that was cut.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Clip(s, n) + "…"
}
