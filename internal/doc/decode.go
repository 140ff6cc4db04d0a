package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Foreign are the keys of sessions and verdicts whose values others wrote: the arguments that a model
// gave to a tool, and what a check found in an answer.
func Foreign() []string { return []string{"args", "details"} }

// Unique returns the problems of the keys that an object of a JSON text has twice, except within the
// values of foreign keys. text begins at the given line of the file, from 1.
func Unique(file string, line int, text []byte, foreign ...string) (problems Problems) {
	root, bad, ok := (&JSON{File: file}).Parse(text, line)
	if !ok {
		return bad
	}
	for _, m := range root.Duplicates(foreign...) {
		problems = append(problems, m.twice(file))
	}
	return problems.Sorted()
}

// Decode decodes one JSON value of a file into v as encoding/json does, except that a key has one
// spelling and an object has a key once. text begins at the given line of the file, from 1. The
// error is [Problems] with the place.
//
// foreign are the keys whose values others wrote, such as [Foreign]: Plumb stores them as they came,
// also with duplicate keys.
func Decode(file string, line int, text []byte, v any, foreign ...string) error {
	text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
	options := []json.Options{
		jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false),
		json.MatchCaseInsensitiveNames(false), jsontext.AllowInvalidUTF8(true),
	}
	err := json.Unmarshal(text, v, append(options, jsontext.AllowDuplicateNames(false))...)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		if problems := Unique(file, line, text, foreign...); len(problems) > 0 {
			return problems[:1]
		}
		err = json.Unmarshal(text, v, append(options, jsontext.AllowDuplicateNames(true))...)
	}
	if err == nil {
		return nil
	}
	at, message := int64(len(text)), "the document is not complete"
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		at, message = s.ByteOffset, semantic(s)
	} else if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		at, message = s.ByteOffset, "it is not valid JSON: "+s.Err.Error()
	}
	p := &JSON{File: file}
	return Problems{{Pos: p.position(text, line, int(max(at, 0))), Message: message}}
}

// DecodeFile decodes the JSON document in a file; see [Decode].
func DecodeFile(path string, v any, foreign ...string) error {
	data, err := Read(path, StateBytes)
	if err != nil {
		return err
	}
	return Decode(path, 1, data, v, foreign...)
}

// semantic says which value has the wrong type.
func semantic(s *json.SemanticError) string {
	want := "another value"
	if s.GoType != nil {
		t := s.GoType
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.String:
			want = "a string"
		case reflect.Bool:
			want = "true or false"
		case reflect.Slice, reflect.Array:
			want = "a list"
		case reflect.Map, reflect.Struct:
			want = "an object"
		default:
			want = "a number"
		}
		if t.PkgPath() == "time" {
			want = "a time such as 2026-03-01T09:00:00Z"
		}
	}
	key := strings.ReplaceAll(strings.TrimPrefix(string(s.JSONPointer), "/"), "/", ".")
	got := kindName(s.JSONKind)
	switch {
	case key == "":
		return fmt.Sprintf("expected %s, not %s", want, got)
	case got == want:
		return fmt.Sprintf("%s: the value is not valid", key)
	}
	return fmt.Sprintf("%s: expected %s, not %s", key, want, got)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	case '[':
		return "a list"
	case '{':
		return "an object"
	default:
		return "null"
	}
}
