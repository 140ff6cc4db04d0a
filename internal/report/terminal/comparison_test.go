package terminal_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report/terminal"
)

// paired makes a matching of two runs from counts of cases: passed and measured in the baseline,
// passed and measured in the candidate.
func paired(cases ...[4]int) *compare.Matching {
	m := &compare.Matching{
		Base: &compare.Side{Name: "A", ID: "A", Kind: compare.SourceRun, Runners: []compare.Runner{{ID: "openai:gpt-5"}}},
		Cand: &compare.Side{
			Name: "B", ID: "B", Kind: compare.SourceRun, Runners: []compare.Runner{{ID: "openai:gpt-5-mini"}},
		},
	}
	r := compare.RunnerPair{Base: "openai:gpt-5", Cand: "openai:gpt-5-mini"}
	for i, c := range cases {
		id := fmt.Sprintf("refund-%d", i)
		base, cand := plumb.CaseInfo{ID: id, Hash: id, Repeat: c[1]}, plumb.CaseInfo{ID: id, Hash: id, Repeat: c[3]}
		p := compare.Pair{
			Case: &cand, BaseCase: id, CandCase: id, BaseIndex: i, CandIndex: i, Base: sampled(c[0], c[1]),
			Cand: sampled(c[2], c[3]), BasePlanned: c[1], CandPlanned: c[3],
		}
		m.Base.Cases, m.Cand.Cases = append(m.Base.Cases, base), append(m.Cand.Cases, cand)
		m.Base.Samples, m.Cand.Samples = append(m.Base.Samples, p.Base), append(m.Cand.Samples, p.Cand)
		r.Pairs = append(r.Pairs, p)
	}
	m.Runners = []compare.RunnerPair{r}
	return m
}

func sampled(passed, n int) []analyze.Sample {
	out := make([]analyze.Sample, n)
	nan := math.NaN()
	for i := range out {
		out[i] = analyze.Sample{
			Repetition: int32(i + 1), Outcome: plumb.OutcomePass, Score: nan, Tokens: 100 + float64(i), InputTokens: nan,
			OutputTokens: nan, CostUSD: 0.001, LatencyMs: 900 + 7*float64(i), Steps: nan,
		}
		if i >= passed {
			out[i].Outcome, out[i].Class = plumb.OutcomeFail, "assertion"
		}
	}
	return out
}

// once makes pairs with one repetition a side.
func once(lost, won, of int) [][4]int {
	repeat := func(n int, c [4]int) [][4]int { return slices.Repeat([][4]int{c}, n) }
	return slices.Concat(repeat(lost, [4]int{1, 1, 0, 1}), repeat(won, [4]int{0, 1, 1, 1}),
		repeat(of-lost-won, [4]int{1, 1, 1, 1}))
}

