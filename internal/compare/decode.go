package compare

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// decode reads one JSON value of a file into v. text begins at the given line of the file, from 1.
// An error names the place.
func decode(file string, line int, text []byte, v any) error {
	err := json2.Unmarshal(text, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return nil
	}
	at, message := int64(len(text)), "the document is not complete"
	if s, ok := errors.AsType[*json2.SemanticError](err); ok {
		at, message = s.ByteOffset, semantic(s)
	} else if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, message = s.ByteOffset, "it is not valid JSON: "+s.Err.Error()
	}
	return problem(file, line, text, at, message)
}

// problem returns the error of a place in a file.
func problem(file string, line int, text []byte, at int64, message string) error {
	pos := doc.Position(file, text, int(min(max(at, 0), int64(len(text)))))
	pos.Line += line - 1
	return doc.Problems{{Pos: pos, Message: message}}
}

// inFile returns the error of a file whose message names the key.
func inFile(file, message string) error {
	return doc.Problems{{Pos: plumb.Position{File: file}, Message: message}}
}

// semantic says which value has the wrong type.
func semantic(s *json2.SemanticError) string {
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

// figure returns a figure of a file. One that is missing, negative or not finite is NaN.
func figure(p *float64) float64 {
	if p == nil || !(*p >= 0) || math.IsInf(*p, 0) {
		return math.NaN()
	}
	return *p
}

// share returns a figure from 0 to 1, and NaN for anything else.
func share(p *float64) float64 {
	if v := figure(p); v <= 1 {
		return v
	}
	return math.NaN()
}
