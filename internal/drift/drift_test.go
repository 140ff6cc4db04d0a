package drift

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// near reports whether two figures are equal but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// centered returns a random symmetric matrix whose rows add up to 0 within each stratum.
func centered(random *rand.Rand, sizes []int) *mmdTest {
	x := &mmdTest{}
	var stratum []int
	for s, n := range sizes {
		units := make([]int, n)
		for i := range units {
			units[i] = x.n + i
			stratum = append(stratum, s)
		}
		x.strata = append(x.strata, units)
		x.n += n
	}
	x.d = make([]float64, x.n*x.n)
	for i := range x.n {
		for j := range i + 1 {
			x.d[i*x.n+j] = random.NormFloat64()
			x.d[j*x.n+i] = x.d[i*x.n+j]
		}
	}
	w := &windowTest{span: &span{runs: make([]*panelRun, x.n)}, submitter: stratum}
	w.names = make([]string, len(sizes))
	for i := range x.n {
		w.runs = append(w.runs, i)
	}
	w.centerGram(x.d)
	x.d = w.gram
	x.chosen = make([]bool, x.n)
	return x
}

// TestMoments compares the closed form of the mean and the variance with all choices.
func TestMoments(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, test := range [][][2]int{{{7, 3}}, {{9, 2}}, {{4, 2}, {5, 1}}, {{3, 2}, {4, 2}, {4, 1}}} {
		var sizes []int
		for _, s := range test {
			sizes = append(sizes, s[0])
		}
		x := centered(random, sizes)
		var values []float64
		var choose func(stratum int)
		choose = func(stratum int) {
			if stratum == len(test) {
				values = append(values, x.observed())
				return
			}
			units := x.strata[stratum]
			for _, picked := range combin.Combinations(len(units), test[stratum][1]) {
				for _, i := range units {
					x.chosen[i] = false
				}
				for _, i := range picked {
					x.chosen[units[i]] = true
				}
				choose(stratum + 1)
			}
		}
		choose(0)
		mean, variance := 0.0, 0.0
		for _, v := range values {
			mean += v / float64(len(values))
		}
		for _, v := range values {
			variance += (v - mean) * (v - mean) / float64(len(values))
		}
		gotMean, gotVariance := x.moments()
		if !near(gotMean, mean) {
			t.Errorf("%v: mean %v, want %v", test, gotMean, mean)
		}
		// The closed form of the variance treats the choices of different units as independent.
		if ratio := gotVariance / variance; ratio < 0.5 || ratio > 2 {
			t.Errorf("%v: variance %v, want about %v", test, gotVariance, variance)
		}
		shuffled := newShuffles(x, analyze.NewSeed("test"))
		sum := 0.0
		const draws = 20_000
		for range draws {
			sum += shuffled.next()
		}
		if got := sum / draws; math.Abs(got-mean) > 5*math.Sqrt(variance/draws) {
			t.Errorf("%v: the mean of random choices is %v, want %v", test, got, mean)
		}
	}
}

func TestPearsonTail(t *testing.T) {
	for _, test := range []struct{ z, skewness, want float64 }{
		{0, 0, 0.5}, {1.959963984540054, 0, 0.025}, {-2, 2, 1}, {-1, 2, 1}, // 2 is the exponential distribution
		{0, 2, math.Exp(-1)}, {2, 2, math.Exp(-3)},
	} {
		if got := pearsonTail(test.z, test.skewness); !near(got, test.want) {
			t.Errorf("pearsonTail(%v, %v) = %v, want %v", test.z, test.skewness, got, test.want)
		}
	}
}

func TestTextFeatures(t *testing.T) {
	if got := textWords("Ja, 3x!\n été", 256); !slices.Equal(got, []string{"Ja", ",", "3x", "!", "été"}) {
		t.Errorf("words %q", got)
	}
	if got := textWords("a b c d", 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("words %q", got)
	}
	if got := normalize("  e\u0301 a\r\nb \n"); got != "é a\nb" {
		t.Errorf("normalize: %q", got)
	}
	dense := make([]float32, buckets)
	for _, text := range []string{"", "a", "a b a b a", strings.Repeat("word ", 500)} {
		f := textFeatures(text)
		load(dense, f)
		if got := dot(dense, f); math.Abs(float64(got)-1) > 1e-5 {
			t.Errorf("the features of %.10q have length %v", text, got)
		}
		unload(dense, f)
	}
	// One word: the word, the end mark, and two pairs. They share the end mark with the empty text.
	load(dense, textFeatures("a"))
	if got := dot(dense, textFeatures("")); math.Abs(float64(got)-1/math.Sqrt(8)) > 1e-6 {
		t.Errorf("kernel %v, want %v", got, 1/math.Sqrt(8))
	}
}

