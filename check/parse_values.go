package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Ideal is the documented "ideal" of a case: a text, a list of texts, or null.
type Ideal struct {
	Values []string
	// List means that it is a list, which may be empty.
	List bool
	// Set means that it is there and not null.
	Set bool
}

// UnmarshalJSON reads a string, a list of strings, or null.
func (i *Ideal) UnmarshalJSON(data []byte) error {
	*i = Ideal{}
	switch v := jsontext.Value(data); v.Kind() {
	case 'n':
		return nil
	case '"':
		text, err := unquote(v)
		*i = Ideal{Values: []string{text}, Set: true}
		return err
	case '[':
		var err error
		*i = Ideal{List: true, Set: true}
		i.Values, err = stringList(v)
		return err
	default:
		return errors.New("must be a string, a list of strings or null")
	}
}

// MarshalJSON writes the ideal as it was written.
func (i Ideal) MarshalJSON() ([]byte, error) {
	switch {
	case !i.Set:
		return []byte("null"), nil
	case !i.List && len(i.Values) == 1:
		return encode(nil, i.Values[0]), nil
	}
	return encode(nil, i.Values), nil
}

// checkValue reports a value that the description of its key does not allow, and returns whether it
// is allowed.
func (s *spec) checkValue(key *Key, name string, v jsontext.Value) bool {
	want := key.wants(v)
	switch want {
	case "":
		return true
	case notEmpty:
		s.bad(name, "%s must not be empty", name)
		return false
	}
	hint := ""
	for _, text := range s.strings(name) {
		if len(key.Enum) > 0 && !slices.Contains(key.Enum, text) {
			hint = didYouMean(text, key.Enum)
			break
		}
	}
	s.hint(name, hint, "%s must be %s, not %s", name, want, jsonName(v))
	return false
}

// notEmpty is what wants returns for an empty value that must not be empty.
const notEmpty = "not empty"

// wants returns what the value of a key must be where v is not that, as in "a string"; "" if v is
// allowed.
func (k *Key) wants(v jsontext.Value) string {
	kind := v.Kind()
	switch k.Type {
	case "string":
		text, ok := textOf(v)
		switch {
		case len(k.Enum) > 0 && !slices.Contains(k.Enum, text):
			return oneOf(k.Enum)
		case !ok:
			return "a string"
		case k.NotEmpty && strip(text) == "":
			return notEmpty
		}
	case "boolean":
		if k.Lenient {
			if _, ok := lenientFlag(v); ok {
				return ""
			}
		}
		if kind != 't' && kind != 'f' {
			return "true or false"
		}
	case "number", "integer":
		return k.wantsNumber(v)
	case "strings":
		return k.wantsStrings(v)
	case "object":
		if kind != '{' {
			return "an object"
		}
	case "schema":
		if kind != '{' && kind != 't' && kind != 'f' {
			return "a JSON Schema, which is an object"
		}
	case "ideal":
		if new(Ideal).UnmarshalJSON(v) != nil {
			return "a string or a list of strings"
		}
	case "assertion":
		if kind != '{' {
			return "an assertion"
		}
	case "assertions":
		if kind != '[' {
			return "a list of assertions"
		}
		if list, err := rawList(v); err == nil && len(list) == 0 {
			return notEmpty
		}
	}
	return ""
}

func (k *Key) wantsNumber(v jsontext.Value) string {
	n, ok := numberOf(v)
	if k.Lenient {
		n, ok = lenientNumber(v)
		if !ok && v.Kind() == 'n' {
			return ""
		}
	}
	what := "a number"
	if k.Type == "integer" {
		what = "a whole number"
		ok = ok && n == math.Trunc(n) && math.Abs(n) <= 1<<53
	}
	switch {
	case k.Min != nil && k.Max != nil:
		what += fmt.Sprintf(" from %g to %g", *k.Min, *k.Max)
		ok = ok && n >= *k.Min && n <= *k.Max
	case k.Min != nil:
		what += fmt.Sprintf(" of at least %g", *k.Min)
		ok = ok && n >= *k.Min
	case k.Positive:
		what += " greater than 0"
		ok = ok && n > 0
	}
	if ok {
		return ""
	}
	return what
}

func (k *Key) wantsStrings(v jsontext.Value) string {
	list, err := stringList(v)
	if text, ok := textOf(v); ok && k.Lenient {
		list, err = []string{text}, nil
	}
	what := "a list of strings"
	if len(k.Enum) > 0 {
		what = "a list of " + strings.Join(k.Enum, ", ")
	}
	unknown := slices.ContainsFunc(list, func(s string) bool { return len(k.Enum) > 0 && !slices.Contains(k.Enum, s) })
	switch {
	case err != nil || unknown:
		return what
	case k.NotEmpty && len(list) == 0:
		return notEmpty
	}
	return ""
}

