package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// TestQueries: what pages ask, with runs of three levels of trust, two suites, labels, and a held run.
func TestQueries(t *testing.T) {
	first := ""
	everywhere(t, func(t *testing.T, s *Store, _ *clock) {
		t.Helper()
		ctx := t.Context()
		var accounts []int64
		for trust := Anonymous; trust <= Trusted; trust++ {
			a, err := s.AddAccount(ctx, "account-"+trust.String(), trust)
			if err != nil {
				t.Fatal(err)
			}
			accounts = append(accounts, a.ID)
		}
		for i := range 12 {
			run := accepttest.Run{
				ID: fmt.Sprintf("run-%02d", i), Suite: []string{"own", "<b>ünï</b>"}[i%2], Share: plumb.ShareAnswers, Repeat: 1 + i%2,
				Started: time.Date(2026, 11, 2+i/6, 9, 0, 0, 0, time.UTC), // six at the same time
				Runners: []plumb.RunnerInfo{accepttest.Model("openai", "gpt-5"), accepttest.Model("mistral", "large")},
			}
			run.Answer = func(runner, c, k int) (string, float64, bool, bool) {
				return fmt.Sprint("answer ", (i+c+k)%3), float64((i+runner+c)%3) / 2, false, c != 3 || i != 4
			}
			log := run.Log(t)
			_, _, err := s.Accept(ctx, &Entry{
				Project: DefaultProject, Account: accounts[i%3], ID: run.ID, Submission: read(t, log), Log: bytes.NewReader(log),
				Context: `{"branch":"main"}`, Labels: map[string]string{"branch": []string{"main", "x'y"}[i/2%2], "ci": "github"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Hold(ctx, 1, "run-08", "too good\nto be true"); err != nil {
			t.Fatal(err)
		}
		if held, err := s.Run(ctx, DefaultProject, "run-08"); err != nil || held.State != "held" || len(held.Held) != 2 {
			t.Errorf("got %+v, %v", held, err)
		}

		find := func(f Filter, want ...int) {
			t.Helper()
			f.Project = DefaultProject
			for _, limit := range []int{0, 1, 2, 5} {
				f.Limit, f.Cursor = limit, ""
				var got []int
				for {
					runs, cursor, err := s.Runs(ctx, &f)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range runs {
						n := 0
						_, _ = fmt.Sscanf(r.ID, "run-%d", &n)
						got = append(got, n)
					}
					if f.Cursor = cursor; cursor == "" {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%+v: got %v, want %v", f, got, want)
				}
			}
		}
		known := View{Trust: Known}
		find(Filter{}, 11, 10, 9, 7, 6, 5, 4, 3, 2, 1, 0)
		find(Filter{View: known}, 11, 10, 7, 5, 4, 2, 1)
		find(Filter{View: View{Trust: Trusted}}, 11, 5, 2)
		find(Filter{View: known, Held: true}, 8)
		find(Filter{Suite: "<b>ünï</b>"}, 11, 9, 7, 5, 3, 1)
		find(Filter{Suite: "Own"})
		find(Filter{Provider: "mistral", Model: "large", View: known, Suite: "own"}, 10, 4, 2)
		find(Filter{Provider: "mistral", Model: "gpt-5"})
		find(Filter{Labels: map[string]string{"branch": "x'y"}}, 11, 10, 7, 6, 3, 2)
		find(Filter{Labels: map[string]string{"branch": "x'y", "ci": "gitlab"}})
		find(Filter{Account: accounts[2]}, 11, 5, 2)
		find(Filter{Outcome: "errored"}, 4)
		find(Filter{Since: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)}, 11, 10, 9, 7, 6)
		find(Filter{Until: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), Outcome: "failed", View: known}, 5, 4, 2, 1)
		for _, f := range []Filter{{Outcome: "won"}, {Cursor: "x"}, {Cursor: "eA"}} {
			if _, _, err := s.Runs(ctx, &f); !errors.Is(err, ErrFilter) || plumb.Hint(err) == "" {
				t.Errorf("%+v: %v", f, err)
			}
		}

		known.Project = DefaultProject
		var out strings.Builder
		say := func(what string, all any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %+v\n", what, all)
		}
		points, err := s.SuiteRates(ctx, known, "own", time.Time{}, 2)
		say("rates", points, err)
		if len(points) != 4 || points[0].Run != "run-04" || points[3].Run != "run-10" || points[3].Planned != 4 || points[3].Measured != 4 {
			t.Errorf("got %+v", points)
		}
		cells, err := s.RunCells(ctx, known, []string{"run-04", "run-10", "run-08", "run-00"})
		say("cells", cells, err)
		if len(cells) != 16 || cells[12].CaseID != "case-003" || cells[12].Errored != 1 || cells[12].Run != "run-04" {
			t.Errorf("got %+v", cells)
		}
		panels, err := s.Panels(ctx, DefaultProject, "<b>ünï</b>", "openai", "gpt-5")
		say("panels", panels, err)
		if len(panels) != 1 {
			t.Fatalf("got %+v", panels)
		}
		days, err := s.DayCells(ctx, known, panels[0].ID, Day(time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)))
		say("days", days, err)
		if len(days) != 4 || days[0].Passed+days[0].Failed != 4 || days[0].Answers != 3 {
			t.Errorf("got %+v", days)
		}
		served, err := s.ServedModels(ctx, known, panels[0].ID, 0)
		say("served", served, err)
		if len(served) != 2 || served[0].Model != "gpt-5-2026" || served[0].Results != 16 {
			t.Errorf("got %+v", served)
		}
		past, err := s.CaseHistory(ctx, known, "own", "case-003", time.Time{}, 4)
		if err != nil || len(past) != 4 || past[0].Run != "run-10" || past[2].Run != "run-04" || past[2].Outcome != plumb.OutcomeError ||
			past[2].Class != "runner-crash" {
			t.Errorf("got %+v, %v", past, err)
		}
		text, err := s.Answer(ctx, DefaultProject, *past[0].Answer)
		say("answer", text, err)
		models, err := s.Models(ctx, known, 0)
		say("models", models, err)
		if len(models) != 4 || models[0].Model != "large" || models[0].Planned != 24 || models[1].Last.Day() != 3 {
			t.Errorf("got %+v", models)
		}
		all, err := s.Suites(ctx, known, 0)
		say("suites", all, err)
		submitters, err := s.Submitters(ctx, known, 0)
		say("submitters", submitters, err)
		if submitters[[2]string{"openai", "gpt-5"}] != 2 {
			t.Errorf("got %+v", submitters)
		}
		if first == "" {
			first = out.String()
		}
		if out.String() != first {
			t.Errorf("the databases answer differently:\n%s\n%s", first, out.String())
		}
	})
}

// TestTwoRunnersOfOnePanel: they count as one run, and their results are added up.
func TestTwoRunnersOfOnePanel(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store, _ *clock) {
		t.Helper()
		one, two := accepttest.Model("openai", "gpt-5"), accepttest.Model("openai", "gpt-5")
		two.ID = "again"
		accepted(t, s, LocalAccount, accepttest.Run{ID: "r", Runners: []plumb.RunnerInfo{one, two}}.Log(t))
		days, err := s.Models(t.Context(), View{DefaultProject, Known}, 0)
		if err != nil || len(days) != 1 || days[0].Planned != 8 || days[0].Runs != 2 || days[0].Score != 8*accept.Million {
			t.Errorf("got %+v, %v", days, err) // one run in each of two categories
		}
		checkSums(t, s)
	})
}
