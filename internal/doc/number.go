package doc

import (
	"fmt"
	"regexp"
	"strconv"
)

var decimal = regexp.MustCompile(`^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)

// ParseNumber parses a number that a user gives: a finite decimal such as 12, -0.5 or 1e-3. Other
// spellings, such as 0x1p-2, 1_000 or inf, are errors.
func ParseNumber(text string) (float64, error) {
	if !decimal.MatchString(text) {
		return 0, fmt.Errorf("%q is not a decimal number", text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("the number %s is too large", text)
	}
	return f, nil
}

// ParseWhole is [ParseNumber] for whole numbers in digits.
func ParseWhole(text string) (int64, error) {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number in decimal digits", text)
	}
	return i, nil
}
