package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
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
	v, err := parseJSON(data)
	if err != nil {
		return err
	}
	return i.read(&v)
}

func (i *Ideal) read(v *doc.Value) error {
	*i = Ideal{}
	switch v.Kind {
	case doc.Null:
		return nil
	case doc.String:
		*i = Ideal{Values: []string{v.Text()}, Set: true}
		return nil
	case doc.List:
		*i = Ideal{Values: make([]string, len(v.List)), List: true, Set: true}
		for n := range v.List {
			if v.List[n].Kind != doc.String {
				return fmt.Errorf("must be a list of strings: element %d is not a string", n+1)
			}
			i.Values[n] = v.List[n].Text()
		}
		return nil
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
func (s *spec) checkValue(key *Key, name string, v *doc.Value) bool {
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
func (k *Key) wants(v *doc.Value) string {
	switch k.Type {
	case "string":
		switch {
		case len(k.Enum) > 0 && (v.Kind != doc.String || !slices.Contains(k.Enum, v.Text())):
			return oneOf(k.Enum)
		case v.Kind != doc.String:
			return "a string"
		case k.NotEmpty && strip(v.Text()) == "":
			return notEmpty
		}
	case "boolean":
		if _, ok := lenientFlag(v); v.Kind != doc.Bool && (!k.Lenient || !ok) {
			return "true or false"
		}
	case "number", "integer":
		return k.wantsNumber(v)
	case "strings":
		return k.wantsStrings(v)
	case "object":
		if v.Kind != doc.Map {
			return "an object"
		}
	case "schema":
		if v.Kind != doc.Map && v.Kind != doc.Bool {
			return "a JSON Schema, which is an object"
		}
	case "ideal":
		if new(Ideal).read(v) != nil {
			return "a string or a list of strings"
		}
	case "assertion":
		if v.Kind != doc.Map {
			return "an assertion"
		}
	case "assertions":
		switch {
		case v.Kind != doc.List:
			return "a list of assertions"
		case len(v.List) == 0:
			return notEmpty
		}
	}
	return ""
}

func (k *Key) wantsNumber(v *doc.Value) string {
	n, ok := lenientNumber(v)
	if k.Lenient && v.Kind == doc.Null {
		return ""
	}
	ok = ok && (k.Lenient || v.Kind == doc.Number)
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

func (k *Key) wantsStrings(v *doc.Value) string {
	list := v.List
	if k.Lenient && v.Kind == doc.String {
		list = []doc.Value{*v}
	}
	what := "a list of strings"
	if len(k.Enum) > 0 {
		what = "a list of " + strings.Join(k.Enum, ", ")
	}
	wrong := slices.ContainsFunc(list, func(e doc.Value) bool {
		return e.Kind != doc.String || len(k.Enum) > 0 && !slices.Contains(k.Enum, e.Text())
	})
	switch {
	case wrong || list == nil && v.Kind != doc.List:
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
func jsonName(v *doc.Value) string {
	const most = 40
	s := string(v.JSON())
	switch {
	case v.Kind == doc.Map:
		return "an object"
	case v.Kind == doc.List && len(s) > most:
		return "a list"
	}
	return text.Shorten(s, most)
}

// text returns the string at a key, and whether there is one. [spec.checkKeys] has checked its
// type.
func (s *spec) text(key string) (string, bool) {
	if v := s.Get(key); v != nil && v.Kind == doc.String {
		return v.Text(), true
	}
	return "", false
}

// textOr is text for a key that may be missing.
func (s *spec) textOr(key string) string {
	text, _ := s.text(key)
	return text
}

// raw returns the JSON at a key, or nil.
func (s *spec) raw(key string) json.RawMessage {
	if v := s.Get(key); v != nil {
		return v.JSON()
	}
	return nil
}

// flag returns the boolean at a key; a missing one is false.
func (s *spec) flag(key string) bool {
	val, _ := lenientFlag(s.Get(key))
	return val
}

// number returns the number at a key; a missing one is 0.
func (s *spec) number(key string) float64 {
	n, _ := lenientNumber(s.Get(key))
	return n
}

// integer returns the whole number at a key, or nil.
func (s *spec) integer(key string) *int {
	if s.Get(key) == nil {
		return nil
	}
	return new(int(s.number(key)))
}

// strings returns the list of strings at a key, or the only string of a lenient one.
func (s *spec) strings(key string) []string {
	v := s.Get(key)
	if v == nil {
		return nil
	}
	if v.Kind == doc.String {
		return []string{v.Text()}
	}
	var list []string
	for i := range v.List {
		list = append(list, v.List[i].Text())
	}
	return list
}

// compare reads the keys of [TextKeys].
func (s *spec) compare() Text {
	how := Text{}
	if s.Get("case_sensitive") != nil {
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
		s.invalid(at, ideal.read(s.Get("ideal")))
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

// lenientFlag reads a boolean in any spelling of the documented format. A missing one is false.
func lenientFlag(v *doc.Value) (val, ok bool) {
	if v == nil {
		return false, false
	}
	switch v.Kind {
	case doc.Number:
		n, err := strconv.ParseFloat(v.Text(), 64)
		return n == 1, err == nil && (n == 0 || n == 1)
	case doc.Bool, doc.String:
		switch strings.ToLower(v.Text()) {
		case "true", "t", "yes", "y", "on", "1":
			return true, true
		case "false", "f", "no", "n", "off", "0":
			return false, true
		}
	default:
	}
	return false, false
}

// lenientNumber reads a finite number in any spelling of the documented format. A missing one is 0.
func lenientNumber(v *doc.Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	text := string(v.JSON())
	switch v.Kind {
	case doc.Number:
	case doc.Bool:
		text = map[string]string{"true": "1", "false": "0"}[text]
	case doc.String:
		text = strip(v.Text())
		if strings.Trim(text, "0123456789+-.eE_") != "" || strings.Contains(text, "__") ||
			strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") {
			return 0, false
		}
		text = strings.ReplaceAll(text, "_", "")
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