func TestDueWindows(t *testing.T) {
	for runs, want := range map[bool]int{false: 826, true: 1070} {
		n := 0
		for day := 100_000; day < 100_365; day++ {
			n += len(due(day, 0, runs))
		}
		if math.Abs(float64(n-want)) > 6 {
			t.Errorf("%d windows a year, want about %d", n, want)
		}
	}
	if n := len(due(13, 0, false)); n != 0 {
		t.Errorf("%d windows on day 13", n)
	}
	if w := due(14, 0, false); len(w) != 2 || w[0].length != 3 || w[0].oldest() != 0 || w[0].onset() != 12 {
		t.Errorf("windows %v on day 14", w)
	}
}

// crowd adds the runs of a day to a panel: answer makes the answer of a submitter to a prompt.
func crowd(p *panel, day, submitters int, answer func(s, prompt int) Answer) {
	for s := range submitters {
		r := Run{ID: fmt.Sprint(day), Submitter: fmt.Sprintf("s%d", s), Day: day}
		for q := range 6 {
			a := answer(s, q)
			a.Prompt = fmt.Sprint(q)
			r.Answers = append(r.Answers, a)
		}
		p.add(r)
	}
}

// TestKindsOfAlarms checks the kinds: a change for all, for one submitter, of white space, and one
// that is too small to matter; and that a small crowd has no quorum.
func TestKindsOfAlarms(t *testing.T) {
	t.Parallel()
	const change, days = 30, 41
	words := []string{"yes", "no", "perhaps"}
	for name, test := range map[string]struct {
		submitters int
		after      func(s int, text string) string
		kind       string
		state      State
	}{
		"nothing": {6, func(_ int, text string) string { return text }, "", StateStable},
		"all":     {6, func(_ int, text string) string { return "well, " + text }, KindConfirmed, StateChanged},
		"one": {6, func(s int, text string) string {
			return strings.Repeat("well, ", 1-min(s, 1)) + text
		}, KindLocal, StateLocal},
		"space":     {6, func(_ int, text string) string { return text + "\n" }, KindFormat, StateFormat},
		"no quorum": {2, func(_ int, text string) string { return "well, " + text }, "", StateLearning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 3))
			p := newPanel(Rules{})
			kinds := map[string]*Alarm{}
			for day := range days {
				crowd(p, day, test.submitters, func(s, _ int) Answer {
					text := words[random.IntN(3)]
					if day >= change {
						text = test.after(s, text)
					}
					return Answer{Text: text, HasText: true, Score: math.NaN()}
				})
				for _, a := range p.evaluate(day) {
					if a.Day != day {
						t.Errorf("an alarm of day %d on day %d", a.Day, day)
					}
					if day < change {
						t.Errorf("a false alarm on day %d: %s %s", day, a.Kind, a.Statistic)
					}
					if kinds[a.Kind] == nil {
						kinds[a.Kind] = &a
					}
				}
			}
			for _, kind := range []string{KindConfirmed, KindLocal, KindFormat} {
				if (kinds[kind] != nil) != (kind == test.kind) {
					t.Errorf("alarms of kind %s: %v", kind, kinds[kind])
				}
			}
			if a := kinds[KindConfirmed]; a != nil && (a.Onset < change-2 || a.Onset > change || a.Agreeing != 6 ||
				a.Effect.LostSimilarity < 0.1 || len(a.Where) == 0 || !math.IsNaN(a.Effect.Score)) {
				t.Errorf("alarm %+v", a)
			}
			if a := kinds[KindLocal]; a != nil && !slices.Contains(a.Blamed, "s0") {
				t.Errorf("blamed %v", a.Blamed)
			}
			if got := p.status().State; got != test.state {
				t.Errorf("state %s, want %s", got, test.state)
			}
		})
	}
}

// TestChangesChain checks that alarms within 14 days of the latest one belong to one change.
func TestChangesChain(t *testing.T) {
	t.Parallel()
	s := newStream(Rules{})
	s.recall = func(int, int) []Run { return nil }
	for _, test := range []struct{ day, change, periods int }{{50, 50, 1}, {64, 50, 1}, {78, 50, 1}, {93, 93, 2}} {
		s.day = test.day
		s.observe([]Alarm{{Day: test.day, Kind: KindSuspect}, {Day: test.day, Kind: KindConfirmed, Onset: test.day - 2}})
		want := Change{Alarm: test.change, Latest: test.day, Compared: test.periods > 1 && s.checkpoint.Change.Compared}
		if c := s.checkpoint; c.Change != want || len(c.Earlier) != test.periods || c.Earlier[test.periods-1].Change != test.change-2 {
			t.Errorf("day %d: %+v", test.day, c)
		}
	}
}

