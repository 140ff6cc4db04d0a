package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/text"
)

// The functions of this file put the figures of a comparison into words, for all reports.

// precision is the number of digits after the point of an effect in percentage points: none below
// 100 repetitions.
func precision(repetitions int) int {
	if repetitions < 100 {
		return 0
	}
	return 1
}

// signed renders a number with its sign; 0 has none.
func signed(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	if x > 0 {
		return "+" + text
	}
	return text
}

// outward rounds the bounds of an interval so that the shown interval is never narrower than the
// computed one.
func outward(low, high float64, digits int) (lo, hi float64) {
	scale := math.Pow(10, float64(digits))
	// A bound that is a rounding error away from a round number stays there.
	const slack = 1e-9
	return math.Floor(low*scale+slack) / scale, math.Ceil(high*scale-slack) / scale
}

// repetitions returns the number of measured repetitions that a figure rests on: those of the
// smaller side.
func repetitions(f *compare.Figure) int {
	if f.Baseline.Measured == 0 && f.Candidate.Measured == 0 {
		return f.Pairs
	}
	return min(f.Baseline.Measured, f.Candidate.Measured)
}

// EffectWords renders an effect without its interval: "-10.0 pp", "x1.22", "-0.021".
func EffectWords(e *compare.Effect, repetitions int) string {
	if !e.Value.OK() {
		return "–"
	}
	v := float64(e.Value)
	switch e.Unit {
	case compare.UnitRatio:
		return fmt.Sprintf("x%.2f", v)
	case compare.UnitScore:
		return signed(v, 2+precision(repetitions))
	default:
		return signed(100*v, precision(repetitions)) + " pp"
	}
}

// boundWords renders the bounds of an effect, rounded outward.
func boundWords(e *compare.Effect, repetitions int) (low, high string) {
	if !e.Low.OK() || !e.High.OK() {
		return "–", "–"
	}
	lo, hi := float64(e.Low), float64(e.High)
	switch e.Unit {
	case compare.UnitRatio:
		lo, hi = outward(lo, hi, 2)
		return fmt.Sprintf("%.2f", lo), fmt.Sprintf("%.2f", hi)
	case compare.UnitScore:
		digits := 2 + precision(repetitions)
		lo, hi = outward(lo, hi, digits)
		return signed(lo, digits), signed(hi, digits)
	default:
		digits := precision(repetitions)
		lo, hi = outward(100*lo, 100*hi, digits)
		return signed(lo, digits), signed(hi, digits)
	}
}

// betweenWords renders an interval: "95 % between -16.9 and -2.8".
func betweenWords(e *compare.Effect, repetitions int) string {
	if !e.OK() {
		return "no interval"
	}
	low, high := boundWords(e, repetitions)
	return fmt.Sprintf("%s between %s and %s", levelWords(e.Confidence), low, high)
}

// levelWords renders a level of confidence: "95 %".
func levelWords(confidence float64) string {
	return strconv.FormatFloat(math.Round(confidence*1000)/10, 'f', -1, 64) + " %"
}

// IntervalWords renders an effect with its interval for a table: "-10.0 pp [-16.9, -2.8]",
// "x1.22 [1.11–1.34]".
func IntervalWords(e *compare.Effect, repetitions int) string {
	if !e.OK() {
		return EffectWords(e, repetitions)
	}
	low, high := boundWords(e, repetitions)
	between := ", "
	if e.Unit == compare.UnitRatio {
		between = "–"
	}
	return fmt.Sprintf("%s [%s%s%s]", EffectWords(e, repetitions), low, between, high)
}

// PNumber renders a p-value for a table: what it is compared with, and the number.
func PNumber(p compare.Number) (relation, text string) {
	if !p.OK() {
		return "", "–"
	}
	words := strings.Fields(analyze.PWords(float64(p)))
	return words[1], words[2]
}

// pWords renders a p-value in a sentence: "p = 0.0075".
func pWords(p compare.Number) string {
	if !p.OK() {
		return "no p-value"
	}
	return analyze.PWords(float64(p))
}

