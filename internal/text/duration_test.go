package text_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/text"
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
		if got := text.Millis(int64(v.Ms)); got != v.Text {
			t.Errorf("%v ms: %s, want %s", v.Ms, got, v.Text)
		}
	}
	for ms, want := range map[int64]string{0: "0ms", 1500: "1.5s", 3_661_000: "1h 1m", -5: "0ms"} {
		if got := text.Millis(ms); got != want {
			t.Errorf("%v ms: %s, want %s", ms, got, want)
		}
	}
}

// TestParseDuration reads what people write, and what [text.Duration] and [text.Exact] write.
func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for in, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1m 42s": 102 * time.Second, "30d": 30 * day,
		"720h": 30 * day, "2w": 14 * day, "1w2d3h": 9*day + 3*time.Hour, "0d": 0, "1.5s": 1500 * time.Millisecond,
		"-5m": -5 * time.Minute, "36525d": 36525 * day,
	} {
		if got, err := text.ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", " ", "5", "d", "1.5d", "-1d", "+1d", "1d-2h", "1d2w", "1dd", "30 days", "36526d", "99999w", "1d999999h"} {
		if got, err := text.ParseDuration(in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(36_525*day)/1e6).Draw(t, "ms")) * time.Millisecond
		if got, err := text.ParseDuration(text.Exact(d)); err != nil || got != d {
			t.Fatalf("%v is written as %s and read as %v, %v", d, text.Exact(d), got, err)
		}
		got, err := text.ParseDuration(text.Duration(d))
		if err != nil || got > d || d-got > d/6 {
			t.Fatalf("%v is shown as %s and read as %v, %v", d, text.Duration(d), got, err)
		}
	})
}
