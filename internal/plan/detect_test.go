package plan_test

import (
	"math"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/plan"
)

func TestParseDifference(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]plan.Difference{
		"5pp":              {plan.MetricPassRate, 0.05},
		" 2.5 pp":          {plan.MetricPassRate, 0.025},
		"pass_rate = 10pp": {plan.MetricPassRate, 0.1},
		"tokens=10%":       {plan.MetricTokens, 0.1},
		"tokens=250 %":     {plan.MetricTokens, 2.5},
	} {
		if got, err := plan.ParseDifference(text); err != nil || got.Metric != want.Metric ||
			math.Abs(got.Value-want.Value) > 1e-12 {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func FuzzParseDifference(f *testing.F) {
	for _, text := range []string{"5pp", "tokens=10%", "=", "tokens=", "NaNpp", "Infpp", "1e400pp", "pp", "%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := plan.ParseDifference(text)
		if err != nil {
			if plumb.Hint(err) == "" {
				t.Errorf("%q: no hint: %v", text, err)
			}
			return
		}
		if !(d.Value >= 0.001-1e-12 && d.Value <= 100) || d.Metric == plan.MetricPassRate && d.Value > 1 {
			t.Errorf("%q: %+v", text, d)
		}
	})
}