// PopulationWords says what the comparison tells about other cases.
func PopulationWords(f *compare.Figure) string {
	if !f.Population.OK() {
		return "over other cases like these: no interval, because " + f.PopulationWhy
	}
	return "over other cases like these: " + betweenWords(&f.Population, repetitions(f)) + " pp"
}

// ChangedWords counts the cases that changed: "15 cases lost, 3 won, of 120".
func ChangedWords(lost, won, of int, conclusion compare.Conclusion) string {
	switch conclusion {
	case compare.Better:
		return fmt.Sprintf("%s won, %s lost, of %s", text.Count(won), text.Count(lost), text.Count(of))
	case compare.Worse:
		return fmt.Sprintf("%s lost, %s won, of %s", text.Plural(lost, "case"), text.Count(won), text.Count(of))
	default:
		return fmt.Sprintf("%s lost, %s won, of %s", text.Count(lost), text.Count(won), text.Count(of))
	}
}

// marginWords renders a margin: "±2 pp", "±10 %".
func marginWords(m compare.Metric, margin float64) string {
	number := func(x float64) string { return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64) }
	switch {
	case m.Ratio():
		return "±" + number(100*margin) + " %"
	case m == compare.Score:
		return "±" + number(margin)
	default:
		return "±" + number(100*margin) + " pp"
	}
}

// FigureWords describes the figure of the pass rate of one pair of runners without its conclusion.
func FigureWords(f *compare.Figure, conclusion compare.Conclusion) string {
	if f.Pairs == 0 {
		return "no pair was measured on both sides"
	}
	n := repetitions(f)
	changed := ChangedWords(f.Lost, f.Won, f.Pairs, conclusion)
	if conclusion == compare.Equivalent {
		negligible := ""
		if f.Effect.Low > 0 || f.Effect.High < 0 {
			negligible = ", a real but negligible difference"
		}
		return fmt.Sprintf("within %s%s (%s, %s; %s)", marginWords(f.Metric, f.Margin), negligible,
			EffectWords(&f.Effect, n), betweenWords(&f.Equivalence, n), changed)
	}
	if f.Test.Of == compare.TestNone { // too little was measured for a test
		return fmt.Sprintf("%s pass rate, %s (%s)", EffectWords(&f.Effect, n), betweenWords(&f.Effect, n), changed)
	}
	effect, p := testEffect(f), pWords(f.Test.P)
	if f.Family.Size > 1 {
		p += fmt.Sprintf(", %s over %d runners", f.Family.Method, f.Family.Size)
	}
	return fmt.Sprintf("%s pass rate, %s (%s; %s)", EffectWords(&effect, n), betweenWords(&effect, n), changed, p)
}

// EffectShown returns the effect on a pass rate with the interval that its conclusion rests on, rounded
// outward, and the words for a value: points with their sign.
func EffectShown(f *compare.Figure) (e compare.Effect, points func(float64) string) {
	switch {
	case f.Conclusion == compare.Equivalent && f.Equivalence.OK():
		e = f.Equivalence
	case f.Test.Of == compare.TestNone:
		e = f.Effect
	default:
		e = testEffect(f)
	}
	digits := precision(repetitions(f))
	lo, hi := outward(100*float64(e.Low), 100*float64(e.High), digits)
	e.Low, e.High = compare.Number(lo/100), compare.Number(hi/100)
	return e, func(x float64) string {
		if x == 0 {
			return "0"
		}
		return signed(100*x, digits)
	}
}

// ComparisonHeadline says the conclusion in a few words: "Worse by 12.1 points".
func ComparisonHeadline(c *compare.Comparison) string {
	word := strings.ToUpper(string(c.Conclusion)[:1]) + string(c.Conclusion)[1:]
	if c.Deciding < 0 {
		return word
	}
	if n := len(c.Cases.Broken); n > 0 {
		return word + ": " + text.Plural(n, "case") + " broke"
	}
	r := &c.Runners[c.Deciding]
	f := &r.Figure
	on := ""
	if len(c.Runners) > 1 {
		on = " on " + r.Candidate
	}
	e, points := EffectShown(f)
	if !e.OK() {
		return word + on
	}
	switch c.Conclusion { //nolint:exhaustive // the others have one form
	case compare.Equivalent:
		return word + on + ": within " + strings.TrimSuffix(marginWords(f.Metric, f.Margin), " pp") + " points"
	case compare.NotDecisive:
		return word + on + ": between " + points(float64(e.Low)) + " and " + points(float64(e.High)) + " points"
	}
	return word + " by " + strings.TrimLeft(points(float64(e.Value)), "+-") + " points" + on
}

