package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// BenchmarkAccept accepts logs of 75 results at the level scores from 16 clients, and reports durable
// results a second; the same with all that comes before the store; and a loop that only inserts rows.
func BenchmarkAccept(b *testing.B) {
	const results, clients = 75, 16
	for name, open := range map[string]func(b *testing.B) *Store{
		"sqlite": func(b *testing.B) *Store {
			b.Helper()
			return opened(b, Options{File: filepath.Join(b.TempDir(), "plumb.db")})
		},
		"postgres": func(b *testing.B) *Store {
			b.Helper()
			return opened(b, Options{Postgres: database(b)})
		},
	} {
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/read=%v", name, whole), func(b *testing.B) {
				s := open(b)
				logs, subs := make([][]byte, b.N), make([]*accept.Submission, b.N)
				for i := range logs {
					run := accepttest.Run{
						ID: fmt.Sprintf("run-%d", i), Cases: accepttest.Cases(results), Started: time.Date(2026, 11, 1+i%20, 0, 0, i, 0, time.UTC),
						Runners: []plumb.RunnerInfo{accepttest.Model("openai", fmt.Sprint("model-", i%50))},
					}
					logs[i] = run.Log(b)
					subs[i] = read(b, logs[i])
				}
				b.ResetTimer()
				var next atomic.Int64
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for i := next.Add(1) - 1; int(i) < b.N; i = next.Add(1) - 1 {
							sub := subs[i]
							if whole {
								sub = read(b, logs[i])
							}
							entry := &Entry{Project: DefaultProject, Account: LocalAccount, Submission: sub, Log: bytes.NewReader(logs[i])}
							if _, _, err := s.Accept(b.Context(), entry); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N*results)/b.Elapsed().Seconds(), "results/s")
			})
		}
		b.Run(name+"/insert", func(b *testing.B) {
			s := open(b)
			b.ResetTimer()
			for i := range b.N {
				rows := make([][]any, results)
				for k := range rows {
					rows[k] = []any{
						i, 0, k, 1, 1, k, 0, "pass", "", 1, 15, 100, 100, "gpt-5-2026", make([]byte, 32), nil, 1,
					}
				}
				err := s.write(b.Context(), results, func(t *tx) {
					t.insert(`result (run, runner, no, repetition, panel, case_info, at, outcome, class, score, tokens, cost, latency,
						served, answer_hash, answer, fresh)`, "", rows)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*results)/b.Elapsed().Seconds(), "results/s")
		})
	}
}

func read(tb testing.TB, log []byte) *accept.Submission {
	tb.Helper()
	sub, err := accept.Read(tb.Context(), accepttest.Open(log), accept.Rules{})
	if err != nil {
		tb.Fatal(err)
	}
	return sub
}
