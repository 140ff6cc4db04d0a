package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
)

// counts are the results of one case: k of n passed in the baseline, and l of m in the candidate.
type counts struct{ k, n, l, m int }

// trials returns how often a test with random input is made: n times, or with -short fewer.
func trials(n uint64) uint64 {
	if testing.Short() {
		return n / 4
	}
	return n
}

// repeated returns n times the same counts.
func repeated(n int, c counts) []counts { return slices.Repeat([]counts{c}, n) }

// samples returns n samples of which k passed, and then some that could not be measured.
func samples(k, n, unmeasured int) []analyze.Sample {
	out := make([]analyze.Sample, n+unmeasured)
	nan := math.NaN()
	for i := range out {
		out[i] = analyze.Sample{
			Repetition: int32(i + 1), Session: 1, Outcome: plumb.OutcomeFail, Class: "assertion", Score: 0,
			Tokens: nan, InputTokens: nan, OutputTokens: nan, CostUSD: nan, LatencyMs: nan, Steps: nan,
		}
		switch {
		case i < k:
			out[i].Outcome, out[i].Class, out[i].Score, out[i].Green = plumb.OutcomePass, "", 1, true
		case i >= n:
			out[i].Outcome, out[i].Class, out[i].Score = plumb.OutcomeError, "runner-crash", nan
		}
	}
	return out
}

// matching makes a matching with one pair of runners.
func matching(cases ...counts) *compare.Matching {
	m := &compare.Matching{
		Base: &compare.Side{Name: "A", ID: "run-a", Kind: compare.SourceRun, Runners: []compare.Runner{{ID: "r"}}},
		Cand: &compare.Side{Name: "B", ID: "run-b", Kind: compare.SourceRun, Runners: []compare.Runner{{ID: "r"}}},
	}
	var pairs []compare.Pair
	for i, c := range cases {
		id := fmt.Sprintf("case-%03d", i)
		it := plumb.CaseInfo{ID: id, Hash: "h" + id, Category: []string{"x", "y", "z"}[i%3], Repeat: max(c.n, c.m)}
		base, cand := it, it
		base.Repeat, cand.Repeat = c.n, c.m
		p := compare.Pair{
			Case: &cand, BaseCase: id, CandCase: id, BaseIndex: i, CandIndex: i, Cluster: id,
			Base: samples(c.k, c.n, 0), Cand: samples(c.l, c.m, 0), BasePlanned: c.n, CandPlanned: c.m,
		}
		m.Base.Cases, m.Cand.Cases = append(m.Base.Cases, base), append(m.Cand.Cases, cand)
		m.Base.Samples, m.Cand.Samples = append(m.Base.Samples, p.Base), append(m.Cand.Samples, p.Cand)
		pairs = append(pairs, p)
	}
	m.Runners = []compare.RunnerPair{{Base: "r", Cand: "r", Pairs: pairs}}
	return m
}

// single returns pairs with one repetition a side: lost, won and equal ones of which half pass.
func single(lost, won, of int) []counts {
	equal := of - lost - won
	return slices.Concat(repeated(lost, counts{1, 1, 0, 1}), repeated(won, counts{0, 1, 1, 1}),
		repeated(equal/2, counts{1, 1, 1, 1}), repeated(equal-equal/2, counts{0, 1, 0, 1}))
}

// swap exchanges the sides of a matching.
func swap(m *compare.Matching) *compare.Matching {
	s := *m
	s.Base, s.Cand = m.Cand, m.Base
	s.OnlyBase, s.OnlyCand = m.OnlyCand, m.OnlyBase
	s.Runners = nil
	for _, r := range m.Runners {
		t := r
		t.Base, t.Cand, t.BaseIndex, t.CandIndex = r.Cand, r.Base, r.CandIndex, r.BaseIndex
		t.Pairs = nil
		for _, p := range r.Pairs {
			q := p
			q.Base, q.Cand, q.BaseCase, q.CandCase = p.Cand, p.Base, p.CandCase, p.BaseCase
			q.BaseIndex, q.CandIndex = p.CandIndex, p.BaseIndex
			q.BasePlanned, q.CandPlanned = p.CandPlanned, p.BasePlanned
			q.Case = &s.Cand.Cases[q.CandIndex]
			t.Pairs = append(t.Pairs, q)
		}
		s.Runners = append(s.Runners, t)
	}
	return &s
}

