package transcript

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Fields are the members of one JSON object, found in one pass. A record may have a megabyte, and
// each call of [gjson.Result.Get] starts at its beginning.
type Fields struct {
	Raw    string // the object
	Names  []string
	Values []gjson.Result
}

// FieldsOf returns the members of an object; any other value has none.
func FieldsOf(v gjson.Result) Fields {
	var f Fields
	f.Of(v)
	return f
}

// Of replaces f by the members of an object; any other value has none.
func (f *Fields) Of(v gjson.Result) {
	f.Raw, f.Names, f.Values = v.Raw, f.Names[:0], f.Values[:0]
	if !v.IsObject() {
		return
	}
	v.ForEach(func(name, value gjson.Result) bool {
		f.Names, f.Values = append(f.Names, name.Str), append(f.Values, value)
		return true
	})
}

// readObject is [Fields.Of] for any text. It reports whether the text is one valid JSON object.
func (f *Fields) readObject(text string) bool {
	// gjson reads nested values by recursion, and the standard library does not.
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

// Get returns the first member with a name, as [gjson.Result.Get] does.
func (f *Fields) Get(name string) gjson.Result {
	for i, n := range f.Names {
		if n == name {
			return f.Values[i]
		}
	}
	return gjson.Result{}
}

// Object returns the object for lookups by path.
func (f *Fields) Object() gjson.Result { return gjson.Result{Type: gjson.JSON, Raw: f.Raw} }

// Text returns the first of the named members that is a non-empty string.
func (f *Fields) Text(names ...string) string {
	for _, name := range names {
		if v := f.Get(name); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}
