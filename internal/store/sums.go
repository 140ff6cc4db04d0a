package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accept"
)

const passes = plumb.OutcomePass

// Counts are sums over results. Score is in millionths, and Squares is the sum of the squares of the
// scores in millionths. Timed counts the results with a latency.
type Counts struct {
	Planned, Measured, Passed, Failed, Errored int64
	Score, Squares                             int64
	Tokens, CostNanoUSD, LatencyMs, Timed      int64
}

// countColumns are the columns of [Counts], in their order.
const countColumns = "planned, measured, passed, failed, errored, score, squares, tokens, cost, latency, timed"

// fields returns pointers to the columns, to read and to write them.
func (c *Counts) fields() []any {
	return []any{
		&c.Planned, &c.Measured, &c.Passed, &c.Failed, &c.Errored, &c.Score, &c.Squares, &c.Tokens, &c.CostNanoUSD,
		&c.LatencyMs, &c.Timed,
	}
}

// summed returns the sums of the columns of counts of a table.
func summed(table string) string {
	var all []string
	for column := range strings.SplitSeq(countColumns, ", ") {
		all = append(all, "CAST(SUM("+table+"."+column+") AS BIGINT)")
	}
	return strings.Join(all, ", ")
}

// add adds one result.
func (c *Counts) add(r *accept.Result) {
	switch {
	case !r.Measured():
		c.Errored++
	case r.Outcome == passes:
		c.Measured++
		c.Passed++
	default:
		c.Measured++
		c.Failed++
	}
	if r.Measured() {
		c.Score += r.Score
		c.Squares += (r.Score*r.Score + accept.Million/2) / accept.Million
	}
	for _, n := range []struct{ to, from *int64 }{{&c.Tokens, r.Tokens}, {&c.CostNanoUSD, r.CostNanoUSD}} {
		if n.from != nil {
			*n.to += *n.from
		}
	}
	if r.LatencyMs != nil {
		c.LatencyMs += *r.LatencyMs
		c.Timed++
	}
}

func (c *Counts) merge(o *Counts) {
	to, from := c.fields(), o.fields()
	for i := range to {
		*to[i].(*int64) += *from[i].(*int64) //nolint:forcetypeassert // fields has nothing else
	}
}

// part is what the sums of a run are divided by.
type part struct {
	runner   int
	category string
	fresh    bool
}

// sumsOf returns the sums of the results of a run. What was planned and did not come from a cache is
// fresh.
func sumsOf(s *accept.Submission) map[part]*Counts {
	planned := map[part]int64{}
	for i := range s.Cases {
		for runner := range s.Panels {
			planned[part{runner, s.Cases[i].Category, true}] += int64(cmp.Or(s.Cases[i].Repeat, s.Info.Repeat, 1))
		}
	}
	return sums(planned, func(yield func(part, *accept.Result)) {
		for i := range s.Results {
			r := &s.Results[i]
			yield(part{r.Runner, s.Cases[r.Case].Category, r.Fresh}, r)
		}
	})
}

// sums returns the sums of results. planned has the numbers of planned results, all as if they were
// fresh.
func sums(planned map[part]int64, each func(yield func(part, *accept.Result))) map[part]*Counts {
	all := map[part]*Counts{}
	of := func(p part) *Counts {
		if all[p] == nil {
			all[p] = &Counts{}
		}
		return all[p]
	}
	each(func(p part, r *accept.Result) {
		c := of(p)
		c.add(r)
		c.Planned++
	})
	for p, n := range planned {
		done := int64(0)
		for _, fresh := range []bool{true, false} {
			if c := all[part{p.runner, p.category, fresh}]; c != nil {
				done += c.Planned
			}
		}
		if n > done {
			of(p).Planned += n - done
		}
	}
	return all
}

func (t *tx) insertSums(run int64, panels []int64, day int64, all map[part]*Counts) {
	rows := make([][]any, 0, len(all))
	for p, c := range all {
		rows = append(rows, append([]any{run, p.runner, p.category, number(p.fresh), panels[p.runner], day}, c.fields()...))
	}
	t.insert("run_sum (run, runner, category, fresh, panel, day, "+countColumns+")", "", rows)
}

// panelDay is a day of a panel, whose sums are computed together.
type panelDay struct{ panel, day int64 }

// with returns all days with those of panels at a time.
func with(all []panelDay, panels []int64, when time.Time) []panelDay {
	for _, panel := range panels {
		all = append(all, panelDay{panel, Day(when)})
	}
	return all
}

// lockPanels keeps the sums of panels from other transactions.
func (t *tx) lockPanels(panels []int64) {
	if t.store.waiting == "" {
		return
	}
	for _, panel := range slices.Compact(slices.Sorted(slices.Values(panels))) {
		t.numbers("SELECT id FROM panel WHERE id = $1"+t.store.waiting, panel)
	}
}

// count adds the fresh results of a new run to the daily sums.
func (t *tx) count(panels []int64, s *accept.Submission, trust Trust) {
	t.lockPanels(panels)
	type key struct {
		panel    int64
		category string
	}
	byKey := map[key]*Counts{}
	for p, c := range sumsOf(s) {
		k := key{panels[p.runner], p.category}
		switch {
		case !p.fresh:
		case byKey[k] == nil:
			byKey[k] = c
		default: // two runners with the same panel
			byKey[k].merge(c)
		}
	}
	var rows [][]any
	for k, c := range byKey {
		rows = append(rows, append(append([]any{k.panel, Day(s.Started), int64(trust), k.category, 1}, c.fields()...), ms(s.Started)))
	}
	var set strings.Builder
	for column := range strings.SplitSeq("runs, "+countColumns, ", ") {
		fmt.Fprintf(&set, "%s = panel_day.%s + excluded.%s, ", column, column, column)
	}
	t.insert("panel_day (panel, day, trust, category, runs, "+countColumns+", last)",
		"ON CONFLICT (panel, day, trust, category) DO UPDATE SET "+set.String()+
			"last = CASE WHEN excluded.last > panel_day.last THEN excluded.last ELSE panel_day.last END", rows)
}

