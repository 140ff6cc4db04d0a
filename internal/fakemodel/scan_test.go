package fakemodel

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzScan checks the hand-written reading and writing of JSON against encoding/json.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[true,null,"x\"y\\"],"c":{"d":-1.5e3}}`, `[]`, `{}`, ` { "a" : [ 1 , "2" ] , "b" : { } } `,
		`"\ud83d\ude00 \ud83d x \u0041\n\t\/"`,
		`[[],{},"",0]`, `{"":""}`, `{"a":"\\","b":"\\\""}`, `12`, `null`, "\"\u2028 é\x7f\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		compare(t, data)
	})
}

// compare checks value against encoding/json, all the way down.
func compare(t *testing.T, value []byte) {
	t.Helper()
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && object != nil {
		got := map[string]string{}
		fields(value, func(name, v []byte) {
			key, ok := text(append(append([]byte{'"'}, name...), '"'))
			if !ok {
				t.Fatalf("name %q is no string", name)
			}
			got[key] = string(v)
			compare(t, v)
		})
		if len(got) != len(object) {
			t.Fatalf("fields of %s: got %q, want %d", value, got, len(object))
		}
		for k, v := range object {
			if got[k] != string(v) {
				t.Fatalf("field %q of %s: got %s, want %s", k, value, got[k], v)
			}
		}
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && list != nil {
		n := 0
		elements(value, func(i int, v []byte) {
			if i != n || i >= len(list) || string(v) != string(list[i]) {
				t.Fatalf("element %d of %s: got %s", i, value, v)
			}
			n++
			compare(t, v)
		})
		if n != len(list) {
			t.Fatalf("elements of %s: got %d, want %d", value, n, len(list))
		}
		return
	}
	var s string
	trimmed := value[skipSpace(value, 0):]
	if len(trimmed) > 0 && trimmed[0] == '"' && json.Unmarshal(trimmed, &s) == nil {
		got, ok := text(trimmed[:skipValue(trimmed, 0)])
		if !ok || got != s {
			t.Fatalf("text of %s: got %q, want %q", value, got, s)
		}
		var back string
		if err := json.Unmarshal(appendString(nil, s), &back); err != nil || back != s {
			t.Fatalf("appendString(%q): reads back as %q, %v", s, back, err)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\x00\x1f", "é 🙂 \u2028", "bad \xff\xfe end", "\xff"} {
		var back string
		if err := json.Unmarshal(appendString(nil, s), &back); err != nil {
			t.Errorf("appendString(%q) = %s: %v", s, appendString(nil, s), err)
		}
		want := ""
		for _, r := range s { // each bad byte is one U+FFFD
			want = string(utf8.AppendRune([]byte(want), r))
		}
		if back != want {
			t.Errorf("appendString(%q) reads back as %q, want %q", s, back, want)
		}
	}
}
