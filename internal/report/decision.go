package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/text"
)

// decided reports whether a run had a question and answered it.
func decided(run *plumb.Run) bool {
	d := run.Decision
	return d != nil && d.Conclusion != "" && d.Conclusion != string(compare.NotDecisive) &&
		d.Conclusion != string(compare.Unproven)
}

// drawsWords counts what is drawn: pairs, or repetitions without a baseline.
func drawsWords(d *plumb.Decision, n int) string {
	if d.Against == "" {
		return text.Plural(n, "repetition")
	}
	return text.Plural(n, "pair")
}

// StandingWords says how far a running question is from its decision.
func StandingWords(d *plumb.Decision, dot string) string {
	var parts []string
	for _, e := range d.Evidence {
		parts = append(parts, e.Conclusion+" "+strconv.Itoa(int(100*e.Part))+" %")
	}
	return fmt.Sprintf("%s of at most %s%sevidence: %s", text.Count(d.Drawn), drawsWords(d, d.Limit), dot,
		strings.Join(parts, ", "))
}

// DecisionLines describes the answer to the question of a run that has ended; none for a run
// without a question.
func DecisionLines(src *Source, run *plumb.Run) []string {
	d := run.Decision
	if d == nil || run.End == nil || d.Conclusion == "" {
		return nil
	}
	lines := []string{d.Conclusion + ": " + answerWords(d)}
	tested := suspectCases(d)
	if d.Whole != "" {
		broken := tested.Cases.Broken
		lines = []string{fmt.Sprintf("%s: %s broke: %s", d.Conclusion, text.Plural(len(broken), "case"),
			brokenWords(tested, &broken[0]))}
		for i := range broken[1:] {
			lines = append(lines, "  and "+brokenWords(tested, &broken[i+1]))
		}
		lines = append(lines, "  the suite as a whole: "+d.Whole+": "+answerWords(d))
	}
	made := madeRepetitions(run)
	switch {
	case decided(run) && d.Whole != string(compare.NotDecisive):
		line := "  decided after " + drawsWords(d, d.Drawn)
		if saved := d.Limit - made; saved > 0 {
			line += fmt.Sprintf("; %s of at most %s were made, so %s were saved", text.Count(made), text.Count(d.Limit),
				text.Count(saved))
		}
		lines = append(lines, line)
	default:
		lines = append(lines, fmt.Sprintf("  not decided after %s of at most %s; %s", text.Count(d.Drawn),
			drawsWords(d, d.Limit), evidenceWords(d)))
	}
	if d.FreshMade > 0 {
		line := fmt.Sprintf("  %s of the baseline %s made, too", text.Plural(d.FreshMade, "repetition"), were(d.FreshMade))
		if d.FreshCostUSD != nil && *d.FreshCostUSD > 0 {
			line += ", for " + text.Money(*d.FreshCostUSD)
		}
		lines = append(lines, line)
	}
	if d.Measured < d.Drawn {
		lines = append(lines, fmt.Sprintf("  coverage %s/%s: a pair without a result on a side does not count",
			text.Count(d.Measured), text.Count(d.Drawn)))
	}
	if d.Low != nil && d.High != nil && *d.Low <= 0 && *d.High >= 0 && d.Whole == "" &&
		(d.Conclusion == string(compare.Worse) || d.Conclusion == string(compare.Better)) {
		lines = append(lines, "  the interval contains 0, because it counts cases and not pairs, and the cases are few")
	}
	if d.Exhausted > 0 {
		line := "  " + text.Plural(d.Exhausted, "case") +
			" had no more results in the baseline, so nothing can be called equivalent"
		if step := moreBaseline(src, run); step != "" {
			line += "; to add some for another run: " + step
		}
		lines = append(lines, line)
	}
	if !decided(run) {
		lines = append(lines, settleLines(src, run)...)
	}
	for _, a := range suspectWords(tested) {
		lines = append(lines, "  "+a.Text)
	}
	return append(lines, fmt.Sprintf("  e-processes at level %s, which hold whenever the run stops; "+
		"the interval is for a fixed number of %s", decimal(d.Alpha, 3), strings.Fields(drawsWords(d, 2))[1]))
}