// days returns the days of panels to which runs contribute. where is a condition on the run r.
func (t *tx) days(where string, args ...any) (all []panelDay) {
	t.query("SELECT DISTINCT s.panel, s.day FROM run r JOIN run_sum s ON s.run = r.id WHERE "+where, args,
		func(rows *sql.Rows) error {
			var d panelDay
			err := rows.Scan(&d.panel, &d.day)
			all = append(all, d)
			return err
		})
	return all
}

// recompute computes the sums of days of panels again, from the sums of the runs.
func (t *tx) recompute(touched []panelDay) {
	slices.SortFunc(touched, func(a, b panelDay) int { return cmp.Or(cmp.Compare(a.panel, b.panel), cmp.Compare(a.day, b.day)) })
	var panels []int64
	for _, d := range touched {
		panels = append(panels, d.panel)
	}
	t.lockPanels(panels)
	for _, d := range slices.Compact(touched) {
		t.exec("DELETE FROM panel_day WHERE panel = $1 AND day = $2", d.panel, d.day)
		t.exec("INSERT INTO panel_day (panel, day, trust, category, runs, "+countColumns+`, last)
			SELECT s.panel, s.day, r.trust, s.category, COUNT(DISTINCT s.run), `+summed("s")+`, MAX(r.started)
			FROM run_sum s JOIN run r ON r.id = s.run
			WHERE s.panel = $1 AND s.day = $2 AND s.fresh = 1 AND r.state = 'ok'
			GROUP BY s.panel, s.day, r.trust, s.category`, d.panel, d.day)
	}
}

// Rebuild computes all sums again from the results, a run at a time. With fromLogs it first makes the
// results again, from the logs that are stored.
func (s *Store) Rebuild(ctx context.Context, fromLogs bool) error {
	for after := int64(0); ; {
		const step = 100
		runs, err := list(ctx, s, runQuery+"WHERE r.id > $1 AND r.state <> 'erased' AND r.kept > 0 ORDER BY r.id LIMIT $2",
			[]any{after, step}, scanRun)
		if err != nil {
			return err
		}
		for i := range runs {
			if err := s.rebuild(ctx, &runs[i], fromLogs); err != nil {
				return fmt.Errorf("rebuild run %s: %w", runs[i].ID, err)
			}
			after = runs[i].row
		}
		if len(runs) < step {
			return s.write(ctx, batchRows, func(t *tx) {
				t.exec(`DELETE FROM panel_day WHERE NOT EXISTS
					(SELECT 1 FROM run_sum s WHERE s.panel = panel_day.panel AND s.day = panel_day.day)`)
				t.audit(0, "sums rebuilt", "", "")
			})
		}
	}
}

// rebuild is [Store.Rebuild] for one run.
func (s *Store) rebuild(ctx context.Context, r *Run, fromLogs bool) error {
	var sub *accept.Submission
	if fromLogs && r.kept == keptAll {
		log, err := s.Log(ctx, r)
		if err != nil {
			return err
		}
		if sub, err = accept.Read(ctx, log, accept.Rules{}); err != nil {
			return err
		}
	}
	return s.again(ctx, func(t *tx) {
		var now earlier
		t.query(earlierQuery+t.store.waiting, []any{r.Project, r.RunID}, now.scan)
		if now.digest != r.Digest || now.state == stateErased {
			return // what replaced it is newer than this
		}
		touched := t.days("r.id = $1", r.row)
		if sub == nil {
			t.sumAgain(r)
		} else {
			answers := t.clearResults(r.row)
			touched = with(touched, t.results(r.row, r.Project, sub), r.Started)
			t.dropAnswers(answers)
		}
		t.recompute(touched)
	})
}

// sumAgain computes the sums of a run again from its results, and keeps what was planned.
func (t *tx) sumAgain(r *Run) {
	planned, panels := map[part]int64{}, []int64{}
	t.query("SELECT runner, category, panel, planned FROM run_sum WHERE run = $1", []any{r.row}, func(rows *sql.Rows) error {
		p, panel, n := part{fresh: true}, int64(0), int64(0)
		err := rows.Scan(&p.runner, &p.category, &panel, &n)
		planned[p] += n
		panels = append(panels, make([]int64, max(0, p.runner+1-len(panels)))...)
		panels[p.runner] = panel
		return err
	})
	all := sums(planned, func(yield func(part, *accept.Result)) {
		t.query(`SELECT x.runner, c.category, x.fresh, x.outcome, x.score, x.tokens, x.cost, x.latency
			FROM result x JOIN case_info c ON c.id = x.case_info WHERE x.run = $1`, []any{r.row}, func(rows *sql.Rows) error {
			var p part
			var one accept.Result
			err := rows.Scan(&p.runner, &p.category, &p.fresh, &one.Outcome, &one.Score, &one.Tokens, &one.CostNanoUSD, &one.LatencyMs)
			yield(p, &one)
			return err
		})
	})
	t.exec("DELETE FROM run_sum WHERE run = $1", r.row)
	t.insertSums(r.row, panels, Day(r.Started), all)
}
