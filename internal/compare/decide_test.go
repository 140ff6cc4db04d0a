package compare_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// decideRunner passes or fails as the case, the repetition and a rate say, so that each process
// gets the same results. One of forty sessions cannot be measured.
type decideRunner struct {
	rate  uint32 // of 100
	fails string // a case that never passes
	mu    sync.Mutex
	calls []string
}

func (r *decideRunner) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{ID: "r", PathKey: "r", Kind: plumb.RunnerModel, Config: "sha256:r"}
}

func (r *decideRunner) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	name := fmt.Sprintf("%s/%d", req.CaseID, req.Repetition)
	r.mu.Lock()
	r.calls = append(r.calls, name)
	r.mu.Unlock()
	h := fnv.New32a()
	h.Write([]byte("candidate " + name))
	time.Sleep(time.Duration(h.Sum32()%7) * 50 * time.Microsecond) // so that results arrive in another order
	switch n := h.Sum32() / 7; {
	case n%40 == 0:
		return nil, plumb.Failuref(plumb.OriginRunner, "crashed")
	case req.CaseID != r.fails && n/40%100 < r.rate:
		return &plumb.SessionReport{FinalOutput: "yes", CostUSD: new(0.01)}, nil
	default:
		return &plumb.SessionReport{FinalOutput: "no", CostUSD: new(0.01)}, nil
	}
}

// says is an assertion on the output.
type says string

func (s says) Assert(_ context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	return []plumb.Verdict{{Name: "says", Pass: ev.Report.FinalOutput == string(s)}}, nil
}

// decideOptions are a run of 8 cases with a baseline in which 7 of 8 repetitions pass.
func decideOptions(t *testing.T, d *runlog.Dir, r *decideRunner, q *compare.Question) run.Input {
	t.Helper()
	s := &plumb.Suite{Name: "test", Hash: "sha256:0"}
	for i := range 8 {
		s.Cases = append(s.Cases, plumb.Case{
			ID: fmt.Sprint("c", i), Hash: fmt.Sprint("sha256:", i), Assertions: []plumb.Assertion{says("yes")},
			Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "?"}},
		})
	}
	if q.Against != "" {
		q.Baseline = nil
		for i := range s.Cases {
			results := []byte(strings.Repeat("pppppppf", 5))
			copy(results[i:], "fp")
			q.Baseline = append(q.Baseline, compare.BaselineResults{Case: s.Cases[i].ID, Results: string(results)})
		}
	}
	deciding, err := q.Deciding("RUN", len(s.Cases))
	if err != nil {
		t.Fatal(err)
	}
	return run.Input{
		Dir: d, Suite: s, Runners: []plumb.Runner{r}, Sampler: deciding,
		Settings: run.Settings{Repeat: q.Repeat, Parallel: 3, MaxCostUSD: 1000, AllowUnmetered: true},
	}
}

func newDecideDir(t *testing.T) *runlog.Dir {
	t.Helper()
	d, err := runlog.Create(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.WriteSpec(struct{}{}); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDecideAnywhere cuts the log of a run until a decision at many places, as a crash would, and
// resumes. The decision must be that of the whole run, with the same draws, and no repetition with
// a result is made again.
func TestDecideAnywhere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, conclusion string
		rate             uint32
		fails            string
		q                compare.Question
	}{
		{"worse", "worse", 55, "", compare.Question{Against: "main", Margin: .05}},
		{"equivalent", "equivalent", 90, "", compare.Question{Against: "main", Margin: .2}},
		{"gate", "holds", 90, "", compare.Question{Gate: "pass_rate >= 70%"}},
		{"relative gate", "violated", 50, "", compare.Question{Against: "main", Gate: "pass_rate >= -2pp"}},
		{"broken", "worse", 92, "c4", compare.Question{Against: "main"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := test.q
			q.Alpha, q.Repeat, q.Batch = .05, 40, 3
			whole := newDecideDir(t)
			want, err := run.Suite(t.Context(),
				decideOptions(t, whole, &decideRunner{rate: test.rate, fails: test.fails}, &q))
			if err != nil {
				t.Fatal(err)
			}
			if want.Decision.Conclusion != test.conclusion || test.fails != "" && want.Decision.Whole == "" {
				t.Fatalf("%+v", want.Decision)
			}
			log, err := os.ReadFile(whole.Join(runlog.EventsFile))
			if err != nil {
				t.Fatal(err)
			}
			cuts := 12
			if testing.Short() {
				cuts = 3
			}
			for cut := 0; cut <= len(log); cut += len(log)/cuts + 1 {
				d := newDecideDir(t)
				if err := os.WriteFile(d.Join(runlog.EventsFile), log[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				r := &decideRunner{rate: test.rate, fails: test.fails}
				got, err := run.Suite(t.Context(), decideOptions(t, d, r, &q))
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(want.Decision, got.Decision); diff != "" {
					t.Errorf("cut at %d (-whole +resumed):\n%s", cut, diff)
				}
				for _, name := range r.calls {
					id, n, _ := strings.Cut(name, "/")
					done := fmt.Sprintf(`"case":%q,"runner":"r","repetition":%s,`, id, n)
					for line := range strings.Lines(string(log[:cut])) {
						if strings.Contains(line, `"type":"session-judged"`) && strings.Contains(line, done) &&
							strings.HasSuffix(line, "\n") {
							t.Errorf("cut at %d: repetition %s was made again", cut, name)
						}
					}
				}
				checkDecided(t, d.Path, got)
			}
		})
	}
}

// checkDecided checks that the state of the run is complete: the executions have all repetitions of
// the log, and planned as many.
func checkDecided(t *testing.T, path string, state *plumb.Run) {
	t.Helper()
	made := map[string]int{}
	err := runlog.At(path).Read(func(ev plumb.Event) error {
		if ev.Judgement != nil {
			made[ev.Case]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range state.Executions {
		x, c := &state.Executions[i], &state.Cases[i]
		if n := int(x.Passed + x.Failed + x.Errored); n != made[c.ID] || max(n, 1) != c.Repeat {
			t.Errorf("%s: case %s has %d repetitions of %d, and the log has %d", filepath.Base(path), c.ID, n, c.Repeat,
				made[c.ID])
		}
	}
}
