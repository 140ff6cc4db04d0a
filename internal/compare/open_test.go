package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestOpenNames: a name that is nothing says what there is.
func TestOpenNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := OpenOptions{Dir: dir, Runs: filepath.Join(dir, "runs"), Baselines: filepath.Join(dir, BaselinesDir)}
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"":           "the name of the run is empty",
		"last":       "no runs in",
		"prev":       "there is no run before the last one",
		"main":       `there is no baseline, run or file "main"`,
		"empty":      "empty is not a run directory",
		"x/y":        "there is no file x/y",
		"x.json":     "there is no file x.json",
		"main.jsonl": "there is no file main.jsonl",
		"#":          `"#" names no run and runner`,
		"last#":      `"last#" names no run and runner`,
	} {
		if _, err := Open(ref, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", ref, err, want)
		}
	}
	if _, err := SetBaseline(t.Context(), o.Baselines, "main", []*Side{newRecorded("a", "r").side(t)}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(o.Runs, "20260101-000000-aaaaaa"), 0o700); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(o.Runs, "20260101-000000-aaaaaa", "run.json")
	if err := os.WriteFile(spec, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open("mian", o)
	if err == nil || plumb.Hint(err) != "did you mean main?" {
		t.Errorf("%v, %s", err, plumb.Hint(err))
	}
	if _, err = Open("zzzzzzz", o); !strings.Contains(plumb.Hint(err), "the baselines are main") {
		t.Errorf("%v, %s", err, plumb.Hint(err))
	}
	if _, err := Open("last", o); err == nil || !strings.Contains(err.Error(), "events.jsonl") {
		t.Errorf("a run without a log: %v", err)
	}
	if _, err := Open("prev", o); err == nil || !strings.Contains(err.Error(), "no run before the last one") {
		t.Errorf("one run: %v", err)
	}
	later := filepath.Join(o.Runs, "20260102-000000-aaaaaa")
	if err := os.MkdirAll(later, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(later, "run.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(filepath.Base(filepath.Dir(spec)), "events")
	if _, err := Open("prev", o); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("two runs: %v", err)
	}
	s, err := Open("main#r", o)
	if err != nil || s.Name != "main#r" || len(s.Runners) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