// TestTrace checks that a change that is surely too small to matter is not drift, and that a change of
// scores is found.
func TestTrace(t *testing.T) {
	t.Parallel()
	for change, want := range map[float64]string{0.003: KindTrace, 0.02: KindConfirmed} {
		random := rand.New(rand.NewPCG(3, 3))
		p := newPanel(Rules{})
		kinds := map[string]bool{}
		for day := range 41 {
			crowd(p, day, 5, func(int, int) Answer {
				score := 0.8 + 0.003*random.NormFloat64()
				if day >= 30 {
					score -= change
				}
				return Answer{Score: score}
			})
			for _, a := range p.evaluate(day) {
				if kinds[a.Kind] = true; a.Statistic != statisticScore || !(a.Effect.Score < 0) {
					t.Errorf("%s of %s: %+v", a.Kind, a.Statistic, a.Effect)
				}
			}
		}
		if !kinds[want] || kinds[KindTrace] && kinds[KindConfirmed] {
			t.Errorf("a change by %v: alarms %v, want %s", change, kinds, want)
		}
	}
}

// TestNewPrompt checks that a prompt counts when its first answer is 14 days old and half of the runs
// since then have it, and that one submitter cannot add a prompt.
func TestNewPrompt(t *testing.T) {
	t.Parallel()
	p := newPanel(Rules{})
	for day := range 50 {
		for s := range 4 {
			r := Run{ID: fmt.Sprint(day), Submitter: fmt.Sprint(s), Day: day}
			prompts := 5
			if day >= 30 {
				prompts = 6
			}
			if s == 0 {
				prompts = 7
			}
			for q := range prompts {
				r.Answers = append(r.Answers, Answer{Prompt: fmt.Sprint(q), Text: "yes", HasText: true, Score: 1})
			}
			p.add(r)
		}
		p.evaluate(day)
		want := 5
		if day >= 44 {
			want = 6
		}
		if got := len(p.newSpans(day).prompts().prompts); got != want {
			t.Errorf("day %d: %d prompts, want %d", day, got, want)
		}
	}
}

// TestRegimes checks how the prompts of a panel are counted, and what a status says about scores.
func TestRegimes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	p, scores := newPanel(Rules{}), newPanel(Rules{})
	for day := range 30 {
		crowd(p, day, 4, func(_, q int) Answer {
			text := fmt.Sprint(random.IntN(10) % 4 * (q % 3)) // one answer, 0 in 3 of 10, 0 in 3 of 10
			if q%3 == 1 && random.IntN(2) == 0 {
				text = "0"
			}
			return Answer{Text: text, HasText: true, Score: 1, Logprobs: []TokenLogprob{{"a", -random.Float64()}}}
		})
		crowd(scores, day, 4, func(int, int) Answer { return Answer{Score: float64(random.IntN(2))} })
		p.evaluate(day)
		scores.evaluate(day)
	}
	if got, want := p.status().Regimes, (Regimes{2, 2, 2, false, true}); got != want {
		t.Errorf("regimes %+v, want %+v", got, want)
	}
	got := scores.status()
	if want := (Regimes{ScoresOnly: true}); got.Regimes != want || got.Statistics != 1 {
		t.Errorf("%d statistics, regimes %+v, want %+v", got.Statistics, got.Regimes, want)
	}
}

// TestDetectable checks the plan of score streams: with 100 items and a variance of 0.097, a drop of
// 5 points takes 9, 2 and 1 days at 1, 3 and 5 runs a day, and one of 2 points 26 and 11 days.
func TestDetectable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ runs, drop, days float64 }{{1, 5, 9}, {3, 5, 2}, {5, 5, 1}, {3, 2, 26}, {5, 2, 11}} {
		s := Status{RunsPerDay: test.runs, ScoreSD: math.Sqrt(0.097 / 100), own: true}
		if a, b := s.Detectable(test.days-0.6), s.Detectable(test.days+0.6); a < test.drop || b > test.drop {
			t.Errorf("%v runs a day: drops of %.2f to %.2f pp within %v days, want %v", test.runs, b, a, test.days, test.drop)
		}
		crowd := s
		crowd.own = false
		if a, b := s.Detectable(9), crowd.Detectable(12); !near(a, b) {
			t.Errorf("a crowd sees %v within 12 days, one submitter %v within 9", b, a)
		}
	}
}

// TestHashesOnly checks that runs that share only the hashes of their texts are tested, too.
func TestHashesOnly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	p := newPanel(Rules{})
	found := false
	for day := range 45 {
		crowd(p, day, 4, func(_, q int) Answer {
			return Answer{Hash: fmt.Sprint(q, random.IntN(3), day >= 30), Score: math.NaN()}
		})
		for _, a := range p.evaluate(day) {
			found = found || a.Kind == KindConfirmed && a.Statistic == statisticMMD && day >= 30
		}
	}
	if !found {
		t.Error("the change was not found")
	}
}

