package redact

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/plumb-eval/plumb"
)

// JSON returns doc, one JSON document, without the secrets, like [Redactor.Bytes], and sees to it that it remains one: a
// number that is or contains a secret becomes a string. What is not valid JSON is treated as text.
func (r *Redactor) JSON(doc []byte) []byte {
	out := r.Bytes(doc)
	if len(out) == 0 || len(out) == len(doc) && &out[0] == &doc[0] || json.Valid(out) || !json.Valid(doc) {
		return out
	}
	// The replaced text was more than a part of one string: redact strings and numbers one by one.
	out = make([]byte, 0, len(doc))
	for i := 0; i < len(doc); {
		end := i + 1
		switch c := doc[i]; {
		case c == '"':
			for doc[end] != '"' {
				if doc[end] == '\\' {
					end++
				}
				end++
			}
			end++
			out = append(out, r.quoted(doc[i:end])...)
		case c == '-' || c >= '0' && c <= '9':
			for end < len(doc) && bytes.IndexByte([]byte("+-.0123456789Ee"), doc[end]) >= 0 {
				end++
			}
			token := string(doc[i:end])
			if clean := r.String(token); clean != token {
				token = `"` + clean + `"`
			}
			out = append(out, token...)
		default:
			out = append(out, c)
		}
		i = end
	}
	return out
}

// quoted redacts one string literal of a JSON document.
func (r *Redactor) quoted(literal []byte) []byte {
	if out := r.Bytes(literal); json.Valid(out) {
		return out
	}
	var s string
	if err := json.Unmarshal(literal, &s); err != nil {
		return []byte(`""`)
	}
	out, err := json.Marshal(r.String(s))
	if err != nil {
		return []byte(`""`)
	}
	return out
}

// Report removes the secrets from all texts of report, in place, the arguments of tool calls included.
func (r *Redactor) Report(report *plumb.SessionReport) {
	if report != nil && !r.idle() {
		r.walk(reflect.ValueOf(report).Elem())
	}
}

// Failure removes the secrets from all texts of f, in place.
func (r *Redactor) Failure(f *plumb.Failure) {
	if f != nil && !r.idle() {
		r.walk(reflect.ValueOf(f).Elem())
	}
}

// walk redacts all that v holds. It reports whether it changed v. Pointers are replaced, not written through: what they
// point to can be shared, such as the parameters of a runner.
func (r *Redactor) walk(v reflect.Value) (changed bool) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		clean := r.String(s)
		if changed = clean != s; changed {
			v.SetString(clean)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() && r.walk(f) {
				changed = true
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return false
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(v.Elem())
		if changed = r.walk(c.Elem()); changed {
			v.Set(c)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := v.Bytes()
			clean := r.JSON(text)
			if changed = !bytes.Equal(text, clean); changed {
				v.SetBytes(clean)
			}
			return changed
		}
		for i := range v.Len() {
			if r.walk(v.Index(i)) {
				changed = true
			}
		}
	default: // holds no text
	}
	return changed
}
