package compare_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
)

func TestParseMargins(t *testing.T) {
	t.Parallel()
	got, err := compare.ParseMargins([]string{"5pp", "tokens=15%", "score = 0.05", "latency=30 %"})
	want := map[compare.Metric]float64{
		compare.PassRate: 0.05, compare.Tokens: 0.15, compare.Score: 0.05, compare.Latency: 0.3,
	}
	if err != nil || !maps.EqualFunc(got, want, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"toknes=15%": "did you mean tokens? metrics: pass_rate, ", "zzzzzz=1%": "metrics: pass_rate, ",
	} {
		if _, err := compare.ParseMargins([]string{text}); !strings.HasPrefix(plumb.Hint(err), want) {
			t.Errorf("%s: %v, hint %q", text, err, plumb.Hint(err))
		}
	}
	for _, text := range []string{"", "2", "2%", "-2pp", "0pp", "tokens=2pp", "tokens=15", "score=5%", "x=2pp", "NaNpp", "Infpp", "1e9pp"} {
		if got, err := compare.ParseMargins([]string{text}); err == nil || plumb.Hint(err) == "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
