package compare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
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
	for _, clusters := range []int{1, 5, 6, 9} {
		m := matching(single(4, 2, 60)...)
		m.Clustered = true
		for i := range m.Runners[0].Pairs {
			m.Runners[0].Pairs[i].Cluster = fmt.Sprint("c", i%clusters)
		}
		write(fmt.Sprint("clusters ", clusters), m, withMargin(10))
	}
	golden.Equal(t, "testdata/comparisons.txt", b.String())
}

// TestDecisions compares the decisions of runs until a decision with a file: after every seventh
// result, and at the end.
func TestDecisions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(10, 11))
	var b strings.Builder
	for _, ask := range []struct {
		against, gate string
		base, cand    float64 // the rates of passes
		broken        int     // the number of cases that always fail
	}{
		{"main", "", 0.9, 0.3, 0},
		{"main", "", 0.9, 0.9, 0},
		{"main", "", 0.4, 0.9, 0},
		{"main", "", 1, 1, 2},
		{"main", "", 1, 0.5, 1},
		{"", "pass_rate >= 70%", 0, 0.95, 0},
		{"", "pass_rate >= 70%", 0, 0.4, 0},
		{"", "errors <= 20%", 0, 0.9, 0},
		{"", "pass_rate >= 80%", 0, 0.8, 0},
		{"main", "pass_rate >= -10pp", 0.8, 0.9, 0},
		{"main", "pass_rate >= -10pp", 0.9, 0.5, 0},
		{"main", "pass_rate >= -2pp", 0.8, 0.8, 0},
	} {
		const cases = 12
		q := &compare.Question{Against: ask.against, Gate: ask.gate, Alpha: 0.05, Margin: 0.1, Repeat: 12, Batch: 4}
		outcome := func(rate float64) plumb.Outcome {
			switch p := r.Float64(); {
			case p < 0.02:
				return plumb.OutcomeError
			case p < rate:
				return plumb.OutcomePass
			}
			return plumb.OutcomeFail
		}
		for i := range cases {
			results := make([]byte, 8+r.IntN(12))
			for k := range results {
				results[k] = 'f'
				if outcome(ask.base) == plumb.OutcomePass {
					results[k] = 'p'
				}
			}
			if ask.against != "" {
				q.Baseline = append(q.Baseline, compare.BaselineResults{Case: fmt.Sprint("c", i), Results: string(results)})
			}
		}
		d, err := q.Deciding("run", cases)
		if err != nil {
			t.Fatal(err)
		}
		pairs, missing := q.Stock()
		fmt.Fprintf(&b, "%+v: %d pairs, %d missing\n", ask, pairs, missing)
		say := func(after int, ended bool) {
			var members any
			data, err := json.Marshal(d.Decision(ended))
			if err == nil {
				err = json.Unmarshal(data, &members)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "\t%d:", after)
			compare.Flat(&b, "\t\t", members)
			b.WriteString("\n")
		}
		repetitions, n := make([]int, cases), 0
		for ; n < 400 && !d.Ended(); n++ {
			i, ok := d.Next()
			if !ok {
				break
			}
			o := outcome(ask.cand)
			if i < ask.broken {
				o = plumb.OutcomeFail
			}
			d.Reveal(i, repetitions[i], o)
			repetitions[i]++
			if n%7 == 0 {
				say(n, false)
			}
		}
		say(n, true)
		fmt.Fprintf(&b, "\tended: %t, repetitions %v\n", d.Ended(), repetitions)
	}
	golden.Equal(t, "testdata/decisions.txt", b.String())
}
