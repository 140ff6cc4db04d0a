package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// Ideal is the documented "ideal" of a case: a text, a list of texts, or null.
type Ideal struct {
	Values []string
	// List says that it was written as a list, which may be empty.
	List bool
	// Set says that it was given, and not null.
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
		return appendString(nil, i.Values[0]), nil
	}
	var o object
	o.strs("", i.Values)
	return o.buf, nil
}

// mode reads how texts are compared.
func (s *spec) mode() mode {
	var m mode
	if v := s.values[keyCaseSensitive]; v != nil {
		if sensitive, ok := lenientFlag(v); !ok {
			s.bad(keyCaseSensitive, "must be true or false")
		} else if !sensitive {
			m |= ignoreCase
		}
	}
	v := s.values[keyNormalize]
	if v == nil {
		return m
	}
	var names []string
	var err error
	if v.Kind() == '"' {
		names = make([]string, 1)
		names[0], err = unquote(v)
	} else {
		names, err = stringList(v)
	}
	if err != nil {
		s.bad(keyNormalize, "must be a list of modes")
	}
	modes := []string{"typography", "whitespace", "unicode"}
	for _, name := range names {
		switch name {
		case "typography":
			m |= typography
		case "whitespace":
			m |= whitespace
		case "unicode":
			m |= composed
		default:
			s.hint(keyNormalize, didYouMean(name, modes), "unknown mode %s", strconv.Quote(name))
		}
	}
	return m
}

func (s *spec) text(k key) (string, bool) {
	if v := s.values[k]; v.Kind() == '"' {
		if text, err := unquote(v); err == nil {
			return text, true
		}
	}
	s.bad(k, "must be a string")
	return "", false
}

// flag reads true or false; a missing one is false.
func (s *spec) flag(k key) bool {
	switch v := s.values[k]; {
	case v == nil:
		return false
	case v.Kind() != 't' && v.Kind() != 'f':
		s.bad(k, "must be true or false")
		return false
	default:
		return v.Kind() == 't'
	}
}

func (s *spec) number(k key) (float64, bool) {
	v := s.values[k]
	if v.Kind() == '0' {
		if n, err := strconv.ParseFloat(string(v), 64); err == nil {
			return n, true
		}
		s.bad(k, "the number is too large")
		return 0, false
	}
	s.bad(k, "must be a number")
	return 0, false
}

func (s *spec) integer(k key) (int64, bool) {
	n, ok := s.number(k)
	if ok && (n != math.Trunc(n) || math.Abs(n) > 1<<53) {
		s.bad(k, "must be a whole number")
		return 0, false
	}
	return int64(n), ok
}

// lenientFlag reads a boolean in any of the spellings that the documented format takes.
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

// lenientNumber reads a finite number in any of the spellings that the documented format takes.
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
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		// A lone surrogate, which the documented format takes; encoding/json puts U+FFFD in its place.
		var text string
		if json.Unmarshal(v, &text) != nil {
			return "", err
		}
		return text, nil
	}
	return string(b), nil
}

func stringList(v jsontext.Value) ([]string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return nil, errors.New("must be a list of strings")
	}
	texts := make([]string, len(list))
	for i, raw := range list {
		if jsontext.Value(raw).Kind() != '"' {
			return nil, fmt.Errorf("must be a list of strings: element %d is none", i+1)
		}
		var err error
		if texts[i], err = unquote(jsontext.Value(raw)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func didYouMean(word string, known []string) string {
	if near := plumb.Nearest(word, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	return ""
}
