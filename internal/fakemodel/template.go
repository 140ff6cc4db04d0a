package fakemodel

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error reports invalid UTF-8
	return b
}

// quote returns s as a JSON string.
func quote(s string) string { return string(appendString(nil, s)) }

// template appends t with the arguments in place of its verbs: %s is a JSON string, %v a plain
// text, %d a number. It is fmt.Appendf without reflection, because the server shares the machine
// with the measured tool.
func template(b []byte, t string, args ...any) []byte {
	for {
		before, verb, found := strings.Cut(t, "%")
		b = append(b, before...)
		if !found {
			return b
		}
		switch a := args[0].(type) {
		case int:
			b = strconv.AppendInt(b, int64(a), 10)
		case int64:
			b = strconv.AppendInt(b, a, 10)
		case string:
			if verb[0] == 's' {
				b = appendString(b, a)
			} else {
				b = append(b, a...)
			}
		}
		t, args = verb[1:], args[1:]
	}
}
