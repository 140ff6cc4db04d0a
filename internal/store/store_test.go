package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// submit accepts a log of an account in the default project.
func submit(tb testing.TB, s *Store, account int64, log []byte) (*Run, bool, error) {
	tb.Helper()
	sub, err := accept.Read(tb.Context(), accepttest.Open(log), accept.Rules{})
	if err != nil {
		tb.Fatal(err)
	}
	return s.Accept(tb.Context(), &Entry{Project: DefaultProject, Account: account, Submission: sub, Log: bytes.NewReader(log)})
}

func accepted(tb testing.TB, s *Store, account int64, log []byte) *Run {
	tb.Helper()
	run, _, err := submit(tb, s, account, log)
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

// dump returns a table as text, in order.
func dump(tb testing.TB, s *Store, table string) string {
	tb.Helper()
	rows, err := s.read.QueryContext(tb.Context(), "SELECT * FROM "+table)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var lines []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			tb.Fatal(err)
		}
		var b strings.Builder
		for i, v := range values {
			if columns[i] == "public_id" || columns[i] == "id" && table == "audit" {
				continue
			}
			switch v := (*v.(*any)).(type) {
			case []byte:
				fmt.Fprintf(&b, "%s=%x ", columns[i], v)
			default:
				fmt.Fprintf(&b, "%s=%v ", columns[i], v)
			}
		}
		lines = append(lines, b.String())
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestAccept: the same log is accepted once, a longer one replaces it, and any other one is refused.
func TestAccept(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store, _ *clock) {
		t.Helper()
		run := accepttest.Run{ID: "20261102-090000-abcdef", Cases: accepttest.Cases(6), Repeat: 2}
		run.Answer = func(_, c, k int) (string, float64, bool, bool) {
			return fmt.Sprint("answer ", c, k), float64(c%3) / 2, c == 5, c != 4
		}
		run.Executions = 3
		short := run.Log(t)
		first, added, err := submit(t, s, LocalAccount, short)
		if err != nil || !added {
			t.Fatal(added, err)
		}
		if first.Planned != 12 || first.Measured != 6 || first.Finished || first.Passed != 4 || first.State != "ok" {
			t.Errorf("got %+v", first)
		}
		again, added, err := submit(t, s, LocalAccount, short)
		if err != nil || added || !cmp.Equal(first, again, cmp.AllowUnexported(Run{})) {
			t.Errorf("the same log: %v, %v, %+v", added, err, again)
		}
		run.Executions = 0
		long := run.Log(t)
		longer, added, err := submit(t, s, LocalAccount, long)
		if err != nil || !added || longer.ID != first.ID {
			t.Fatal(added, err)
		}
		if longer.Measured != 10 || longer.Errored != 2 || !longer.Finished || longer.Passed != 6 || longer.Failed != 4 {
			t.Errorf("got %+v", longer)
		}
		if _, _, err := submit(t, s, LocalAccount, short); !errors.Is(err, ErrConflict) {
			t.Errorf("the shorter log again: %v", err)
		}
		run.Answer = nil
		if _, _, err := submit(t, s, LocalAccount, run.Log(t)); !errors.Is(err, ErrConflict) {
			t.Errorf("another log of the run: %v", err)
		}
		other, err := s.AddAccount(t.Context(), "other", Known)
		if err != nil {
			t.Fatal(err)
		}
		if same, added, err := submit(t, s, other.ID, long); err != nil || added || same.Account != LocalAccount {
			t.Errorf("the log of somebody else: %v, %+v", err, same)
		}
		run.ID, run.Executions, run.Suite = "partial", 1, "another"
		accepted(t, s, LocalAccount, run.Log(t))
		run.Executions = 2
		if _, _, err := submit(t, s, other.ID, run.Log(t)); !errors.Is(err, ErrConflict) {
			t.Errorf("a longer log of the run of somebody else: %v", err)
		}

		log, err := s.Log(t.Context(), longer)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := log.Open()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := io.ReadAll(io.NewSectionReader(lines, 0, longer.Bytes)); err != nil || !bytes.Equal(back, long) {
			t.Errorf("the log came back with %d bytes of %d: %v", len(back), len(long), err)
		}
		if _, err := log.Fold(nil); err != nil {
			t.Error(err)
		}
		results, err := s.Results(t.Context(), longer)
		if err != nil || len(results) != 12 {
			t.Fatal(len(results), err)
		}
		if r := results[11]; r.Fresh || r.CaseID != "case-005" || r.Repetition != 2 || r.Score != accept.Million || *r.Tokens != 15 ||
			*r.CostNanoUSD != 100_000 || r.Served != "gpt-5-2026" || r.Category != "reasoning" {
			t.Errorf("got %+v", r)
		}
		days, err := s.PanelDays(t.Context(), View{DefaultProject, Known}, results[0].Panel, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := []Counts{
			{Planned: 6, Measured: 4, Passed: 2, Failed: 2, Errored: 2, Score: 2e6, Squares: 2e6},
			{Planned: 4, Measured: 4, Passed: 2, Failed: 2, Score: 1e6, Squares: 5e5},
		}
		for i := range want {
			want[i].Tokens, want[i].CostNanoUSD, want[i].LatencyMs, want[i].Timed = 60, 400_000, 400, 4
			if i >= len(days) || days[i].Counts != want[i] || days[i].Runs != 1 || !days[i].Last.Equal(longer.Started) {
				t.Errorf("day %d: want %+v, got %+v", i, want[i], days)
			}
		}
	})
}

