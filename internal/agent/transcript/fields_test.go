package transcript

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

// TestReadObject: what is an object is what the standard library takes for one, and its members are
// those that it has.
func TestReadObject(t *testing.T) {
	texts := []string{
		"{}", " { } ", "{", "}", "[]", "", "1", `{"a":1}`, `{"a":1,}`, `{,"a":1}`,
		`{"a" : [ ] , "b":[1 ,2,{"c":null}]}`, `{"a":[1,]}`, `{"a":tru}`,
		`{"a":true,"b":false}x`, `{"a":"\u00e9\"\\\/\b\f\n\r\t"}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12`,
		`{"a":"` + "\x01" + `"}`, `{"a":"` + "\n" + `"}`,
		`{"a":-0.5e+10,"b":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":1e}`, `{"a":0}`, `{"a":-0}`, `{"a":1E5}`,
		`{"a" 1}`, `{"a"}`, `{a:1}`, `{"a":"` + "\xff" + `"}`,
		`{"a":{"b":{"c":"d"}}}`, `{"a":{"b":1}`, `{"long text of more than eight bytes":"and another \" of those \\ é — 17"}`, `{"a":"12345678\"}`, `{"a":"1234567\\"}`,
		`{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", `{"a":` + strings.Repeat("[", 11000) +
			strings.Repeat("]", 11000) + "}",
	}
	for _, text := range texts {
		sameObject(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		pieces := []string{
			`{`, `}`, `[`, `]`, `:`, `,`, `"`, `\`, `"a"`, `"b":`, `1`, `-2.5e3`, `true`, `null`, ` `, "\n", "\t",
			`\u00e9`, `\"`, `é`, "\x00", "text", `"some longer text"`,
			`{"type":"x","n":`, `}}`, `"]`, `{"type":"assistant","list":[1,"two",{"three":null}],`,
		}
		sameObject(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		sameObject(t, string(text))
		sameObject(t, string(text[:cut]))
	})
}

func sameObject(t interface{ Errorf(string, ...any) }, text string) {
	var f Fields
	got := f.readObject(text)
	want := json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
	if got != want {
		t.Errorf("%q: an object: %v, want %v", text, got, want)
		return
	}
	if !want {
		return
	}
	n := 0
	gjson.Parse(text).ForEach(func(name, value gjson.Result) bool {
		if n >= len(f.Names) || f.Names[n] != name.Str || f.Values[n].Raw != value.Raw {
			t.Errorf("%q: member %d differs", text, n)
			return false
		}
		n++
		return true
	})
	if n != len(f.Names) {
		t.Errorf("%q: %d members, want %d", text, len(f.Names), n)
	}
}