func withMargin(pp float64) compare.Choices {
	o := compare.DefaultChoices()
	o.Margins = map[compare.Metric]float64{compare.PassRate: pp / 100}
	return o
}

func TestConclusions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cases []counts
		o     compare.Choices
		want  compare.Conclusion
		code  int
	}{
		"worse":      {single(15, 3, 120), compare.DefaultChoices(), compare.Worse, 1},
		"better":     {single(3, 14, 120), compare.DefaultChoices(), compare.Better, 0},
		"equivalent": {single(6, 5, 200), withMargin(5), compare.Equivalent, 0},
		"noise":      {single(9, 4, 100), compare.DefaultChoices(), compare.NotDecisive, 3},
		"nothing":    {nil, compare.DefaultChoices(), compare.NotDecisive, 3},
		"one case":   {single(1, 0, 1), compare.DefaultChoices(), compare.NotDecisive, 3},
		"no change":  {repeated(400, counts{5, 5, 5, 5}), compare.DefaultChoices(), compare.Equivalent, 0},
		"broken":     {append(repeated(60, counts{20, 20, 5, 5}), counts{20, 20, 0, 5}), withMargin(50), compare.Worse, 1},
		"negligible": {
			slices.Concat(repeated(30, counts{5, 5, 4, 5}), repeated(970, counts{5, 5, 5, 5})),
			compare.DefaultChoices(), compare.Equivalent, 0,
		},
	}
	for name, tt := range tests {
		c := compare.Analyze(matching(tt.cases...), tt.o)
		if c.Conclusion != tt.want || c.ExitCode != tt.code {
			t.Errorf("%s: %s (%s), exit code %d, want %s and %d; effect %+v, p %v", name, c.Conclusion, c.Reason,
				c.ExitCode, tt.want, tt.code, c.Effect, c.P)
		}
	}
}

func TestCoverageDecides(t *testing.T) {
	t.Parallel()
	m := matching(single(40, 0, 100)...)
	for i := 70; i < 100; i++ {
		m.Runners[0].Pairs[i].Cand = samples(0, 0, 1)
	}
	c := compare.Analyze(m, compare.DefaultChoices())
	if c.Conclusion != compare.NotDecisive || c.ExitCode != 3 || float64(c.Coverage) != 0.7 {
		t.Errorf("%s, %d, coverage %v", c.Conclusion, c.ExitCode, c.Coverage)
	}
	if c.Sensitivity == nil || c.Sensitivity.Worst != compare.Worse || c.Sensitivity.Pairs != 30 {
		t.Errorf("sensitivity %+v", c.Sensitivity)
	}
	if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "0 of 100 → 30 of 100") }) {
		t.Errorf("warnings %q", c.Warnings)
	}
	o := compare.DefaultChoices()
	o.MinCoverage = 0.5
	if c := compare.Analyze(m, o); c.Conclusion != compare.Worse {
		t.Errorf("with --min-coverage 0.5: %s", c.Conclusion)
	}
}

func TestClustersDecide(t *testing.T) {
	t.Parallel()
	for clusters, want := range map[int]compare.Conclusion{5: compare.NotDecisive, 20: compare.Worse} {
		m := matching(single(60, 0, 100)...)
		m.Clustered = true
		for i := range m.Runners[0].Pairs {
			m.Runners[0].Pairs[i].Cluster = fmt.Sprint((i + i/31) % clusters)
		}
		if c := compare.Analyze(m, compare.DefaultChoices()); c.Conclusion != want || c.Pairs.Clusters != clusters {
			t.Errorf("%d clusters: %s, %s, %+v", clusters, c.Conclusion, c.Reason, c.Pairs)
		}
	}
}

func TestSameAnswers(t *testing.T) {
	t.Parallel()
	m := matching(single(2, 0, 10)...)
	for i := range m.Runners[0].Pairs {
		p := &m.Runners[0].Pairs[i]
		p.Base, p.Cand, p.SameAnswer, p.Same = nil, nil, true, 1
	}
	c := compare.Analyze(m, compare.DefaultChoices())
	if c.Conclusion != compare.NotDecisive || c.Pairs.SameAnswer != 10 || c.Pairs.Measured != 0 || c.Coverage != 1 {
		t.Errorf("%s, %+v, coverage %v", c.Conclusion, c.Pairs, c.Coverage)
	}
}

