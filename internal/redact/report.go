package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

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
	clean := r.cleaner(reflect.TypeFor[T](), texts)
	if clean == nil {
		return v, nil
	}
	w := walker{redactor: r}
	out, changed := clean(&w, reflect.ValueOf(&v).Elem())
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
	names    names
}

// cleaner returns a value of one type without secrets, and whether it changed. A changed value is a
// copy.
type cleaner func(w *walker, v reflect.Value) (out reflect.Value, changed bool)

// contentType is what a cleaner is for.
type contentType struct {
	reflect.Type
	content
}

// cleaner returns the cleaner of a type, or nil if its values hold no text from outside.
func (r *Redactor) cleaner(t reflect.Type, c content) cleaner {
	key := contentType{t, c}
	if known, ok := r.cleaners.Load(key); ok {
		return known.(cleaner) //nolint:forcetypeassert // nothing else is stored
	}
	clean := r.newCleaner(t, c)
	r.cleaners.Store(key, clean)
	return clean
}

func (r *Redactor) newCleaner(t reflect.Type, c content) cleaner {
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[string]() {
			return cleanText
		}
	case reflect.Struct:
		return r.fields(t)
	case reflect.Interface:
		return func(w *walker, v reflect.Value) (reflect.Value, bool) {
			if v.IsNil() {
				return v, false
			}
			clean := r.cleaner(v.Elem().Type(), c)
			if clean == nil {
				return v, false
			}
			return clean(w, v.Elem())
		}
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return func(w *walker, v reflect.Value) (reflect.Value, bool) {
				doc, changed := w.json(v.Bytes(), c)
				if !changed {
					return v, false
				}
				return reflect.ValueOf(doc).Convert(t), true
			}
		}
		inner := r.cleaner(t.Elem(), c)
		switch {
		case inner == nil:
		case t.Kind() == reflect.Map:
			return members(inner)
		case t.Kind() == reflect.Pointer:
			return pointer(inner)
		default:
			return elements(inner)
		}
	default:
	}
	return nil
}

func cleanText(w *walker, v reflect.Value) (reflect.Value, bool) {
	clean, changed := w.redactor.replaceNamed(v.String(), &w.names)
	if !changed {
		return v, false
	}
	return reflect.ValueOf(clean), true
}

func pointer(clean cleaner) cleaner {
	return func(w *walker, v reflect.Value) (reflect.Value, bool) {
		if v.IsNil() {
			return v, false
		}
		inner, changed := clean(w, v.Elem())
		if !changed {
			return v, false
		}
		p := reflect.New(inner.Type())
		p.Elem().Set(inner)
		return p, true
	}
}

// fields returns the cleaner of a struct. It looks at its fields with the first value, because a type
// can contain itself.
func (r *Redactor) fields(t reflect.Type) cleaner {
	type field struct {
		index int
		clean cleaner
	}
	fields := sync.OnceValue(func() (fields []field) {
		for i := range t.NumField() {
			f := t.Field(i)
			tag, c := f.Tag.Get(tagKey), texts
			if tag == "values" {
				c = document
			}
			if !f.IsExported() || tag == "-" {
				continue
			}
			if clean := r.cleaner(f.Type, c); clean != nil {
				fields = append(fields, field{i, clean})
			}
		}
		return fields
	})
	return func(w *walker, v reflect.Value) (out reflect.Value, changed bool) {
		out = v
		for _, f := range fields() {
			if inner, differs := f.clean(w, v.Field(f.index)); differs {
				if !changed {
					out, changed = reflect.New(t).Elem(), true
					out.Set(v)
				}
				out.Field(f.index).Set(inner)
			}
		}
		return out, changed
	}
}

func elements(clean cleaner) cleaner {
	return func(w *walker, v reflect.Value) (out reflect.Value, changed bool) {
		out = v
		for i := range v.Len() {
			if inner, differs := clean(w, v.Index(i)); differs {
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
}

// members returns the cleaner of the values of a map. Its keys come from Plumb or from the user's
// config.
func members(clean cleaner) cleaner {
	return func(w *walker, v reflect.Value) (out reflect.Value, changed bool) {
		out = v
		for at := v.MapRange(); at.Next(); {
			if inner, differs := clean(w, at.Value()); differs {
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
}

// json cleans a JSON document. The result is still valid JSON: a number that contains a secret
// becomes a string. Invalid JSON is treated as text.
func (w *walker) json(doc []byte, c content) ([]byte, bool) {
	var found names
	asText := w.redactor.rewrite(doc, &found)
	if asText == nil {
		return doc, false
	}
	if !json.Valid(doc) {
		w.names.add(slices.Collect(maps.Keys(found))...)
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
			if clean, found := w.redactor.replaceNamed(text, &w.names); found {
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
