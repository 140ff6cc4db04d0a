package store

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// many fills a store with n results: 100 a run, in 20 panels of 10 models over 60 days.
func many(tb testing.TB, s *Store, n int) {
	tb.Helper()
	const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) "
	blob := "CAST('k' || i AS BLOB)"
	if s.writer == nil {
		blob = "CAST('k' || i AS BYTEA)"
	}
	sums := strings.Repeat(", 1", strings.Count(countColumns, ",")+1)
	for _, step := range []struct {
		text string
		n    int
	}{
		{`INSERT INTO account (id, name, trust, created) ` + numbers + `SELECT 100 + i, 'account' || i, i % 3, 0 FROM n`, 50},
		{`INSERT INTO panel (id, project, key, kind, runner, provider, model, suite_hash, suite_name, settings) ` + numbers +
			`SELECT i, 1, ` + blob + `, 'model', 'runner' || i, 'provider' || (i % 5), 'model' || (i % 10), 'h', 'suite' || (i % 4), '{}' FROM n`, 20},
		{`INSERT INTO case_info (id, project, key, name, hash, category, difficulty) ` + numbers +
			`SELECT i, 1, ` + blob + `, 'case' || i, 'h', 'category' || (i % 3), 'easy' FROM n`, 400},
		{`INSERT INTO answer (id, project, hash, packed, text) ` + numbers + `SELECT i, 1, ` + blob + `, 0, ` + blob + ` FROM n`, 1000},
		{`INSERT INTO run (id, run_id, public_id, project, account, ` + runColumns + `) ` + numbers +
			`SELECT i, 'run' || i, 'p' || i, 1, 101 + i % 50, 'd', 1000, 'h', 'suite' || (i % 4), '', '', '', 'scores', i % 3, 'ok', '',
			 20000 + i / 7 % 60, CAST(20000 + i / 7 % 60 AS BIGINT) * 86400000 + i, 0, 1700000000000 + i, 1, 2, 100, 100, 90, 10, 0, 0, '' FROM n`, n / 100},
		{`INSERT INTO run_label (run, name, value) ` + numbers + `SELECT i, 'branch', 'b' || (i % 20) FROM n`, n / 100},
		{`INSERT INTO log_chunk (run, no, bytes) ` + numbers + `SELECT i, 0, ` + blob + ` FROM n`, n / 100},
		{`INSERT INTO run_sum (run, runner, category, fresh, panel, day, ` + countColumns + `) ` + numbers +
			`SELECT (i + 2) / 3, 0, 'category' || (i % 3), 1, 1 + ((i + 2) / 3) % 20, 20000 + ((i + 2) / 3) / 7 % 60` + sums + ` FROM n`, n * 3 / 100},
		{`INSERT INTO panel_day (panel, day, trust, category, runs, ` + countColumns + `, last) ` + numbers +
			`SELECT 1 + (i - 1) % 20, 20000 + ((i - 1) / 20) % 60, ((i - 1) / 1200) % 3, 'category' || ((i - 1) / 3600), 1` + sums + `, 1 FROM n`, 10800},
		{`INSERT INTO result (run, runner, no, repetition, panel, case_info, at, outcome, class, score, tokens, cost, latency, served,
			answer_hash, answer, fresh) ` + numbers + `SELECT 1 + (i - 1) / 100, 0, (i - 1) % 100, 1, 1 + (1 + (i - 1) / 100) % 20,
			1 + (i - 1) % 100 + 100 * (((i - 1) / 100) % 4), 0, 'pass', '', 1, 1, 1, 1, 'served', NULL, CASE WHEN i % 5 = 0 THEN 1 + i % 1000 END, 1 FROM n`, n},
	} {
		err := s.write(tb.Context(), 1, func(t *tx) {
			t.exec(step.text, step.n)
		})
		if err != nil {
			tb.Fatalf("%s: %v", step.text, err)
		}
	}
	if err := s.write(tb.Context(), 1, func(t *tx) {
		if s.writer != nil {
			t.exec("ANALYZE")
		}
	}); err != nil {
		tb.Fatal(err)
	}
	if s.writer == nil {
		for _, table := range []string{"account", "panel", "case_info", "answer", "run"} {
			text := "SELECT setval(pg_get_serial_sequence('" + table + "', 'id'), 1000000)"
			if _, err := s.read.ExecContext(tb.Context(), text); err != nil {
				tb.Fatal(err)
			}
		}
		if _, err := s.read.ExecContext(tb.Context(), "VACUUM ANALYZE"); err != nil {
			tb.Fatal(err)
		}
	}
}

