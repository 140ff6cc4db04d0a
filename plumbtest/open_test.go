package plumbtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestRunKeepsItsRecord runs a suite in Go as users do, with a program in place of a model, and
// looks for the reports.
func TestRunKeepsItsRecord(t *testing.T) {
	runs, junit := filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "results.xml")
	t.Setenv("PLUMB_TEST_RUNS", runs)
	t.Setenv("PLUMB_TEST_REPORT", "junit:"+junit+",html")
	const key = "sk-of-nobody-else-1234567890"
	t.Setenv("SHOP_API_KEY", key)
	sh := plumbtest.Open(
		t,
		plumb.RunnerConfig{
			ID:      "sh",
			Command: []string{"sh", "-c", "echo made > made.txt; echo done with $SHOP_API_KEY; echo $SHOP_API_KEY >&2"},
		},
	)
	made, err := check.FileContains("made.txt", check.Contains("made", nil))
	if err != nil {
		t.Fatal(err)
	}
	plumbtest.Run(t, &plumb.Suite{
		Name: "in-go", Workspace: &plumb.WorkspaceConfig{
			Mode:      plumb.WorkspaceIsolated,
			Bootstrap: &plumb.Bootstrap{Command: "sh", Args: []string{"-c", "echo $SHOP_API_KEY", key}},
		},
		Cases: []plumb.Case{{
			ID: "makes-a-file", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "Make a file."}},
			Assertions: []plumb.Assertion{check.Contains("done", nil), made},
		}},
	}, sh)
	data, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(data), "makes-a-file") {
		t.Errorf("junit: %s, %v", data, err)
	}
	err = filepath.WalkDir(filepath.Dir(runs), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if strings.Contains(string(data), key) {
			t.Errorf("%s has the key", name)
		}
		return err
	})
	if err != nil || strings.Contains(string(data), key) {
		t.Errorf("junit: %s, %v", data, err)
	}
	pages, err := filepath.Glob(filepath.Join(runs, "*", "report.html"))
	if err != nil || len(pages) != 1 {
		t.Errorf("pages %q, %v", pages, err)
	}
	logs, err := filepath.Glob(filepath.Join(runs, "*", "makes-a-file", "sh--*", "repeat-1", "report.json"))
	if err != nil || len(logs) != 1 {
		t.Errorf("reports %q, %v", logs, err)
	}
}
