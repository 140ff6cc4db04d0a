package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/cli"
)

// plumbIn runs a command line in a directory of the examples.
func plumbIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = cli.Main(t.Context(), cli.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: abs, Now: time.Now,
		Getenv:  os.Getenv,
		Environ: os.Environ, Size: func() (int, int, bool) { return 0, 0, false },
	})
	return code, out.String(), errs.String()
}

// TestAgentSuites runs the agent suites on the actors: the worker passes every case, and the talker
// passes none.
func TestAgentSuites(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the actors are a shell script, and there is no sh")
	}
	runs := t.TempDir()
	code, stdout, stderr := plumbIn(t, "agents", "run", "--config", "rehearsal.config.ts", "--output-dir", runs,
		"--report", "./reporter.ts", "--report", "html")
	if code != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, c := range []string{"writes-the-notes", "looks-and-leaves", "sets-the-version"} {
		if !strings.Contains(stdout, "pass  "+c+" on worker\n") ||
			!strings.Contains(stdout, "fail  "+c+" on talker  Assertion failure\n") {
			t.Errorf("case %s:\n%s%s", c, stdout, stderr)
		}
	}
	if pages, err := filepath.Glob(filepath.Join(runs, "runs", "*", "report.html")); err != nil || len(pages) != 2 {
		t.Errorf("pages %q, %v", pages, err)
	}
}

// TestAgentConfig reads the example's config for real agents without starting one.
func TestAgentConfig(t *testing.T) {
	code, stdout, stderr := plumbIn(t, "agents", "validate")
	if code != 0 || !strings.Contains(stdout, "plumb.config.ts: valid, 2 runners") {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
}

// compiler finds the TypeScript compiler.
func compiler(t *testing.T) string {
	t.Helper()
	const name = "../third_party/script-packages/node_modules/.bin/tsc"
	tsc, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tsc); err != nil {
		const missing = "there is no TypeScript compiler: run npm ci in third_party/script-packages"
		if os.Getenv("PLUMB_CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return tsc
}

// TestAgentSuitesTypeCheck type-checks the suites as an editor does, with the types that plumb init
// writes.
func TestAgentSuitesTypeCheck(t *testing.T) {
	tsc := compiler(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("agents")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := plumbIn(t, dir, "init", "--types"); code != 0 {
		t.Fatal(stderr)
	}
	cmd := exec.CommandContext(t.Context(), tsc, "-p", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}
