package promptfoo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/plumb-eval/plumb/internal/cli"
	"github.com/plumb-eval/plumb/internal/convert"
)

// goldenFile is the part of an archive with the verdicts of promptfoo 0.123.1. Each line has the
// number of the test and of the prompt, the label of the prompt, and the outcome. To write them
// anew:
//
//	npm i --prefix /tmp/pf promptfoo@0.123.1
//	UPDATE=1 PROMPTFOO=/tmp/pf/node_modules/promptfoo/dist/src/main.js go test ./internal/promptfoo -run TestVerdicts
const goldenFile = "verdicts"

// TestVerdicts converts each configuration of the corpus and runs it on a server that answers with
// the prompt, as the provider echo of promptfoo does. Each row must have promptfoo's outcome, or be
// left out with a named reason, or be an error where promptfoo says that its own check failed to
// run.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	files, err := filepath.Glob("testdata/configs/*.txtar")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d configurations, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var golden string
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == goldenFile })
			if i >= 0 {
				golden = string(archive.Files[i].Data)
				archive.Files = slices.Delete(archive.Files, i, i+1)
			}
			if err := txtar.Write(archive, dir); err != nil {
				t.Fatal(err)
			}
			if program := os.Getenv("PROMPTFOO"); os.Getenv("UPDATE") != "" && program != "" {
				golden = observe(t, program, dir)
				archive.Files = append(archive.Files, txtar.File{Name: goldenFile, Data: []byte(golden)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if golden == "" {
				t.Fatal("the archive has no verdicts: see goldenFile")
			}
			compare(t, server.URL, dir, golden)
		})
	}
}

// echo answers with the prompt, or with several messages as JSON.
func echo(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	content := request.Messages[0].Content
	if len(request.Messages) > 1 {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		_ = e.Encode(request.Messages)
		content = strings.TrimSuffix(b.String(), "\n")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "1", "model": "echo", "usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": content},
		}},
	})
}

// observe runs promptfoo on the configuration in dir and returns its verdicts.
func observe(t *testing.T, program, dir string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.json")
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "node", program, "eval", "-c", "promptfooconfig.yaml", "--no-cache",
		"--no-progress-bar", "--no-table", "--no-write", "-j", "1", "-o", out)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "PROMPTFOO_CONFIG_DIR="+home, "PROMPTFOO_DISABLE_TELEMETRY=1",
		"PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_DISABLE_REMOTE_GENERATION=1", "PROMPTFOO_DISABLE_SHARING=1",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1")
	message, _ := cmd.CombinedOutput() // its exit code is 100 if a test fails
	text, err := os.ReadFile(out)
	if err != nil {
		return "none: " + regexp.MustCompile(`Error: [^\n]*`).FindString(string(message)) + "\n"
	}
	var file struct {
		Results struct {
			Results []struct {
				TestIdx       int                    `json:"testIdx"`
				PromptIdx     int                    `json:"promptIdx"`
				Prompt        struct{ Label string } `json:"prompt"`
				Success       bool                   `json:"success"`
				FailureReason int                    `json:"failureReason"`
				Error         string                 `json:"error"`
			} `json:"results"`
		} `json:"results"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range file.Results.Results {
		outcome := "fail"
		switch {
		case r.Success:
			outcome = "pass"
		case r.FailureReason == 2:
			outcome = "error"
		case strings.HasPrefix(r.Error, "Custom function threw error"):
			outcome = "fail, the check threw"
		}
		label, _ := json.Marshal(r.Prompt.Label)
		lines = append(lines, fmt.Sprintf("%03d %d %s %s\n", r.TestIdx+1, r.PromptIdx, label, outcome))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

var (
	goldenLine = regexp.MustCompile(`^(\d+) (\d+) ("(?:[^"\\]|\\.)*") (.*)$`)
	unsafe     = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// compare converts the configuration in dir, runs it, and compares.