// nameWords names a case, with its runner if there are several.
func nameWords(all *compare.Comparison, c *compare.CaseResult) string {
	if len(all.Runners) > 1 {
		return c.Case + " on " + c.Runner
	}
	return c.Case
}

// brokenWords describes a broken case: "refund-3, 20/20 → 0/3, then 0/5 again (p < 0.0001)".
func brokenWords(all *compare.Comparison, c *compare.CaseResult) string {
	text := fmt.Sprintf("%s, %s", nameWords(all, c), countsWords(c))
	p := c.AdjustedP
	if f := c.Confirmation; f != nil {
		text += fmt.Sprintf(", then %d/%d again", f.Candidate.Passed, f.Candidate.Measured)
		if !f.History {
			text += fmt.Sprintf(" (baseline %d/%d)", f.Baseline.Passed, f.Baseline.Measured)
		}
		p = f.AdjustedP
	}
	return text + " (" + pWords(p) + ")"
}

// countsWords renders the counts of a case on both sides: "20/20 → 0/3".
func countsWords(c *compare.CaseResult) string {
	return fmt.Sprintf("%d/%d → %d/%d", c.Baseline.Passed, c.Baseline.Measured, c.Candidate.Passed, c.Candidate.Measured)
}

// ConclusionWord returns the first word of a comparison, and the rest of its first line.
func ConclusionWord(c *compare.Comparison) (word, rest string) {
	word = string(c.Conclusion)
	switch {
	case c.Deciding < 0:
		rest = c.Reason
	case len(c.Cases.Broken) > 0:
		rest = brokeLine(c)
	default:
		r := &c.Runners[c.Deciding]
		rest = FigureWords(&r.Figure, c.Conclusion)
		if c.Conclusion == compare.NotDecisive && undecidedByRule(c, r) {
			rest = r.Reason
			if r.Figure.Pairs > 0 {
				rest += "; " + FigureWords(&r.Figure, c.Conclusion)
			}
		}
		if len(c.Runners) > 1 {
			rest = "on " + r.Candidate + " " + rest
		}
	}
	if c.VariedAny {
		rest += "; compared although these differ: " + kindWords(c)
	}
	return word, rest
}

// undecidedByRule reports whether too little was measured, whatever the effect is.
func undecidedByRule(c *compare.Comparison, r *compare.RunnerResult) bool {
	return !(float64(r.Coverage) >= c.MinCoverage) || r.Pairs.Clusters > 0 && r.Pairs.Clusters < 6 || r.Figure.Pairs == 0
}

func brokeLine(c *compare.Comparison) string {
	broken := c.Cases.Broken
	text := c.Reason + ": " + brokenWords(c, &broken[0])
	if more := len(broken) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text + "; " + suiteWords(c)
}

// suiteWords says what the suite as a whole shows if a case broke.
func suiteWords(c *compare.Comparison) string {
	words := []string{}
	for i := range c.Runners {
		r := &c.Runners[i]
		word := string(r.Figure.Conclusion)
		if len(c.Runners) > 1 {
			word += " on " + r.Candidate
		}
		words = append(words, word)
	}
	return "the suite as a whole: " + strings.Join(words, ", ")
}

// kindWords lists the kinds of differences that exist.
func kindWords(c *compare.Comparison) string {
	var kinds []string
	for _, d := range c.Varied {
		known := false
		for _, k := range kinds {
			known = known || k == string(d.Kind)
		}
		if !known {
			kinds = append(kinds, string(d.Kind))
		}
	}
	if len(kinds) == 0 {
		return "nothing"
	}
	return strings.Join(kinds, ", ")
}

