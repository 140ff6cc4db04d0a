package template

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// number is a number as it is printed: as it was written, or as JavaScript prints a result.
type number string

// decimal is the value 0.digits × 10^exp. The digits have no zeros at their ends; zero has none.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

func (n number) decimal() (d decimal) {
	text := string(n)
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	const far = 1 << 40 // beyond any number that has its digits in a document
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > far || e < -far {
			e = far
			if strings.HasPrefix(exponent, "-") {
				e = -far
			}
		}
		d.exp = e
	}
	d.digits = strings.TrimLeft(whole+fraction, "0")
	d.exp += len(whole) - (len(whole) + len(fraction) - len(d.digits))
	if d.digits = strings.TrimRight(d.digits, "0"); d.digits == "" {
		return decimal{}
	}
	return d
}

// compare returns -1, 0 or 1.
func (d decimal) compare(o decimal) int {
	if d == o {
		return 0
	}
	less := -1
	switch {
	case d.negative != o.negative || d.digits == "" || o.digits == "":
		if d.negative || d.digits == "" && !o.negative {
			return -1
		}
		return 1
	case d.negative:
		less = 1
	}
	if d.exp < o.exp || d.exp == o.exp && d.digits < o.digits {
		return less
	}
	return -less
}

// maxDigits limits the integers that templates compute with.
const maxDigits = 4000

// integer returns the value of a number that is an integer of a sensible size, or nil.
func (n number) integer() *big.Int {
	if len(n) < 18 {
		if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return big.NewInt(i)
		}
	}
	d := n.decimal()
	switch {
	case d.digits == "":
		return new(big.Int)
	case len(d.digits) > d.exp || d.exp > maxDigits:
		return nil
	}
	i, _ := new(big.Int).SetString(d.digits+strings.Repeat("0", d.exp-len(d.digits)), 10)
	if d.negative {
		i.Neg(i)
	}
	return i
}

// float returns the value of a number. It fails if a float64 loses digits of it.
func (n number) float(at int) float64 {
	if !Exact(string(n)) {
		failHint(at, "insert it as it is, or put it in quotes", "a template cannot compute with %s exactly", clip(string(n)))
	}
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// Exact reports whether a float64, the number of JavaScript, has all digits of a number.
func Exact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && fromFloat(f).decimal() == number(text).decimal()
}

// small returns the value of a number that is an integer of at most 32 bits.
func (n number) small() (int, bool) {
	i := n.integer()
	if i == nil || !i.IsInt64() || i.Int64() != int64(int32(i.Int64())) { //nolint:gosec // compared
		return 0, false
	}
	return int(i.Int64()), true
}

// fromFloat returns a number as JavaScript prints it.
func fromFloat(f float64) number {
	switch abs := math.Abs(f); {
	case f == 0:
		return "0"
	case abs >= 1e-6 && abs < 1e21:
		return number(strconv.FormatFloat(f, 'f', -1, 64))
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	return number(strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text))
}

// written returns the number of a text, as JavaScript prints it, but with all of its digits. 1.0 is 1.
func written(text string) number {
	n := number(strings.TrimPrefix(text, "+"))
	f, err := strconv.ParseFloat(string(n), 64)
	if err == nil && math.Abs(f) < 1<<53 && fromFloat(f).decimal() == n.decimal() {
		return fromFloat(f)
	}
	if i := n.integer(); i != nil {
		return number(i.String())
	}
	return n
}

func fromInt(i int) number { return number(strconv.Itoa(i)) }

// compute returns the result of an arithmetic operator. Integers have exact results; others those of JavaScript.
func compute(at int, op string, a, b number) number {
	x, y := a.integer(), b.integer()
	if x != nil && y != nil {
		z := new(big.Int)
		switch {
		case op == "+":
			return exact(at, z.Add(x, y))
		case op == "-":
			return exact(at, z.Sub(x, y))
		case op == "*":
			return exact(at, z.Mul(x, y))
		case op == "**":
			if y.Sign() < 0 {
				break
			}
			if y.BitLen() > 16 || x.BitLen()*int(y.Int64()) > 3*maxDigits {
				fail(at, "a template cannot compute with more than %d digits", maxDigits)
			}
			return exact(at, z.Exp(x, y, nil))
		case y.Sign() == 0:
			fail(at, "a division by zero")
		case op == "%":
			return exact(at, z.Rem(x, y))
		default:
			rest := new(big.Int)
			z.QuoRem(x, y, rest)
			if op == "//" && rest.Sign() != 0 && rest.Sign() != y.Sign() {
				z.Sub(z, big.NewInt(1))
			}
			if op == "//" || rest.Sign() == 0 {
				return exact(at, z)
			}
		}
	}
	f, g := a.float(at), b.float(at)
	switch op {
	case "+":
		f += g
	case "-":
		f -= g
	case "*":
		f *= g
	case "/":
		f /= g
	case "//":
		f = math.Floor(f / g)
	case "%":
		f = math.Mod(f, g)
	default:
		fail(at, "** needs integers, and an exponent that is not negative")
	}
	return finite(at, f)
}

func exact(at int, i *big.Int) number {
	if i.BitLen() > 4*maxDigits {
		fail(at, "a template cannot compute with more than %d digits", maxDigits)
	}
	return number(i.String())
}

func finite(at int, f float64) number {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		fail(at, "the result is not a number")
	}
	return fromFloat(f)
}

// fixed returns a number with a number of decimal places, as toFixed of JavaScript.
func (n number) fixed(at, places int) string {
	f := n.float(at)
	if places < 0 || places > 100 || math.Abs(f) >= 1e21 {
		fail(at, "toFixed needs a number of places from 0 to 100")
	}
	r := new(big.Rat).SetFloat64(math.Abs(f)) // the binary value decides, as in JavaScript
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	r.Mul(r, new(big.Rat).SetInt(scale)).Add(r, big.NewRat(1, 2))
	text := new(big.Int).Quo(r.Num(), r.Denom()).String()
	if len(text) <= places {
		text = strings.Repeat("0", places+1-len(text)) + text
	}
	if places > 0 {
		text = text[:len(text)-places] + "." + text[len(text)-places:]
	}
	if f < 0 {
		text = "-" + text
	}
	return text
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 40
	if r := []rune(text[:min(len(text), 4*most)]); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