func compare(t *testing.T, url, dir, golden string) {
	t.Helper()
	result, err := convert.File(t.Context(), filepath.Join(dir, "promptfooconfig.yaml"), convert.Tools{Check: cli.Rejected})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Lost.Errors()) == 0 && len(result.LeftOut) > 0 {
		t.Errorf("the tests %v are left out without a reason", result.LeftOut)
	}
	if strings.HasPrefix(golden, "none") {
		if len(result.Lost.Errors()) == 0 {
			t.Errorf("promptfoo does not run it, and nothing is refused")
		}
		return
	}
	got := map[string]string{}
	if result.Suite != nil {
		got = run(t, url, result.Suite)
	}
	rows := 0
	compared, missing := map[string]bool{}, map[string][]string{} // by prompt
	for line := range strings.Lines(golden) {
		m := goldenLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("golden line %q", line)
		}
		var label string
		_ = json.Unmarshal([]byte(m[3]), &label)
		number := strings.TrimLeft(m[1], "0")
		var index int
		_, _ = fmt.Sscan(m[2], &index)
		outcome, ok := "", false
		short, _, _ := strings.Cut(label, ": ") // a prompt from a file has its path and its text in the label
		for _, id := range []string{
			"test-" + number, "test-" + number + "." + strings.Trim(unsafe.ReplaceAllString(label, "-"), "-"), "test-" + number + "." + short,
			fmt.Sprintf("test-%s.prompt-%d", number, index+1),
		} {
			if o, found := got[id]; found {
				outcome, ok = o, true
				break
			}
		}
		want, threw := strings.CutSuffix(m[4], ", the check threw")
		switch {
		case !ok && len(result.Lost.Errors()) == 0:
			t.Errorf("row %s: the converted suite does not have it", strings.TrimSpace(line))
		case ok && outcome != want && (!threw || outcome != "error"):
			t.Errorf("row %s: plumb says %s", strings.TrimSpace(line), outcome)
		}
		if ok {
			rows++
			compared[m[2]] = true
		} else if !slices.Contains(result.LeftOut, "test-"+number) {
			missing[m[2]] = append(missing[m[2]], "test-"+number)
		}
	}
	for prompt, tests := range missing { // a prompt that is left out has no rows at all
		if compared[prompt] {
			t.Errorf("prompt %s: the rows of %v are missing, and the tests are not left out", prompt, tests)
		}
	}
	if rows == 0 && result.Cases > 0 {
		t.Errorf("no row was compared")
	}
	t.Logf("%d rows, %d compared, %d tests left out", strings.Count(golden, "\n"), rows, len(result.LeftOut))
	if t.Failed() {
		t.Logf("suite:\n%s\nlost:\n%v", result.Suite, result.Lost)
	}
}

// run runs a suite and returns the outcomes of its cases.
func run(t *testing.T, url string, suite []byte, beside ...file) map[string]string {
	t.Helper()
	work := t.TempDir()
	config := fmt.Sprintf(`suites: [suite.yaml]
runners:
  echo: {model: "openai-compatible:echo", baseURL: %q}
prices:
  openai-compatible:echo: {input: 0, output: 0}
`, url)
	for _, f := range append(beside, file{"suite.yaml", suite}, file{"plumb.yaml", []byte(config)}) {
		if err := os.WriteFile(filepath.Join(work, f.name), f.text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	code := cli.Main(context.Background(), cli.Env{
		Args:  []string{"run", "--report", "json:out.json"},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Dir: work, Now: time.Now,
		Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		Size: func() (int, int, bool) { return 0, 0, false },
	})
	text, err := os.ReadFile(filepath.Join(work, "out.json"))
	if err != nil {
		t.Fatalf("exit code %d: %s\nsuite:\n%s", code, stderr.String(), suite)
	}
	var results struct {
		Cases []struct {
			CaseID        string `json:"caseId"`
			RunnerResults []struct {
				Outcome string `json:"outcome"`
			} `json:"runnerResults"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range results.Cases {
		got[c.CaseID] = c.RunnerResults[0].Outcome
	}
	return got
}