func TestEarlyStop(t *testing.T) {
	t.Parallel()
	// Three planned repetitions, which end at the first failure.
	m := matching(slices.Concat(repeated(12, counts{3, 3, 1, 2}), repeated(12, counts{3, 3, 3, 3}))...)
	for i := range m.Runners[0].Pairs {
		p := &m.Runners[0].Pairs[i]
		p.EarlyStop, p.BasePlanned, p.CandPlanned = len(p.Cand) < 3, 3, 3
	}
	c := compare.Analyze(m, compare.DefaultChoices())
	f := c.Runners[0].Figure
	if c.Pairs.EarlyStop != 12 || c.Pairs.Whole != 12 || f.Lost != 12 || c.Conclusion != compare.Worse {
		t.Errorf("%s, %+v, lost %d", c.Conclusion, c.Pairs, f.Lost)
	}
	if got := c.Cases.Regressed[0]; !got.Whole || got.Candidate.Passed != 0 || got.Candidate.Measured != 1 {
		t.Errorf("regressed: %+v", got)
	}
	// With other plans, the first repetition counts, and it passed on both sides.
	for i := range m.Runners[0].Pairs {
		m.Runners[0].Pairs[i].BasePlanned = 5
	}
	if c := compare.Analyze(m, compare.DefaultChoices()); c.Pairs.Whole != 0 || c.Runners[0].Figure.Lost != 0 {
		t.Errorf("%+v, lost %d", c.Pairs, c.Runners[0].Figure.Lost)
	}
}

// random makes a matching with all kinds of pairs, from a seed.
func random(seed uint64, runners int) *compare.Matching {
	r := rand.New(rand.NewPCG(seed, 1))
	n := r.IntN(30)
	base, cand := 1+r.IntN(4), 1+r.IntN(4)
	if r.IntN(2) == 0 {
		base, cand = 1, 1
	}
	m := matching(repeated(n, counts{0, base, 0, cand})...)
	one := m.Runners[0]
	m.Runners, m.Base.Runners, m.Cand.Runners = nil, nil, nil
	m.Base.Samples, m.Cand.Samples = make([][]analyze.Sample, n*runners), make([][]analyze.Sample, n*runners)
	m.Clustered = r.IntN(4) == 0
	for x := range runners {
		id := fmt.Sprintf("runner-%d", x)
		m.Base.Runners, m.Cand.Runners = append(m.Base.Runners, compare.Runner{ID: id}), append(m.Cand.Runners, compare.Runner{ID: id})
		p := compare.RunnerPair{Base: id, Cand: id, BaseIndex: x, CandIndex: x, Pairs: slices.Clone(one.Pairs)}
		for i := range p.Pairs {
			pair := &p.Pairs[i]
			pair.Base, pair.Cand = someSamples(r, base), someSamples(r, cand)
			pair.Cluster = fmt.Sprint(i % 8)
			pair.EarlyStop = r.IntN(10) == 0
			if r.IntN(12) == 0 {
				pair.Base, pair.Cand, pair.SameAnswer, pair.Same = nil, nil, true, 1
			}
			m.Base.Samples[i*runners+x], m.Cand.Samples[i*runners+x] = pair.Base, pair.Cand
		}
		m.Runners = append(m.Runners, p)
	}
	return m
}

func someSamples(r *rand.Rand, n int) []analyze.Sample {
	out := samples(0, n, 0)
	rate := r.Float64()
	for i := range out {
		s := &out[i]
		if r.Float64() < rate {
			s.Outcome, s.Class = plumb.OutcomePass, ""
		}
		s.Score = r.Float64()
		s.Tokens, s.InputTokens, s.CostUSD = float64(1+r.IntN(1000)), float64(r.IntN(50)), r.Float64()
		s.LatencyMs, s.Cached = 1000*r.Float64(), r.IntN(5) == 0
		if r.IntN(8) == 0 {
			s.Outcome, s.Score = plumb.OutcomeError, math.NaN()
		}
	}
	return out
}

