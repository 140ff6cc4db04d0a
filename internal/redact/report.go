package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// tagKey is the key of the struct tag for redaction. Without the tag, a field of type string,
// []string, map[string]string or json.RawMessage holds text from outside, from which secrets are
// removed. With `redact:"-"` it holds structure, such as an id or an enum, which never changes.
// With `redact:"values"` it holds a JSON document made by Plumb: its texts are from outside, its
// keys and numbers are structure. Texts of a named type, such as plumb.Outcome, are structure too.
const tagKey = "redact"

// Clean returns v without the secrets in its texts, and the sorted names of the removed secrets. It
// never changes the data that v points to: it copies each part that contains a secret. The types
// and tags of v decide which texts may contain one; see [tagKey].
func Clean[T any](r *Redactor, v T) (T, []string) {
	if !r.Hides() {
		return v, nil
	}
	w := walker{redactor: r, names: map[string]struct{}{}}
	out, changed := w.clean(reflect.ValueOf(&v).Elem(), texts)
	if !changed {
		return v, nil
	}
	return out.Interface().(T), slices.Sorted(maps.Keys(w.names)) //nolint:forcetypeassert // clean keeps types
}

// content is the kind of text that a field holds.
type content uint8

const (
	texts    content = iota // all texts are from outside
	document                // a JSON document made by Plumb: keys and numbers are structure
)

type walker struct {
	redactor *Redactor
	names    map[string]struct{}
}

// clean returns v without secrets, and whether it changed. A changed value is a copy.
func (w *walker) clean(v reflect.Value, c content) (out reflect.Value, changed bool) {
	if !mayHoldText(v.Type()) {
		return v, false
	}
	switch v.Kind() {
	case reflect.String:
		s := w.redactor.replaceNamed(v.String(), w.names)
		return reflect.ValueOf(s), s != v.String()
	case reflect.Struct:
		return w.fields(v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			doc, changed := w.json(v.Bytes(), c)
			return reflect.ValueOf(doc).Convert(v.Type()), changed
		}
		return w.elements(v, c)
	case reflect.Array:
		return w.elements(v, c)
	case reflect.Map:
		return w.members(v, c)
	default: // a pointer or an interface
		if v.IsNil() {
			return v, false
		}
		inner, changed := w.clean(v.Elem(), c)
		if !changed || v.Kind() == reflect.Interface {
			return inner, changed
		}
		p := reflect.New(inner.Type())
		p.Elem().Set(inner)
		return p, true
	}
}

func (w *walker) fields(v reflect.Value) (out reflect.Value, changed bool) {
	out = v
	for _, f := range w.redactor.fieldsOf(v.Type()) {
		if inner, differs := w.clean(v.Field(f.index), f.content); differs {
			if !changed {
				out, changed = reflect.New(v.Type()).Elem(), true
				out.Set(v)
			}
			out.Field(f.index).Set(inner)
		}
	}
	return out, changed
}

func (w *walker) elements(v reflect.Value, c content) (out reflect.Value, changed bool) {
	out = v
	for i := range v.Len() {
		if inner, differs := w.clean(v.Index(i), c); differs {
			if !changed {
				out, changed = reflect.New(v.Type()).Elem(), true
				if v.Kind() == reflect.Slice {
					out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
				}
				reflect.Copy(out, v)
			}
			out.Index(i).Set(inner)
		}
	}
	return out, changed
}

// members cleans the values of a map. Its keys come from Plumb or from the user's config.
func (w *walker) members(v reflect.Value, c content) (out reflect.Value, changed bool) {
	out = v
	for at := v.MapRange(); at.Next(); {
		if inner, differs := w.clean(at.Value(), c); differs {
			if !changed {
				out, changed = reflect.MakeMapWithSize(v.Type(), v.Len()), true
				for all := v.MapRange(); all.Next(); {
					out.SetMapIndex(all.Key(), all.Value())
				}
			}
			out.SetMapIndex(at.Key(), inner)
		}
	}
	return out, changed
}

// json cleans a JSON document. The result is still valid JSON: a number that contains a secret
// becomes a string. Invalid JSON is treated as text.
func (w *walker) json(doc []byte, c content) ([]byte, bool) {
	found := map[string]struct{}{}
	asText := w.redactor.rewrite(doc, found)
	if asText == nil {
		return doc, false
	}
	if !json.Valid(doc) {
		maps.Copy(w.names, found)
		return asText, true
	}
	in := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var b bytes.Buffer
	out := jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	changed := false
	for {
		token, err := in.ReadToken()
		if err == io.EOF { //nolint:errorlint // documented to be io.EOF itself
			break
		}
		if err != nil {
			return doc, false // cannot happen: json.Valid accepted it
		}
		kind, count := in.StackIndex(in.StackDepth())
		name := kind == '{' && count%2 == 1
		switch {
		case token.Kind() != '"' && token.Kind() != '0', c == document && (name || token.Kind() == '0'):
		default:
			text := token.String()
			if clean := w.redactor.replaceNamed(text, w.names); clean != text {
				token, changed = jsontext.String(clean), true
			}
		}
		if err := out.WriteToken(token); err != nil {
			return doc, false
		}
	}
	if !changed {
		return doc, false
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), true
}

// field is a field of a struct that may hold text from outside.
type field struct {
	index   int
	content content
}

// fieldsOf returns the fields of a struct type that may hold text from outside.
func (r *Redactor) fieldsOf(t reflect.Type) []field {
	if known, ok := r.types.Load(t); ok {
		return known.([]field) //nolint:forcetypeassert // nothing else is stored
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if tag := f.Tag.Get(tagKey); f.IsExported() && tag != "-" && mayHoldText(f.Type) {
			c := texts
			if tag == "values" {
				c = document
			}
			fields = append(fields, field{i, c})
		}
	}
	r.types.Store(t, fields)
	return fields
}

// mayHoldText reports whether a value of type t can hold text from outside, judged by t alone.
func mayHoldText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		return t == reflect.TypeFor[string]()
	case reflect.Pointer, reflect.Map, reflect.Array:
		return mayHoldText(t.Elem())
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || mayHoldText(t.Elem())
	case reflect.Struct, reflect.Interface:
		return true
	default:
		return false
	}
}