// TestCause checks the attribution by recorded facts.
func TestCause(t *testing.T) {
	t.Parallel()
	const change = 30
	for name, test := range map[string]struct {
		facts   func(r *Run, s int, changed bool)
		affects func(s int) bool
		own     bool
		want    string
	}{
		"nothing recorded": {func(*Run, int, bool) {}, func(int) bool { return true }, false, CauseUnknown},
		"another model served": {func(r *Run, _ int, changed bool) {
			r.Provider = map[string]string{"served model": fmt.Sprint(changed)}
		}, func(int) bool { return true }, false, CauseProvider},
		"same setups": {func(r *Run, _ int, _ bool) {
			r.Client = map[string]string{"agent version": "1"}
		}, func(int) bool { return true }, false, CauseProvider},
		"all updated": {func(r *Run, _ int, changed bool) {
			r.Client = map[string]string{"agent version": fmt.Sprint(changed)}
		}, func(int) bool { return true }, false, CauseUnknown},
		"those that updated": {func(r *Run, s int, changed bool) {
			r.Client = map[string]string{"agent version": fmt.Sprint(changed && s < 5)}
		}, func(s int) bool { return s < 5 }, false, CauseSetup},
		"alone": {func(r *Run, _ int, changed bool) {
			r.Submitter, r.Provider = "me", map[string]string{"fingerprint": fmt.Sprint(changed)}
		}, func(int) bool { return true }, true, CauseProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 3))
			p := newPanel(Rules{Own: test.own})
			var alarm *Alarm
			for day := range 45 {
				for s := range 9 {
					r := Run{ID: fmt.Sprint(day, s), Submitter: fmt.Sprint(s), Day: day}
					test.facts(&r, s, day >= change)
					text := []string{"yes", "no", "perhaps"}
					if day >= change && test.affects(s) {
						text = []string{"certainly", "never", "why"}
					}
					for q := range 4 {
						answer := Answer{Prompt: fmt.Sprint(q), Text: text[random.IntN(3)], HasText: true, Score: 1}
						r.Answers = append(r.Answers, answer)
					}
					p.add(r)
				}
				for _, a := range p.evaluate(day) {
					if a.Kind == KindConfirmed && alarm == nil {
						alarm = &a
					}
				}
			}
			if alarm == nil {
				t.Fatal("the change was not found")
			}
			if alarm.Cause.Cause != test.want {
				t.Errorf("cause %+v, want %s", alarm.Cause, test.want)
			}
		})
	}
}

// TestPoolSums checks that the sums that a panel keeps between days are those of its runs.
func TestPoolSums(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	p := newPanel(Rules{Own: true})
	for day := range 75 {
		for range random.IntN(3) {
			r := Run{ID: fmt.Sprint(random.IntN(1000)), Submitter: "me", Day: day}
			for q := range 5 {
				if random.IntN(20) == 0 {
					continue
				}
				for range 1 + random.IntN(2)*random.IntN(2) {
					text := strings.Repeat("a b c d e f"[:1+random.IntN(10)], 1+random.IntN(2))
					r.Answers = append(r.Answers, Answer{Prompt: fmt.Sprint(q), Text: text, HasText: true, Score: 1})
				}
			}
			p.add(r)
		}
		p.evaluate(day)
		for _, a := range p.pool {
			sums := make([]float64, len(a.set.prompts))
			for _, b := range p.pool {
				if a == b {
					continue
				}
				row, set := kernelRow(a, b)
				for i, k := range row {
					if k >= 0 {
						sums[a.at(set.prompts[i])] += float64(k)
					}
				}
			}
			if !slices.Equal(sums, a.sums) {
				t.Fatalf("day %d: sums %v, want %v", day, a.sums, sums)
			}
		}
	}
	if len(p.pool) == 0 || len(p.pool) > 62*2 {
		t.Errorf("%d runs in the pool", len(p.pool))
	}
}

func BenchmarkScores(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	p := newPanel(Rules{})
	day := 0
	for b.Loop() {
		for s := range 5 {
			r := Run{ID: fmt.Sprint(day), Submitter: fmt.Sprint((s + day) % 8), Day: day}
			r.Answers = make([]Answer, 100)
			for q := range r.Answers {
				r.Answers[q] = Answer{Prompt: prompts100[q], Score: float64(random.IntN(2))}
			}
			p.add(r)
		}
		p.evaluate(day)
		day++
	}
}

var prompts100 = func() (names []string) {
	for q := range 100 {
		names = append(names, fmt.Sprintf("i%03d", q))
	}
	return names
}()
