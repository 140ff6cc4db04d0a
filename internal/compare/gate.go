package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Metric is the name of a figure that a comparison tests.
type Metric string

// The metrics. Errors is the share of repetitions that could not be measured, and broken the number
// of broken cases; both are only for gates.
const (
	PassRate     Metric = "pass_rate"
	Score        Metric = "score"
	Tokens       Metric = "tokens"
	InputTokens  Metric = "input_tokens"
	OutputTokens Metric = "output_tokens"
	Cost         Metric = "cost"
	Latency      Metric = "latency"
	Steps        Metric = "steps"
	Errors       Metric = "errors"
	Broken       Metric = "broken"
)

// metrics returns the metrics that are tested, in the order of the table.
func metrics() []Metric {
	return []Metric{PassRate, Score, Tokens, InputTokens, OutputTokens, Cost, Latency, Steps}
}

// gateMetrics returns the metrics that a gate may name.
func gateMetrics() []Metric { return append(metrics(), Errors, Broken) }

// Ratio reports whether the effect of m is the ratio candidate / baseline.
func (m Metric) Ratio() bool {
	switch m {
	case Tokens, InputTokens, OutputTokens, Cost, Latency, Steps:
		return true
	default:
		return false
	}
}

// lowerIsBetter reports whether a smaller value of m is the better one.
func (m Metric) lowerIsBetter() bool { return m.Ratio() || m == Errors || m == Broken }

// Gate is a condition that a comparison must meet, such as "pass_rate >= -2pp".
type Gate struct {
	Text   string
	Metric Metric
	// AtLeast is set for ">=", and not for "<=".
	AtLeast bool
	// Relative means that the bound is about the effect. Otherwise it is about the candidate.
	Relative bool
	// Bound is in the unit of the effect: a share for pass_rate and errors, a ratio for metrics with
	// ratios (+10% is 1.1), otherwise as written.
	Bound float64
}

// gateHelp is the grammar of gates for people.
const gateHelp = `write METRIC >= VALUE or METRIC <= VALUE, such as "pass_rate >= -2pp", "pass_rate >= 85%", ` +
	`"tokens <= +10%", "score >= -0.02", "errors <= 5%" or "broken <= 0"`

// gateParser reads one gate.
type gateParser struct {
	text string
	pos  int
}

// ParseGate reads a gate. An error names the place in the text and what would be right.
func ParseGate(text string) (Gate, error) {
	p := &gateParser{text: text}
	g := Gate{Text: strings.Join(strings.Fields(text), " ")}
	if err := p.metric(&g); err != nil {
		return Gate{}, err
	}
	if err := p.operator(&g); err != nil {
		return Gate{}, err
	}
	if err := p.value(&g); err != nil {
		return Gate{}, err
	}
	return g, nil
}

// bad returns an error about the character at index at.
func (p *gateParser) bad(at int, hint, format string, args ...any) error {
	column := len([]rune(strings.ToValidUTF8(p.text[:at], "?"))) + 1
	err := fmt.Errorf("gate %q, character %d: %s", p.text, column, fmt.Sprintf(format, args...))
	return plumb.WithHint(err, hint)
}

// next skips spaces and returns the rest of the text.
func (p *gateParser) next() string {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t') {
		p.pos++
	}
	return p.text[p.pos:]
}

// found describes the rest of the text for an error.
func found(rest string) string {
	if rest == "" {
		return "the end of the gate"
	}
	return strconv.Quote(rest)
}

func (p *gateParser) metric(g *Gate) error {
	rest := p.next()
	n := 0
	for n < len(rest) && (rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= 'A' && rest[n] <= 'Z' || rest[n] == '_') {
		n++
	}
	if n == 0 {
		return p.bad(p.pos, gateHelp, "expected a metric, found %s", found(rest))
	}
	var known []string
	for _, m := range gateMetrics() {
		if known = append(known, string(m)); string(m) == rest[:n] {
			g.Metric = m
		}
	}
	if g.Metric == "" {
		hint := "metrics: " + strings.Join(known, ", ")
		if near := plumb.Nearest(rest[:n], known); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return p.bad(p.pos, hint, "unknown metric %q", rest[:n])
	}
	p.pos += n
	return nil
}

func (p *gateParser) operator(g *Gate) error {
	rest := p.next()
	switch {
	case strings.HasPrefix(rest, ">="):
		g.AtLeast = true
	case !strings.HasPrefix(rest, "<="):
		return p.bad(p.pos, gateHelp, `expected ">=" or "<=", found %s`, found(rest))
	}
	p.pos += len(">=")
	return nil
}

