package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// RateCells renders a rate for the tables of all reports: passed of measured, rate, interval,
// coverage.
func RateCells(r analyze.Rate, dash string) []string {
	rate, interval := "n/a", "n/a"
	if value, ok := r.Value(); ok {
		rate, interval = text.Percent(value), dash
		if lo, hi, ok := r.Interval(); ok {
			interval = text.Shares(lo, hi, dash)
		}
	}
	return []string{
		text.Count(r.Passed) + "/" + text.Count(r.Measured()), rate, interval,
		text.Count(r.Measured()) + "/" + text.Count(r.Planned),
	}
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

// CacheWords says how many answers came from the cache.
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
