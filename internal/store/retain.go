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
	err = s.write(ctx, 1, func(t *tx) error {
		_, err := t.exec("DELETE FROM token WHERE expires < $1", before(tokenDays))
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, step := range []struct {
		where string
		args  []any
		drop  func(t *tx, run int64) error
	}{
		{"kept = 2 AND share = $2 AND received < $1", []any{before(sessionDays), string(plumb.ShareSessions)}, (*tx).dropLog},
		{"kept > 0 AND received < $1", []any{before(resultDays)}, (*tx).dropAll},
	} {
		for {
			const atOnce = 20
			n := 0
			err := s.write(ctx, batchRows, func(t *tx) error {
				var ids []int64
				err := t.query("SELECT id FROM run WHERE "+step.where+" ORDER BY received, id LIMIT 20"+t.store.waiting, step.args,
					func(rows *sql.Rows) error {
						var id int64
						err := rows.Scan(&id)
						ids = append(ids, id)
						return err
					})
				for _, id := range ids {
					if err == nil {
						err = step.drop(t, id)
					}
				}
				n = len(ids)
				return err
			})
			runs += n
			if err != nil {
				return runs, err
			}
			if n < atOnce {
				break
			}
		}
	}
	return runs, s.shrink(ctx)
}

func (t *tx) dropLog(run int64) error {
	if _, err := t.exec("DELETE FROM log_chunk WHERE run = $1", run); err != nil {
		return err
	}
	_, err := t.exec("UPDATE run SET kept = 1 WHERE id = $1", run)
	return err
}

func (t *tx) dropAll(run int64) error {
	if err := t.dropLog(run); err != nil {
		return err
	}
	answers, err := t.dropResults(run)
	if err == nil {
		err = t.dropAnswers(answers)
	}
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE run SET kept = 0 WHERE id = $1", run)
	return err
}

// shrink gives the free pages of a SQLite file back, some at a time.
func (s *Store) shrink(ctx context.Context) error {
	for s.writer != nil {
		var left int64
		const pages = 1_000
		if err := s.query(ctx, "PRAGMA freelist_count", nil, func(rows *sql.Rows) error { return rows.Scan(&left) }); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		var after int64
		err := s.write(ctx, pages, func(t *tx) error {
			if err := query(t.ctx, t.db, "PRAGMA incremental_vacuum(1000)", nil, ignore); err != nil {
				return err
			}
			return query(t.ctx, t.db, "PRAGMA freelist_count", nil, func(rows *sql.Rows) error { return rows.Scan(&after) })
		})
		if err != nil || after >= left {
			return err
		}
	}
	return nil
}
