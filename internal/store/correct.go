package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// The states of a run.
const (
	stateOK     = "ok"
	stateHeld   = "held"
	stateErased = "erased"
)

// Hold keeps a run out of all sums. account is who does it.
func (s *Store) Hold(ctx context.Context, account int64, run, reason string) error {
	return s.correct(ctx, run, func(t *tx, id int64, state string) error {
		if state == stateHeld {
			return nil
		}
		if _, err := t.exec("UPDATE run SET state = 'held', held = $2 WHERE id = $1", id, reason); err != nil {
			return err
		}
		return t.audit(account, "run held", run, reason)
	})
}

// Release lets a held run count.
func (s *Store) Release(ctx context.Context, account int64, run string) error {
	return s.correct(ctx, run, func(t *tx, id int64, state string) error {
		if state == stateOK {
			return nil
		}
		if _, err := t.exec("UPDATE run SET state = 'ok', held = '' WHERE id = $1", id); err != nil {
			return err
		}
		return t.audit(account, "run released", run, "")
	})
}

// Erase removes a run: its log, its results, its labels, its words, and the answers that no other run
// gave. What remains is that it was erased.
func (s *Store) Erase(ctx context.Context, account int64, run string) error {
	return s.correct(ctx, run, func(t *tx, id int64, _ string) error {
		if err := t.audit(account, "run erased", run, ""); err != nil {
			return err
		}
		answers, err := t.clear(id)
		if err == nil {
			err = t.dropAnswers(answers)
		}
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE run SET state = 'erased', held = '', suite_hash = '', suite_name = '', suite_version = '',
			tier = '', judge = '', context = '', planned = 0, measured = 0, passed = 0, failed = 0, errored = 0, cost = 0,
			kept = 0 WHERE id = $1`, id)
		return err
	})
}

// correct changes one run, and computes the sums that it was and is part of again, in one transaction.
// The error is [ErrNotFound] if there is no such run, or it was erased.
func (s *Store) correct(ctx context.Context, run string, change func(t *tx, id int64, state string) error) error {
	return s.again(ctx, func(t *tx) error {
		id, found, err := t.number("SELECT id FROM run WHERE public_id = $1", run)
		if err != nil {
			return err
		}
		state, there, err := t.state(id)
		if err == nil && (!found || !there || state == stateErased) {
			err = fmt.Errorf("run %s: %w", run, ErrNotFound)
		}
		if err != nil {
			return err
		}
		touched, err := t.days("r.id = $1", id)
		if err != nil {
			return err
		}
		if err := change(t, id, state); err != nil {
			return err
		}
		return t.recompute(touched)
	})
}

// again performs a transaction until no other one is in its way.
func (s *Store) again(ctx context.Context, fn func(*tx) error) (err error) {
	const most = 5
	for range most {
		if err = s.write(ctx, 1, fn); !retried(err) {
			break
		}
	}
	return err
}

// state returns the state of a run, and keeps the run from other transactions.
func (t *tx) state(run int64) (state string, found bool, err error) {
	err = t.query("SELECT state FROM run WHERE id = $1"+t.store.waiting, []any{run}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&state)
	})
	return state, found, err
}

// SetTrust changes the trust of an account, and of all runs that it sent.
func (s *Store) SetTrust(ctx context.Context, by, account int64, trust Trust) error {
	return s.again(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE account SET trust = $2 WHERE id = $1", account, int64(trust))
		if err == nil && n == 0 {
			err = fmt.Errorf("account %d: %w", account, ErrNotFound)
		}
		if err != nil {
			return err
		}
		if t.store.waiting != "" { // in the order in which others lock
			err := t.query("SELECT id FROM run WHERE account = $1 ORDER BY id"+t.store.waiting, []any{account}, ignore)
			if err != nil {
				return err
			}
		}
		touched, err := t.days("r.account = $1 AND r.state = 'ok' AND r.trust <> $2", account, int64(trust))
		if err != nil {
			return err
		}
		if _, err := t.exec("UPDATE run SET trust = $2 WHERE account = $1 AND trust <> $2", account, int64(trust)); err != nil {
			return err
		}
		if err := t.audit(by, "trust changed", fmt.Sprint(account), trust.String()); err != nil {
			return err
		}
		return t.recompute(touched)
	})
}

func ignore(*sql.Rows) error { return nil }

// clear removes all that follows from the log of a run, apart from its row and its answers, which it
// returns.
func (t *tx) clear(run int64) (answers []int64, err error) {
	for _, table := range []string{"log_chunk", "run_label"} {
		if _, err := t.exec("DELETE FROM "+table+" WHERE run = $1", run); err != nil {
			return nil, err
		}
	}
	return t.clearResults(run)
}

// clearResults removes the results of a run and their sums, and returns their answers.
func (t *tx) clearResults(run int64) (answers []int64, err error) {
	if _, err = t.exec("DELETE FROM run_sum WHERE run = $1", run); err != nil {
		return nil, err
	}
	return t.dropResults(run)
}

// dropResults removes the results of a run, and returns the answers that they had.
func (t *tx) dropResults(run int64) (answers []int64, err error) {
	err = t.query("SELECT DISTINCT answer FROM result WHERE run = $1 AND answer IS NOT NULL", []any{run}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		answers = append(answers, id)
		return err
	})
	if err == nil {
		_, err = t.exec("DELETE FROM result WHERE run = $1", run)
	}
	return answers, err
}

// dropAnswers removes those of the answers that no result has. It locks them first, so that no
// transaction can use one that is removed.
func (t *tx) dropAnswers(ids []int64) error {
	var unused []int64
	for _, id := range ids {
		_, found, err := t.number("SELECT run FROM result WHERE answer = $1 LIMIT 1", id)
		if err != nil {
			return err
		}
		if !found {
			unused = append(unused, id)
		}
	}
	if t.store.waiting != "" {
		for batch := range slices.Chunk(unused, t.store.batch) {
			in := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(batch)), ", "), "[]")
			if err := t.query("SELECT id FROM answer WHERE id IN ("+in+") ORDER BY hash"+t.store.waiting, nil, ignore); err != nil {
				return err
			}
		}
	}
	for _, id := range unused {
		_, err := t.exec("DELETE FROM answer WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM result WHERE answer = $1)", id)
		if err != nil {
			return err
		}
	}
	return nil
}
