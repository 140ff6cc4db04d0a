package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// contents returns all rows of a store that follow from logs, with keys in the place of ids.
func contents(tb testing.TB, s *Store) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for name, text := range map[string]string{
		"run": `(SELECT r.run_id, a.name, digest, bytes, suite_name, share, r.trust, state, held, day, started, ended, finished, kept,
			planned, measured, passed, failed, errored, cost FROM run r JOIN account a ON a.id = r.account) r`,
		"result": `(SELECT r.run_id, x.runner, x.no, x.repetition, p.key AS panel, c.key AS info, x.at, x.outcome, x.class, x.score,
			x.tokens, x.cost, x.latency, x.served, x.answer_hash, w.hash, x.fresh FROM result x JOIN run r ON r.id = x.run
			JOIN panel p ON p.id = x.panel JOIN case_info c ON c.id = x.case_info LEFT JOIN answer w ON w.id = x.answer) x`,
		"run_sum": "(SELECT r.run_id, p.key AS panel, s.runner, s.category, s.fresh, s.day, " + prefixed("s") +
			" FROM run_sum s JOIN run r ON r.id = s.run JOIN panel p ON p.id = s.panel) s",
		"panel_day": "(SELECT p.key AS panel, d.day, d.trust, d.category, d.runs, d.last, " + prefixed("d") +
			" FROM panel_day d JOIN panel p ON p.id = d.panel) d",
		"answer":    "(SELECT hash, text FROM answer) a",
		"log_chunk": "(SELECT r.run_id, no, l.bytes FROM log_chunk l JOIN run r ON r.id = l.run) l",
	} {
		all[name] = dump(tb, s, text)
	}
	return all
}

func prefixed(table string) string {
	return table + "." + strings.ReplaceAll(countColumns, ", ", ", "+table+".")
}

// checkSums checks that the sums are those of the rows and of the logs, and that nothing is negative or
// left behind.
func checkSums(tb testing.TB, s *Store) {
	tb.Helper()
	before := contents(tb, s)
	for _, fromLogs := range []bool{false, true} {
		if err := s.Rebuild(tb.Context(), fromLogs); err != nil {
			tb.Fatal(err)
		}
		after := contents(tb, s)
		for table := range before {
			if diff := cmp.Diff(before[table], after[table]); diff != "" {
				tb.Fatalf("%s after a rebuild from logs %v: %s", table, fromLogs, diff)
			}
		}
	}
	for _, table := range []string{"run_sum", "panel_day"} {
		if strings.Contains(before[table], "=-") {
			tb.Fatalf("%s has a negative sum: %s", table, before[table])
		}
	}
	for what, text := range map[string]string{
		"an answer without a result": "answer w WHERE NOT EXISTS (SELECT 1 FROM result x WHERE x.answer = w.id)",
		"a result without its answer": `result x WHERE answer IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM answer w WHERE w.id = x.answer)`,
		"a result without its case":  "result x WHERE NOT EXISTS (SELECT 1 FROM case_info c WHERE c.id = x.case_info)",
		"a result of an erased run":  "result x JOIN run r ON r.id = x.run WHERE r.state = 'erased'",
		"a log of an erased run":     "log_chunk x JOIN run r ON r.id = x.run WHERE r.state = 'erased'",
		"a result without its run":   "result x WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.id = x.run)",
		"a panel day without a run":  "panel_day d WHERE runs < 1",
		"a run with too few planned": "run WHERE planned < measured + errored",
	} {
		var n int
		if err := s.read.QueryRowContext(tb.Context(), "SELECT COUNT(*) FROM "+text).Scan(&n); err != nil || n > 0 {
			tb.Fatalf("%s: %d, %v", what, n, err)
		}
	}
}

// action is one change of a store.
type action struct {
	Kind                       string
	Run, Account, Length, Seed int
	Trust                      Trust
}

func actions() []string {
	return []string{"submit", "submit", "submit", "hold", "release", "erase", "trust"}
}

