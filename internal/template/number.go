package template

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// number is a number as it is printed: as it was written, or as JavaScript prints a result.
type number string

// maxDigits limits the numbers that templates compute with, and compare.
const maxDigits = 4000

// rational returns the value of a number, or nil if it has too many digits.
func (n number) rational() *big.Rat {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if e, _ := strconv.Atoi(exponent); len(n) > maxDigits || e > maxDigits/4 || e < -maxDigits/4 {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

// value is the value of a number. It fails if that has too many digits.
func (n number) value(at int) *big.Rat {
	r := n.rational()
	if r == nil {
		failHint(at, "insert it as it is, or put it in quotes", "a template cannot compute with %s exactly", clip(string(n)))
	}
	return r
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
	r := number(text).rational()
	return err == nil && r != nil && r.Cmp(fromFloat(f).rational()) == 0
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

func fromInt(i int) number { return number(strconv.Itoa(i)) }

func fromBool(b bool) number {
	if b {
		return "1"
	}
	return "0"
}

// written returns the number of a text, as JavaScript prints it, but with all of its digits. 1.0 is 1.
func written(text string) number {
	n := number(strings.TrimPrefix(text, "+"))
	if r := n.rational(); r != nil && r.IsInt() {
		return number(r.Num().String())
	}
	if f, err := strconv.ParseFloat(string(n), 64); err == nil && Exact(string(n)) {
		return fromFloat(f)
	}
	return n
}

// compute returns the result of an arithmetic operator. Integers have exact results; others those of JavaScript.
func compute(at int, op string, a, b number) number {
	x, y := a.value(at), b.value(at)
	if x.IsInt() && y.IsInt() {
		if z := integers(at, op, x.Num(), y.Num()); z != nil {
			if text := z.String(); len(text) <= maxDigits {
				return number(text)
			}
			fail(at, "a template cannot compute with more than %d digits", maxDigits)
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
	case "**":
		fail(at, "** needs integers, and an exponent that is not negative")
	}
	return finite(at, f)
}

// integers returns the result of an operator if it is an integer, or else nil.
func integers(at int, op string, x, y *big.Int) *big.Int {
	z, rest := new(big.Int), new(big.Int)
	switch op {
	case "+":
		return z.Add(x, y)
	case "-":
		return z.Sub(x, y)
	case "*":
		return z.Mul(x, y)
	case "**":
		if y.Sign() < 0 {
			return nil
		}
		if y.BitLen() > 16 || x.BitLen()*int(y.Int64()) > 4*maxDigits {
			fail(at, "a template cannot compute with more than %d digits", maxDigits)
		}
		return z.Exp(x, y, nil)
	}
	if y.Sign() == 0 {
		fail(at, "a division by zero")
	}
	switch z.QuoRem(x, y, rest); {
	case op == "%":
		return rest
	case rest.Sign() == 0:
		return z
	case op == "//":
		if rest.Sign() != y.Sign() {
			z.Sub(z, big.NewInt(1))
		}
		return z
	}
	return nil
}

func finite(at int, f float64) number {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		fail(at, "the result is not a number")
	}
	return fromFloat(f)
}

var (
	decimals = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`)
	whole    = regexp.MustCompile(`^[+-]?[0-9]+`)
	// otherForms are numbers of JavaScript that templates do not have.
	otherForms = regexp.MustCompile(`^0[xXbBoO]|Infinity$`)
)

// toNumber returns a value as a number, and false if it is none.
func (s *Scope) toNumber(at int, v any) (number, bool) {
	switch v := v.(type) {
	case nil:
		return "0", true
	case bool:
		return fromBool(v), true
	case number:
		s.step(at, len(v)/8)
		return v, true
	case unclear:
		s.printed(at, v)
	case string:
		s.step(at, len(v)/8)
		text := strings.TrimFunc(v, isSpace)
		switch {
		case text == "":
			return "0", true
		case decimals.FindString(text) == text:
			return written(text), true
		case otherForms.MatchString(text):
			fail(at, "%q is a number in a form that templates do not have", clip(text))
		}
	}
	return "", false
}

func (s *Scope) number(at int, v any) number {
	n, ok := s.toNumber(at, v)
	if !ok {
		fail(at, "%s is not a number", describe(v))
	}
	return n
}
