package script_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/plumb-eval/plumb/internal/script"
)

// unpack writes an archive to a directory and returns the programs in it, by name.
func unpack(t *testing.T, archive string) (dir string, programs []string) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := txtar.Write(a, dir); err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile(`^\d\d.*\.[cm]?[jt]s$`)
	for _, f := range a.Files {
		if program.MatchString(f.Name) {
			programs = append(programs, f.Name)
		}
	}
	return dir, programs
}

// TestFeatures runs a program for each thing that suites may use, and compares what it prints with
// what Node prints.
func TestFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs no concurrent code of its own: too slow with the race detector")
	}
	dir, programs := unpack(t, "testdata/features.txtar")
	const goldenFile = "testdata/features.golden"
	golden := map[string]string{}
	if a, err := txtar.ParseFile(goldenFile); err == nil {
		for _, f := range a.Files {
			golden[f.Name] = string(f.Data)
		}
	}
	if os.Getenv("UPDATE") == "node" {
		updateFromNode(t, dir, programs, golden, goldenFile)
	}
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			p, err := script.Build(script.BuildOptions{Entry: filepath.Join(dir, name)})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			ctx, cancel := timeout(t, time.Minute)
			defer cancel()
			code, err := script.Exec(ctx, p, script.Environment{Dir: dir, Env: os.Environ(), Stdout: &out, Stderr: &out})
			if err != nil || code != 0 {
				t.Errorf("code %d, %v", code, err)
			}
			if diff := cmp.Diff(golden[name], out.String()); diff != "" {
				t.Errorf("-node +plumb\n%s", diff)
			}
		})
	}
}

// updateFromNode asks the installed Node for what the programs print; what needs a newer one stays
// as it is.
func updateFromNode(t *testing.T, dir string, programs []string, golden map[string]string, file string) {
	t.Helper()
	out := &txtar.Archive{Comment: []byte("What Node prints for the programs of features.txtar.\n")}
	for _, name := range programs {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(source), "// by hand") {
			golden[name] = runNode(t, dir, name)
		}
		out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(golden[name])})
	}
	if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runNode(t *testing.T, dir, name string) string {
	t.Helper()
	js := filepath.Join(dir, strings.TrimSuffix(name, filepath.Ext(name))+".out.mjs")
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, name)}, Bundle: true, Format: api.FormatESModule,
		Platform: api.PlatformNode, Target: api.ES2022,
		Outfile: js, Write: true, LogLevel: api.LogLevelSilent, External: []string{"cjs-pkg", "esm-pkg"},
	})
	for _, m := range result.Errors {
		t.Errorf("%s: %s", name, m.Text)
	}
	for _, f := range []string{"dyn/one", "dyn/nope"} { // import(expression) of TypeScript, which Node does not read
		api.Build(api.BuildOptions{
			EntryPoints: []string{filepath.Join(dir, f+".ts")},
			Outfile:     filepath.Join(dir, f+".ts.js"), Write: true, Format: api.FormatESModule,
		})
	}
	cmd := exec.Command("node", js)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("node %s: %v\n%s", name, err, out)
	}
	return string(out)
}
