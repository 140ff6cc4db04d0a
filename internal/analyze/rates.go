package analyze

import (
	"slices"

	"github.com/plumb-eval/plumb"
)

// Rate is a pass rate as counts: Passed of Measured executions passed, and Measured of Planned
// could be measured.
type Rate struct {
	// Name is the category, difficulty, runner, prompt or tag of the executions; "" for cases without one.
	Name    string
	Planned int
	Passed  int
	Failed  int
	Errored int
	// Skipped counts executions that ended without a session. An execution that is in none of the
	// counts did not end.
	Skipped int
	// ExpectedFailed and UnexpectedPassed are among Failed and Passed.
	ExpectedFailed, UnexpectedPassed int
	// Executions are the indices in run.Executions of all Planned executions.
	Executions []int32
	// questions numbers the questions of Executions, if one was asked more than once: on several
	// runners, or with several prompts. Otherwise it is nil.
	questions []int
	// shared counts the executions of each question.
	shared []Count
}

// Measured counts executions that passed or failed.
func (r Rate) Measured() int { return r.Passed + r.Failed }

// Unmeasured counts executions without a result of the model, for any reason.
func (r Rate) Unmeasured() int { return r.Planned - r.Measured() }

// NotRun counts executions that were skipped or did not end.
func (r Rate) NotRun() int { return r.Unmeasured() - r.Errored }

// Value returns the pass rate over measured executions. ok is false if there are none.
func (r Rate) Value() (rate float64, ok bool) {
	if r.Measured() == 0 {
		return 0, false
	}
	return float64(r.Passed) / float64(r.Measured()), true
}

// Interval returns the bounds of the pass rate at level confidence: those of [Wilson], or of
// [ClusteredWilson] if a question was asked more than once. ok is false if there are none: nothing
// was measured, or only one question, several times.
func (r Rate) Interval() (lo, hi float64, ok bool) {
	if r.Measured() == 0 {
		return 0, 0, false
	}
	if r.shared == nil {
		lo, hi = Wilson(r.Passed, r.Measured(), confidence)
		return lo, hi, true
	}
	var values []float64
	var clusters []int
	for question, n := range r.shared {
		values = append(values, slices.Repeat([]float64{1}, n.Passed)...)
		values = append(values, make([]float64, n.Measured-n.Passed)...)
		clusters = append(clusters, slices.Repeat([]int{question}, n.Measured)...)
	}
	e := ClusteredWilson(values, len(values), clusters, confidence)
	return e.Lo, e.Hi, e.OK
}

// share numbers the questions of r, if one was asked more than once. items has the number of the
// question of each case, and last, for each question, a number that no other rate gets.
func (r *Rate) share(run *plumb.Run, items []int, last []int, rate int) {
	n, repeated := len(run.Info.Runners), false
	for _, i := range r.Executions {
		item := items[int(i)/n]
		repeated = repeated || last[item] == rate
		last[item] = rate
	}
	if !repeated {
		return
	}
	r.shared = make([]Count, len(last))
	for _, i := range r.Executions {
		item := items[int(i)/n]
		r.questions = append(r.questions, item)
		if e := &run.Executions[i]; e.State == plumb.ExecutionDone && e.Outcome.Measured() {
			r.shared[item].Measured++
			if e.Outcome == plumb.OutcomePass {
				r.shared[item].Passed++
			}
		}
	}
}

// shareAll numbers the questions of rates.
func shareAll(run *plumb.Run, lists ...[]Rate) {
	if len(run.Info.Runners) == 1 && !slices.ContainsFunc(run.Cases, func(c plumb.CaseInfo) bool { return c.Item != "" }) {
		return // each case is a question
	}
	var questions table[int]
	items := make([]int, len(run.Cases))
	for c := range run.Cases {
		items[c] = *questions.row(run.Cases[c].ItemID(), len(questions.rows))
	}
	if len(questions.rows) == len(run.Cases) && len(run.Info.Runners) == 1 {
		return
	}
	last, rate := make([]int, len(questions.rows)), 0
	for _, list := range lists {
		for i := range list {
			rate++
			list[i].share(run, items, last, rate)
		}
	}
}

// Coverage returns the measured part of the planned executions, from 0 to 1. It is 1 if none are
// planned.
func (r Rate) Coverage() float64 {
	if r.Planned == 0 {
		return 1
	}
	return float64(r.Measured()) / float64(r.Planned)
}

func (r *Rate) add(e *plumb.Execution) {
	r.Planned++
	if e.State != plumb.ExecutionDone {
		return
	}
	switch e.Outcome {
	case plumb.OutcomePass:
		r.Passed++
	case plumb.OutcomeFail:
		r.Failed++
	case plumb.OutcomeError:
		r.Errored++
	case plumb.OutcomeSkipped:
		r.Skipped++
	}
	switch e.Status {
	case plumb.StatusExpectedFailed:
		r.ExpectedFailed++
	case plumb.StatusUnexpectedPassed:
		r.UnexpectedPassed++
	default:
	}
}

