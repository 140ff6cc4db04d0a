package run_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// raisable is a suite of four cases: one has fewer repetitions of its own than the run is raised
// to, and one has more.
func raisable() *plumb.Suite {
	s := suite(4)
	s.Cases[1].Repeat, s.Cases[2].Repeat = 1, 6
	return s
}

// unsteady answers some cases wrongly in some repetitions.
func unsteady(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if req.CaseID == "case-003" && req.Repetition == 3 {
		return report("wrong"), nil
	}
	return report("echo"), nil
}

// TestRaiseAnywhere raises the repetitions of a finished run, cuts the log at many places, and
// resumes. The result must be that of a run that planned the higher number from the start, and no
// session in the log may be repeated. After the log has the raised number, resuming needs no option.
func TestRaiseAnywhere(t *testing.T) {
	t.Parallel()
	options := func(d *runlog.Dir, f plumb.Runner, repeat, raise int) run.Input {
		return run.Input{
			Dir: d, Suite: raisable(), Runners: []plumb.Runner{f}, Raise: raise,
			Settings: run.Settings{Repeat: repeat, Parallel: 3, MaxCostUSD: 100, AllowUnmetered: true},
		}
	}
	fresh := raisable()
	fresh.Cases[1].Repeat = 5
	o := options(newDir(t), &fake{id: "f", run: unsteady}, 5, 0)
	o.Suite = fresh
	want := do(t, o)

	whole := newDir(t)
	do(t, options(whole, &fake{id: "f", run: unsteady}, 2, 0))
	do(t, options(whole, &fake{id: "f", run: unsteady}, 2, 5))
	log, err := os.ReadFile(whole.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	raisedAt := strings.Index(string(log), `"repeat":5`)
	raised := raisedAt + strings.Index(string(log[raisedAt:]), "\n")
	for cut := 0; cut <= len(log); cut += len(log)/40 + 1 {
		d := newDir(t)
		if err := os.WriteFile(d.Join(runlog.EventsFile), log[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		recorded := sessions(t, log[:cut])
		f := &fake{id: "f", run: unsteady}
		raise := 5
		if cut > raised {
			raise = 0
		} else if cut == 0 || len(recorded) == 0 {
			do(t, options(d, f, 2, 0)) // nothing to raise yet
		}
		got := do(t, options(d, f, 2, raise))
		for _, call := range f.calls {
			if recorded[call] {
				t.Fatalf("cut at %d: %s was asked again although it was recorded", cut, call)
			}
		}
		if diff := cmp.Diff(comparable(want), comparable(got)); diff != "" {
			t.Fatalf("cut at %d (-fresh +raised):\n%s", cut, diff)
		}
		folded, err := runlog.At(d.Path).Fold(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(comparable(got), comparable(folded)); diff != "" {
			t.Fatalf("cut at %d: the log does not fold to the same run (-live +folded):\n%s", cut, diff)
		}
		var repeats []int
		for i := range folded.Cases {
			repeats = append(repeats, folded.Cases[i].Repeat)
		}
		if diff := cmp.Diff([]int{5, 5, 6, 5}, repeats); diff != "" || folded.Info.Repeat != 5 {
			t.Fatalf("cut at %d: planned repetitions (-want +got):\n%s and %d", cut, diff, folded.Info.Repeat)
		}
	}
}

func TestRaiseRefusesFewer(t *testing.T) {
	t.Parallel()
	d, f := newDir(t), []plumb.Runner{&fake{id: "f", run: echo}}
	do(t, run.Input{Dir: d, Suite: suite(2), Runners: f, Settings: run.Settings{Repeat: 3}})
	_, err := run.Suite(t.Context(), run.Input{Dir: d, Suite: suite(2), Runners: f, Raise: 2})
	if err == nil || !strings.Contains(err.Error(), "2 repetitions are fewer than the 3 that it plans") {
		t.Errorf("got %v", err)
	}
	// The same number is not an error: a command that was killed can be given again.
	if r := do(t, run.Input{Dir: d, Suite: suite(2), Runners: f, Raise: 3}); r.Totals.Finished != 2 {
		t.Errorf("%+v", r.Totals)
	}
}

// TestRaiseAgents raises the repetitions of an agent: an execution that stopped early stays as it
// is, unless the run performs all repetitions.
func TestRaiseAgents(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		d := newDir(t)
		f := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			if req.CaseID == "case-001" && req.Repetition == 2 {
				return report("wrong"), nil
			}
			return report("echo"), nil
		})
		o := run.Input{
			Dir: d, Suite: suite(2), Runners: []plumb.Runner{f},
			Settings: run.Settings{Repeat: 3, AllRepetitions: all}, Workspaces: isolated(t, plumb.WorkspaceConfig{}),
		}
		do(t, o)
		f.calls, o.Raise = nil, 5
		r := do(t, o)
		want := "[case-000/4/1 case-000/5/1]"
		if all {
			want = "[case-000/4/1 case-000/5/1 case-001/4/1 case-001/5/1]"
		}
		if got := fmt.Sprint(f.calls); got != want {
			t.Errorf("all repetitions %v: asked %s, want %s", all, got, want)
		}
		if e := r.Executions[1]; e.Failed != 1 || all && e.Passed != 4 || !all && e.Passed != 1 {
			t.Errorf("all repetitions %v: %+v", all, e)
		}
	}
}
