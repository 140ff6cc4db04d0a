package digest

import (
	"bytes"
	"math"
	"strconv"
)

// maxDigits is the maximum number of digits of an integer.
const maxDigits = 4300

// number reads the longest prefix that is a number. The caller checks the rest.
func (p *parser) number() error {
	start, i := p.pos, p.pos
	if p.data[i] == '-' {
		i++
		if i < len(p.data) && p.data[i] == 'I' {
			return p.literal("-Infinity")
		}
	}
	whole := i
	i = digits(p.data, i)
	if i == whole {
		return p.fail(start, "expected a value, not %s", p.found(start))
	}
	if p.data[whole] == '0' {
		i = whole + 1
	}
	integer := i
	if i < len(p.data) && p.data[i] == '.' {
		if end := digits(p.data, i+1); end > i+1 {
			i = end
		}
	}
	if i < len(p.data) && p.data[i]|0x20 == 'e' {
		sign := i + 1
		if sign < len(p.data) && (p.data[sign] == '+' || p.data[sign] == '-') {
			sign++
		}
		if end := digits(p.data, sign); end > sign {
			i = end
		}
	}
	text := p.data[start:i]
	switch {
	case i > integer:
		p.out = appendFloat(p.out, parseFloat(text))
	case integer-whole > maxDigits:
		return p.fail(start, "an integer of %d digits; %d are allowed", integer-whole, maxDigits)
	case string(text) == "-0":
		p.out = append(p.out, '0')
	default:
		p.out = append(p.out, text...)
	}
	p.pos = i
	return nil
}

// digits returns the end of the digits that begin at i.
func digits(s []byte, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// parseFloat returns the double nearest to a number that matches the grammar; out of range it is an
// infinity. [strconv.ParseFloat] is correctly rounded, but reads an exponent of more than four digits
// as a smaller one. Such an exponent can matter: a long fraction can compensate any exponent.
func parseFloat(s []byte) float64 {
	const limit = math.MaxInt / 4 // no mantissa in memory can compensate such an exponent
	e := bytes.IndexAny(s, "eE")
	if e < 0 {
		f, _ := strconv.ParseFloat(string(s), 64)
		return f
	}
	mantissa, negative := bytes.CutPrefix(s[:e], []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	all := append(bytes.Clone(whole), fraction...)
	significant := bytes.TrimLeft(all, "0")
	exponent, _ := strconv.Atoi(string(s[e+1:])) // out of range gives the nearest int
	// The value is 0.significant times ten to the power of point.
	point := max(-limit, min(limit, exponent)) + len(whole) - (len(all) - len(significant))
	f, _ := strconv.ParseFloat("0."+string(significant)+"e"+strconv.Itoa(point), 64)
	if negative {
		return -f
	}
	return f
}

// appendFloat appends f with the fewest digits that read back as f.
func appendFloat(out []byte, f float64) []byte {
	switch abs := math.Abs(f); {
	case math.IsInf(f, 1):
		return append(out, "Infinity"...)
	case math.IsInf(f, -1):
		return append(out, "-Infinity"...)
	case f == 0 || abs >= 1e-4 && abs < 1e16:
		start := len(out)
		out = strconv.AppendFloat(out, f, 'f', -1, 64)
		if bytes.IndexByte(out[start:], '.') < 0 {
			out = append(out, ".0"...)
		}
		return out
	default:
		return strconv.AppendFloat(out, f, 'e', -1, 64)
	}
}
