package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
)

func TestFilter(t *testing.T) {
	s := suite(4)
	s.Cases[1].Tags, s.Cases[2].Tags = []string{"math"}, []string{"logic", "math"}
	s.Cases[3].Category = "coding"
	for _, test := range []struct {
		f    run.Filter
		want string
	}{
		{run.Filter{}, "case-000 case-001 case-002 case-003"},
		{run.Filter{Limit: 2}, "case-000 case-001"},
		{run.Filter{IDs: []string{"case-002", "case-000"}}, "case-000 case-002"},
		{run.Filter{Tags: []string{"logic", "math"}, Limit: 1}, "case-001"},
		{run.Filter{Categories: []string{"coding"}}, "case-003"},
		{
			run.Filter{Categories: []string{"coding"}, Tags: []string{"math"}},
			"error: no case of suite test matches the filters",
		},
		{run.Filter{Tags: []string{"maths"}}, `error: suite test has no tag "maths" (did you mean math?)`},
		{
			run.Filter{IDs: []string{"case-009", "case-001"}},
			`error: suite test has no case "case-009" (did you mean case-000?)`,
		},
	} {
		cases, err := test.f.Select(s)
		var ids []string
		for _, c := range cases {
			ids = append(ids, c.ID)
		}
		got := strings.Join(ids, " ")
		if err != nil {
			got = "error: " + err.Error()
			if h := plumb.Hint(err); strings.HasPrefix(h, "did you mean") {
				got += " (" + h + ")"
			}
		}
		if got != test.want {
			t.Errorf("%+v: got %s, want %s", test.f, got, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	d, err := run.Create(f.TempDir(), fixed)
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	if _, err := run.Suite(
		f.Context(), run.Options{Dir: d, Suite: suite(2), Runners: []plumb.Runner{&fake{id: "f", run: echo}}},
	); err != nil {
		f.Fatal(err)
	}
	log, err := os.ReadFile(d.Join(run.EventsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log)
	f.Add(log[:len(log)/2])
	f.Add([]byte(`{"type":"run-started"}` + "\n"))
	f.Add([]byte(`{"type":"session-finished","case":"a","blob":"../../etc/passwd"}` + "\n"))
	f.Add([]byte(
		`{"type":"planned","cases":[{"id":"a"},{"id":"a"}]}` + "\n" + `{"type":"execution-finished","case":"a"}` + "\n",
	))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, run.EventsFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		readErr := run.Read(dir, func(plumb.Event) error { n++; return nil })
		if lines := strings.Count(string(data), "\n"); readErr == nil && n != lines {
			t.Errorf("%d events of %d whole lines", n, lines)
		}
		if _, err := run.Fold(dir); err == nil && readErr != nil {
			// The fold skips sessions, so it may accept a log with a damaged session; never the
			// reverse.
			return
		}
		if x, err := run.OpenIndex(dir); err == nil {
			for i := range x.Run().Executions {
				c, r := x.Run().At(i)
				_ = x.Sessions(c, r, func(plumb.Event) error { return nil })
			}
		}
	})
}

// TestRunIDsSortByTime begins runs a millisecond apart; "last" must mean the one that began last.
func TestRunIDsSortByTime(t *testing.T) {
	root := t.TempDir()
	start := time.Date(2026, 11, 20, 10, 15, 0, int(980*time.Millisecond), time.UTC)
	var want []string
	for i := range 100 {
		dir, err := run.Create(root, start.Add(time.Duration(i)*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dir.WriteSpec(struct{}{}), dir.Close()); err != nil {
			t.Fatal(err)
		}
		want = append(want, dir.ID)
	}
	got, err := run.List(root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List does not return the runs in the order in which they began:\n got %v\nwant %v", got, want)
	}
	if last, err := run.Find(root, "last"); err != nil || filepath.Base(last) != want[len(want)-1] {
		t.Errorf("last is %s, %v, want %s", last, err, want[len(want)-1])
	}
}

// TestStrangeSessions reads sessions back whose texts and verdicts look like parts of a log line.
func TestStrangeSessions(t *testing.T) {
	const strange = `a text with ,"report":{"x":1}} in it`
	verdicts := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
		return []plumb.Verdict{
			{Name: "strange", Reason: strange, Details: json.RawMessage(`{"a":1,"report":{"x":{"y":2}}}`)},
		}, nil
	})
	answer := func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		r := report(strange)
		r.Prompt = strange
		switch req.CaseID {
		case "case-001":
			return r, plumb.Failuref(plumb.OriginRunner, "%s", strange)
		case "case-002":
			r.FinalOutput += strings.Repeat("x", 300<<10) // large enough for a blob
		}
		return r, nil
	}
	emitted := map[string][]plumb.Event{}
	o := run.Options{
		Dir: newDir(t), Suite: suite(3, verdicts), Workspaces: run.Workspaces{Cwd: t.TempDir()},
		Runners: []plumb.Runner{agent("a", answer)},
		Emit: func(ev plumb.Event, _ *plumb.Run) error {
			if ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged {
				emitted[ev.Case] = append(emitted[ev.Case], ev)
			}
			return nil
		},
	}
	do(t, o)
	x, err := run.OpenIndex(o.Dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	for _, c := range o.Suite.Cases {
		var read []plumb.Event
		if err := x.Sessions(
			c.ID, "a", func(ev plumb.Event) error { read = append(read, ev); return nil },
		); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(read)
		want, _ := json.Marshal(emitted[c.ID])
		if diff := cmp.Diff(string(want), string(got)); diff != "" || len(read) != 2 || read[0].Report == nil {
			t.Errorf("%s: %s", c.ID, diff)
		}
	}
}
