package plumbtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestFile runs a suite file on a function, several times each case.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "suite.jsonl")
	const text = `{"id":"a","input":"Capital of France?","ideal":"Paris","assertion":{"type":"contains"}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	echo := plumbtest.RunnerFunc("func", func(_ context.Context, messages []plumb.Message) (string, error) {
		asked++
		return "Paris: " + messages[0].Content, nil
	})
	plumbtest.Options{Repeat: 3, Parallel: 1}.File(t, path, echo)
	if asked != 3 {
		t.Errorf("the runner was asked %d times, want 3", asked)
	}
}

// TestRunnerFunc checks the contract of runners.
func TestRunnerFunc(t *testing.T) {
	plumbtest.TestRunner(t, plumbtest.RunnerFunc("func", func(ctx context.Context, _ []plumb.Message) (string, error) {
		return "hello", ctx.Err()
	}), plumbtest.RunnerOptions{})
}

// TestOpenOrSkip checks that a missing key skips the test.
func TestOpenOrSkip(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	t.Run("skips", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("the test was not skipped")
			}
		}()
		r := plumbtest.OpenOrSkip(t, plumb.RunnerConfig{Model: "openai:gpt-5"})
		t.Errorf("opened %s", strings.ToUpper(r.Info().ID))
	})
}

// TestNeverCached runs go test twice on a test that runs a suite. It needs the go command and time.
func TestNeverCached(t *testing.T) {
	if os.Getenv("PLUMB_CI") == "" {
		t.Skip("go test runs inside go test with PLUMB_CI=1, because linking takes long")
	}
	paths, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(string(paths), "\n")
	bare := []string{"GOCACHE=" + known[0], "GOPATH=" + known[1], "HOME=", "XDG_CACHE_HOME=", "LocalAppData="}
	for _, env := range [][]string{nil, bare} {
		for range 2 {
			cmd := exec.CommandContext(t.Context(), "go", "test", ".", "-run", "^TestFile$")
			cmd.Env = append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "(cached)") {
				t.Errorf("with %q: %v\n%s", env, err, out)
			}
		}
	}
}
