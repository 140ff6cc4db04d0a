package transcript

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Fields are the members of one JSON object, found in one pass over it: a record may be a megabyte, and [gjson.Result.Get]
// starts at its beginning each time.
type Fields struct {
	Names  []string
	Values []gjson.Result
}

// FieldsOf finds the members of an object; anything else has none.
func FieldsOf(v gjson.Result) Fields {
	var f Fields
	f.Of(v)
	return f
}

// Of finds the members of an object in place of those that f has; anything else has none.
func (f *Fields) Of(v gjson.Result) {
	f.Names, f.Values = f.Names[:0], f.Values[:0]
	if !v.IsObject() {
		return
	}
	v.ForEach(func(name, value gjson.Result) bool {
		f.Names, f.Values = append(f.Names, name.Str), append(f.Values, value)
		return true
	})
}

// readObject is of for a text that may be anything. It reports whether the text is one valid JSON object.
func (f *Fields) readObject(text string) bool {
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
	f.Of(v)
	return ok
}

// Get returns the first member of a name, as [gjson.Result.Get] does.
func (f *Fields) Get(name string) gjson.Result {
	for i, n := range f.Names {
		if n == name {
			return f.Values[i]
		}
	}
	return gjson.Result{}
}

// Text returns the first of the members that is text and not empty.
func (f *Fields) Text(names ...string) string {
	for _, name := range names {
		if v := f.Get(name); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}
