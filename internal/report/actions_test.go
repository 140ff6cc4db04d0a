package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/golden"
)

func TestStepSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("# before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": path}[name] }
	l := storm(100)
	out := l.render(t, GitHubActions, Options{Screen: Screen{Getenv: getenv}})
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
	o := Options{Screen: Screen{Getenv: func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": summary}[name] }}}
	text := renderComparison(t, GitHubActions, o, lostRun(t, "pass_rate >= 90%", "broken <= 0"))
	golden.Equal(t, "testdata/comparison-actions.txt", text)
	data, err := os.ReadFile(summary)
	if err != nil || !bytes.Contains(data, []byte("## ❌ Plumb: worse")) {
		t.Errorf("summary: %s, %v", data, err)
	}
}
