package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/internal/report/kind"
)

// TestF13F21OutputsReplaceNothing names each kind of existing file as each output of each command that
// writes to a path of the user: exit code 2, nothing is run, and no file changes.
func TestF13F21OutputsReplaceNothing(t *testing.T) {
	t.Parallel()
	const suite = `{"id":"a","input":"hi","assertion":{"type":"contains","ideal":"hi"}}` + "\n"
	files := map[string]string{
		"s.jsonl": suite, "plumb.yaml": "suites: [t.yaml]\nrunners: {r: {command: [sh, -c, 'echo x >>ran; echo hi']}}\n",
		"t.yaml": "prompts: [{file: p.md}]\ndata: d.csv\n", "d.csv": "x,__expected\nhi,hi\n", "p.md": "say {{x}}\n",
		"package.json": `{"name":"p","version":"1.0.0"}`, "rows.json": `[{"x":1}]`, "page.html": "<!doctype html><p>mine",
		"notes.md": "## My notes\n", "pom.xml": "<project/>", ".env": "", "notes.txt": "my notes\n",
		"other.yaml": "a: 1\n",
	}
	setup := func(t *testing.T) *world {
		t.Helper()
		w := newWorld(t)
		for name, text := range files {
			w.write(name, text)
		}
		for link, to := range map[string]string{"link": "s.jsonl", "far": filepath.Join(w.dir, "plumb.yaml")} {
			if err := os.Symlink(to, filepath.Join(w.dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(filepath.Join(w.dir, "t.yaml"), filepath.Join(w.dir, "hard")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(w.dir, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := setup(t)
	if code, _, stderr := w.plumb("run", "t.yaml"); code != 0 {
		t.Fatal(code, stderr)
	}
	before := w.tree()
	targets := []string{"link", "far", "hard", "dir", "./s.jsonl", "dir/../t.yaml"}
	for name := range files {
		targets = append(targets, name)
	}
	slices.Sort(targets)
	for _, target := range targets {
		var commands [][]string
		for _, name := range kind.Names() {
			to := name + ":" + target
			commands = append(commands, []string{"run", "t.yaml", "--report", to}, []string{"report", "last", "--report", to})
			if slices.Contains(kind.ComparisonNames(), name) {
				commands = append(commands, []string{"compare", "last", "last", "--report", to})
			}
		}
		commands = append(commands,
			[]string{"run", "t.yaml", "--output", target}, []string{"run", "s.jsonl", "t.yaml", "--output", target})
		for _, command := range commands {
			// A report may replace an empty file that the command does not read.
			if target == ".env" && command[0] == "report" {
				continue
			}
			code, stdout, stderr := w.plumb(command...)
			if code != 2 {
				t.Errorf("plumb %s: exit code %d\n%s%s", strings.Join(command, " "), code, stdout, stderr)
			}
			if after := w.tree(); after != before {
				t.Fatalf("plumb %s changed files:\n%s\n%s", strings.Join(command, " "), stderr, cmp.Diff(before, after))
			}
		}
	}
	for _, name := range kind.Names() { // its own earlier file is replaced
		for _, command := range [][]string{
			{"run", "t.yaml", "--report", name + ":out." + name},
			{"report", "last", "--report", name + ":out." + name},
			{"run", "t.yaml", "--report", name + ":./out." + name, "--report", "html:again.html", "--output", "blocks.json"},
		} {
			if code, _, stderr := w.plumb(command...); code != 0 {
				t.Errorf("plumb %s: exit code %d\n%s", strings.Join(command, " "), code, stderr)
			}
		}
	}
	for _, name := range kind.ComparisonNames() {
		for range 2 {
			command := []string{"compare", "last", "last", "--report", name + ":cmp." + name}
			if code, _, stderr := w.plumb(command...); code == 2 {
				t.Errorf("plumb %s: %s", strings.Join(command, " "), stderr)
			}
		}
	}
	code, _, stderr := w.plumb("run", "t.yaml", "--report", "json:both", "--report", "html:dir/../both")
	if code != 2 || !strings.Contains(stderr, "same file") {
		t.Errorf("two reports to one file: %d, %s", code, stderr)
	}
}

// TestF13ConvertKeepsItsSources converts files that have the names of its outputs.
func TestF13ConvertKeepsItsSources(t *testing.T) {
	t.Parallel()
	const config = "prompts: ['{{x}}']\nproviders: [echo]\ntests: file://tests.csv\n"
	for name, prepare := range map[string]func(w *world){
		"source": func(w *world) { w.write("suite.yaml", config) },
		"config": func(w *world) { w.write("plumb.yaml", config) },
		"link":   func(w *world) { w.write("foo.yaml", config); w.link(os.Symlink, "foo.yaml", "suite.yaml") },
		"tests":  func(w *world) { w.write("foo.yaml", config); w.link(os.Link, "tests.csv", "suite.yaml") },
		"prompts": func(w *world) {
			w.write("foo.yaml", "prompts: [file://plumb.yaml]\nproviders: [echo]\ntests: file://tests.csv\n")
			w.write("plumb.yaml", "- role: user\n  content: '{{x}}'\n")
		},
	} {
		w := newWorld(t)
		w.write("tests.csv", "x,__expected\nhi,hi\n")
		prepare(w)
		source := "foo.yaml"
		switch name {
		case "source":
			source = "suite.yaml"
		case "config":
			source = "plumb.yaml"
		}
		before := w.tree()
		code, _, stderr := w.plumb("convert", source, "--force")
		if code != 2 || !strings.Contains(stderr, "reads this file") {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
		if after := w.tree(); after != before {
			t.Errorf("%s: files changed:\n%s", name, cmp.Diff(before, after))
		}
	}
}

// link makes a link to a file of the world.
func (w *world) link(make func(from, to string) error, from, to string) {
	w.t.Helper()
	if err := make(filepath.Join(w.dir, from), filepath.Join(w.dir, to)); err != nil {
		w.t.Fatal(err)
	}
}

// tree returns the names and the contents of all files of the world.
func (w *world) tree() string {
	w.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&all, path)
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %s %q\n", path, d.Type(), text)
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	return all.String()
}