// Breakdown is the pass rate of a run, over all executions and by properties of the cases and
// runners. Each list is in order of first appearance in the suite. A case with several tags counts
// for each of them.
type Breakdown struct {
	Overall                                          Rate
	Categories, Difficulties, Tags, Runners, Prompts []Rate
}

// HasCategories reports whether any case has a category, so that a table of them is useful.
func (b Breakdown) HasCategories() bool { return slices.ContainsFunc(b.Categories, Rate.named) }

// HasDifficulties reports whether any case has a difficulty.
func (b Breakdown) HasDifficulties() bool { return slices.ContainsFunc(b.Difficulties, Rate.named) }

// HasPrompts reports whether any case has a prompt with a label.
func (b Breakdown) HasPrompts() bool { return slices.ContainsFunc(b.Prompts, Rate.named) }

// HasTags reports whether any case has a tag.
func (b Breakdown) HasTags() bool { return len(b.Tags) > 0 }

func (r Rate) named() bool { return r.Name != "" }

// Rates breaks down the executions of all runners.
func Rates(run *plumb.Run) Breakdown {
	return rates(run, func(*plumb.CaseInfo, int) bool { return true })
}

// RunnerRates breaks down the executions of the runner at index i of run.Info.Runners.
func RunnerRates(run *plumb.Run, i int) Breakdown {
	return rates(run, func(_ *plumb.CaseInfo, runner int) bool { return runner == i })
}

// RateOf returns the rate of the executions with the given indexes. It has no Executions.
func RateOf(run *plumb.Run, executions []int) Rate {
	var r Rate
	for _, i := range executions {
		r.add(&run.Executions[i])
	}
	return r
}

// Column is one runner with one prompt: what a table of a run has side by side.
type Column struct {
	// Prompt is the label of the prompt; "" if the suite has no prompts. Runner is the index in
	// run.Info.Runners.
	Prompt string
	Runner int
	Breakdown
}

// Columns breaks down the executions of each prompt on each runner. The order is that of the suite,
// and for each prompt that of the runners.
func Columns(run *plumb.Run) []Column {
	var columns []Column
	for _, prompt := range Prompts(run) {
		for r := range run.Info.Runners {
			columns = append(columns, Column{prompt, r, rates(run, func(c *plumb.CaseInfo, runner int) bool {
				return runner == r && c.Prompt == prompt
			})})
		}
	}
	return columns
}

// Prompts returns the labels of the prompts of a run in the order of the suite. A suite without
// prompts has one, "".
func Prompts(run *plumb.Run) []string {
	var labels table[string]
	for c := range run.Cases {
		labels.row(run.Cases[c].Prompt, run.Cases[c].Prompt)
	}
	return labels.rows
}

func rates(run *plumb.Run, include func(c *plumb.CaseInfo, runner int) bool) Breakdown {
	var categories, difficulties, tags, runners, prompts table[Rate]
	b := Breakdown{}
	each := func(visit func(r *Rate, i int)) {
		for c := range run.Cases {
			info := &run.Cases[c]
			for r := range run.Info.Runners {
				if !include(info, r) {
					continue
				}
				i := c*len(run.Info.Runners) + r
				visit(&b.Overall, i)
				visit(categories.row(info.Category, Rate{Name: info.Category}), i)
				visit(difficulties.row(info.Difficulty, Rate{Name: info.Difficulty}), i)
				visit(runners.row(run.Info.Runners[r].ID, Rate{Name: run.Info.Runners[r].ID}), i)
				visit(prompts.row(info.Prompt, Rate{Name: info.Prompt}), i)
				for _, t := range info.Tags {
					visit(tags.row(t, Rate{Name: t}), i)
				}
			}
		}
	}
	each(func(r *Rate, i int) { r.add(&run.Executions[i]) })
	each(func(r *Rate, i int) {
		if r.Executions == nil {
			r.Executions = make([]int32, 0, r.Planned) // a run can have a million executions
		}
		r.Executions = append(r.Executions, int32(i)) //nolint:gosec // memory holds fewer
	})
	overall := []Rate{b.Overall}
	shareAll(run, overall, categories.rows, difficulties.rows, tags.rows, runners.rows, prompts.rows)
	b.Overall = overall[0]
	b.Categories, b.Difficulties, b.Tags = categories.rows, difficulties.rows, tags.rows
	b.Runners, b.Prompts = runners.rows, prompts.rows
	return b
}

// table is a list with an index by a key, in the order in which the keys appear.
type table[T any] struct {
	rows  []T
	index map[string]int
}

// row returns the row with the given key. If there is none yet, it is first.
func (t *table[T]) row(key string, first T) *T {
	i, ok := t.index[key]
	if !ok {
		if t.index == nil {
			t.index = map[string]int{}
		}
		i = len(t.rows)
		t.index[key] = i
		t.rows = append(t.rows, first)
	}
	return &t.rows[i]
}
