package accept_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// TestReduced: what plumb submit sends is taken, and agrees with itself.
func TestReduced(t *testing.T) {
	files, err := filepath.Glob("../submit/testdata/*.jsonl")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	if more := os.Getenv("PLUMB_LOGS"); more != "" {
		extra, _ := filepath.Glob(more)
		files = append(files, extra...)
	}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := accept.Read(t.Context(), accepttest.Open(log), accept.Rules{})
		if err != nil || len(s.Results) == 0 {
			t.Errorf("%s: %+v, %v", file, s, err)
			continue
		}
		t.Logf("%s: %d of %d results, %d answers, held: %q", filepath.Base(file), len(s.Results), s.Planned, len(s.Answers), s.Held)
	}
}
