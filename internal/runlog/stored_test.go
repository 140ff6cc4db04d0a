package runlog

import (
	"encoding/json"
	"testing"
)

// FuzzMembers splits any text. What is JSON must come out as encoding/json decodes it.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{"type":"x","report":{"a":[1,"]}\""]},"n":-1.5e3,"t":true}`, `{}`, ` { "a" : null , "b" : "\\" } `, `{"a"`, `{"a":1`, `[]`, "",
		`{"a":}`, `{"a":"x`, `{"a":{"b":"}"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		valid := json.Unmarshal(data, &want) == nil && want != nil
		got := map[string]string{}
		err := members(data, func(name []byte, from, to int) {
			var key string
			if json.Unmarshal(name, &key) == nil {
				got[key] = string(data[from:to])
			}
		})
		if !valid {
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %v, %v; want %v", data, got, err, want)
		}
		for key, value := range want {
			if got[key] != string(value) {
				t.Errorf("%q: %s is %q, want %q", data, key, got[key], value)
			}
		}
	})
}

// TestNotAnObject checks that text which is no whole object of JSON is an error.
func TestNotAnObject(t *testing.T) {
	for _, s := range []string{"", "[]", "{", `{"a"`, `{"a" 1}`, `{"a":1`, `{"a":1,`, `{"a":"x`, `{,}`} {
		if err := members([]byte(s), func([]byte, int, int) {}); err == nil {
			t.Errorf("%q has members", s)
		}
	}
}