// moreBaseline returns the command that adds to the baseline what a run with the same limit needs,
// or "". The draws are uneven, so some cases need more than the mean.
func moreBaseline(src *Source, run *plumb.Run) string {
	d := run.Decision
	if d.BaselineRun == "" {
		return ""
	}
	repeats := 2 * d.Limit / max(1, len(run.Cases))
	return fmt.Sprintf("plumb resume %s --repeat %d%s", ShellWord(d.BaselineRun), repeats, src.flags())
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// madeRepetitions counts the repetitions of a run: also those that were in flight at the decision,
// and those of suspects.
func madeRepetitions(run *plumb.Run) (made int) {
	for i := range run.Executions {
		x := &run.Executions[i]
		made += int(x.Passed + x.Failed + x.Errored)
	}
	return made
}

// suspectCases returns the suspects of a decision in the form of a comparison with one runner.
func suspectCases(d *plumb.Decision) *compare.Comparison {
	c := &compare.Comparison{Runners: make([]compare.RunnerResult, 1)}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		tally := func(n plumb.PassCount) compare.Count { return compare.Count{Passed: n.Passed, Measured: n.Measured} }
		r := compare.CaseResult{Case: x.Case, Baseline: tally(x.Baseline), Candidate: tally(x.Candidate)}
		if x.P != nil {
			r.Confirmation = &compare.Confirmation{
				Baseline: tally(x.FreshBaseline), Candidate: tally(x.FreshCandidate),
				History: x.FreshBaseline == plumb.PassCount{}, AdjustedP: compare.Number(*x.P),
			}
		}
		if x.Broken {
			c.Cases.Broken = append(c.Cases.Broken, r)
		} else {
			c.Cases.Suspect = append(c.Cases.Suspect, r)
		}
	}
	return c
}

// settleLines says what difference the pairs could have seen, how many repetitions would decide,
// what they cost, and the command that allows them. The number of pairs grows with the square of
// the ratio of the detectable difference to the real one.
func settleLines(src *Source, run *plumb.Run) []string {
	d := run.Decision
	if d.Value == nil || d.Low == nil || d.High == nil {
		return nil
	}
	// What a fixed number of pairs sees says how many show that there is no difference.
	quantile := func(conf float64) float64 { return math.Sqrt2 * math.Erfinv(conf) }
	const twicePower = 0.6 // of a power of 0.8
	fixed := (*d.High - *d.Low) / 2 / quantile(d.Confidence) * (quantile(1-d.Alpha) + quantile(twicePower))
	distance := math.Abs(*d.Value)
	size := compare.Effect{Value: compare.Number(*d.Value), Unit: compare.UnitRate}
	condition := "if " + EffectWords(&size, d.Measured) + " is real"
	if d.Gate != "" {
		g, err := compare.ParseGate(d.Gate)
		if err != nil {
			return nil
		}
		distance = math.Abs(*d.Value - g.Bound)
		condition = "if the distance to the gate is real, " + decimal(100*distance, precision(d.Measured)) + " pp"
	}
	var lines []string
	seen := fixed
	if d.Detectable != nil {
		seen = *d.Detectable
		lines = append(lines, fmt.Sprintf("  these %s could have seen %s pp", strings.Fields(drawsWords(d, 2))[1],
			decimal(100*seen, precision(d.Measured))))
	}
	add := func(a Advice) {
		lines = append(lines, "  "+a.Text)
		if a.Command != "" {
			lines = append(lines, "    "+a.Command)
		}
	}
	plan := func(seen, difference float64) *compare.Plan {
		return morePairs(src, run, float64(d.Measured)*seen*seen/(difference*difference))
	}
	const least = 1e-3 // of a difference, for which a number of pairs says something
	if distance >= least {
		add(planAdvice(plan(seen, distance), condition,
			"to see an effect of "+decimal(100*distance, precision(d.Measured))+" pp"))
	}
	if room := d.Margin - math.Abs(*d.Value); room >= least && d.Gate == "" {
		add(planAdvice(plan(fixed, room), "if there is no difference", "for a margin of "+decimal(100*d.Margin, 2)+" pp"))
	}
	return lines
}

