package template

import (
	"cmp"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// number is a number as it is printed: as it was written, or as JavaScript prints a result.
type number string

// maxDigits limits the numbers that templates compute with, and compare.
const maxDigits = 4000

var (
	decimals = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`)
	whole    = regexp.MustCompile(`^[+-]?[0-9]+`)
	// otherForms are numbers of JavaScript that templates do not have.
	otherForms = regexp.MustCompile(`^0[xXbBoO]|Infinity$`)
)

// rational returns the value of a number, or nil if it has too many digits.
func rational(n number) *big.Rat {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if e, _ := strconv.Atoi(exponent); len(n) > maxDigits || max(e, -e) > maxDigits/4 {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

// Exact reports whether a float64, the number of JavaScript, has all digits of a number.
func Exact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	r := rational(number(text))
	return err == nil && r != nil && r.Cmp(rational(fromFloat(f))) == 0
}

// exactly returns the value of a number if that has all its digits.
func exactly[T any](n number, value T, ok bool) T {
	if !ok {
		failHint("insert it as it is, or put it in quotes", "a template cannot compute with %.40s exactly", n)
	}
	return value
}

// rational is the value of a number. It fails if that has too many digits.
func (s *Scope) rational(n number) *big.Rat {
	s.step(len(n) / 8)
	r := rational(n)
	return exactly(n, r, r != nil)
}

// float returns the value of a number. It fails if a float64 loses digits of it.
func float(n number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return exactly(n, f, Exact(string(n)))
}

// fromFloat returns a number as JavaScript prints it.
func fromFloat(f float64) number {
	need(!math.IsNaN(f) && !math.IsInf(f, 0), "the result is not a number")
	return number(jsontext.Float(f + 0).String()) // -0 is 0
}

func fromInt(i int) number { return number(strconv.Itoa(i)) }

// written returns the number of a text, as JavaScript prints it, but with all of its digits. 1.0 is 1.
func written(text string) number {
	n := number(strings.TrimPrefix(text, "+"))
	switch r := rational(n); {
	case r != nil && r.IsInt():
		return number(r.Num().String())
	case Exact(string(n)):
		return fromFloat(float(n))
	}
	return n
}

// toNumber returns a value as a number, and false if it is none.
func (s *Scope) toNumber(v any) (number, bool) {
	switch v := v.(type) {
	case nil:
		return "0", true
	case bool:
		return fromInt(map[bool]int{true: 1}[v]), true
	case number:
		return v, true
	case unclear:
		s.printed(v)
	case string:
		text := strings.TrimFunc(v, isSpace)
		need(!otherForms.MatchString(text), "%.40q is a number in a form that templates do not have", text)
		return written(cmp.Or(text, "0")), decimals.FindString(text) == text
	}
	return "", false
}

// number returns a value as a number.
func (s *Scope) number(v any) number {
	n, ok := s.toNumber(v)
	need(ok, "%s is not a number", describe(v))
	return n
}

// operation is an arithmetic operator: it sets z, and returns it.
type operation func(z, x, y *big.Rat) *big.Rat

// compute returns the result of an operation. Integers have exact results; others those of JavaScript.
func (s *Scope) compute(o operation, a, b any) number {
	m, n := s.number(a), s.number(b)
	x, y := s.rational(m), s.rational(n)
	if x.IsInt() && y.IsInt() {
		if z := o(new(big.Rat), x, y); z.IsInt() {
			text := z.Num().String()
			limitDigits(len(text))
			return number(text)
		}
	}
	f, _ := o(new(big.Rat), x.SetFloat64(float(m)), y.SetFloat64(float(n))).Float64()
	return fromFloat(f)
}

func limitDigits(n int) {
	need(n <= maxDigits, "a template cannot compute with more than %d digits", maxDigits)
}

func quotient(z, x, y *big.Rat) *big.Rat {
	need(y.Sign() != 0, "a division by zero")
	return z.Quo(x, y)
}

// floor rounds a quotient down. JavaScript rounds it before to a float64, unless it is of integers here.
func floor(z, x, y *big.Rat) *big.Rat {
	if quotient(z, x, y); !x.IsInt() || !y.IsInt() {
		f, _ := z.Float64()
		z.SetString(string(fromFloat(f)))
	}
	return z.SetInt(new(big.Int).Div(z.Num(), z.Denom()))
}

// remainder has the sign of x.
func remainder(z, x, y *big.Rat) *big.Rat {
	quotient(z, x, y)
	z.SetInt(new(big.Int).Quo(z.Num(), z.Denom()))
	return z.Sub(x, z.Mul(z, y))
}

func power(z, x, y *big.Rat) *big.Rat {
	need(x.IsInt() && y.IsInt() && y.Sign() >= 0, "** needs integers, and an exponent that is not negative")
	limitDigits(y.Num().BitLen() << 8) // at most 15 bits, so that their product with others is an int
	limitDigits(x.Num().BitLen() * int(y.Num().Int64()) / 4)
	return z.SetInt(new(big.Int).Exp(x.Num(), y.Num(), nil))
}