// sensitivityWords says whether the conclusion depends on what could not be measured; "" if all was
// measured.
func sensitivityWords(s *compare.Sensitivity, conclusion compare.Conclusion) string {
	if s == nil {
		return ""
	}
	pairs := text.Plural(s.Pairs, "unmeasured pair")
	if s.Worst == conclusion && s.Best == conclusion {
		return "holds whatever the " + pairs + " would have shown"
	}
	return "rests on " + pairs
}

// repeatWords describes the repetitions of the two sides.
func repeatWords(f *compare.Figure) string {
	number := func(n compare.Number) string { return strconv.FormatFloat(math.Round(float64(n)*10)/10, 'f', -1, 64) }
	b, c := number(f.BaselineRepeats), number(f.CandidateRepeats)
	switch {
	case b == "1" && c == "1":
		return "one repeat"
	case b == c:
		return b + " repeats"
	default:
		return b + " and " + c + " repeats"
	}
}

// MethodWords describes how one pair of runners was compared, in one sentence.
func MethodWords(r *compare.RunnerResult) string {
	f := &r.Figure
	parts := []string{}
	if f.Pairs > 0 {
		parts = append(parts, fmt.Sprintf("%s over %s, %s", f.Method, text.Plural(f.Pairs, "pair"), repeatWords(f)))
		if f.Effect.OK() {
			parts = append(parts, "interval: "+f.Effect.Method)
		}
	}
	if r.Pairs.Clusters > 0 {
		parts = append(parts, text.Plural(r.Pairs.Clusters, "cluster"))
	}
	measured := r.Pairs.Measured + r.Pairs.SameAnswer
	parts = append(parts, fmt.Sprintf("coverage %s/%s", text.Count(measured), text.Count(r.Pairs.Planned)))
	if words := sensitivityWords(r.Sensitivity, r.Conclusion); words != "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, "; ")
}

// mdeWords renders the effect that a comparison could have seen: "11 pp".
func mdeWords(mde compare.Number, repetitions int) string {
	v, digits := 100*float64(mde), precision(repetitions)
	if v >= 10 {
		digits = 0
	}
	_, v = outward(0, v, digits)
	return strconv.FormatFloat(v, 'f', digits, 64) + " pp"
}

// planWords describes a plan: "800 more sessions, about $1.20 and 6m".
func planWords(p *compare.Plan) string {
	s := text.Plural(p.Sessions, "more session")
	var about []string
	if p.CostUSD.OK() && p.CostUSD > 0 {
		about = append(about, text.Money(float64(p.CostUSD)))
	}
	if p.DurationMs.OK() && p.DurationMs > 0 {
		about = append(about, text.Millis(int64(p.DurationMs)))
	}
	if len(about) > 0 {
		s += ", about " + strings.Join(about, " and ")
	}
	return s
}

// Advice is a sentence, with the command that follows from it.
type Advice struct{ Text, Command string }

// SettleWords says what would settle a comparison that is not decisive.
func SettleWords(c *compare.Comparison) []Advice {
	if c.Settle == nil || c.Conclusion != compare.NotDecisive {
		return suspectWords(c)
	}
	var out []Advice
	if c.Deciding >= 0 {
		f := &c.Runners[c.Deciding].Figure
		n := repetitions(f)
		if c.MDE.OK() {
			out = append(out, Advice{Text: "this comparison could have seen " + mdeWords(c.MDE, n)})
		}
		if c.Settle.Why != "" {
			out = append(out, Advice{Text: "what would help: " + c.Settle.Why})
		}
		real := EffectWords(&f.Effect, n)
		if p := c.Settle.IfReal; p != nil && strings.ContainsAny(real, "123456789") { // not an effect of 0
			out = append(out, planAdvice(p, "if "+real+" is real", "to see an effect of "+strings.TrimLeft(real, "+-")))
		}
		if p := c.Settle.IfNone; p != nil {
			margin := marginWords(f.Metric, f.Margin)
			out = append(out, planAdvice(p, "if there is no difference", "for a margin of "+strings.TrimPrefix(margin, "±")))
		}
	}
	return append(out, suspectWords(c)...)
}