// morePairs plans the repetitions that are missing for a number of pairs. Their cost and time are
// those of the pairs so far.
func morePairs(src *Source, run *plumb.Run, pairs float64) *compare.Plan {
	d, made := run.Decision, madeRepetitions(run)
	p := &compare.Plan{CostUSD: compare.Number(math.NaN()), DurationMs: compare.Number(math.NaN())}
	const most = 100 // repetitions of a case; a suite that needs more is too small
	repeats := math.Ceil(pairs / float64(len(run.Cases)))
	if repeats > most || made == 0 {
		return p
	}
	p.Repeats = int(repeats)
	if d.Exhausted > 0 {
		return p // the baseline has no more results
	}
	more := max(1, int(math.Ceil(pairs))-d.Drawn)
	p.Sessions, p.Command = more, "plumb resume "+ShellWord(run.Info.ID)
	if p.Repeats*len(run.Cases) > d.Limit {
		p.Command += fmt.Sprintf(" --repeat %d", p.Repeats)
	}
	p.Command += src.flags()
	if run.Totals.Unpriced == 0 {
		p.CostUSD = compare.Number(run.Totals.CostUSD / float64(made) * float64(more))
	}
	p.DurationMs = compare.Number(float64(run.ActiveMs) / float64(made) * float64(more))
	return p
}

// evidenceWords names the conclusion with the most evidence.
func evidenceWords(d *plumb.Decision) string {
	best := plumb.EvidenceFor{}
	for _, e := range d.Evidence {
		if e.Part > best.Part {
			best = e
		}
	}
	if best.Part < 0.01 {
		return "no evidence yet"
	}
	return fmt.Sprintf("the most evidence is for %s, %d %% of what decides", best.Conclusion, int(100*best.Part))
}

// answerWords describes the figures of a decision.
func answerWords(d *plumb.Decision) string {
	if d.Value == nil {
		return "nothing could be measured"
	}
	e := compare.Effect{
		Value: compare.Number(*d.Value), Low: compare.Number(math.NaN()), High: compare.Number(math.NaN()),
		Confidence: d.Confidence, Unit: compare.UnitRate,
	}
	if d.Low != nil && d.High != nil {
		e.Low, e.High = compare.Number(*d.Low), compare.Number(*d.High)
	}
	n := d.Measured
	if d.Against == "" {
		s := fmt.Sprintf("%s: pass rate %s %%", d.Gate, decimal(100**d.Value, precision(n)))
		if e.OK() {
			low, high := outward(100**d.Low, 100**d.High, precision(n))
			s += fmt.Sprintf(", %s between %s and %s for other cases like these", levelWords(d.Confidence),
				decimal(low, precision(n)), decimal(high, precision(n)))
		}
		return s + fmt.Sprintf(" (%s of %s)", text.Plural(n, "repetition"), text.Plural(d.Cases, "case"))
	}
	changed := fmt.Sprintf("%s lost, %s won, of %s", text.Count(d.Lost), text.Count(d.Won), text.Plural(n, "pair"))
	switch {
	case d.Gate != "":
		return fmt.Sprintf("%s: %s pass rate, %s (%s)", d.Gate, EffectWords(&e, n), betweenWords(&e, n), changed)
	case d.Conclusion == string(compare.Equivalent):
		return fmt.Sprintf("within %s (%s, %s; %s)", marginWords(compare.PassRate, d.Margin), EffectWords(&e, n),
			betweenWords(&e, n), changed)
	default:
		return fmt.Sprintf("%s pass rate, %s (%s)", EffectWords(&e, n), betweenWords(&e, n), changed)
	}
}

func decimal(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