// logOf returns the log of a run up to some executions; 0 is the whole. Seed decides what a run is
// about.
func (a action) logOf(tb testing.TB) []byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(uint64(a.Run), uint64(a.Seed)))
	run := accepttest.Run{
		ID: fmt.Sprintf("run-%d", a.Run), Cases: accepttest.Cases(3), Repeat: 1 + a.Run%2, Executions: a.Length,
		Started: time.Date(2026, 11, 1+a.Run%2, 23, 59, 0, 0, time.UTC),
		Share:   []plumb.Share{plumb.ShareScores, plumb.ShareAnswers}[a.Run/2%2],
		Runners: []plumb.RunnerInfo{accepttest.Model("openai", "gpt-5"), accepttest.Model("mistral", "large")},
	}
	seed := random.IntN(1000)
	run.Answer = func(runner, c, k int) (string, float64, bool, bool) {
		n := seed + 7*runner + 3*c + k
		return fmt.Sprint("answer ", n%3), float64(n%4) / 3, n%5 == 0, n%7 != 0 || c == 0
	}
	return run.Log(tb)
}

// perform performs the action. An error that a caller could have expected is none.
func (a action) perform(tb testing.TB, s *Store, ids *sync.Map) {
	tb.Helper()
	ctx := tb.Context()
	id, _ := ids.LoadOrStore(a.Run, "")
	name, _ := id.(string)
	var err error
	switch a.Kind {
	case "submit":
		var run *Run
		run, _, err = submit(tb, s, int64(1+a.Account), a.logOf(tb))
		if err == nil {
			ids.Store(a.Run, run.ID)
		}
	case "hold":
		err = s.Hold(ctx, 1, name, "a reason")
	case "release":
		err = s.Release(ctx, 1, name)
	case "erase":
		err = s.Erase(ctx, 1, name)
	case "trust":
		err = s.SetTrust(ctx, 1, int64(1+a.Account), a.Trust)
	}
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrErased) {
		tb.Errorf("%+v: %v", a, err)
	}
}

// wipe empties a store but for three accounts.
func wipe(tb testing.TB, s *Store) {
	tb.Helper()
	err := s.write(tb.Context(), 1, func(t *tx) {
		for _, table := range []string{"run", "result", "run_sum", "panel_day", "answer", "log_chunk", "panel", "case_info", "audit", "account"} {
			t.exec("DELETE FROM " + table)
		}
		for i := range 3 {
			t.exec("INSERT INTO account (id, name, trust, created) VALUES ($1, $2, 1, 0)", i+1, fmt.Sprint("account", i))
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestSumsAreThoseOfTheRows: after any actions, in any order, the sums equal those that are computed
// again, from rows and from logs, and both databases have the same rows.
func TestSumsAreThoseOfTheRows(t *testing.T) {
	c := newClock(time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC))
	stores := []*Store{opened(t, Options{Now: c.now})}
	t.Run("postgres", func(sub *testing.T) {
		stores = append(stores, opened(t, Options{Postgres: database(sub), Now: c.now})) // database may skip sub
	})
	rapid.Check(t, func(r *rapid.T) {
		var done []action
		for range rapid.IntRange(1, 12).Draw(r, "actions") {
			done = append(done, action{
				Kind: rapid.SampledFrom(actions()).Draw(r, "kind"), Run: rapid.IntRange(0, 3).Draw(r, "run"),
				Account: rapid.IntRange(0, 2).Draw(r, "account"), Length: rapid.IntRange(0, 4).Draw(r, "length"),
				Seed: rapid.IntRange(0, 5).Draw(r, "seed") / 5, Trust: Trust(rapid.IntRange(0, 2).Draw(r, "trust")),
			})
		}
		var first map[string]string
		for _, s := range stores {
			wipe(t, s)
			ids := &sync.Map{}
			for _, a := range done {
				a.perform(t, s, ids)
			}
			checkSums(t, s)
			now := contents(t, s)
			if first == nil {
				first = now
			}
			if diff := cmp.Diff(first, now); diff != "" {
				r.Fatalf("the databases differ: %s", diff)
			}
		}
	})
}

// TestConcurrentActions is the same for actions that happen at once.
func TestConcurrentActions(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store, _ *clock) {
		t.Helper()
		wipe(t, s)
		ids := &sync.Map{}
		for round := range 5 {
			var all sync.WaitGroup
			for worker := range 8 {
				all.Go(func() {
					random := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
					for range 6 {
						action{
							Kind: actions()[random.IntN(len(actions()))], Run: random.IntN(6) + 6*round, Account: random.IntN(3),
							Length: random.IntN(5), Trust: Trust(random.IntN(3)),
						}.perform(t, s, ids)
					}
				})
			}
			all.Wait()
			checkSums(t, s)
		}
		if contents(t, s)["panel_day"] == "" {
			t.Error("nothing was summed")
		}
	})
}

// TestOneCommit: work that waits shares a commit, and what fails, fails alone.
func TestOneCommit(t *testing.T) {
	s := opened(t, Options{})
	wrong := errors.New("wrong")
	var all sync.WaitGroup
	failed := make([]error, 50)
	for i := range failed {
		all.Go(func() {
			failed[i] = s.write(t.Context(), 1, func(t *tx) {
				t.exec("INSERT INTO setting (name, value) VALUES ($1, '')", fmt.Sprint(i))
				if i%10 == 3 {
					t.fail(wrong)
				}
			})
		})
	}
	all.Wait()
	for i, err := range failed {
		if errors.Is(err, wrong) != (i%10 == 3) || err != nil && i%10 != 3 {
			t.Errorf("%d: %v", i, err)
		}
	}
	lines := strings.Split(dump(t, s, "setting"), "\n")
	if len(lines) != 45 || slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "name=3 ") }) {
		t.Errorf("%d rows", len(lines))
	}
}

