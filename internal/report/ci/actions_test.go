package ci

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

func TestStepSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("# before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": path}[name] }
	l := reporttest.Storm(100)
	out := rendered(t, func(w io.Writer) error {
		return WriteActions(w, getenv, &report.Source{Sessions: l.Sessions}, l.Run(t))
	})
	if got := strings.Count(out, "::error "); got != annotations {
		t.Errorf("%d annotations, want %d: GitHub shows no more", got, annotations)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		if !strings.HasPrefix(line, "::") {
			t.Errorf("a message broke into a line of its own: %q", line)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(data), "# before\n## ") {
		t.Errorf("step summary %q (%v)", data, err)
	}
}

func TestComparisonActions(t *testing.T) {
	t.Parallel()
	summary := filepath.Join(t.TempDir(), "summary.md")
	getenv := func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": summary}[name] }
	text := rendered(t, func(w io.Writer) error {
		return WriteActionsComparison(w, getenv, reporttest.LostRun(t, "pass_rate >= 90%", "broken <= 0").Comparison)
	})
	golden.Equal(t, "testdata/comparison-actions.txt", text)
	data, err := os.ReadFile(summary)
	if err != nil || !bytes.Contains(data, []byte("## ❌ Plumb: worse")) {
		t.Errorf("summary: %s, %v", data, err)
	}
}
