package store

import (
	"context"
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
	return s.correct(ctx, run, func(t *tx, id int64) {
		if t.exec("UPDATE run SET state = 'held', held = $2 WHERE id = $1 AND state = 'ok'", id, reason) > 0 {
			t.audit(account, "run held", run, reason)
		}
	})
}

// Release lets a held run count.
func (s *Store) Release(ctx context.Context, account int64, run string) error {
	return s.correct(ctx, run, func(t *tx, id int64) {
		if t.exec("UPDATE run SET state = 'ok', held = '' WHERE id = $1 AND state = 'held'", id) > 0 {
			t.audit(account, "run released", run, "")
		}
	})
}

// Erase removes a run: its log, its results, its labels, its words, and the answers that no other run
// gave. What remains is that it was erased.
func (s *Store) Erase(ctx context.Context, account int64, run string) error {
	return s.correct(ctx, run, func(t *tx, id int64) {
		t.audit(account, "run erased", run, "")
		t.dropAnswers(t.clear(id))
		t.exec(`UPDATE run SET state = 'erased', held = '', suite_hash = '', suite_name = '', suite_version = '',
			tier = '', judge = '', context = '', planned = 0, measured = 0, passed = 0, failed = 0, errored = 0, cost = 0,
			kept = 0 WHERE id = $1`, id)
	})
}

// correct changes one run, and computes the sums that it was and is part of again, in one transaction.
// The error is [ErrNotFound] if there is no such run, or it was erased.
func (s *Store) correct(ctx context.Context, run string, change func(t *tx, id int64)) error {
	return s.again(ctx, func(t *tx) {
		ids := t.numbers("SELECT id FROM run WHERE public_id = $1 AND state <> 'erased'"+t.store.waiting, run)
		if t.err != nil || len(ids) == 0 {
			t.fail(fmt.Errorf("run %s: %w", run, ErrNotFound))
			return
		}
		touched := t.days("r.id = $1", ids[0])
		change(t, ids[0])
		t.recompute(touched)
	})
}

// again performs a transaction until no other one is in its way.
func (s *Store) again(ctx context.Context, fn func(*tx)) (err error) {
	const most = 5
	for range most {
		if err = s.write(ctx, 1, fn); !retried(err) {
			break
		}
	}
	return err
}

// SetTrust changes the trust of an account, and of all runs that it sent.
func (s *Store) SetTrust(ctx context.Context, by, account int64, trust Trust) error {
	return s.again(ctx, func(t *tx) {
		if t.exec("UPDATE account SET trust = $2 WHERE id = $1", account, int64(trust)) == 0 {
			t.fail(fmt.Errorf("account %d: %w", account, ErrNotFound))
		}
		if t.store.waiting != "" { // in the order in which others lock
			t.numbers("SELECT id FROM run WHERE account = $1 ORDER BY id"+t.store.waiting, account)
		}
		touched := t.days("r.account = $1 AND r.state = 'ok' AND r.trust <> $2", account, int64(trust))
		t.exec("UPDATE run SET trust = $2 WHERE account = $1 AND trust <> $2", account, int64(trust))
		t.audit(by, "trust changed", fmt.Sprint(account), trust.String())
		t.recompute(touched)
	})
}

// clear removes all that follows from the log of a run, apart from its row and its answers, which it
// returns.
func (t *tx) clear(run int64) (answers []int64) {
	t.exec("DELETE FROM log_chunk WHERE run = $1", run)
	t.exec("DELETE FROM run_label WHERE run = $1", run)
	return t.clearResults(run)
}

// clearResults removes the results of a run and their sums, and returns their answers.
func (t *tx) clearResults(run int64) (answers []int64) {
	t.exec("DELETE FROM run_sum WHERE run = $1", run)
	return t.dropResults(run)
}

// dropResults removes the results of a run, and returns the answers that they had.
func (t *tx) dropResults(run int64) (answers []int64) {
	answers = t.numbers("SELECT DISTINCT answer FROM result WHERE run = $1 AND answer IS NOT NULL", run)
	t.exec("DELETE FROM result WHERE run = $1", run)
	return answers
}

// dropAnswers removes those of the answers that no result has. It locks them first, so that no
// transaction can use one that is removed.
func (t *tx) dropAnswers(ids []int64) {
	unused := slices.DeleteFunc(ids, func(id int64) bool {
		return len(t.numbers("SELECT run FROM result WHERE answer = $1 LIMIT 1", id)) > 0
	})
	if t.store.waiting != "" && len(unused) > 0 {
		in := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(unused)), ", "), "[]")
		t.numbers("SELECT id FROM answer WHERE id IN (" + in + ") ORDER BY hash" + t.store.waiting)
	}
	for _, id := range unused {
		t.exec("DELETE FROM answer WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM result WHERE answer = $1)", id)
	}
}