// mirrored returns the conclusion with the sides exchanged.
func mirrored(c compare.Conclusion) compare.Conclusion {
	switch c {
	case compare.Better:
		return compare.Worse
	case compare.Worse:
		return compare.Better
	default:
		return c
	}
}

func same(x, y compare.Number) bool { return x == y || !x.OK() && !y.OK() }

func sameRatio(x, y compare.Number) bool {
	return !x.OK() && !y.OK() || math.Abs(float64(x*y)-1) < 1e-12
}

// isMirror compares two effects of exchanged sides. Ratios are exponentials, so that their product
// is 1 up to rounding.
func isMirror(x, y *compare.Effect) bool {
	if x.Unit == compare.UnitRatio {
		return sameRatio(x.Value, y.Value) && sameRatio(x.Low, y.High) && sameRatio(x.High, y.Low)
	}
	return same(x.Value, -y.Value) && same(x.Low, -y.High) && same(x.High, -y.Low)
}

func TestMirror(t *testing.T) {
	t.Parallel()
	for seed := range trials(45) {
		m := random(seed, 1+int(seed%3))
		o := compare.DefaultChoices()
		a, b := compare.Analyze(m, o), compare.Analyze(swap(m), o)
		if len(a.Cases.Broken)+len(b.Cases.Broken) > 0 {
			continue // a broken case has no mirror
		}
		if len(a.Runners) == 1 && a.Conclusion != mirrored(b.Conclusion) {
			t.Errorf("seed %d: %s and %s", seed, a.Conclusion, b.Conclusion)
		}
		if len(a.Metrics) != len(b.Metrics) {
			t.Fatalf("seed %d: %d and %d metrics", seed, len(a.Metrics), len(b.Metrics))
		}
		for i := range a.Metrics {
			x, y := &a.Metrics[i], &b.Metrics[i]
			if x.Conclusion != mirrored(y.Conclusion) || !same(x.P, y.P) || !same(x.AdjustedP, y.AdjustedP) ||
				!same(x.MDE, y.MDE) || x.Lost != y.Won || x.Won != y.Lost || x.Method != y.Method ||
				!isMirror(&x.Effect, &y.Effect) || !isMirror(&x.Population, &y.Population) ||
				!isMirror(&x.Equivalence, &y.Equivalence) {
				t.Errorf("seed %d: %s is not mirrored:\n%+v\n%+v", seed, x.Metric, x, y)
			}
		}
		for i := range a.Groups {
			if x, y := &a.Groups[i], &b.Groups[i]; !same(x.AdjustedP, y.AdjustedP) || !isMirror(&x.Effect, &y.Effect) {
				t.Errorf("seed %d: group %+v is not mirrored: %+v", seed, x, y)
			}
		}
		if len(a.Cases.Regressed) != len(b.Cases.Fixed) || len(a.Cases.Fixed) != len(b.Cases.Regressed) {
			t.Errorf("seed %d: the changed cases are not mirrored", seed)
		}
		if s, u := a.Sensitivity, b.Sensitivity; len(a.Runners) == 1 && s != nil &&
			(s.Worst != mirrored(u.Best) || s.Best != mirrored(u.Worst)) {
			t.Errorf("seed %d: sensitivity %+v and %+v", seed, s, u)
		}
	}
}

