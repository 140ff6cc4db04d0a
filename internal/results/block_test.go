package results

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestAscii(t *testing.T) {
	got, err := blockJSON(map[string]any{"t": "é漢🌿\u2028\x7f<&>\b\f\x01\"\\"}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"t\": \"\\u00e9\\u6f22\\ud83c\\udf3f\\u2028\\u007f<&>\\b\\f\\u0001\\\"\\\\\"\n}"
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzScanBlocks(f *testing.F) {
	for _, s := range []string{
		"", "[]", "{}", `[{"run_metadata":{"run_id":"x","runner_id":"y"}}]`, `[{},]`, "[1]",
		`{"a":[{}]}x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spans, err := scanBlocks(bytes.NewReader(data))
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(data)) > 0 && !json.Valid(data) {
			t.Errorf("%q is not JSON", data)
		}
		for _, x := range spans {
			var o map[string]json.RawMessage
			if err := json.Unmarshal(data[x.from:x.to], &o); err != nil {
				t.Errorf("block %q of %q: %v", data[x.from:x.to], data, err)
			}
		}
	})
}