// oneOf lists alternatives, as in "add, update or delete".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// jsonName describes a JSON value for a message: short ones as they are.
func jsonName(v jsontext.Value) string {
	const most = 40
	switch kind := v.Kind(); {
	case kind == '{':
		return "an object"
	case kind == '[' && len(v) > most:
		return "a list"
	}
	return short(string(v), most)
}

// text returns the string at a key, and whether there is one. [spec.checkKeys] has checked its
// type.
func (s *spec) text(key string) (string, bool) { return textOf(s.value(key)) }

// textOr is text for a key that may be missing.
func (s *spec) textOr(key string) string {
	text, _ := s.text(key)
	return text
}

// flag returns the boolean at a key; a missing one is false.
func (s *spec) flag(key string) bool {
	val, _ := lenientFlag(s.value(key))
	return val
}

// number returns the number at a key; a missing one is 0.
func (s *spec) number(key string) float64 {
	n, _ := lenientNumber(s.value(key))
	return n
}

// integer returns the whole number at a key, or nil.
func (s *spec) integer(key string) *int {
	if s.value(key) == nil {
		return nil
	}
	return new(int(s.number(key)))
}

// strings returns the list of strings at a key, or the only string of a lenient one.
func (s *spec) strings(key string) []string {
	if text, ok := s.text(key); ok {
		return []string{text}
	}
	list, _ := stringList(s.value(key))
	return list
}

// compare reads the keys of [TextKeys].
func (s *spec) compare() Text {
	how := Text{}
	if s.value("case_sensitive") != nil {
		how.IgnoreCase = !s.flag("case_sensitive")
	}
	for _, name := range s.strings("normalize") {
		switch name {
		case "typography":
			how.Typography = true
		case "whitespace":
			how.Whitespace = true
		case "unicode":
			how.Unicode = true
		}
	}
	return how
}

// terms returns the ideal that counts: the assertion's own, or else that of the case. at is the key
// that a problem with it is reported at.
func (s *spec) terms() (terms []string, at string, ok bool) {
	ideal := s.ideal
	if s.has("ideal") {
		at = "ideal"
		s.invalid(at, ideal.UnmarshalJSON(s.value("ideal")))
	}
	return ideal.Values, at, ideal.Set
}

// needTerms is terms for a kind that needs at least one. It reports a problem where there is none.
func (s *spec) needTerms() (terms []string, at string, ok bool) {
	terms, at, ok = s.terms()
	switch {
	case !ok:
		s.bad(at, `%s needs an "ideal"`, s.kind.Name)
	case len(terms) == 0:
		s.bad(at, "the ideal is an empty list")
	}
	return terms, at, ok && len(terms) > 0
}

func textOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := unquote(v)
	return text, err == nil
}

func numberOf(v jsontext.Value) (float64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(v), 64)
	return n, err == nil
}

func rawList(v jsontext.Value) (list []json.RawMessage, err error) {
	err = json.Unmarshal(v, &list)
	return list, err
}

// lenientFlag reads a boolean in any spelling of the documented format.
func lenientFlag(v jsontext.Value) (val, ok bool) {
	switch v.Kind() {
	case 't', 'f':
		return v.Kind() == 't', true
	case '0':
		n, err := strconv.ParseFloat(string(v), 64)
		return n == 1, err == nil && (n == 0 || n == 1)
	case '"':
		text, err := unquote(v)
		if err != nil {
			return false, false
		}
		switch strings.ToLower(text) {
		case "true", "t", "yes", "y", "on", "1":
			return true, true
		case "false", "f", "no", "n", "off", "0":
			return false, true
		}
	default:
	}
	return false, false
}

// lenientNumber reads a finite number in any spelling of the documented format.
func lenientNumber(v jsontext.Value) (float64, bool) {
	text := string(v)
	switch v.Kind() {
	case 't':
		return 1, true
	case 'f':
		return 0, true
	case '"':
		var err error
		if text, err = unquote(v); err != nil {
			return 0, false
		}
		text = strip(text)
		if strings.Trim(text, "0123456789+-.eE_") != "" || strings.Contains(text, "__") ||
			strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") {
			return 0, false
		}
		text = strings.ReplaceAll(text, "_", "")
	case '0':
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

func unquote(v jsontext.Value) (string, error) {
	if len(v) >= 2 && v[0] == '"' && bytes.IndexByte(v, '\\') < 0 && v[len(v)-1] == '"' {
		return strings.ToValidUTF8(string(v[1:len(v)-1]), "\uFFFD"), nil
	}
	var text string
	err := json.Unmarshal(v, &text) // it accepts a lone surrogate, as the documented format does
	return text, err
}

func stringList(v jsontext.Value) ([]string, error) {
	list, err := rawList(v)
	if err != nil || v.Kind() != '[' {
		return nil, errors.New("must be a list of strings")
	}
	texts := make([]string, len(list))
	for i, raw := range list {
		if jsontext.Value(raw).Kind() != '"' {
			return nil, fmt.Errorf("must be a list of strings: element %d is not a string", i+1)
		}
		var err error
		if texts[i], err = unquote(jsontext.Value(raw)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