// planAdvice describes a plan under a condition.
func planAdvice(p *compare.Plan, condition, purpose string) Advice {
	if p.Repeats == 0 {
		s := condition + ", more than 100 repeats: this suite is too small " + purpose
		if p.Cases > 0 {
			s += fmt.Sprintf("; it takes about %s cases", text.Count(p.Cases))
		}
		return Advice{Text: s}
	}
	most := ""
	if p.AtMost {
		most = "at most "
	}
	text := fmt.Sprintf("%s, %s%s of each case would show it", condition, most, text.Plural(p.Repeats, "repeat"))
	if p.Sessions > 0 {
		text += ": " + planWords(p)
	} else {
		text += " on both sides"
	}
	return Advice{text, p.Command}
}

// suspectWords names the cases that look broken, and says what would tell.
func suspectWords(c *compare.Comparison) []Advice {
	suspects := c.Cases.Suspect
	if len(suspects) == 0 {
		return nil
	}
	const most = 3
	var names []string
	for i := range suspects[:min(most, len(suspects))] {
		name := nameWords(c, &suspects[i]) + ": " + countsWords(&suspects[i])
		if f := suspects[i].Confirmation; f != nil {
			name += fmt.Sprintf(", then %d/%d", f.Candidate.Passed, f.Candidate.Measured)
		}
		names = append(names, name)
	}
	if more := len(suspects) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	verb := " looks broken ("
	if len(suspects) > 1 {
		verb = " look broken ("
	}
	a := Advice{Text: text.Plural(len(suspects), "case") + verb + strings.Join(names, "; ") + ")"}
	if c.Settle != nil && c.Settle.Confirm != nil {
		p := c.Settle.Confirm
		a.Text += fmt.Sprintf("; %s would tell", strings.Replace(planWords(p), "more ", "", 1))
		a.Command = p.Command
	}
	return []Advice{a}
}

// GateEffect returns the figure of a gate as an effect, and the repetitions that it rests on.
func GateEffect(c *compare.Comparison, g *compare.GateOutcome) (e compare.Effect, n int) {
	n = 100
	for i := range c.Runners {
		if c.Runners[i].Candidate == g.Runner {
			n = repetitions(&c.Runners[i].Figure)
		}
	}
	return compare.Effect{Value: g.Value, Low: g.Low, High: g.High, Confidence: g.Confidence, Unit: g.Unit}, n
}

// GateWords describes the figure of a gate: "-10.0 pp, 95 % between -16.9 and -2.8".
func GateWords(c *compare.Comparison, g *compare.GateOutcome) string {
	if g.Why != "" {
		return text.OneLine(g.Why)
	}
	if g.Metric == compare.Broken {
		return text.Plural(int(g.Value), "broken case")
	}
	e, n := GateEffect(c, g)
	switch {
	case g.Relative:
		return EffectWords(&e, n) + ", " + betweenWords(&e, n)
	case g.Unit == compare.UnitScore:
		lo, hi := outward(float64(g.Low), float64(g.High), 2)
		return fmt.Sprintf("%.2f, %s between %.2f and %.2f", float64(g.Value), levelWords(g.Confidence), lo, hi)
	default:
		lo, hi := outward(100*float64(g.Low), 100*float64(g.High), 0)
		return fmt.Sprintf("%s, %s between %.0f and %.0f %%", text.Percent(float64(g.Value)), levelWords(g.Confidence),
			lo, hi)
	}
}

// ErrorWords compares the repetitions that could not be measured; "" if there are as many on both
// sides.
func ErrorWords(e *compare.ErrorCounts) string {
	if e.Baseline == e.Candidate && e.BaseOf == e.CandOf || e.Baseline+e.Candidate == 0 {
		return ""
	}
	if e.BaseOf == e.CandOf {
		return fmt.Sprintf("%s → %s of %s (%s)", text.Count(e.Baseline), text.Count(e.Candidate),
			text.Count(e.CandOf), pWords(e.P))
	}
	return fmt.Sprintf("%s of %s → %s of %s (%s)", text.Count(e.Baseline), text.Count(e.BaseOf), text.Count(e.Candidate),
		text.Count(e.CandOf), pWords(e.P))
}