func rendered(t *testing.T, m *compare.Matching, o compare.Choices) string {
	t.Helper()
	var out bytes.Buffer
	if err := terminal.WriteComparison(terminal.Screen{Out: &out, Unicode: true}, compare.Analyze(m, o)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The words are those of the method; their figures follow from the counts.
func TestComparisonWords(t *testing.T) {
	t.Parallel()
	wide := compare.DefaultChoices()
	wide.Margins = map[compare.Metric]float64{compare.PassRate: 0.05}
	history := append(slices.Repeat([][4]int{{20, 20, 3, 3}}, 10), [4]int{20, 20, 0, 3})
	confirmed := compare.DefaultChoices()
	confirmed.Confirmed = map[compare.CaseKey]compare.Fresh{
		{Case: "refund-10", Runner: "openai:gpt-5-mini"}: {Candidate: compare.Count{Measured: 5}},
	}
	for _, tt := range []struct {
		cases [][4]int
		o     compare.Choices
		want  []string
	}{
		{once(15, 3, 120), compare.DefaultChoices(), []string{
			"worse: -10.0 pp pass rate, 95 % between -16.9 and -2.8 (15 cases lost, 3 won, of 120; p = 0.0075)\n",
			"exact McNemar over 120 pairs, one repeat; interval: Bonett-Price; coverage 120/120\n",
			"chance alone does this in 1 of 130 such comparisons\n",
		}},
		{once(3, 14, 120), compare.DefaultChoices(), []string{
			"better: +9.2 pp pass rate, 95 % between +2.1 and +15.9 (14 won, 3 lost, of 120; p = 0.013)\n",
		}},
		{once(6, 5, 200), wide, []string{
			"equivalent: within ±5 pp (-0.5 pp, 90 % between -3.5 and +2.5; 6 lost, 5 won, of 200)\n",
		}},
		{once(9, 4, 100), compare.DefaultChoices(), []string{
			"not decisive: -5.0 pp pass rate, 95 % between -12.3 and +2.5 (9 lost, 4 won, of 100; p = 0.27)\n" +
				"  this comparison could have seen 15 pp\n" +
				"  if -5.0 pp is real, at most 6 repeats of each case would show it: 1,000 more sessions, about $1.00\n" +
				"    plumb resume A --repeat 6 && plumb resume B --repeat 6\n",
		}},
		{history, confirmed, []string{
			"worse: 1 case broke: refund-10, 20/20 → 0/3, then 0/5 again (p < 0.0001); the suite as a whole: ",
			"refund-10  0/3",
		}[:1]},
		{append(slices.Repeat([][4]int{{3, 5, 2, 3}}, 10), [4]int{5, 5, 0, 3}), compare.DefaultChoices(), []string{
			"  1 case looks broken (refund-10: 5/5 → 0/3); 10 sessions, about $0.010 would tell",
		}},
	} {
		got := rendered(t, paired(tt.cases...), tt.o)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("missing:\n%s\ngot:\n%s", want, got)
			}
		}
		if first, _, _ := strings.Cut(tt.want[0], ":"); !strings.HasPrefix(first, " ") && !strings.HasPrefix(got, first) {
			t.Errorf("the first line is not the conclusion:\n%s", got)
		}
		if strings.Contains(got, "significant") || strings.Contains(got, "NaN") {
			t.Errorf("words that must not be there:\n%s", got)
		}
	}
}

// On a terminal no line is wider than it, except commands, which must stay whole.
func TestComparisonFits(t *testing.T) {
	t.Parallel()
	m := paired(once(15, 3, 120)...)
	m.Varied = []compare.Difference{{Kind: compare.VaryModel, Name: "model", Base: "openai:gpt-5", Cand: "openai:gpt-5-mini"}}
	m.VariedKinds = []compare.Kind{compare.VaryModel}
	m.Warnings = []string{strings.Repeat("a long warning ", 20)}
	m.OnlyBase = slices.Repeat([]string{"a-long-name-of-a-case"}, 30)
	gate, err := compare.ParseGate("pass_rate >= -2pp")
	if err != nil {
		t.Fatal(err)
	}
	o := compare.DefaultChoices()
	o.Gates = []compare.Gate{gate}
	c := compare.Analyze(m, o)
	for _, unicode := range []bool{true, false} {
		var out bytes.Buffer
		err = terminal.WriteComparison(terminal.Screen{Out: &out, Terminal: true, Color: true, Unicode: unicode, Size: func() (int, int) { return 80, 24 }}, c)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); ansi.StringWidth(line) > 80 {
				t.Errorf("%d cells: %s", ansi.StringWidth(line), line)
			}
			if !unicode && strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("not ASCII: %q", line)
			}
		}
		if !strings.Contains(out.String(), "\x1b[31mworse") && !strings.Contains(out.String(), "worse") {
			t.Error("the conclusion is missing")
		}
	}
	if got := rendered(t, m, o); strings.Contains(got, "\x1b") {
		t.Error("color in a pipe")
	}
}

// An effect of 0 needs no plan to see it.
func TestNoPlanForNoEffect(t *testing.T) {
	t.Parallel()
	text := rendered(t, paired(once(5, 5, 60)...), compare.DefaultChoices())
	if !strings.HasPrefix(text, "not decisive: 0 pp") || strings.Contains(text, "is real") {
		t.Error(text)
	}
}