func (p *gateParser) value(g *Gate) error {
	rest := p.next()
	start := p.pos
	sign := 1.0
	if strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") {
		g.Relative = true
		if rest[0] == '-' {
			sign = -1
		}
		p.pos++
		rest = p.next()
	}
	n := 0
	for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
		n++
	}
	number, err := doc.ParseNumber(rest[:n])
	if n == 0 || err != nil || math.IsInf(number, 0) {
		return p.bad(p.pos, valueHelp(g.Metric), "expected a number, found %s", found(rest))
	}
	p.pos += n
	unitAt := p.pos
	rest = p.next()
	unit := strings.TrimRight(rest, " \t")
	if unit != "" {
		unitAt = p.pos
	}
	return p.check(g, sign*number, unit, start, unitAt)
}

// check sets the bound. The number begins at start, and the unit at unitAt.
func (p *gateParser) check(g *Gate, number float64, unit string, start, unitAt int) error {
	want, scale := "", 1.0
	switch {
	case g.Metric == Broken && g.Relative:
		return p.bad(start, valueHelp(Broken), "broken is a number of cases, without a sign")
	case g.Metric == Broken && number != math.Trunc(number):
		return p.bad(start, valueHelp(Broken), "broken is a whole number of cases")
	case g.Metric.Ratio() && !g.Relative:
		return p.bad(start, valueHelp(g.Metric), "%s is compared with the baseline, so the value needs a sign", g.Metric)
	case g.Metric == Broken, g.Metric == Score:
	case g.Metric.Ratio():
		want = "%"
	case g.Relative:
		want = "pp"
	default:
		want = "%"
	}
	if unit != want {
		expected := strconv.Quote(want)
		if want == "" {
			expected = "nothing"
		}
		return p.bad(unitAt, valueHelp(g.Metric), "expected %s after the number, found %s", expected, found(unit))
	}
	if want != "" {
		scale = 100
	}
	g.Bound = number / scale
	most := 1.0 // shares and scores lie between 0 and 1, and differ by at most 1
	if g.Metric.Ratio() {
		g.Bound, most = 1+g.Bound, math.Inf(1)
	}
	if g.Metric == Broken {
		most = math.Inf(1)
	}
	if math.Abs(g.Bound) > most || g.Metric.Ratio() && g.Bound <= 0 {
		return p.bad(start, valueHelp(g.Metric), "the value is outside of the range of %s", g.Metric)
	}
	return nil
}

// valueHelp says what values a metric can have in a gate.
func valueHelp(m Metric) string {
	switch {
	case m == Broken:
		return "write a number of cases, such as: broken <= 0"
	case m == Score:
		return "write a change of the score with a sign (score >= -0.02), or a score without one (score >= 0.8)"
	case m.Ratio():
		return fmt.Sprintf("write a change in percent with a sign, such as: %s <= +10%%", m)
	default:
		op := ">= -2pp"
		share := ">= 85%"
		if m == Errors {
			op, share = "<= +2pp", "<= 5%"
		}
		return fmt.Sprintf("write a change in pp with a sign (%s %s), or a share in %% without one (%s %s)", m, op, m, share)
	}
}

// GateResult is the result of a gate.
type GateResult = analyze.GateResult

// The results. Unproven means that the interval is on both sides of the bound, or that there is no
// interval.
const (
	Holds    = analyze.Holds
	Violated = analyze.Violated
	Unproven = analyze.Unproven
)

// judge returns the result of a gate from two intervals of the figure that it is about: strict has
// the level that is shared among all gates, and plain has the level of one. A violation needs the
// strict one.
func (g *Gate) judge(strict, plain [2]float64) GateResult {
	if !g.AtLeast { // mirror, so that larger is right
		strict, plain = [2]float64{-strict[1], -strict[0]}, [2]float64{-plain[1], -plain[0]}
	}
	bound := g.Bound
	if !g.AtLeast {
		bound = -bound
	}
	switch { // a comparison with NaN is false, so that a missing limit is unproven
	case strict[1] < bound:
		return Violated
	case plain[0] >= bound:
		return Holds
	default:
		return Unproven
	}
}

// gates judges each gate for each pair of runners.
func (a *analysis) gates() {
	a.out.Gates = []GateOutcome{}
	count := len(a.o.Gates) * len(a.m.Runners)
	plain, strict := 1-a.o.Alpha, 1-a.o.Alpha/float64(max(1, count))
	for _, g := range a.o.Gates {
		for i := range a.m.Runners {
			out := GateOutcome{
				Text: g.Text, Metric: g.Metric, Runner: a.m.Runners[i].Cand, Relative: g.Relative, Confidence: plain,
			}
			shown, wide := a.gateEffect(&g, i, plain), a.gateEffect(&g, i, strict)
			out.Value, out.Low, out.High, out.Unit = shown.Value, shown.Low, shown.High, shown.Unit
			if !shown.OK() {
				out.Why = fmt.Sprintf("too few values of %s", g.Metric)
				if g.Metric == Broken {
					out.Why = "no pair was measured on both sides"
				}
			}
			out.Result = g.judge([2]float64{float64(wide.Low), float64(wide.High)},
				[2]float64{float64(shown.Low), float64(shown.High)})
			a.out.Gates = append(a.out.Gates, out)
		}
	}
}

