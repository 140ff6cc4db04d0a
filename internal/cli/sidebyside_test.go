package cli_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestF28SideBySide starts processes at the same time that share a file of snapshots, a file of
// --output, and a baseline, and kills some of them at random moments. What a process that ended
// recorded is in each file, and each file is valid.
func TestF28SideBySide(t *testing.T) {
	t.Parallel()
	const processes = 6
	w := newWorld(t)
	w.serve(fakemodel.Behavior{Answers: suspectAnswers(3), Latency: 5 * time.Millisecond})
	w.write("suite.jsonl", suiteOf(3, `{"type":"contains"}`))
	w.write("plumb.yaml", "snapshots: {tolerance: auto}\n")
	together := func(kill int, args func(i int) []string) (ended int) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range processes {
			patience := time.Minute
			if i < kill {
				patience = time.Duration(20+rand.IntN(150)) * time.Millisecond
			}
			all.Go(func() {
				if w.killed(patience, args(i)...) {
					mu.Lock()
					defer mu.Unlock()
					ended++
				}
			})
		}
		all.Wait()
		return ended
	}
	ended := 0
	for _, kill := range []int{0, 3} {
		ended += together(kill, func(int) []string {
			return []string{"run", "suite.jsonl", "--model", "gpt-5", "--update-snapshots", "--output", "results.json"}
		})
	}
	var f struct {
		Entries map[string]struct{ Samples []float64 }
	}
	if err := json.Unmarshal([]byte(w.read("plumb.snapshots.json")), &f); err != nil || len(f.Entries) != 3 {
		t.Fatalf("%d entries, %v", len(f.Entries), err)
	}
	for key, e := range f.Entries {
		if len(e.Samples) < min(ended, 20) || len(e.Samples) > 2*processes {
			t.Errorf("%s has %d samples of %d runs that ended", key, len(e.Samples), ended)
		}
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal([]byte(w.read("results.json")), &blocks); err != nil || len(blocks) < ended {
		t.Errorf("%d blocks of %d runs that ended, %v", len(blocks), ended, err)
	}
	runs, err := filepath.Glob(filepath.Join(w.dir, ".plumb", "runs", "*", "results.json"))
	if err != nil || len(runs) < processes {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	set := together(0, func(i int) []string { return []string{"baseline", "set", "main", filepath.Base(filepath.Dir(runs[i]))} })
	var listed []struct{ Runs []any }
	if err := json.Unmarshal([]byte(w.must(0, "baseline", "list", "--json")), &listed); err != nil || len(listed) != 1 ||
		len(listed[0].Runs) != set {
		t.Errorf("the baseline has %v, %v; want %d runs", listed, err, set)
	}
}
