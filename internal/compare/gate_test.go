package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
)

func TestParseGate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]compare.Gate{
		"pass_rate >= -2pp":        {Metric: compare.PassRate, AtLeast: true, Relative: true, Bound: -0.02},
		"pass_rate>=85%":           {Metric: compare.PassRate, AtLeast: true, Bound: 0.85},
		" pass_rate  >=  85.5 % ":  {Metric: compare.PassRate, AtLeast: true, Bound: 0.855},
		"tokens <= +10%":           {Metric: compare.Tokens, Relative: true, Bound: 1.1},
		"latency <= -20 %":         {Metric: compare.Latency, Relative: true, Bound: 0.8},
		"score >= -0.02":           {Metric: compare.Score, AtLeast: true, Relative: true, Bound: -0.02},
		"score >= 0.8":             {Metric: compare.Score, AtLeast: true, Bound: 0.8},
		"errors <= 5%":             {Metric: compare.Errors, Bound: 0.05},
		"errors <= + 2 pp":         {Metric: compare.Errors, Relative: true, Bound: 0.02},
		"broken <= 0":              {Metric: compare.Broken},
		"cost <= +150%":            {Metric: compare.Cost, Relative: true, Bound: 2.5},
		"\tsteps\t<=\t+0%":         {Metric: compare.Steps, Relative: true, Bound: 1},
		"output_tokens <= +12.5%":  {Metric: compare.OutputTokens, Relative: true, Bound: 1.125},
		"input_tokens >= -99%":     {Metric: compare.InputTokens, AtLeast: true, Relative: true, Bound: 0.01},
		"pass_rate >= +0.1pp":      {Metric: compare.PassRate, AtLeast: true, Relative: true, Bound: 0.001},
		"pass_rate         >=100%": {Metric: compare.PassRate, AtLeast: true, Bound: 1},
	} {
		got, err := compare.ParseGate(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if math.Abs(got.Bound-want.Bound) > 1e-12 {
			t.Errorf("%q: bound %v, want %v", text, got.Bound, want.Bound)
		}
		got.Bound, got.Text = want.Bound, ""
		if got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestMalformedGates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        `character 1: expected a metric, found the end of the gate`,
		"pas_rate >= -2pp":        `character 1: unknown metric "pas_rate"`,
		"Pass_Rate >= -2pp":       `character 1: unknown metric "Pass_Rate"`,
		"pass_rate":               `character 10: expected ">=" or "<=", found the end of the gate`,
		"pass_rate > -2pp":        `character 11: expected ">=" or "<=", found "> -2pp"`,
		"pass_rate => -2pp":       `character 11: expected ">=" or "<=", found "=> -2pp"`,
		"pass_rate >=":            `character 13: expected a number, found the end of the gate`,
		"pass_rate >= x":          `character 14: expected a number, found "x"`,
		"pass_rate >= 1.2.3%":     `character 14: expected a number, found "1.2.3%"`,
		"pass_rate >= 2pp":        `character 15: expected "%" after the number, found "pp"`,
		"pass_rate >= -2%":        `character 16: expected "pp" after the number, found "%"`,
		"pass_rate >= -2":         `character 16: expected "pp" after the number, found the end of the gate`,
		"pass_rate >= -2pp now":   `character 16: expected "pp" after the number, found "pp now"`,
		"pass_rate >= 120%":       `character 14: the value is outside of the range of pass_rate`,
		"tokens <= 10%":           `character 11: tokens is compared with the baseline, so the value needs a sign`,
		"tokens <= +10pp":         `character 14: expected "%" after the number, found "pp"`,
		"tokens >= -100%":         `character 11: the value is outside of the range of tokens`,
		"score >= -2pp":           `character 12: expected nothing after the number, found "pp"`,
		"score >= -2":             `character 10: the value is outside of the range of score`,
		"broken <= +1":            `character 11: broken is a number of cases, without a sign`,
		"broken <= 0.5":           `character 11: broken is a whole number of cases`,
		"broken <= 0%":            `character 12: expected nothing after the number, found "%"`,
		"pass_rate >= 1e2%":       `character 15: expected "%" after the number, found "e2%"`,
		"az_AZ >= 1":              `character 1: unknown metric "az_AZ"`,
		"a{ >= 1":                 `character 1: unknown metric "a"`,
		"pass_rate ≥ -2pp":        `character 11: expected ">=" or "<=", found "≥ -2pp"`,
		"pass_rate >= −2pp":       `character 14: expected a number, found "−2pp"`,
		"errors <= +2%":           `character 13: expected "pp" after the number, found "%"`,
		"pass_rate >= \xff":       `character 14: expected a number, found "\xff"`,
		"latency <= " + "+" + "%": `character 13: expected a number, found "%"`,
	} {
		_, err := compare.ParseGate(text)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
			continue
		}
		if plumb.Hint(err) == "" {
			t.Errorf("%q: the error has no hint", text)
		}
	}
	_, err := compare.ParseGate("pas_rate >= -2pp")
	if hint := plumb.Hint(err); !strings.HasPrefix(hint, "did you mean pass_rate?") {
		t.Errorf("hint: %s", hint)
	}
}

func FuzzParseGate(f *testing.F) {
	for _, seed := range []string{"pass_rate >= -2pp", "tokens <= +10%", "score>=0.8", "broken <= 0", "errors <= 5 %"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := compare.ParseGate(text)
		if err != nil {
			if !strings.Contains(err.Error(), "character ") || plumb.Hint(err) == "" {
				t.Errorf("%q: the error has no place or no hint: %v", text, err)
			}
			return
		}
		again, err := compare.ParseGate(g.Text)
		if err != nil || again != g || math.IsNaN(g.Bound) {
			t.Errorf("%q: %+v, and again %+v, %v", text, g, again, err)
		}
	})
}