func document(t *testing.T, c *compare.Comparison) string {
	t.Helper()
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOrderChangesNothing(t *testing.T) {
	t.Parallel()
	gate, err := compare.ParseGate("pass_rate >= 50%")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range trials(24) {
		m := random(seed, 1+int(seed%3))
		o := compare.DefaultChoices()
		o.Gates = []compare.Gate{gate}
		want := document(t, compare.Analyze(m, o))
		r := rand.New(rand.NewPCG(seed, 2))
		shuffled := *m
		shuffled.Runners = slices.Clone(m.Runners)
		r.Shuffle(len(shuffled.Runners), func(i, j int) {
			shuffled.Runners[i], shuffled.Runners[j] = shuffled.Runners[j], shuffled.Runners[i]
		})
		for i := range shuffled.Runners {
			pairs := slices.Clone(shuffled.Runners[i].Pairs)
			r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			shuffled.Runners[i].Pairs = pairs
		}
		if diff := cmp.Diff(want, document(t, compare.Analyze(&shuffled, o))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// Adding a case on which both sides agree in all repetitions changes no p-value.
func TestAgreementChangesNoP(t *testing.T) {
	t.Parallel()
	for seed := range trials(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		var cases []counts
		for range 15 {
			cases = append(cases, counts{r.IntN(4), 3, r.IntN(6), 5})
		}
		was := compare.Analyze(matching(cases...), compare.DefaultChoices())
		is := compare.Analyze(matching(append(cases, counts{3, 3, 5, 5}, counts{0, 3, 0, 5})...), compare.DefaultChoices())
		if was.P != is.P {
			t.Errorf("seed %d: p %v, and with two more cases %v", seed, was.P, is.P)
		}
	}
}

func TestBrokenCases(t *testing.T) {
	t.Parallel()
	// A long history: one case that stops working.
	cases := append(repeated(99, counts{20, 20, 3, 3}), counts{20, 20, 0, 3})
	m := matching(cases...)
	c := compare.Analyze(m, compare.DefaultChoices())
	if len(c.Cases.Suspect) != 1 || len(c.Cases.Broken) != 0 || c.Settle == nil && c.Conclusion == compare.NotDecisive {
		t.Fatalf("%s: %d suspects, %d broken", c.Conclusion, len(c.Cases.Suspect), len(c.Cases.Broken))
	}
	suspect := c.Cases.Suspect[0]
	if compare.NeedsBaseline(&suspect) {
		t.Error("a history of 20 repetitions is not enough")
	}
	o := compare.DefaultChoices()
	key := compare.CaseKey{Case: suspect.Case, Runner: suspect.Runner}
	o.Confirmed = map[compare.CaseKey]compare.Fresh{key: {Candidate: compare.Count{Measured: 5}}}
	c = compare.Analyze(m, o)
	if c.Conclusion != compare.Worse || c.Reason != "1 case broke" || len(c.Cases.Broken) != 1 || c.ExitCode != 1 {
		t.Errorf("%s: %s, %d broken", c.Conclusion, c.Reason, len(c.Cases.Broken))
	}
	if got := c.Cases.Broken[0].Confirmation; got == nil || math.Abs(float64(got.P)*53130-1) > 1e-9 {
		t.Errorf("confirmation %+v, want p = 1/53130", got)
	}
	o.Confirmed[key] = compare.Fresh{Candidate: compare.Count{Passed: 5, Measured: 5}}
	if c = compare.Analyze(m, o); len(c.Cases.Broken) != 0 {
		t.Error("a case that passes five times is broken")
	}
	// A short history needs fresh repetitions of the baseline, too.
	short := matching(append(repeated(20, counts{5, 5, 3, 3}), counts{5, 5, 0, 3})...)
	c = compare.Analyze(short, compare.DefaultChoices())
	if len(c.Cases.Suspect) != 1 || c.Settle == nil || c.Settle.Confirm == nil || c.Settle.Confirm.Sessions != 10 {
		t.Fatalf("%s, suspects %+v, settle %+v", c.Conclusion, c.Cases.Suspect, c.Settle)
	}
	key = compare.CaseKey{Case: c.Cases.Suspect[0].Case, Runner: "r"}
	o.Confirmed = map[compare.CaseKey]compare.Fresh{key: {Candidate: compare.Count{Measured: 5}}}
	if c = compare.Analyze(short, o); len(c.Cases.Broken) != 0 {
		t.Error("a case is broken without fresh repetitions of the baseline")
	}
	o.Confirmed[key] = compare.Fresh{Baseline: compare.Count{Passed: 5, Measured: 5}, Candidate: compare.Count{Measured: 5}}
	if c = compare.Analyze(short, o); len(c.Cases.Broken) != 1 {
		t.Error("a case that fails five times after five passes is not broken")
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		cases  []counts
		result compare.GateResult
		code   int
	}{
		"pass_rate >= -2pp":  {single(15, 3, 120), compare.Violated, 1},
		"pass_rate >= -20pp": {single(15, 3, 120), compare.Holds, 0},
		"pass_rate >= -9pp":  {single(15, 3, 120), compare.Unproven, 3},
		"pass_rate >= 85%":   {single(0, 0, 200), compare.Violated, 1},
		"pass_rate <= 85%":   {single(0, 0, 200), compare.Holds, 0},
		"pass_rate >= 50%":   {single(0, 0, 200), compare.Unproven, 3},
		"errors <= 5%":       {single(0, 0, 200), compare.Holds, 0},
		"errors <= +5pp":     {single(0, 0, 200), compare.Holds, 0},
		"broken <= 0":        {append(repeated(60, counts{20, 20, 5, 5}), counts{20, 20, 0, 5}), compare.Violated, 1},
		"broken <= 1":        {append(repeated(60, counts{20, 20, 5, 5}), counts{20, 20, 0, 5}), compare.Holds, 0},
		"score >= 0.9":       {single(0, 0, 200), compare.Violated, 1},
		"score >= -0.2":      {single(15, 3, 120), compare.Holds, 0},
		"tokens <= +10%":     {single(0, 0, 200), compare.Unproven, 3},
	} {
		g, err := compare.ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		o := compare.DefaultChoices()
		o.Gates = []compare.Gate{g}
		c := compare.Analyze(matching(want.cases...), o)
		if got := c.Gates[0]; got.Result != want.result || c.ExitCode != want.code {
			t.Errorf("%s: %+v, exit code %d, want %s and %d", text, got, c.ExitCode, want.result, want.code)
		}
		if o.UnprovenPass = true; want.result == compare.Unproven {
			if c := compare.Analyze(matching(want.cases...), o); c.ExitCode != 0 {
				t.Errorf("%s: exit code %d with --unproven pass", text, c.ExitCode)
			}
		}
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	c := compare.Analyze(matching(single(9, 4, 100)...), compare.DefaultChoices())
	s := c.Settle
	if s == nil || s.IfReal == nil {
		t.Fatalf("%s without a plan", c.Conclusion)
	}
	if p := s.IfReal; p.Repeats != 5 || !p.AtMost || p.Sessions != 800 ||
		p.Command != "plumb resume run-a --repeat 5 && plumb resume run-b --repeat 5" {
		t.Errorf("if real: %+v", p)
	}
	if s.IfNone != nil {
		t.Errorf("an effect of 5 pp cannot be within 2 pp: %+v", s.IfNone)
	}
	if mde := 100 * float64(c.MDE); math.Abs(mde-11.48) > 0.01 {
		t.Errorf("the comparison could have seen %v pp", mde)
	}
	small := compare.Analyze(matching(single(2, 2, 10)...), compare.DefaultChoices())
	if p := small.Settle.IfNone; p == nil || p.Repeats != 0 || p.Cases < 100 {
		t.Errorf("if none: %+v", p)
	}
}

// Nothing panics, and the document is valid JSON without NaN.
func TestDegenerate(t *testing.T) {
	t.Parallel()
	errors := matching(repeated(5, counts{0, 0, 0, 0})...)
	for i := range errors.Runners[0].Pairs {
		errors.Runners[0].Pairs[i].Base, errors.Runners[0].Pairs[i].Cand = samples(0, 0, 2), samples(0, 0, 2)
	}
	none := matching()
	none.Runners = nil
	for name, m := range map[string]*compare.Matching{
		"no case": matching(), "no runner": none, "all errors": errors,
		"one case": matching(counts{1, 1, 1, 1}), "all pass": matching(repeated(10, counts{3, 3, 3, 3})...),
		"all fail": matching(repeated(10, counts{0, 3, 0, 1})...), "unequal": matching(counts{2, 3, 0, 1}, counts{1, 1, 3, 9}),
	} {
		o := compare.DefaultChoices()
		for _, text := range []string{"pass_rate >= -2pp", "score >= 0.5", "errors <= 1%", "errors <= +1pp", "cost <= +1%"} {
			g, err := compare.ParseGate(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Gates = append(o.Gates, g)
		}
		c := compare.Analyze(m, o)
		text := document(t, c)
		var back compare.Comparison
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again := document(t, &back); again != text {
			t.Errorf("%s: the document changes when it is read and written: %s", name, cmp.Diff(text, again))
		}
		if strings.Contains(text, "NaN") {
			t.Errorf("%s: NaN", name)
		}
	}
}
