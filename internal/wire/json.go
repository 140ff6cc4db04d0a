package wire

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object: the names and the values of its members in turn, in the order of the
// output. A value is nil, a bool, an int, an int64, a string, a [Raw], an Object or a []any.
type Object []any

// with adds members to an object if there is a reason to.
func (o Object) with(reason bool, members ...any) Object {
	if reason {
		return append(o, members...)
	}
	return o
}

// Raw is JSON as it is.
type Raw string

// OrNull returns s, or nil if it is empty.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Append appends a value as JSON. An indented value has a line for each member, as json.Indent
// makes it with two spaces. Invalid UTF-8 becomes U+FFFD. There is no reflection, because test
// servers share the machine with what they measure.
func Append(b []byte, v any, indented bool) []byte {
	if indented {
		return appendValue(b, v, "\n")
	}
	return appendValue(b, v, "")
}

// appendValue appends a value. indent is a line break with the spaces that follow it, or "" for one
// line.
func appendValue(b []byte, v any, indent string) []byte {
	switch v := v.(type) {
	case Object:
		return appendAll(b, "{}", v, 2, indent)
	case []any:
		return appendAll(b, "[]", v, 1, indent)
	case string:
		b, _ = jsontext.AppendQuote(b, v) // the error reports invalid UTF-8
		return b
	case Raw:
		return append(b, v...)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	default:
		return append(b, "null"...)
	}
}

// appendAll appends values between brackets. A member of an object has two of them.
func appendAll(b []byte, brackets string, values []any, each int, indent string) []byte {
	inner, colon := indent, ":"
	if indent != "" {
		inner, colon = indent+"  ", ": "
	}
	b = append(b, brackets[0])
	for i, v := range values {
		switch {
		case i%each == 1:
			b = append(b, colon...)
		case i > 0:
			b = append(append(b, ','), inner...)
		default:
			b = append(b, inner...)
		}
		b = appendValue(b, v, inner)
	}
	if len(values) > 0 {
		b = append(b, indent...)
	}
	return append(b, brackets[1])
}