// TestErase: what was erased is in no table, and not accepted again.
func TestErase(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store, _ *clock) {
		t.Helper()
		other, err := s.AddAccount(t.Context(), "other", Known)
		if err != nil {
			t.Fatal(err)
		}
		run := accepttest.Run{ID: "one", Share: plumb.ShareAnswers, Suite: "canary-suite"}
		run.Answer = func(_, c, _ int) (string, float64, bool, bool) {
			return []string{"shared by both", "canary " + strings.Repeat("long ", 500), "canary-a", "canary-b"}[c], 1, false, true
		}
		log := run.Log(t)
		one := accepted(t, s, LocalAccount, log)
		run.ID, run.Suite = "two", "own"
		run.Answer = func(int, int, int) (string, float64, bool, bool) { return "shared by both", 1, false, true }
		two := accepted(t, s, other.ID, run.Log(t))
		results, err := s.Results(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := s.Answer(t.Context(), DefaultProject, *results[1].Answer); err != nil || !strings.HasPrefix(text, "canary long") {
			t.Errorf("%q, %v", text, err)
		}
		if err := s.Erase(t.Context(), LocalAccount, one.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Answer(t.Context(), DefaultProject, *results[1].Answer); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if text, err := s.Answer(t.Context(), DefaultProject, *results[0].Answer); err != nil || text != "shared by both" {
			t.Errorf("%q, %v", text, err)
		}
		for _, table := range []string{"log_chunk", "result", "run_sum", "run_label", "answer"} {
			if text := dump(t, s, table); strings.Contains(text, fmt.Sprintf("run=%d ", one.row)) {
				t.Errorf("%s has the run: %s", table, text)
			}
		}
		if _, err := s.Log(t.Context(), one); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if _, _, err := submit(t, s, LocalAccount, log); !errors.Is(err, ErrErased) {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"hold": s.Hold(t.Context(), 1, one.ID, "x"), "release": s.Release(t.Context(), 1, one.ID),
			"erase": s.Erase(t.Context(), 1, one.ID), "nothing": s.Hold(t.Context(), 1, "nothing", ""),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r, err := s.Run(t.Context(), DefaultProject, two.ID); err != nil || r.Measured != 4 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestRegistry: accounts, tokens, suites and settings.
func TestRegistry(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store, c *clock) {
		t.Helper()
		ctx := t.Context()
		a, err := s.AddAccount(ctx, "ann", Trusted)
		if err != nil {
			t.Fatal(err)
		}
		same, err := s.AddAccount(ctx, "ann", Known)
		if err != nil || *same != *a {
			t.Errorf("%+v, %v", same, err)
		}
		secret, err := s.AddToken(ctx, a.ID, DefaultProject, []string{"read", "submit"}, c.now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.Token(ctx, secret)
		if err != nil || token.Account != a.ID || token.AccountName != "ann" || !token.Allows("submit") || token.Allows("admin") ||
			!strings.HasPrefix(secret, token.Prefix) {
			t.Errorf("%+v, %v", token, err)
		}
		if text := dump(t, s, "token"); strings.Contains(text, secret[13:30]) {
			t.Error("the secret is stored")
		}
		for _, wrong := range []string{"", "plumb_", secret[:45], secret + "x", strings.Replace(secret, secret[7:8], "~", 1)} {
			if _, err := s.Token(ctx, wrong); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		c.advance(time.Hour)
		if _, err := s.Token(ctx, secret); !errors.Is(err, ErrNotFound) {
			t.Errorf("expired: %v", err)
		}
		if err := s.AddSuite(ctx, a.ID, Suite{"sha256:1", "own", []byte(strings.Repeat("x", 5000))}); err != nil {
			t.Fatal(err)
		}
		if suite, err := s.Suite(ctx, "sha256:1"); err != nil || suite.Name != "own" || len(suite.Data) != 5000 {
			t.Errorf("%+v, %v", suite, err)
		}
		if _, err := s.Suite(ctx, "sha256:2"); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if p, err := s.Project(ctx, "default"); err != nil || p.ID != DefaultProject {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
