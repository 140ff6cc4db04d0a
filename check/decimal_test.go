package check

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
)

// TestF27NumbersAreEqualByValue compares decimals of any length in all checks that compare JSON.
func TestF27NumbersAreEqualByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(label string) string {
			return rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?`).Draw(t, label)
		}
		a := number("a")
		b := number("b")
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0: // another spelling of the same number
			mantissa, exponent, has := strings.Cut(strings.ToLower(a), "e")
			if !strings.Contains(mantissa, ".") {
				mantissa += "."
			}
			if b = mantissa + "000"; has {
				b += "E" + exponent
			}
		case 1: // one more digit
			mantissa, exponent, has := strings.Cut(strings.ToLower(a), "e")
			if !strings.Contains(mantissa, ".") {
				mantissa += "."
			}
			if b = mantissa + strings.Repeat("0", 25) + "1"; has {
				b += "e" + exponent
			}
		}
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			t.Fatal(a, b)
		}
		for name, pass := range compareJSON(t, a, b) {
			if pass != (x.Cmp(y) == 0) {
				t.Errorf("%s: %s and %s equal: %v", name, a, b, pass)
			}
		}
	})
	start := time.Now()
	for _, pair := range [][2]string{
		{"1", "1.0000000000000000000000001"},
		{"0", "1e-400"},
		{"1e999999999", "1e999999998"},
		{"1e400", "1e401"},
		{"1e" + strings.Repeat("9", 5000), "2e" + strings.Repeat("9", 5000)},
		{"9007199254740993", "9007199254740992"},
		{"1e-999999999", "0"},
	} {
		for name, pass := range compareJSON(t, pair[0], pair[1]) {
			if pass {
				t.Errorf("%s: %.30s and %.30s are equal", name, pair[0], pair[1])
			}
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// compareJSON returns whether checks that want an object with the number a accept one with b.
func compareJSON(t interface {
	Helper()
	Fatal(args ...any)
}, a, b string,
) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for name, spec := range map[string]string{
		"equals_json":      fmt.Sprintf(`{"type":"equals_json","equals":{"n":[%s]}}`, a),
		"json_path equals": fmt.Sprintf(`{"type":"json_path","path":"$.n[0]","equals":%s}`, a),
		"json_path ideal":  fmt.Sprintf(`{"type":"json_path","path":"$.n[0]","ideal":%q}`, a),
		"called_tool":      fmt.Sprintf(`{"type":"called_tool","tool":"t","args":{"n":[%s]}}`, a),
	} {
		c, problems := Parse([]byte(spec), Ideal{})
		if c == nil {
			t.Fatal(name, problems)
		}
		object := fmt.Sprintf(`{"n":[%s]}`, b)
		report := &plumb.SessionReport{FinalOutput: object, Events: []plumb.SessionEvent{
			{Type: plumb.SessionToolCall, Tool: "t", Args: []byte(object)},
		}}
		verdicts, err := c.Assert(context.Background(), plumb.Evidence{Report: report})
		if err != nil || len(verdicts) != 1 {
			t.Fatal(name, verdicts, err)
		}
		found[name] = verdicts[0].Pass
	}
	return found
}
