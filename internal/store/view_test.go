package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/accepttest"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// runDir writes a log as the directory of a run.
func runDir(tb testing.TB, root, id string, log []byte) {
	tb.Helper()
	dir := filepath.Join(root, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	for name, data := range map[string][]byte{runlog.SpecFile: []byte("{}"), runlog.EventsFile: log} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestFill: a view has the runs of its directory, with those that grow, and without those that are gone.
func TestFill(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(t.TempDir(), "view.db")
	open := func() *Store {
		s, err := OpenView(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	want := func(added, removed, damaged int, runs ...string) {
		t.Helper()
		f, err := s.Fill(t.Context(), root)
		if err != nil || f.Added != added || f.Removed != removed || len(f.Damaged) != damaged {
			t.Errorf("got %+v, %v", f, err)
		}
		all, _, err := s.Runs(t.Context(), &Filter{View: View{Project: DefaultProject}})
		got := ""
		for _, r := range all {
			got += fmt.Sprintf("%s %d/%d ", r.ID, r.Measured, r.Planned)
		}
		list := ""
		for _, r := range runs {
			list += r + " "
		}
		if err != nil || got != list {
			t.Errorf("got %q, want %q, %v", got, list, err)
		}
		checkSums(t, s)
	}
	run := accepttest.Run{ID: "one", Share: "sessions", Executions: 1}
	run.Change = nil
	runDir(t, root, "one", run.Log(t))
	runDir(t, root, "empty", nil)
	runDir(t, root, "damaged", []byte("{\n"))
	want(1, 0, 1, "one 1/4")
	want(0, 0, 1, "one 1/4")
	run.Executions = 0
	runDir(t, root, "one", run.Log(t))
	run.Started = time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	runDir(t, root, "copy", run.Log(t))
	want(2, 0, 1, "copy 4/4", "one 4/4")
	if _, err := OpenView(t.Context(), file); err == nil {
		t.Error("two processes have the view")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	want(2, 0, 1, "copy 4/4", "one 4/4")
	if err := os.RemoveAll(filepath.Join(root, "one")); err != nil {
		t.Fatal(err)
	}
	want(0, 1, 1, "copy 4/4")
	if err := s.SetSetting(t.Context(), LocalAccount, "view version", "0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	want(1, 0, 1, "copy 4/4")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestViewOfManyRuns logs how long the first and the second start of a view of 1,000 runs of 100 cases
// take.
func TestViewOfManyRuns(t *testing.T) {
	if os.Getenv("PLUMB_MEASURE") == "" {
		t.Skip("set PLUMB_MEASURE")
	}
	root := t.TempDir()
	for i := range 1000 {
		id := fmt.Sprintf("run-%04d", i)
		run := accepttest.Run{ID: id, Cases: accepttest.Cases(100), Share: "answers", Started: time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)}
		run.Answer = func(_, c, _ int) (string, float64, bool, bool) {
			return fmt.Sprint("answer ", c, i%7), float64(c % 2), false, true
		}
		runDir(t, root, id, run.Log(t))
	}
	file := filepath.Join(t.TempDir(), "view.db")
	for range 2 {
		begin := time.Now()
		s, err := OpenView(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Fill(t.Context(), root)
		t.Logf("%v %v %v", time.Since(begin), f, err)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