// everything calls all that reads, and all that corrects.
func everything(tb testing.TB, s *Store) {
	tb.Helper()
	ctx := tb.Context()
	v := View{DefaultProject, Known}
	run, err := s.Run(ctx, 1, "p7")
	if err != nil {
		tb.Fatal(err)
	}
	since := time.UnixMilli(20_031 * 86_400_000)
	must := func(name string, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]Filter{
		"all": {}, "suite": {Suite: "suite1"}, "model": {Provider: "provider1", Model: "model1"}, "account": {Account: 110},
		"label": {Labels: map[string]string{"branch": "b3"}}, "failed": {Outcome: "failed"}, "held": {Held: true},
		"dates": {Since: since, Until: since.Add(24 * time.Hour)},
	} {
		f.View, f.Limit = v, 20
		runs, cursor, err := s.Runs(ctx, &f)
		must(name, err)
		if name != "held" && (len(runs) == 0 || len(runs) == f.Limit && cursor == "") {
			tb.Errorf("%s: no runs", name)
		}
		f.Cursor = cursor
		_, _, err = s.Runs(ctx, &f)
		must(name, err)
	}
	results, err := s.Results(ctx, run)
	must("results", err)
	points, err := s.SuiteRates(ctx, v, "suite1", since, 50)
	must("rates", err)
	cells, err := s.RunCells(ctx, v, []string{"p2", "p5", "p8"})
	must("cells", err)
	days, err := s.DayCells(ctx, v, 3, 20_030)
	must("days", err)
	served, err := s.ServedModels(ctx, v, 3, 20_030)
	must("served", err)
	past, err := s.CaseHistory(ctx, v, "suite1", "case55", since, 50)
	must("past", err)
	models, err := s.Models(ctx, v, 20_000)
	must("models", err)
	suites, err := s.Suites(ctx, v, 20_000)
	must("suites", err)
	daily, err := s.PanelDays(ctx, v, 3, 20_000)
	must("panel", err)
	submitters, err := s.Submitters(ctx, v, 20_030)
	must("submitters", err)
	panels, err := s.Panels(ctx, 1, "", "provider1", "model1")
	must("panels", err)
	more, err := s.Panels(ctx, 1, "suite1", "", "")
	must("panels", err)
	for name, n := range map[string]int{
		"results": len(results), "points": len(points), "cells": len(cells), "days": len(days), "served": len(served), "past": len(past),
		"models": len(models), "suites": len(suites), "daily": len(daily), "submitters": len(submitters), "panels": len(panels), "suite": len(more),
	} {
		if n == 0 {
			tb.Errorf("there are no %s", name)
		}
	}
	_, err = s.Log(ctx, run)
	if err == nil {
		tb.Error("the log is a chunk that was never packed")
	}
	must("hold", s.Hold(ctx, 1, "p7", "x"))
	must("release", s.Release(ctx, 1, "p7"))
	must("erase", s.Erase(ctx, 1, "p9"))
	must("trust", s.SetTrust(ctx, 1, 103, Trusted))
	longer := accepttest.Run{ID: "new", Share: plumb.ShareAnswers, Executions: 1}
	accepted(tb, s, 110, longer.Log(tb))
	longer.Executions = 0
	accepted(tb, s, 110, longer.Log(tb))
	_, err = s.Retain(ctx)
	must("retain", err)
}

// TestNothingScansResults: no statement of a page, of a submission or of a correction reads all results.
func TestNothingScansResults(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store, c *clock) {
		t.Helper()
		n := 100_000
		if os.Getenv("PLUMB_MEASURE") != "" {
			n = 2_000_000
		}
		c.ms.Store(1_700_000_000_000)
		many(t, s, n)
		type statement struct {
			text string
			args []any
		}
		var mu sync.Mutex
		seen := map[string]statement{}
		s.seen = func(text string, args []any) {
			mu.Lock()
			defer mu.Unlock()
			seen[text] = statement{text, args}
		}
		everything(t, s)
		s.seen = nil
		scan := regexp.MustCompile(`SCAN (x|result|l|log_chunk|run_sum|s|answer)\b|Seq Scan on (result|log_chunk|answer)\b`)
		for text, st := range seen {
			if !regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)`).MatchString(text) {
				continue
			}
			plan := explain(t, s, text, st.args)
			if found := scan.FindString(plan); found != "" {
				t.Errorf("%s in\n%s\n%s", found, text, plan)
			}
		}
		if len(seen) < 40 {
			t.Errorf("only %d statements", len(seen))
		}
		if os.Getenv("PLUMB_MEASURE") != "" {
			measure(t, s)
		}
	})
}

func explain(tb testing.TB, s *Store, text string, args []any) string {
	tb.Helper()
	prefix, lines := "EXPLAIN ", []string{}
	if s.writer != nil {
		prefix = "EXPLAIN QUERY PLAN "
	}
	err := query(tb.Context(), s.read, prefix+text, args, func(rows *sql.Rows) error {
		columns, _ := rows.Columns()
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		err := rows.Scan(values...)
		lines = append(lines, fmt.Sprint(*values[len(values)-1].(*any)))
		return err
	})
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return strings.Join(lines, "\n")
}

// measure logs the times of what pages ask.
func measure(tb testing.TB, s *Store) {
	tb.Helper()
	v, ctx := View{DefaultProject, Known}, tb.Context()
	for name, ask := range map[string]func(){
		"models":     func() { s.Models(ctx, v, 20_000) },
		"submitters": func() { s.Submitters(ctx, v, 20_030) },
		"suites":     func() { s.Suites(ctx, v, 20_000) },
		"rates":      func() { s.SuiteRates(ctx, v, "suite1", time.UnixMilli(0), 60) },
		"runs":       func() { s.Runs(ctx, &Filter{View: v, Limit: 50, Provider: "provider1", Model: "model1"}) },
		"cells": func() {
			s.RunCells(ctx, v, []string{"p2", "p5", "p8", "p11", "p14", "p17", "p20", "p23", "p26", "p29"})
		},
		"day cells": func() { s.DayCells(ctx, v, 3, 20_030) },
		"past":      func() { s.CaseHistory(ctx, v, "suite1", "case55", time.UnixMilli(0), 100) },
	} {
		ask()
		begin := time.Now()
		for range 5 {
			ask()
		}
		tb.Logf("%-10s %v", name, time.Since(begin)/5)
	}
}
