package report

import (
	"encoding/json"
	"os"
	"testing"
)

// TestDuration holds durations to the documented examples.
func TestDuration(t *testing.T) {
	data, err := os.ReadFile("testdata/durations.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Ms   float64
		Text string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := duration(int64(v.Ms)); got != v.Text {
			t.Errorf("%v ms: %s, want %s", v.Ms, got, v.Text)
		}
	}
	for ms, want := range map[int64]string{0: "0ms", 1500: "1.5s", 3_661_000: "1h 1m", -5: "0ms"} {
		if got := duration(ms); got != want {
			t.Errorf("%v ms: %s, want %s", ms, got, want)
		}
	}
}
