package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
)

// gateTexts returns two gates for each metric that a gate may name: the list in the error about an
// unknown one.
func gateTexts(t *testing.T) map[compare.Metric][]string {
	t.Helper()
	_, err := compare.ParseGate("none >= 0")
	_, list, _ := strings.Cut(plumb.Hint(err), "metrics: ")
	texts := map[compare.Metric][]string{}
	for name := range strings.SplitSeq(list, ", ") {
		for _, op := range []string{">=", "<="} {
			for _, value := range []string{"0", "0%", "100%", "+0pp", "-100pp", "+900%", "-99%", "1", "-1"} {
				if text := name + " " + op + " " + value; mayParse(text) {
					texts[compare.Metric(name)] = append(texts[compare.Metric(name)], text)
				}
			}
		}
		if len(texts[compare.Metric(name)]) < 2 {
			t.Errorf("no gates about %q", name)
		}
	}
	return texts
}

func mayParse(text string) bool { _, err := compare.ParseGate(text); return err == nil }

// A gate about nothing measured is unproven (F16): each metric, with nothing measured on one side or
// on both, and without any coverage demanded. Errors were measured where sessions ended with one.
func TestF16_NothingMeasuredProvesNothing(t *testing.T) {
	t.Parallel()
	for metric, texts := range gateTexts(t) {
		for _, text := range texts {
			g, err := compare.ParseGate(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, ended := range []bool{false, true} {
				for name, side := range map[string][2]int{"A": {0, 1}, "B": {1, 0}, "both": {0, 0}} {
					m := matching(repeated(12, counts{side[0], side[0], side[1], side[1]})...)
					if ended {
						for i := range m.Runners[0].Pairs {
							p := &m.Runners[0].Pairs[i]
							p.Base, p.Cand = samples(side[0], side[0], 1-side[0]), samples(side[1], side[1], 1-side[1])
							m.Base.Samples[i], m.Cand.Samples[i] = p.Base, p.Cand
						}
					}
					about := side[1] == 0 || g.Relative || metric == compare.Broken // not about B alone
					if !about || metric == compare.Errors && ended {
						continue
					}
					o := compare.DefaultChoices()
					o.MinCoverage, o.Gates = 0, []compare.Gate{g}
					c := compare.Analyze(m, o)
					if got := c.Gates[0]; got.Result != compare.Unproven || got.Why == "" || c.ExitCode != 3 {
						t.Errorf("%s, nothing measured on %s, ended %v: %s (%s), exit code %d", text, name, ended, got.Result,
							got.Why, c.ExitCode)
					}
				}
			}
		}
	}
	g, _ := compare.ParseGate("broken <= 0")
	o := compare.DefaultChoices()
	o.MinCoverage, o.Gates = 0, []compare.Gate{g}
	m := matching(repeated(3, counts{1, 1, 1, 1})...)
	m.Runners = nil
	if c := compare.Analyze(m, o); c.ExitCode != 3 {
		t.Errorf("no runner on both sides: exit code %d", c.ExitCode)
	}
}

// randomComparison draws runs with several runners, repetitions and metrics, also with clusters and
// with sessions that could not be measured.
func randomComparison(r *rand.Rand) *compare.Matching {
	cases, runners := 1+r.IntN(30), 1+r.IntN(3)
	base, cand := 1+r.IntN(4), 1+r.IntN(4)
	shift, grow := r.Float64()-0.5, math.Exp(0.4*r.NormFloat64())
	var m *compare.Matching
	for n := range runners {
		var all []counts
		for range cases {
			b, c := base, cand
			if r.IntN(6) == 0 {
				b, c = r.IntN(3), r.IntN(3)
			}
			p := r.Float64()
			all = append(all, counts{passes(r, p, b), b, passes(r, p+shift*r.Float64(), c), c})
		}
		x := matching(all...)
		for i := range x.Runners[0].Pairs {
			p := &x.Runners[0].Pairs[i]
			p.Cluster, p.Case.Category = fmt.Sprint(i%7), fmt.Sprint(i%5)
			level := math.Exp(r.NormFloat64())
			for k := range p.Base {
				p.Base[k].Tokens, p.Base[k].LatencyMs = 900*level*math.Exp(0.2*r.NormFloat64()), 100*math.Exp(0.02*r.NormFloat64())
			}
			for k := range p.Cand {
				p.Cand[k].Tokens = 900 * level * grow * math.Exp(0.2*r.NormFloat64())
				p.Cand[k].LatencyMs = 103 * math.Exp(0.02*r.NormFloat64())
			}
		}
		x.Clustered = r.IntN(4) == 0
		if m == nil {
			m = x
			m.Clustered = x.Clustered
			continue
		}
		pair := x.Runners[0]
		pair.Base, pair.Cand = fmt.Sprint("r", n), fmt.Sprint("r", n)
		m.Runners = append(m.Runners, pair)
	}
	return m
}

// One row, one test (U5): the interval that a row shows, its p-value and its conclusion agree. A
// claim about new cases never has a narrower interval than the one about these (U4), and where it has
// none, the row says why.
func TestU4U5_ClaimsAgree(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 5))
	seen := map[compare.Conclusion]int{}
	for range trials(150) {
		m := randomComparison(r)
		o := compare.DefaultChoices()
		o.Margins = map[compare.Metric]float64{compare.PassRate: 0.3, compare.Tokens: 0.5}
		c := compare.Analyze(m, o)
		for i := range c.Metrics {
			f := &c.Metrics[i]
			seen[f.Conclusion]++
			checkClaims(t, f, o.Alpha)
		}
	}
	for _, c := range []compare.Conclusion{compare.Better, compare.Worse, compare.Equivalent, compare.NotDecisive} {
		if seen[c] == 0 {
			t.Errorf("no row is %s", c)
		}
	}
}

