package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// ParseMargins reads margins: "2pp" for the pass rate, or METRIC=VALUE, such as "tokens=15%" or
// "score=0.05".
func ParseMargins(texts []string) (map[Metric]float64, error) {
	margins := map[Metric]float64{}
	for _, text := range texts {
		metric, value := PassRate, strings.TrimSpace(text)
		if name, rest, ok := strings.Cut(text, "="); ok {
			metric, value = Metric(strings.TrimSpace(name)), strings.TrimSpace(rest)
		}
		if !slices.Contains(metrics(), metric) {
			var known []string
			for _, m := range metrics() {
				known = append(known, string(m))
			}
			hint := "metrics: " + strings.Join(known, ", ")
			if near := plumb.Nearest(string(metric), known); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, plumb.WithHint(fmt.Errorf("--margin %q: unknown metric %q", text, metric), hint)
		}
		unit, scale, example := "pp", 100.0, "2pp"
		switch {
		case metric.Ratio():
			unit, example = "%", string(metric)+"=15%"
		case metric == Score:
			unit, scale, example = "", 1, "score=0.05"
		}
		number, ok := strings.CutSuffix(value, unit)
		size, err := doc.ParseNumber(strings.TrimSpace(number))
		if !ok || err != nil || !(size > 0) || size/scale > 10 {
			return nil, plumb.WithHint(fmt.Errorf("--margin %q: %q is not the size of an effect on %s", text, value, metric),
				"write a positive number with its unit, such as --margin "+example)
		}
		margins[metric] = size / scale
	}
	return margins, nil
}
