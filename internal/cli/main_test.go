package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plumb-eval/plumb/internal/cli"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/proc"
)

// TestMain lets scripts run the test binary as plumb and as the fake model server.
func TestMain(m *testing.M) {
	// Scripts mostly wait for time limits and grace periods, so more of them run at once than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"plumb":         func() { os.Exit(cli.Main(context.Background(), cli.Process(os.Args[1:]))) },
		"fakemodel":     func() { os.Exit(fakemodel.Main(os.Args[1:], os.Stdout, os.Stderr)) },
		"fakecodex":     fakeCodex,
		"scriptedcodex": scriptedCodex,
		// answer is a program for the command runner: its answer repeats the prompt.
		"answer": func() {
			var asked struct{ Prompt string }
			if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println("you asked:", asked.Prompt)
		},
	})
}

// TestScripts checks what users see. UPDATE=1 rewrites the expected output in the scripts. With -short
// it takes only the scripts about runs, which have goroutines that meet.
func TestScripts(t *testing.T) {
	names := "*"
	if testing.Short() {
		names = "r[eu][ns]*" // run, resume
	}
	files, err := filepath.Glob("testdata/script/" + names + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               scriptEnvironment,
		Cmds:                scriptCommands(),
		Condition: func(cond string) (bool, error) {
			if cond != "cgroup" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return strings.Contains(proc.Means(), cond), nil
		},
	})
}

// world is a working directory and an environment for commands run in this process.
type world struct {
	t   *testing.T
	dir string
	env map[string]string
	// terminal says that standard output is one.
	terminal bool
	// stdin is what commands read.
	stdin string
	// width is that of the terminal; 0 means 100.
	width int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, dir: t.TempDir(), env: map[string]string{"LANG": "C.UTF-8", "PATH": os.Getenv("PATH")}}
}

// serve starts a fake model server and points the providers at it.
func (w *world) serve(o fakemodel.Behavior) *fakemodel.Server {
	w.t.Helper()
	s := fakemodel.New(o)
	server := httptest.NewServer(s)
	w.t.Cleanup(func() {
		s.Release()
		server.CloseClientConnections()
		server.Close()
	})
	w.point(server.URL)
	return s
}

// point points the providers at a fake model server.
func (w *world) point(url string) {
	maps.Copy(w.env, map[string]string{
		"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "sk-test-0123456789abcdef",
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef",
		"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "gm-test-0123456789abcdef",
		"OLLAMA_HOST": url,
	})
}

func (w *world) environ() (all []string) {
	for name, value := range w.env {
		all = append(all, name+"="+value)
	}
	return all
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// plumb runs a command line in this process.
func (w *world) plumb(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Main(w.t.Context(), cli.Env{
		Args: args, Stdin: strings.NewReader(w.stdin), Stdout: &out, Stderr: &errs, Dir: w.dir, Now: time.Now,
		Getenv: func(name string) string { return w.env[name] }, Environ: w.environ,
		Size: func() (int, int, bool) { return cmp.Or(w.width, 100), 30, w.terminal },
	})
	return code, out.String(), errs.String()
}

// must is plumb for commands with a required exit code.
func (w *world) must(code int, args ...string) (stdout string) {
	w.t.Helper()
	got, stdout, stderr := w.plumb(args...)
	if got != code {
		w.t.Fatalf("plumb %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout
}

// runDir returns the directory of the latest run.
func (w *world) runDir() string {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.dir, ".plumb", "runs", "*"))
	if err != nil || len(dirs) == 0 {
		w.t.Fatalf("no run directory: %v", err)
	}
	return dirs[len(dirs)-1]
}
