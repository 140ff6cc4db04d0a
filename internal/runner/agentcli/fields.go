package agentcli

import (
	"strings"

	"github.com/tidwall/gjson"
)

// fields are the members of one JSON object, found in one pass over it: a record may be a megabyte, and every look for a
// field by [gjson.Result.Get] starts at its beginning. Values are parsed when they are asked for.
type fields struct {
	names, values []string
}

// fieldsOf finds the members of an object; of anything else there are none.
func fieldsOf(v gjson.Result) fields {
	var f fields
	f.of(v)
	return f
}

// of finds the members of an object in place of those that f has; of anything else there are none.
func (f *fields) of(v gjson.Result) {
	if f.names, f.values = f.names[:0], f.values[:0]; v.IsObject() {
		f.read(v.Raw)
	}
}

// read finds the members of an object in place of those that f has.
func (f *fields) read(raw string) {
	if cap(f.names) == 0 {
		const some = 8
		f.names, f.values = make([]string, 0, some), make([]string, 0, some)
	}
	f.names, f.values = f.names[:0], f.values[:0]
	members(raw, func(name, value string) bool {
		f.names, f.values = append(f.names, name), append(f.values, value)
		return true
	})
}

// get returns the first member of a name, as [gjson.Result.Get] does.
func (f *fields) get(name string) gjson.Result {
	for i, n := range f.names {
		if n == name {
			return gjson.Parse(f.values[i])
		}
	}
	return gjson.Result{}
}

// text returns the first of the members that is text and not empty.
func (f *fields) text(names ...string) string {
	for _, name := range names {
		if v := f.get(name); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}

// members calls fn with each member of an object, or each element of an array, until fn returns false. Values are as they
// are written, names too, without their quotes. The JSON has to be valid; anything else ends early.
func members(raw string, fn func(name, value string) bool) {
	i := skipBlank(raw, 0)
	if i >= len(raw) || raw[i] != '{' && raw[i] != '[' {
		return
	}
	object := raw[i] == '{'
	for i = skipBlank(raw, i+1); i < len(raw) && raw[i] != '}' && raw[i] != ']'; i = skipBlank(raw, i) {
		if raw[i] == ',' {
			i++
			continue
		}
		name := ""
		if object {
			end := skipValue(raw, i)
			if end-i < 2 {
				return
			}
			name = raw[i+1 : end-1]
			if i = skipBlank(raw, end); i >= len(raw) || raw[i] != ':' {
				return
			}
			i = skipBlank(raw, i+1)
		}
		end := skipValue(raw, i)
		if end == i || !fn(name, raw[i:end]) {
			return
		}
		i = end
	}
}

func skipBlank(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value ends that begins at i.
func skipValue(s string, i int) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = skipString(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	default:
		for i < len(s) && strings.IndexByte(",]} \t\r\n", s[i]) < 0 {
			i++
		}
		return i
	}
}

// skipString returns where the string ends that begins at i.
func skipString(s string, i int) int {
	for i++; i < len(s); {
		if i = special(s, i); i >= len(s) {
			break
		}
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i += 2
		default:
			i++
		}
	}
	return len(s)
}
