package plan

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/job"
)

// The metrics of a difference that a plan is for.
const (
	MetricPassRate = "pass_rate"
	MetricTokens   = "tokens"
)

// A Difference is what a comparison should be able to find.
type Difference struct {
	// Metric is the pass rate or the tokens of a session.
	Metric string `json:"metric"`
	// Value is a difference of rates, from 0 to 1, or of tokens as a share of the baseline.
	Value float64 `json:"value"`
}

func (d Difference) String() string {
	if d.Metric == MetricTokens {
		return strconv.FormatFloat(100*d.Value, 'g', 6, 64) + " % of the tokens"
	}
	return points(d.Value)
}

// points renders a difference of rates in percentage points.
func points(d float64) string { return strconv.FormatFloat(100*d, 'g', 6, 64) + " pp" }

// ParseDifference parses the value of --detect: 5pp, a difference of pass rates in percentage
// points, or tokens=10%.
func ParseDifference(text string) (Difference, error) {
	fail := func(why string) (Difference, error) {
		return Difference{}, plumb.WithHint(fmt.Errorf("--detect %q: %s", text, why),
			"--detect 5pp for a difference of 5 percentage points in the pass rate; --detect tokens=10% for tokens")
	}
	d, unit := Difference{Metric: MetricPassRate}, "pp"
	number := strings.TrimSpace(text)
	if metric, value, named := strings.Cut(number, "="); named {
		switch d.Metric = strings.TrimSpace(metric); d.Metric {
		case MetricPassRate:
		case MetricTokens:
			unit = "%"
		default:
			return fail("unknown metric " + strconv.Quote(d.Metric))
		}
		number = value
	}
	number, ok := strings.CutSuffix(strings.TrimSpace(number), unit)
	if !ok {
		return fail(d.Metric + " needs a number with " + unit)
	}
	n, err := doc.ParseNumber(strings.TrimSpace(number))
	switch most := 100.0; {
	case err != nil || math.IsNaN(n):
		return fail("not a number: " + strconv.Quote(strings.TrimSpace(number)))
	case n < 0.1:
		return fail("a difference must be at least 0.1" + unit)
	case unit == "pp" && n > most:
		return fail("a pass rate cannot differ by more than 100pp")
	case n > 100*most:
		return fail("a difference must be at most 10000%")
	}
	d.Value = n / 100
	return d, nil
}

// A Detection says what a comparison of two runs of a suite can find. Its keys are documented.
type Detection struct {
	Suite     string `json:"suite"`
	SuiteHash string `json:"suiteHash"`
	Cases     int    `json:"cases"`
	// Distinct is the number of cases without the copies of others, which add nothing to what a
	// comparison finds; absent if it is Cases. Copies says which cases are copies.
	Distinct int    `json:"distinctCases,omitempty"`
	Copies   string `json:"copies,omitempty"`
	// Detect is the difference that the user asked for.
	Detect  Difference        `json:"detect"`
	Alpha   float64           `json:"alpha"`
	Power   float64           `json:"power"`
	Runners []DetectionRunner `json:"runners"`
	// PricesDate is the date of the prices of estimates.
	PricesDate string `json:"pricesDate"`
}

// DetectionRunner is the part of one runner in a [Detection].
type DetectionRunner struct {
	Runner string `json:"runner"`
	// Variations are how much repetitions of a case vary: one from earlier runs or, without them,
	// assumed ones.
	Variations []Variation `json:"variations"`
	// UsageKnown means that tokens, cost and time of a session are means of earlier runs, and not
	// estimates.
	UsageKnown bool  `json:"usageKnown"`
	Rows       []Row `json:"rows"`
	// Allocation spends the sessions of one row where the cases vary. It is nil without earlier runs,
	// for tokens, and if all cases vary alike.
	Allocation *Allocation `json:"allocation,omitempty"`
}

// Allocation is a number of repetitions for each case on one side of a comparison.
type Allocation struct {
	Sessions int `json:"sessions"`
	// Detectable is the smallest difference that it shows, and Even that of the same number of
	// repetitions for each case.
	Detectable float64 `json:"detectable"`
	Even       float64 `json:"even"`
	// Cases are those with more than one repetition.
	Cases []CaseRepeats `json:"cases"`
}

// CaseRepeats is the number of repetitions of one case.
type CaseRepeats struct {
	Case    string `json:"case"`
	Repeats int    `json:"repeats"`
}

// allocated is the mean number of repetitions that an allocation spends.
const allocated = 5

