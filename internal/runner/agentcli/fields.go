package agentcli

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// fields are the members of one JSON object, found in one pass over it: a record may be a megabyte, and [gjson.Result.Get]
// starts at its beginning each time.
type fields struct {
	names  []string
	values []gjson.Result
}

// fieldsOf finds the members of an object; anything else has none.
func fieldsOf(v gjson.Result) fields {
	var f fields
	f.of(v)
	return f
}

// of finds the members of an object in place of those that f has; anything else has none.
func (f *fields) of(v gjson.Result) {
	f.names, f.values = f.names[:0], f.values[:0]
	if !v.IsObject() {
		return
	}
	v.ForEach(func(name, value gjson.Result) bool {
		f.names, f.values = append(f.names, name.Str), append(f.values, value)
		return true
	})
}

// readObject is of for a text that may be anything. It reports whether the text is one valid JSON object.
func (f *fields) readObject(text string) bool {
	// gjson goes down into nested values by recursion, and the standard library does not.
	const deep = 10_000
	valid := gjson.Valid
	if strings.Count(text, "[")+strings.Count(text, "{") > deep {
		valid = func(text string) bool { return json.Valid([]byte(text)) }
	}
	v := gjson.Parse(text)
	ok := v.IsObject() && valid(text)
	if !ok {
		v = gjson.Result{}
	}
	f.of(v)
	return ok
}

// get returns the first member of a name, as [gjson.Result.Get] does.
func (f *fields) get(name string) gjson.Result {
	for i, n := range f.names {
		if n == name {
			return f.values[i]
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
