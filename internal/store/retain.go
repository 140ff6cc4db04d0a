package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/plumb-eval/plumb"
)

// What is kept of a run: nothing but its sums, also its results, or also its log.
const (
	keptResults = 1
	keptAll     = 2
)

// The times for which rows are kept.
const (
	resultDays  = 400
	sessionDays = 90 // of logs with whole sessions
	tokenDays   = 30 // after a token expired
)

// Retention says for how long the rows of a table are kept.
type Retention struct {
	Table string
	// Days is 0 if they are kept until somebody erases them.
	Days int
	// Why says more in a few words.
	Why string
}

// Retentions names every table. It is what the page about the server says.
func Retentions() []Retention {
	return []Retention{
		{"log_chunk", resultDays, "logs; 90 days if they have whole sessions"},
		{"result", resultDays, "results"},
		{"answer", resultDays, "texts of answers, as long as a result has them"},
		{"run", 0, "what a run was about, and its counts"},
		{"run_label", 0, "branch, commit and labels of a run"},
		{"run_sum", 0, "sums of a run"},
		{"panel", 0, "runners over suites"},
		{"panel_day", 0, "sums of a day"},
		{"case_info", 0, "ids and categories of cases"},
		{"suite", 0, "suites that were added"},
		{"account", 0, "who may send runs"},
		{"token", tokenDays, "after they expired"},
		{"project", 0, "projects"},
		{"audit", 0, "who changed what"},
		{"setting", 0, "settings"},
	}
}

// Retain removes rows whose time is over, in small steps, and gives space back. It returns the number
// of runs that lost something.
func (s *Store) Retain(ctx context.Context) (runs int, err error) {
	before := func(days int) int64 { return ms(s.now().Add(-time.Duration(days) * 24 * time.Hour)) }
	err = s.write(ctx, 1, func(t *tx) {
		t.exec("DELETE FROM token WHERE expires < $1", before(tokenDays))
	})
	for _, step := range []struct {
		where string
		args  []any
		all   bool
	}{
		{"kept = 2 AND share = $2 AND received < $1", []any{before(sessionDays), string(plumb.ShareSessions)}, false},
		{"kept > 0 AND received < $1", []any{before(resultDays)}, true},
	} {
		const atOnce = 20
		for n := atOnce; n == atOnce && err == nil; runs += n {
			err = s.again(ctx, func(t *tx) {
				ids := t.numbers("SELECT id FROM run WHERE "+step.where+" ORDER BY received, id LIMIT 20"+t.store.waiting, step.args...)
				for _, id := range ids {
					t.exec("DELETE FROM log_chunk WHERE run = $1", id)
					if step.all {
						t.dropAnswers(t.dropResults(id))
					}
					t.exec("UPDATE run SET kept = $2 WHERE id = $1", id, keptResults*number(!step.all))
				}
				n = len(ids)
			})
		}
	}
	if err != nil {
		return runs, err
	}
	return runs, s.shrink(ctx)
}

// shrink gives the free pages of a SQLite file back, some at a time.
func (s *Store) shrink(ctx context.Context) error {
	left, after := []int64{1 << 62}, []int64{}
	for s.writer != nil && left[0] > 0 {
		err := s.write(ctx, batchRows, func(t *tx) {
			t.fail(query(t.ctx, t.db, "PRAGMA incremental_vacuum(1000)", nil, func(*sql.Rows) error { return nil }))
			after = t.numbers("PRAGMA freelist_count")
		})
		if err != nil || after[0] >= left[0] {
			return err
		}
		left = after
	}
	return nil
}
