package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
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
		return plural(n, "repetition")
	}
	return plural(n, "pair")
}

// standingWords says how far a running question is from its decision.
func standingWords(d *plumb.Decision, dot string) string {
	var parts []string
	for _, e := range d.Evidence {
		parts = append(parts, e.Conclusion+" "+strconv.Itoa(int(100*e.Part))+" %")
	}
	return fmt.Sprintf("%s of at most %s%sevidence: %s", count(d.Drawn), drawsWords(d, d.Limit), dot,
		strings.Join(parts, ", "))
}

// statements describes the answer to the question of a run, and the results of its gates.
func statements(run *plumb.Run, dot, dash string) []string {
	lines := decisionLines(run)
	for _, g := range gateLines(run, dot, dash) {
		lines = append(lines, g.words)
	}
	return lines
}

// decisionLines describes the answer to the question of a run that has ended; none for a run
// without a question.
func decisionLines(run *plumb.Run) []string {
	d := run.Decision
	if d == nil || run.End == nil || d.Conclusion == "" {
		return nil
	}
	lines := []string{d.Conclusion + ": " + answerWords(d)}
	made := 0 // more than the draws that count: those in flight at the decision, too
	for i := range run.Executions {
		x := &run.Executions[i]
		made += int(x.Passed + x.Failed + x.Errored)
	}
	if decided(run) {
		lines = append(lines, fmt.Sprintf("  decided after %s; %s of at most %s were made, so %s were saved",
			drawsWords(d, d.Drawn), count(made), count(d.Limit), count(d.Limit-made)))
	} else {
		lines = append(lines, fmt.Sprintf("  not decided after %s of at most %s; %s", count(d.Drawn),
			drawsWords(d, d.Limit), evidenceWords(d)))
	}
	if d.Measured < d.Drawn {
		lines = append(lines, fmt.Sprintf("  coverage %s/%s: a pair without a result on a side does not count",
			count(d.Measured), count(d.Drawn)))
	}
	if d.Low != nil && d.High != nil && *d.Low <= 0 && *d.High >= 0 &&
		(d.Conclusion == string(compare.Worse) || d.Conclusion == string(compare.Better)) {
		lines = append(lines, "  the interval contains 0, because it counts cases and not pairs, and the cases are few")
	}
	if d.Exhausted > 0 {
		line := "  " + plural(d.Exhausted, "case") +
			" had no more results in the baseline, so nothing can be called equivalent"
		if d.BaselineRun != "" {
			line += "; to add some for the next run: plumb resume " + ShellWord(d.BaselineRun) + " --repeat N"
		}
		lines = append(lines, line)
	}
	if !decided(run) {
		lines = append(lines, settleLines(d)...)
	}
	return append(lines, fmt.Sprintf("  e-processes at level %s, which hold whenever the run stops; "+
		"the interval is for a fixed number of %s", decimal(d.Alpha, 3), strings.Fields(drawsWords(d, 2))[1]))
}

// settleLines says what difference the pairs could have seen, and about how many pairs would
// decide. The number of pairs grows with the square of the ratio of the detectable difference to
// the real one.
func settleLines(d *plumb.Decision) []string {
	if d.Detectable == nil || d.Value == nil {
		return nil
	}
	lines := []string{"  these pairs could have seen " + decimal(100**d.Detectable, precision(d.Measured)) + " pp"}
	needed := func(difference float64) string {
		n := float64(d.Measured) * *d.Detectable * *d.Detectable / (difference * difference)
		scale := math.Pow(10, max(0, math.Floor(math.Log10(n))-1))
		return count(int(math.Ceil(n/scale) * scale))
	}
	const least = 1e-3 // of a difference, for which a number of pairs says something
	if v := math.Abs(*d.Value); v >= least {
		e := compare.Effect{Value: compare.Number(*d.Value), Unit: compare.UnitRate}
		lines = append(lines, fmt.Sprintf("  if %s is real, about %s pairs would show it",
			effectWords(&e, d.Measured), needed(v)))
	}
	if room := d.Margin - math.Abs(*d.Value); room >= least && d.Gate == "" {
		lines = append(lines, fmt.Sprintf("  if there is no difference, about %s pairs would show that it is within %s",
			needed(room), marginWords(compare.PassRate, d.Margin)))
	}
	return lines
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
		text := fmt.Sprintf("%s: pass rate %s %%", d.Gate, decimal(100**d.Value, precision(n)))
		if e.OK() {
			low, high := outward(100**d.Low, 100**d.High, precision(n))
			text += fmt.Sprintf(", %s between %s and %s for other cases like these", levelWords(d.Confidence),
				decimal(low, precision(n)), decimal(high, precision(n)))
		}
		return text + fmt.Sprintf(" (%s of %s)", plural(n, "repetition"), plural(d.Cases, "case"))
	}
	changed := fmt.Sprintf("%s lost, %s won, of %s", count(d.Lost), count(d.Won), plural(n, "pair"))
	switch {
	case d.Gate != "":
		return fmt.Sprintf("%s: %s pass rate, %s (%s)", d.Gate, effectWords(&e, n), betweenWords(&e, n), changed)
	case d.Conclusion == string(compare.Equivalent):
		return fmt.Sprintf("within %s (%s, %s; %s)", marginWords(compare.PassRate, d.Margin), effectWords(&e, n),
			betweenWords(&e, n), changed)
	default:
		return fmt.Sprintf("%s pass rate, %s (%s)", effectWords(&e, n), betweenWords(&e, n), changed)
	}
}

func decimal(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
