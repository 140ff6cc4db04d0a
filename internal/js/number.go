package js

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// Number is a number as it is printed: as it was written, or as JavaScript prints a result.
type Number string

// The limits of the numbers to compute with and to compare, and of the results.
const (
	maxDigits = 4000
	maxBits   = maxDigits * 10 / 3
)

var errDigits = fmt.Errorf("a template cannot compute with more than %d digits", maxDigits)

// rational returns the value of a number, or nil if it has too many digits.
func (n Number) rational() *big.Rat {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if e, _ := strconv.Atoi(exponent); len(n) > maxDigits || max(e, -e) > maxDigits/4 {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

func (n Number) inexact() error {
	err := fmt.Errorf("a template cannot compute with %.40s exactly", string(n))
	return plumb.WithHint(err, "insert it as it is, or put it in quotes")
}

// Exact reports whether a float64, which is the number of JavaScript, has all digits of a number.
func (n Number) Exact() bool {
	f, err := strconv.ParseFloat(string(n), 64)
	r := n.rational()
	return err == nil && r != nil && r.Cmp(shown(f).rational()) == 0
}

// Float returns the value of a number. It is an error if a float64 loses digits of it.
func (n Number) Float() (float64, error) {
	if !n.Exact() {
		return 0, n.inexact()
	}
	return strconv.ParseFloat(string(n), 64)
}

// Whole reports whether a number is an integer.
func (n Number) Whole() bool {
	r := n.rational()
	return r != nil && r.IsInt()
}

// Int returns the value of an integer that is not large, and whether a number is one.
func (n Number) Int() (int, bool) {
	r := n.rational()
	if r == nil || !r.IsInt() || r.Num().CmpAbs(big.NewInt(math.MaxInt32)) > 0 {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

// Abs returns a number without its sign.
func (n Number) Abs() Number { return Number(strings.TrimPrefix(string(n), "-")) }

// shown returns a float64 as JavaScript prints it.
func shown(f float64) Number { return Number(jsontext.Float(f + 0).String()) } // -0 is 0

// FromFloat returns the number of a result.
func FromFloat(f float64) (Number, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", errors.New("the result is not a number")
	}
	return shown(f), nil
}

// FromInt returns a number.
func FromInt(i int) Number { return Number(strconv.Itoa(i)) }

// Parse returns the number of a decimal text as JavaScript prints it, such as 1 for 1.0, but with
// all of its digits.
func Parse(text string) Number {
	n := Number(strings.TrimPrefix(text, "+"))
	if r := n.rational(); r != nil && r.IsInt() {
		return Number(r.Num().String())
	}
	if f, err := n.Float(); err == nil {
		return shown(f)
	}
	return n
}

var (
	decimal = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`)
	integer = regexp.MustCompile(`^[+-]?[0-9]+`)
	// otherForms are numbers of JavaScript that are not decimal.
	otherForms = regexp.MustCompile(`^0[xXbBoO]|Infinity$`)
)

// ParseFloat returns the decimal number that a value begins with, or [Undefined].
func ParseFloat(v any) (any, error) { return parse(v, decimal) }

// ParseInt returns the integer that a value begins with, or [Undefined].
func ParseInt(v any) (any, error) { return parse(v, integer) }

func parse(v any, form *regexp.Regexp) (any, error) {
	text := ""
	switch v := v.(type) {
	case Number:
		text = string(Parse(string(v)))
	case string:
		text = strings.TrimLeftFunc(v, IsSpace)
	case nil, bool, Undefined:
	default:
		return nil, fmt.Errorf("a text or a number is needed, not %s", KindOf(v))
	}
	if n := form.FindString(text); n != "" {
		return Parse(n), nil
	}
	return Undefined{}, nil
}

// ToFixed returns a number with decimal places. Its binary value decides how it is rounded.
func ToFixed(v any, places int) (string, error) {
	n, err := NumberOf(v)
	if err != nil {
		return "", err
	}
	f, err := n.Float()
	if err == nil && math.Abs(f) >= 1e21 {
		err = errDigits
	}
	return new(big.Rat).SetFloat64(f).FloatString(places), err
}

// NumberOf returns the number of a value.
func NumberOf(v any) (Number, error) {
	n, ok, err := toNumber(v)
	if err == nil && !ok {
		err = fmt.Errorf("%s is not a number", KindOf(v))
	}
	return n, err
}

// toNumber returns the number of a value. ok is false if it has none.
func toNumber(v any) (n Number, ok bool, err error) {
	switch v := v.(type) {
	case nil:
		return "0", true, nil
	case bool:
		return FromInt(map[bool]int{true: 1}[v]), true, nil
	case Number:
		return v, true, nil
	case unclear:
		_, err = Print(v)
	case string:
		text := cmp.Or(strings.TrimFunc(v, IsSpace), "0")
		if otherForms.MatchString(text) {
			err = fmt.Errorf("%.40q is a number in a form that templates do not have", text)
		}
		return Parse(text), decimal.FindString(text) == text, err
	}
	return "", false, err
}

// compare returns the order of two numbers.
func (n Number) compare(m Number) (int, error) {
	x, y := n.rational(), m.rational()
	switch {
	case x == nil:
		return 0, n.inexact()
	case y == nil:
		return 0, m.inexact()
	}
	return x.Cmp(y), nil
}

// Compute returns the result of an arithmetic operator: +, -, *, /, //, % or **. That of integers
// is exact, and others are those of JavaScript.
func Compute(op string, a, b any) (Number, error) {
	m, errM := NumberOf(a)
	n, errN := NumberOf(b)
	if err := cmp.Or(errM, errN); err != nil {
		return "", err
	}
	if x, y := m.rational(), n.rational(); x != nil && y != nil && x.IsInt() && y.IsInt() {
		z, err := operate(op, x, y)
		switch {
		case err != nil:
			return "", err
		case z.IsInt() && z.Num().BitLen() > maxBits:
			return "", errDigits
		case z.IsInt():
			return Number(z.Num().String()), nil
		}
	}
	f, errM := m.Float()
	g, errN := n.Float()
	if err := cmp.Or(errM, errN); err != nil {
		return "", err
	}
	z, err := operate(op, new(big.Rat).SetFloat64(f), new(big.Rat).SetFloat64(g))
	if err != nil {
		return "", err
	}
	f, _ = z.Float64()
	return FromFloat(f)
}

// operate computes with integers, or with the values of float64.
func operate(op string, x, y *big.Rat) (*big.Rat, error) {
	z, whole := new(big.Rat), x.IsInt() && y.IsInt()
	switch op {
	case "+":
		return z.Add(x, y), nil
	case "-":
		return z.Sub(x, y), nil
	case "*":
		return z.Mul(x, y), nil
	case "**":
		switch exponent := y.Num(); {
		case !whole || exponent.Sign() < 0:
			return nil, errors.New("** needs integers, and an exponent that is not negative")
		case exponent.BitLen() > 16 || x.Num().BitLen()*int(exponent.Int64()) > maxBits:
			return nil, errDigits
		}
		return z.SetInt(new(big.Int).Exp(x.Num(), y.Num(), nil)), nil
	}
	if y.Sign() == 0 {
		return nil, errors.New("a division by zero")
	}
	z.Quo(x, y)
	switch f, _ := z.Float64(); {
	case op == "//" && whole:
		z.SetInt(new(big.Int).Div(z.Num(), z.Denom()))
	case op == "//":
		z.SetFloat64(math.Floor(f)) // an infinite one stays too large for a float64
	case op == "%":
		z.SetInt(new(big.Int).Quo(z.Num(), z.Denom()))
		z.Sub(x, z.Mul(z, y))
	}
	return z, nil
}