// allocate returns an allocation for the selected cases; nil if it has no advantage, or if some are
// copies. The mean
// variance counts as one more repetition of each case: one that passed 3 of 3 times can still vary.
// A case without history has the mean variance.
func allocate(j *job.Job, h *history) *Allocation {
	v, ok := h.variance()
	if copies, _ := j.Copies(); !ok || v.Steady || len(copies) > 0 {
		return nil
	}
	variances := make([]float64, len(j.Suite.Cases))
	for i := range j.Suite.Cases {
		variances[i] = v.Variance
		if w, known := h.rates[j.Suite.Cases[i].Hash]; known {
			variances[i] = (w.mean*w.weight + v.Variance) / (w.weight + 1)
		}
	}
	a := &Allocation{Sessions: allocated * len(variances), Cases: []CaseRepeats{}}
	repeats, mix := analyze.Allocate(variances, a.Sessions), h.mix()
	counts := map[int][]analyze.Count{} // by repetitions; a case without history is like all of them
	plan := analyze.RateDesign{Mix: mix, Alpha: analyze.Level}
	for i, n := range repeats {
		counts[n] = append(counts[n], h.counts[j.Suite.Cases[i].Hash])
	}
	for _, n := range slices.Sorted(maps.Keys(counts)) {
		plan.Cases = append(plan.Cases, analyze.Repeats{Base: n, Cand: n, Cases: len(counts[n]), Mix: mix.Of(counts[n])})
	}
	var found bool
	if a.Detectable, found = plan.Detectable(); !found {
		return nil
	}
	if a.Even, found = analyze.SameRepeats(mix, len(variances), allocated).Detectable(); !found {
		return nil
	}
	for i, n := range repeats {
		if n > 1 {
			a.Cases = append(a.Cases, CaseRepeats{j.Suite.Cases[i].ID, n})
		}
	}
	const least = 0.99 // of the difference that even repetitions show
	if a.Detectable > least*a.Even {
		return nil
	}
	return a
}

// Variation is how much repetitions of the same case vary.
type Variation struct {
	// Variance is the variance of a repetition within a case: of pass or fail, or of the logarithm
	// of its tokens.
	Variance float64 `json:"variance"`
	Assumed  bool    `json:"assumed"`
	// Steady means that no case varied in the earlier runs. The variance is then that of one
	// repetition that differs.
	Steady bool `json:"steady,omitempty"`
	// Runs and Cases count what the variance comes from.
	Runs  int `json:"runs,omitempty"`
	Cases int `json:"cases,omitempty"`
	// RepeatsNeeded is the number of repetitions with which the cases of the suite show the
	// difference.
	RepeatsNeeded int `json:"repeatsNeeded"`
	// mix is the distribution of the pass rates of the cases.
	mix analyze.RateMix
}

// Row is a number of repetitions, with its cost on one side of a comparison.
type Row struct {
	Repeats    int      `json:"repeats"`
	Sessions   int      `json:"sessions"`
	Tokens     int64    `json:"tokens"`
	CostUSD    *float64 `json:"costUsd"`
	DurationMs int64    `json:"durationMs"`
	// Detectable is the smallest difference that the cases of the suite show, for each variation;
	// nil if they show none. CasesNeeded is the number of cases that show the wanted difference.
	Detectable  []*float64 `json:"detectable"`
	CasesNeeded []int      `json:"casesNeeded"`
}

// assumedVariances are those of plans without history: of coin flips, and of a simulated bank of
// cases of which most nearly always pass or fail.
func assumedVariances() []float64 { return []float64{0.25, 0.10} }

// Detect plans a comparison that finds d. It makes no request.
func Detect(j *job.Job, d Difference) (Detection, error) {
	estimate := Of(j)
	pl := Detection{
		Suite: estimate.Suite, SuiteHash: estimate.SuiteHash, Cases: estimate.Cases, Detect: d,
		Alpha: analyze.Level, Power: analyze.Power, PricesDate: estimate.PricesDate,
	}
	distinct := pl.Cases
	if copies, words := j.Copies(); len(copies) > 0 {
		distinct -= len(copies)
		pl.Distinct, pl.Copies = distinct, words
	}
	for i, h := range histories(j) {
		r := DetectionRunner{Runner: estimate.Runners[i].Runner, UsageKnown: h.sessions > 0}
		if d.Metric == MetricTokens {
			sd, ok := analyze.WithinDeviation(h.tokens)
			if !ok {
				return pl, plumb.WithHint(
					fmt.Errorf("no earlier run says how much the tokens of %s vary", r.Runner),
					"measure it first: plumb run SUITE --repeat 4",
				)
			}
			r.Variations = []Variation{{Variance: sd * sd, Runs: h.runs, Cases: len(h.tokens)}}
		} else if v, ok := h.variance(); ok {
			v.mix = h.mix()
			r.Variations, r.Allocation = []Variation{v}, allocate(j, h)
		} else {
			for _, v := range assumedVariances() {
				r.Variations = append(r.Variations, Variation{Variance: v, Assumed: true, mix: analyze.AssumedMix(v)})
			}
		}
		for k := range r.Variations {
			v := &r.Variations[k]
			v.RepeatsNeeded = v.repeatsNeeded(d, distinct)
		}
		use, lanes := h.session(&estimate.Runners[i]), max(1, estimate.Parallel)
		for _, repeats := range r.repeats() {
			r.Rows = append(r.Rows, use.row(d, r.Variations, pl.Cases, distinct, repeats, lanes))
		}
		pl.Runners = append(pl.Runners, r)
	}
	if len(pl.Runners) == 0 {
		return pl, errors.New("the plan has no runner")
	}
	return pl, nil
}

