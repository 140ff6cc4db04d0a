package results_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/results"
)

// documented is what scripts made for the documented format read.
type documented struct {
	SuiteVersion string `json:"suite_version"`
	SuiteHash    string `json:"suite_hash"`
	Metadata     struct {
		Timestamp   string
		ModelID     string `json:"model_id"`
		Temperature float64
		Seed        *int
		RunID       string `json:"run_id"`
	} `json:"run_metadata"`
	Results []struct {
		TestID    string `json:"test_id"`
		Output    string
		Assertion struct {
			Passed  bool
			Details map[string]any
		} `json:"assertion_result"`
		LatencyMs  int    `json:"latency_ms"`
		ResultHash string `json:"result_hash"`
		Score      *float64
	}
	Summary struct {
		Total, Passed, Skipped int
		PassRate               float64 `json:"pass_rate"`
	}
	NotMeasured []struct {
		TestID  string `json:"test_id"`
		Outcome string
	} `json:"not_measured"`
}

func blocks(t *testing.T, path string) []documented {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []documented
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// rawBlocks returns the blocks of a file byte for byte.
func rawBlocks(t *testing.T, text string) (all []json.RawMessage) {
	t.Helper()
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") {
		text = "[" + text + "]"
	}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAppendBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "results.json")
	l := reporttest.Mixed()
	if err := results.CheckBlockFile(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the check made the file")
	}
	if err := results.AppendBlock(t.Context(), path, l.Run(t), l.Sessions); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/mixed.block.json", string(data))
	for _, b := range data {
		if b >= 0x7f {
			t.Fatal("the file is not ASCII")
		}
	}
	all := blocks(t, path)
	if len(all) != 2 {
		t.Fatalf("%d blocks, want one for each runner", len(all))
	}
	b := all[1]
	if b.Metadata.ModelID != "gpt-5-mini" || *b.Metadata.Seed != 42 ||
		b.Metadata.Timestamp != "2026-03-01T09:00:04.950000Z" {
		t.Errorf("metadata %+v", b.Metadata)
	}
	// math-001 failed, math-002 was never answered, text-001 was answered but not judged, text-002
	// and gap-001 passed, gap-002 was not run.
	var got []string
	for _, r := range b.Results {
		score := "null"
		if r.Score != nil {
			score = fmt.Sprint(*r.Score)
		}
		got = append(got, fmt.Sprintf("%s %v %s", r.TestID, r.Assertion.Passed, score))
		if want, err := digest.Result("gpt-5-mini", r.TestID, r.Output); err != nil || r.ResultHash != want {
			t.Errorf("%s: hash %s, want %s (%v)", r.TestID, r.ResultHash, want, err)
		}
	}
	want := []string{"math-001 false 0", "text-001 false null", "text-002 true 1", "gap-001 true 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if s := b.Summary; s.Total != 4 || s.Passed != 2 || s.Skipped != 1 || s.PassRate != 2.0/3 {
		t.Errorf("summary %+v", s)
	}
	if len(b.NotMeasured) != 2 || b.NotMeasured[0].Outcome != "error" || b.NotMeasured[1].Outcome != "skipped" {
		t.Errorf("not measured: %+v", b.NotMeasured)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: outputs are private (%v)", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestAppendBlockKeepsOthers(t *testing.T) {
	foreign, err := os.ReadFile("testdata/foreign-results.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string]string{
		"list":         string(foreign),
		"single":       `{"suite_version": "v1.0-demo", "own_key": 1.50, "results": []}`,
		"other shape":  `[{"run_metadata": "text"}, {"a": [1, 2.0, 1e400]}]`,
		"blank":        " \n",
		"empty list":   "[]",
		"compact list": `[{"x":"\u00e9é"},{"run_metadata":{"run_id":7}}]`,
	} {
		path := filepath.Join(t.TempDir(), "results.json")
		if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		known := rawBlocks(t, before)
		l := reporttest.Simple(3)
		for range 2 { // the second time replaces the first
			if err := results.CheckBlockFile(path); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := results.AppendBlock(t.Context(), path, l.Run(t), l.Sessions); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		now := rawBlocks(t, string(after))
		if len(now) != len(known)+1 {
			t.Fatalf("%s: %d blocks, want %d and one", name, len(now), len(known))
		}
		for i := range known {
			if got, want := string(now[i]), string(known[i]); got != want {
				t.Errorf("%s: block %d changed from %q to %q", name, i, want, got)
			}
		}
		if name == "list" && !strings.HasPrefix(string(after), strings.TrimSuffix(string(foreign), "\n]")) {
			t.Errorf("the file of the other tool did not just grow:\n%s", cmp.Diff(string(foreign), string(after)))
		}
		if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
			t.Errorf("%s: mode became %v", name, info.Mode())
		}
	}
}

func TestBlockFileIsNotOne(t *testing.T) {
	for name, content := range map[string]string{
		"torn": `[{"a": 1}, {"b"`, "number": "42", "text": `"text"`, "list of numbers": "[1, 2]", "null": "null",
		"not JSON": "hello", "trailing": `[{"a": 1}] [`, "trailing comma": `[{"a": 1},]`, "no end": `[{"a": 1}`,
		"package.json twice": "{}\n{}", "BOM": "\ufeff[]",
	} {
		path := filepath.Join(t.TempDir(), "results.json")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		err := results.CheckBlockFile(path)
		if err == nil || !strings.Contains(err.Error(), path) || plumb.Hint(err) == "" {
			t.Errorf("%s: got error %v, want one that names the file and says what to do", name, err)
		}
		l := reporttest.Simple(1)
		if err := results.AppendBlock(t.Context(), path, l.Run(t), l.Sessions); err == nil {
			t.Errorf("%s: appended", name)
		}
		if after, _ := os.ReadFile(path); string(after) != content {
			t.Errorf("%s: the file changed to %q", name, after)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := results.CheckBlockFile(filepath.Join(dir, "file", "results.json")); err == nil {
		t.Error("a file taken for a directory is fine")
	}
	if err := results.CheckBlockFile(dir); err == nil {
		t.Error("a directory is fine as a results file")
	}
}

func TestAppendBlockTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	var all sync.WaitGroup
	const runs = 12
	for i := range runs {
		all.Go(func() {
			in := reporttest.Info("gpt-5")
			in.ID = fmt.Sprint("run-", i)
			l := reporttest.NewLog(in, plumb.CaseInfo{ID: "a-1"})
			l.Execute("a-1", "gpt-5", reporttest.Answer("x", 1), reporttest.Passed(reporttest.Verdict("contains", true, "ok", "x", "x")))
			l.End("", 0)
			if err := results.AppendBlock(t.Context(), link, l.Run(t), l.Sessions); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := len(blocks(t, path)); got != runs {
		t.Errorf("%d blocks, want %d", got, runs)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}