// TestFull: what a full disk refuses is not there, and what comes later is.
func TestFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plumb.db")
	s := opened(t, Options{File: file})
	limit := func(pages int) {
		t.Helper()
		if err := s.write(t.Context(), 1, func(x *tx) {
			x.numbers(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(200)
	accept := func(i int) error {
		run := accepttest.Run{ID: fmt.Sprint("run-", i), Cases: accepttest.Cases(50)}
		_, _, err := submit(t, s, LocalAccount, run.Log(t))
		return err
	}
	var all sync.WaitGroup
	failed := make([]error, 120)
	for i := range failed {
		all.Go(func() { failed[i] = accept(i) })
	}
	all.Wait()
	limit(1 << 30)
	there := map[string]bool{}
	runs, _, err := s.Runs(t.Context(), &Filter{View: View{Project: DefaultProject}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		there[runs[i].RunID] = true
	}
	full := 0
	for i, err := range failed {
		if err != nil {
			full++
		}
		if err == nil && !there[fmt.Sprint("run-", i)] {
			t.Errorf("run %d was acknowledged and is not there", i)
		}
	}
	if full == 0 || full == len(failed) {
		t.Errorf("%d of %d failed", full, len(failed))
	}
	for i := range failed {
		if err := accept(i); err != nil {
			t.Errorf("run %d again: %v", i, err)
		}
	}
	checkSums(t, s)
}

// TestBrokenConnections: a transaction whose connection breaks fails as a whole, and can be repeated.
func TestBrokenConnections(t *testing.T) {
	s := opened(t, Options{Postgres: database(t)})
	logOf := func(i int) []byte {
		return accepttest.Run{ID: fmt.Sprint("run-", i), Cases: accepttest.Cases(40), Share: plumb.ShareAnswers}.Log(t)
	}
	var all sync.WaitGroup
	var failed atomic.Int64
	acknowledged := make([]string, 200)
	next := atomic.Int64{}
	for range 8 {
		all.Go(func() {
			for i := int(next.Add(1) - 1); i < len(acknowledged); i = int(next.Add(1) - 1) {
				if run, _, err := submit(t, s, LocalAccount, logOf(i)); err != nil {
					failed.Add(1)
				} else {
					acknowledged[i] = run.ID
				}
				if i%20 == 10 {
					_, _ = s.read.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
						WHERE datname = current_database() AND pid <> pg_backend_pid()`)
				}
			}
		})
	}
	all.Wait()
	for i, id := range acknowledged {
		run, added, err := submit(t, s, LocalAccount, logOf(i))
		if err != nil {
			t.Fatal(err)
		}
		if id != "" && (added || run.ID != id) {
			t.Errorf("run %d was acknowledged as %s, and is %s", i, id, run.ID)
		}
	}
	if failed.Load() == 0 {
		t.Error("no connection broke")
	}
	t.Logf("%d failed", failed.Load())
	checkSums(t, s)
}