// gateEffect returns the figure that a gate is about: the effect on the pair of runners, or the
// value of the candidate, with its interval.
func (a *analysis) gateEffect(g *Gate, runner int, conf float64) Effect {
	b := a.builders[runner]
	switch {
	case g.Metric == Broken:
		n := Number(a.broken(a.m.Runners[runner].Cand))
		if a.passes[runner].len() == 0 && n == 0 { // no case could have broken
			n = missing()
		}
		return Effect{Value: n, Low: n, High: n, Confidence: conf}
	case !g.Relative:
		return a.candidate(g.Metric, runner, conf)
	case g.Metric == Errors:
		s := b.shares(Errors, errorCounts)
		return s.effect(s.interval(conf), conf)
	case g.Metric == PassRate:
		return a.passes[runner].effect(a.passes[runner].interval(conf), conf)
	default:
		s := b.graded(g.Metric, nil)
		return s.effect(s.interval(conf), conf)
	}
}

// candidate returns a metric of all cases of the candidate on one runner. A gate without a sign is
// about the candidate alone, so cases without a pair count, too.
func (a *analysis) candidate(m Metric, runner int, conf float64) Effect {
	side, r := a.m.Cand, a.m.Runners[runner].CandIndex
	clusters := map[int]string{}
	stopped := map[int]bool{}
	for i := range a.m.Runners[runner].Pairs {
		p := &a.m.Runners[runner].Pairs[i]
		clusters[p.CandIndex], stopped[p.CandIndex] = p.Cluster, p.EarlyStop
	}
	var rates []float64
	var names []string
	passed, measured, repeated := 0, 0, false
	seen := map[string]bool{} // hashes of measured cases, whose copies do not count
	for c := range side.Cases {
		hash := side.Cases[c].Hash
		if seen[hash] {
			continue
		}
		samples := side.At(c, r)
		p := &Pair{EarlyStop: stopped[c], CandPlanned: side.Cases[c].Repeat, BasePlanned: side.Cases[c].Repeat, Cand: samples}
		k, n := 0, 0
		value := math.NaN()
		switch m {
		case Errors:
			k, n = countErrors(samples)
		case PassRate:
			counts, _ := passCounts(p, leaveOut)
			k, n = counts.CandPassed, counts.CandMeasured
		default:
			if v := appendValues(nil, p, samples, m, nil); len(v) > 0 {
				value, n = mean(v), len(v)
			}
		}
		if n == 0 {
			continue
		}
		seen[hash] = hash != ""
		if m == Errors || m == PassRate {
			value = rate(k, n)
		}
		passed, measured, repeated = passed+k, measured+n, repeated || n > 1
		rates = append(rates, value)
		name, ok := clusters[c]
		if !ok || !a.m.Clustered {
			name = side.Cases[c].ID
		}
		names = append(names, name)
	}
	return candidateEffect(m, rates, names, passed, measured, repeated || a.m.Clustered, conf)
}

// candidateEffect returns the mean of the values of cases with its interval: for shares Wilson's
// with one repetition, and the one for clusters otherwise.
func candidateEffect(
	m Metric, values []float64, names []string, passed, measured int, repeated bool, conf float64,
) Effect {
	order := make([]int, len(values)) // the order of the cases must not change a sum
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(names[x], names[y]), cmp.Compare(values[x], values[y]))
	})
	sorted := make([]float64, len(values))
	for i, x := range order {
		sorted[i] = values[x]
	}
	clusters := clusterNumbers(len(order), func(i int) string { return names[order[i]] })
	s := &series{metric: m}
	switch {
	case len(sorted) == 0:
		return s.effect(noEstimate(), conf)
	case m == Score:
		return s.effect(analyze.CaseT(sorted, clusters)(conf), conf)
	case repeated:
		return s.effect(analyze.ClusteredWilson(sorted, measured, clusters, conf), conf)
	default:
		lo, hi := analyze.Wilson(passed, measured, conf)
		return s.effect(analyze.Estimate{Value: rate(passed, measured), Lo: lo, Hi: hi, Method: "Wilson", OK: true}, conf)
	}
}
