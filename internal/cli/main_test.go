package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plumb-eval/plumb/internal/cli"
	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestMain lets the test binary pose as plumb and as the fake model server.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"plumb":     func() { os.Exit(cli.Main(context.Background(), cli.Process(os.Args[1:]))) },
		"fakemodel": func() { os.Exit(fakemodel.Main(os.Args[1:], os.Stdout, os.Stderr)) },
		// answer is a program for the command runner: it answers with what it was asked.
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

// TestScripts tells what users see. UPDATE=1 rewrites what the scripts expect.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fakemodel": startFakeModel,
			"code":      exitCode,
			"wait-for":  waitFor,
			"normalise": normalise,
		},
	})
}

// startFakeModel starts a fake model server in the background of a script, and points the providers' variables at it:
// fakemodel [flags of the fake model server...].
func startFakeModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: fakemodel [flags]")
	}
	urlFile := filepath.Join(ts.Getenv("WORK"), ".fakemodel-url")
	_ = os.Remove(urlFile)
	exe, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(exe, append([]string{"-addr", "127.0.0.1:0", "-url-file", urlFile, "-life", "5m"}, args...)...)
	cmd.Args[0] = "fakemodel"
	cmd.Path = filepath.Join(filepath.Dir(mustLook(ts, "fakemodel")), filepath.Base(mustLook(ts, "fakemodel")))
	cmd.Dir, cmd.Stderr = ts.Getenv("WORK"), os.Stderr
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(urlFile)
		url := strings.TrimSpace(string(data))
		if err != nil || url == "" {
			continue
		}
		ts.Setenv("FAKEMODEL_URL", url)
		ts.Setenv("OPENAI_BASE_URL", url+"/v1")
		ts.Setenv("ANTHROPIC_BASE_URL", url)
		ts.Setenv("GOOGLE_GEMINI_BASE_URL", url)
		ts.Setenv("OLLAMA_HOST", url)
		ts.Setenv("OPENAI_API_KEY", "sk-script-0123456789")
		ts.Setenv("ANTHROPIC_API_KEY", "sk-ant-script-0123456789")
		ts.Setenv("GEMINI_API_KEY", "gm-script-0123456789")
		return
	}
	ts.Fatalf("the fake model server did not start")
}

func mustLook(ts *testscript.TestScript, program string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	ts.Fatalf("no %s on the PATH", program)
	return ""
}

// exitCode runs a command and checks its exit code: code 3 plumb run ... Its output is left for stdout and stderr.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if err != nil {
		if !asExit(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

// waitFor waits until a file that matches a pattern contains a text: wait-for '.plumb/runs/*/events.jsonl' text.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for pattern text")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), args[1]) {
				return
			}
		}
	}
	ts.Fatalf("no file %s contains %q", args[0], args[1])
}

// normalise replaces what differs from run to run in a file: run ids, hashes, times, paths.
func normalise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: normalise files...")
	}
	for _, name := range args {
		path := ts.MkAbs(name)
		data, err := os.ReadFile(path)
		ts.Check(err)
		text := strings.ReplaceAll(string(data), ts.Getenv("WORK"), "$WORK")
		for _, r := range varying() {
			text = r.pattern.ReplaceAllString(text, r.with)
		}
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
	}
}

// world is a working directory and an environment for commands run in this process.
type world struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, dir: t.TempDir(), env: map[string]string{"LANG": "C.UTF-8", "PATH": os.Getenv("PATH")}}
}

// serve starts a fake model server and points the providers at it.
func (w *world) serve(o fakemodel.Options) *fakemodel.Server {
	w.t.Helper()
	s := fakemodel.New(o)
	server := httptest.NewServer(s)
	w.t.Cleanup(func() {
		s.Release()
		server.CloseClientConnections()
		server.Close()
	})
	for name, value := range map[string]string{
		"OPENAI_BASE_URL": server.URL + "/v1", "OPENAI_API_KEY": "sk-test-0123456789abcdef",
		"ANTHROPIC_BASE_URL": server.URL, "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef",
		"GOOGLE_GEMINI_BASE_URL": server.URL, "GEMINI_API_KEY": "gm-test-0123456789abcdef",
		"OLLAMA_HOST": server.URL,
	} {
		w.env[name] = value
	}
	return s
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
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: w.dir, Now: time.Now,
		Getenv: func(name string) string { return w.env[name] },
		Environ: func() []string {
			var all []string
			for name, value := range w.env {
				all = append(all, name+"="+value)
			}
			return all
		},
		Size: func() (int, int, bool) { return 0, 0, false },
	})
	return code, out.String(), errs.String()
}

// must is plumb for commands that have to end with a code.
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