func checkClaims(t *testing.T, f *compare.Figure, alpha float64) {
	t.Helper()
	none, test, margin := 0.0, f.Test, f.Margin
	least := -margin
	if f.Metric.Ratio() {
		none, least, margin = 1, 1/(1+margin), 1+margin
	}
	low, high := float64(test.Low), float64(test.High)
	apart := low > none || high < none
	significant := float64(test.P) <= alpha
	switch test.Of {
	case compare.TestDifference:
		if apart != significant || significant != (f.Conclusion == compare.Better || f.Conclusion == compare.Worse) {
			t.Errorf("%s: %s, but %+v", f.Metric, f.Conclusion, test)
		}
	case compare.TestEquivalence:
		if f.Conclusion != compare.Equivalent || !significant || low <= least || high >= margin {
			t.Errorf("%s: %s, but %+v at a margin of %v", f.Metric, f.Conclusion, test, f.Margin)
		}
	default:
		if f.Conclusion != compare.NotDecisive || test.P.OK() || test.Low.OK() {
			t.Errorf("%s: %s without a test: %+v", f.Metric, f.Conclusion, test)
		}
	}
	others := f.Population
	switch {
	case !others.OK() && f.PopulationWhy == "":
		t.Errorf("%s: nothing about other cases, and no reason", f.Metric)
	case others.OK() && f.Effect.OK():
		for _, these := range [][2]compare.Number{{f.Effect.Low, f.Effect.High}, {test.Low, test.High}} {
			if these[0].OK() && (others.Low > these[0] || others.High < these[1]) {
				t.Errorf("%s: about other cases %v to %v, about these %v", f.Metric, others.Low, others.High, these)
			}
		}
	}
}

// --cluster category is advised only if there are enough categories to decide (U5).
func TestU5_ClusterAdvice(t *testing.T) {
	t.Parallel()
	for _, categories := range []int{2, 3, 5, 6, 12} {
		var all []counts
		for i := range 120 { // the cases of a category change together
			all = append(all, counts{1, 1, (i % categories) % 2, 1})
		}
		m := matching(all...)
		for i := range m.Runners[0].Pairs {
			m.Runners[0].Pairs[i].Case.Category = fmt.Sprint("c", i%categories)
		}
		advised := slices.ContainsFunc(compare.Analyze(m, compare.DefaultChoices()).Warnings,
			func(w string) bool { return strings.Contains(w, "--cluster category") })
		if advised != (categories >= 6) {
			t.Errorf("%d categories: advised %v", categories, advised)
		}
	}
}

// What a comparison could have seen is what the next ones find (U8): in 80 % of simulated comparisons
// with a loss as large as the median of what comparisons of the suite promise.
func TestU8_DetectableIsFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation")
	}
	comparisons := 120
	if os.Getenv("PLUMB_SIMULATE") == "full" {
		comparisons = 1500
	}
	for _, row := range []struct {
		cases, repeats int
		rate           float64
	}{{200, 1, 0.85}, {200, 1, 0.95}, {100, 1, 0.7}, {100, 5, 0.85}, {50, 2, 0.7}, {400, 1, 0.5}} {
		t.Run(fmt.Sprintf("%dx%d at %v", row.cases, row.repeats, row.rate), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(8, uint64(row.cases*row.repeats)))
			rates := slices.Repeat([]float64{row.rate}, row.cases)
			run := func(base, cand []float64) *compare.Comparison {
				var all []counts
				for i := range base {
					all = append(all, counts{passes(r, base[i], row.repeats), row.repeats, passes(r, cand[i], row.repeats), row.repeats})
				}
				return compare.Analyze(matching(all...), compare.DefaultChoices())
			}
			var promised []float64
			for range 31 {
				promised = append(promised, float64(run(rates, rates).MDE))
			}
			slices.Sort(promised)
			mde, worse := promised[15], 0
			cand := lowered(rates, mde)
			for range comparisons {
				if run(rates, cand).Runners[0].Figure.Conclusion == compare.Worse {
					worse++
				}
			}
			got := float64(worse) / float64(comparisons)
			// The median of the promises has an error, too: a relative one of about 1 %.
			if se := math.Sqrt(0.16 / float64(comparisons)); math.Abs(got-0.8) > 0.03+3*se {
				t.Errorf("%.3f of %d comparisons find %.4f", got, comparisons, mde)
			}
			t.Logf("%.3f find %.4f", got, mde)
		})
	}
}
