package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// Round12 removes the noise in the last digits of a sum of fractions: 12 digits are left.
func Round12(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// RateCells renders a rate for the tables of all reports: passed of measured, rate, interval,
// coverage.
func RateCells(r analyze.Rate, dash string) []string {
	rate, interval := "n/a", "n/a"
	if value, ok := r.Value(); ok {
		rate, interval = text.Percent(value), dash
		if lo, hi, ok := r.Interval(); ok {
			interval = Shares(lo, hi, dash)
		}
	}
	return []string{
		text.Count(r.Passed) + "/" + text.Count(r.Measured()), rate, interval, text.Count(r.Measured()) + "/" + text.Count(r.Planned),
	}
}

// Shares renders the bounds of a share. They are rounded outward: the shown interval is never
// narrower than the computed one.
func Shares(lo, hi float64, dash string) string {
	return fmt.Sprintf("%.0f%s%.0f %%", math.Floor(lo*100), dash, math.Ceil(hi*100))
}

// sampleWords describes the pass rate of repetitions: "rate 78 % (234/300 samples, 95 % 72–83 %)".
func sampleWords(x *analyze.Repetitions, dash string) string {
	rate, interval := text.Percent(float64(x.Passed)/float64(x.Measured)), ""
	if x.Rate.OK {
		rate, interval = text.Percent(x.Rate.Value), ", 95 % "+Shares(x.Rate.Lo, x.Rate.Hi, dash)
	}
	return fmt.Sprintf("rate %s (%s/%s samples%s)", rate, text.Count(x.Passed), text.Count(x.Measured), interval)
}

// TimesWords describes how long the cases took, or returns "" when none was measured.
func TimesWords(run *plumb.Run, dash string) string {
	t := analyze.Times(run)
	if t.N == 0 {
		return ""
	}
	median := text.Millis(t.P50) + " median"
	if t.High > 0 {
		median += " (" + text.Millis(t.Low) + dash + text.Millis(t.High) + ")"
	}
	return fmt.Sprintf("a case %s, %s p90, %s max", median, text.Millis(t.P90), text.Millis(t.Max))
}

// VerdictWords summarizes a run in one line. With repetitions, the rate is that of the samples.
func VerdictWords(run *plumb.Run, r analyze.Rate, dash string) string {
	if r.Planned == 0 {
		return "nothing to run: no case was selected"
	}
	parts := []string{fmt.Sprintf("%s/%s pass", text.Count(r.Passed), text.Count(r.Planned))}
	if x := r.Repetitions(run); x.Repeated && x.Stopped == 0 && x.Measured > 0 {
		parts[0] = sampleWords(&x, dash) + fmt.Sprintf(", %s/%s cases always pass", text.Count(r.Passed), text.Count(r.Planned))
	}
	if r.UnexpectedPassed > 0 {
		parts[0] += fmt.Sprintf(" (%s unexpectedly)", text.Count(r.UnexpectedPassed))
	}
	if r.Failed > 0 {
		fail := text.Count(r.Failed) + " fail"
		switch r.ExpectedFailed {
		case 0:
		case r.Failed:
			fail += " as expected"
		default:
			fail += fmt.Sprintf(" (%s as expected)", text.Count(r.ExpectedFailed))
		}
		parts = append(parts, fail)
	}
	if r.Errored > 0 {
		parts = append(parts, text.Count(r.Errored)+" could not be measured")
	}
	if n := r.NotRun(); n > 0 {
		parts = append(parts, text.Count(n)+" not run")
	}
	return strings.Join(parts, ", ")
}

// RateList is the pass rates of one kind: "prompt", "category", "difficulty" or "tag".
type RateList struct {
	Kind  string
	Rates []analyze.Rate
}

// RateLists returns the kinds of rates with more than one entry.
func RateLists(b *analyze.Breakdown) (lists []RateList) {
	if len(b.Prompts) > 1 {
		lists = append(lists, RateList{"prompt", b.Prompts})
	}
	if b.HasCategories() {
		lists = append(lists, RateList{"category", b.Categories})
	}
	if b.HasDifficulties() {
		lists = append(lists, RateList{"difficulty", b.Difficulties})
	}
	if b.HasTags() {
		lists = append(lists, RateList{"tag", b.Tags})
	}
	return lists
}

// NotePrefix names the runner of a note if there are several.
func NotePrefix(run *plumb.Run, i int) string {
	if len(run.Info.Runners) == 1 {
		return ""
	}
	return text.OneLine(run.Info.Runners[i].ID) + ": "
}

func CacheWords(spent analyze.Spending) string {
	return text.Count(spent.Cached) + " of " + text.Plural(spent.Sessions, "answer") + " from the cache"
}

// CostWords returns the cost of a run, and for how many executions it is unknown.
func CostWords(spent analyze.Spending, run *plumb.Run) string {
	if !spent.Priced(run) {
		return "unknown" + NoPrice(run)
	}
	words := text.Money(spent.CostUSD)
	if spent.JudgeCostUSD > 0 {
		words += ", " + text.Money(spent.JudgeCostUSD) + " of it for judging"
	}
	if spent.Unpriced > 0 {
		words += ", unknown for " + text.Plural(spent.Unpriced, "execution")
	}
	return words
}

// NoPrice names the models that used tokens without a known price, after a space.
func NoPrice(run *plumb.Run) string {
	var models []string
	for i := range run.Info.Runners {
		model := text.OneLine(run.Info.Runners[i].Agent.Model)
		spent := analyze.Spent(run, i)
		if spent.Unpriced == 0 || spent.InputTokens+spent.OutputTokens == 0 || slices.Contains(models, model) {
			continue
		}
		models = append(models, model)
	}
	switch {
	case len(models) == 0 || slices.Contains(models, ""):
		return ""
	case len(models) > 3:
		return fmt.Sprintf(" (no price for %d models)", len(models))
	}
	return " (no price for " + strings.Join(models, ", ") + ")"
}
