package compare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/golden"
)

// TestComparisons compares whole comparisons, with their words and figures, with a file.
func TestComparisons(t *testing.T) {
	t.Parallel()
	var gates []compare.Gate
	for _, text := range []string{
		"pass_rate >= -2pp", "pass_rate >= 50%", "tokens <= +10%", "latency <= -20%", "score >= -0.02",
		"errors <= 5%", "broken <= 1", "cost <= +150%",
	} {
		g, err := compare.ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		gates = append(gates, g)
	}
	var b strings.Builder
	write := func(name string, m *compare.Matching, o compare.Choices) {
		var members any
		if err := json.Unmarshal([]byte(document(t, compare.Analyze(m, o))), &members); err != nil {
			t.Fatal(err)
		}
		b.WriteString(name)
		compare.Flat(&b, "\t", members)
		b.WriteString("\n")
	}
	r := rand.New(rand.NewPCG(6, 7))
	for seed := range uint64(4) {
		o := compare.DefaultChoices()
		switch seed % 3 {
		case 1:
			o.Gates = gates
		case 2:
			o.Alpha = 0.2
			o.Margins = map[compare.Metric]float64{compare.PassRate: 0.3, compare.Tokens: 0.5}
		}
		write(fmt.Sprint("random ", seed), random(seed, 1+int(seed%3)), o)
		write(fmt.Sprint("drawn ", seed), randomComparison(r), o)
	}
	for i, all := range [][]counts{
		nil, single(0, 0, 9), single(1, 0, 9), single(6, 0, 60), single(6, 6, 60), single(0, 7, 60), single(40, 5, 400),
		repeated(20, counts{5, 5, 4, 5}), repeated(20, counts{3, 5, 3, 5}), repeated(5, counts{0, 0, 1, 1}),
		repeated(300, counts{1, 1, 1, 1}),
	} {
		write(fmt.Sprint("counted ", i), matching(all...), withMargin(10))
	}
	golden.Equal(t, "testdata/comparisons.txt", b.String())
}