// MostRepeats is the largest number of repetitions of a case that makes sense: a suite that needs
// more has too few cases.
const MostRepeats = 100

// Needed returns the least and the largest number of repetitions with which the cases show the
// wanted difference, over the variations.
func (r *DetectionRunner) Needed() (least, most int) {
	for i, v := range r.Variations {
		if most = max(most, v.RepeatsNeeded); i == 0 {
			least = v.RepeatsNeeded
		}
		least = min(least, v.RepeatsNeeded)
	}
	return least, most
}

// SameAs reports whether two runners have the same figures.
func (r *DetectionRunner) SameAs(other *DetectionRunner) bool {
	a, b := *r, *other
	b.Runner = a.Runner
	return reflect.DeepEqual(a, b)
}

// repeats are the numbers of repetitions in the table: some small ones, and those that are needed.
func (r *DetectionRunner) repeats() []int {
	rows := []int{1, 2, 3, 5, 10}
	for _, v := range r.Variations {
		if v.RepeatsNeeded <= MostRepeats {
			rows = append(rows, v.RepeatsNeeded)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// repeatsNeeded returns the repetitions on each side with which the cases show d.
func (v *Variation) repeatsNeeded(d Difference, cases int) int {
	if d.Metric == MetricTokens {
		return analyze.RepeatedDesign{Cases: cases, Within: v.Variance}.RepeatsFor(math.Log1p(d.Value))
	}
	return analyze.SameRepeats(v.mix, cases, 1).RepeatsFor(d.Value)
}

// sessionUse is the mean usage of one session.
type sessionUse struct {
	tokens, costUSD, ms float64
	priced              bool
}

// session returns the mean usage of a session in earlier runs, or else that of the estimate.
func (h *history) session(estimate *Runner) sessionUse {
	if h.sessions > 0 {
		return sessionUse{h.inputs + h.outputs, h.costUSD, h.ms, h.priced}
	}
	n := float64(max(1, estimate.Sessions))
	use := sessionUse{tokens: float64(estimate.InputTokens+estimate.OutputTokens) / n, ms: float64(estimate.LatencyMs)}
	if estimate.CostUSD != nil {
		use.costUSD, use.priced = *estimate.CostUSD/n, true
	}
	return use
}

// row returns the row of a table for a number of repetitions of cases, of which distinct are no
// copies.
func (u sessionUse) row(d Difference, variations []Variation, cases, distinct, repeats, lanes int) Row {
	sessions := cases * repeats
	row := Row{
		Repeats: repeats, Sessions: sessions, Tokens: int64(math.Round(u.tokens * float64(sessions))),
		DurationMs: int64(math.Ceil(u.ms * float64(sessions) / float64(min(lanes, sessions)))),
	}
	if u.priced {
		row.CostUSD = new(u.costUSD * float64(sessions))
	}
	for i := range variations {
		v := &variations[i]
		if d.Metric == MetricTokens {
			design := analyze.RepeatedDesign{Cases: distinct, Repeats: repeats, Within: v.Variance}
			row.Detectable = append(row.Detectable, known(math.Expm1(design.Detectable())))
			row.CasesNeeded = append(row.CasesNeeded, design.CasesFor(math.Log1p(d.Value)))
			continue
		}
		design := analyze.SameRepeats(v.mix, distinct, repeats)
		var seen *float64
		if difference, ok := design.Detectable(); ok {
			seen = &difference
		}
		row.Detectable = append(row.Detectable, seen)
		row.CasesNeeded = append(row.CasesNeeded, design.CasesFor(d.Value))
	}
	return row
}

// Duration returns the time of one side.
func (r *Row) Duration() time.Duration { return time.Duration(r.DurationMs) * time.Millisecond }
