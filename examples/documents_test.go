package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/cli"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// fence is a fenced block of a document.
type fence struct {
	at, lang, text string
}

// fences reads the fenced blocks of the user documents.
func fences(t *testing.T) []fence {
	t.Helper()
	files := []string{"../README.md", "../CONTRIBUTING.md"}
	var found []fence
	for _, pattern := range []string{"../docs/*.md", "*/README.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	block := regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	for _, file := range files {
		if strings.HasSuffix(file, "adding.md") {
			continue // .ci/adding tests its examples, inside the tree
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "\r\n", "\n")
		for _, m := range block.FindAllStringSubmatchIndex(text, -1) {
			at := fmt.Sprintf("%s:%d", strings.TrimPrefix(filepath.ToSlash(file), "../"),
				1+strings.Count(text[:m[0]], "\n"))
			found = append(found, fence{at, text[m[2]:m[3]], text[m[4]:m[5]]})
		}
		if strings.HasSuffix(file, "README.md") { // blocks by indentation
			for i, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "    plumb ") || strings.HasPrefix(line, "    $ plumb ") {
					found = append(found, fence{fmt.Sprintf("%s:%d", strings.TrimPrefix(file, "../"), i+1), "sh", line})
				}
			}
		}
		for _, m := range regexp.MustCompile("`(plumb [^`\n]+)`").FindAllStringSubmatchIndex(text, -1) {
			at := fmt.Sprintf("%s:%d", strings.TrimPrefix(filepath.ToSlash(file), "../"), 1+strings.Count(text[:m[0]], "\n"))
			found = append(found, fence{at, "sh", text[m[2]:m[3]]})
		}
	}
	if len(found) < 200 {
		t.Errorf("only %d blocks and commands found", len(found))
	}
	return found
}

// TestDocumentedCommands parses every command line of the documents: its sub-commands and flags
// exist.
func TestDocumentedCommands(t *testing.T) {
	line := regexp.MustCompile(`(?m)(?:^|[|&(] ?|: |\$ )(?:go run \./cmd/)?plumb ([^\n]*)`)
	known := regexp.MustCompile(`^[a-z-]+$`)
	n := 0
	for _, f := range fences(t) {
		if !slices.Contains([]string{"sh", "console", "yaml"}, f.lang) {
			continue
		}
		for _, m := range line.FindAllStringSubmatch(f.text, -1) {
			args := words(m[1])
			if len(args) == 0 || !known.MatchString(args[0]) && !strings.HasPrefix(args[0], "-") {
				continue
			}
			n++
			if args[0] == "exec" {
				args = args[:1] // the rest belongs to the script
			}
			if strings.HasPrefix(args[len(args)-1], "--") {
				args = append(args, "1") // the document shows the flag without its value
			}
			for i, word := range args {
				if word == "N" {
					args[i] = "1"
				}
			}
			if code, _, stderr := plumbIn(t, ".", append(args, "--help")...); code != 0 {
				t.Errorf("%s: plumb %s: %s", f.at, m[1], stderr)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d command lines found", n)
	}
}

// words splits a command line as a shell does, up to a comment, a pipe or the end of the command.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && strings.ContainsRune("|>;&)", r), quote == 0 && r == '#' && !open:
			if open && word.Len() > 0 {
				all = append(all, word.String())
			}
			return all
		case quote == 0 && r == ' ':
			if open {
				all = append(all, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		all = append(all, word.String())
	}
	return all
}

// TestDocumentedData reads the suites, checks and configs in the documents as Plumb does.
func TestDocumentedData(t *testing.T) {
	for _, f := range fences(t) {
		switch f.lang {
		case "json":
			d := json.NewDecoder(strings.NewReader(f.text))
			for {
				var value json.RawMessage
				err := d.Decode(&value)
				if errors.Is(err, io.EOF) {
					break
				}
				if err == nil {
					err = readDocumented(t, value)
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", f.at, err, f.text)
					break
				}
			}
		case "yaml":
			var value any
			if err := yaml.Unmarshal([]byte(f.text), &value); err != nil {
				t.Errorf("%s: %v", f.at, err)
				continue
			}
			keys, _ := value.(map[string]any)
			has := func(names ...string) bool {
				return slices.ContainsFunc(names, func(n string) bool { _, ok := keys[n]; return ok })
			}
			var err error
			switch {
			case has("cases"):
				err = readSuite(t, "shown.suite.yaml", f.text)
			case has("suites", "runners", "judge", "embedder", "prices", "snapshots"):
				err = readConfig(t, "plumb.yaml", f.text)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", f.at, err, f.text)
			}
		}
	}
}

func readDocumented(t *testing.T, value json.RawMessage) error {
	t.Helper()
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(value, &keys); err != nil {
		return err
	}
	switch {
	case keys["id"] != nil:
		var line bytes.Buffer
		if err := json.Compact(&line, value); err != nil {
			return err
		}
		return readSuite(t, "shown.jsonl", line.String()+"\n")
	case keys["type"] != nil:
		if _, problems := check.Parse(value, check.Ideal{Values: []string{"x"}, Set: true}); len(problems) > 0 {
			return fmt.Errorf("%v", problems)
		}
	case keys["runners"] != nil:
		return readConfig(t, "plumb.config.json", string(value))
	}
	return nil
}

func readSuite(t *testing.T, name, text string) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		return err
	}
	b, err := suite.Read(t.Context(), name, suite.ReadOptions{Dir: dir})
	if err != nil {
		return err
	}
	_, problems, err := b.Suite(t.Context(), lib.Host{})
	if len(problems) > 0 {
		return fmt.Errorf("%v", problems)
	}
	return err
}

func readConfig(t *testing.T, name, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	c, err := config.Read(t.Context(), file, lib.Host{})
	if err == nil && len(c.Warnings) > 0 {
		err = fmt.Errorf("%v", c.Warnings)
	}
	return err
}

// TestDocumentedModules loads the TypeScript suites, configs and reporters in the documents.
func TestDocumentedModules(t *testing.T) {
	suites := 0
	for _, f := range fences(t) {
		if f.lang != "ts" || !strings.Contains(f.text, "export default") {
			continue
		}
		dir := t.TempDir()
		for _, template := range []string{"template", "fixture"} {
			if err := os.Mkdir(filepath.Join(dir, template), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		name, args := "shown.suite.ts", []string{"validate", "shown.suite.ts"}
		switch {
		case strings.Contains(f.text, "runners:"):
			name, args = "plumb.config.ts", []string{"validate"}
		case strings.Contains(f.text, "Reporter"), strings.Contains(f.text, "(output: string"):
			name, args = "module.ts", []string{"exec", "module.ts"}
		default:
			suites++
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := plumbIn(t, dir, args...); code != 0 {
			t.Errorf("%s: %s\n%s", f.at, stderr, f.text)
		}
	}
	if suites < 4 {
		t.Errorf("the documents show %d suites in TypeScript", suites)
	}
}

// TestDocumentedTypes checks the TypeScript of the documents with the types that plumb init writes.
func TestDocumentedTypes(t *testing.T) {
	tsc := compiler(t)
	dir := t.TempDir()
	if code, _, stderr := plumbIn(t, dir, "init", "--types"); code != 0 {
		t.Fatal(stderr)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("around.d.ts", "import type { SessionReport } from \"plumb\";\ndeclare global {\n\tconst report: SessionReport;\n\tconst process: { env: Record<string, string | undefined> };\n}\n")
	places := map[string]string{}
	for _, f := range fences(t) {
		if f.lang == "ts" {
			name := fmt.Sprintf("block%d.ts", len(places))
			places[name] = f.at
			write(name, f.text)
		}
	}
	cmd := exec.CommandContext(t.Context(), tsc, "-p", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(places) < 6 {
		t.Errorf("tsc: %v\n%s%v", err, out, places)
	}
}

// TestDocumentedGo compiles the complete Go files in the documents.
func TestDocumentedGo(t *testing.T) {
	n := 0
	for _, f := range fences(t) {
		if f.lang != "go" || !strings.HasPrefix(f.text, "package ") {
			continue
		}
		n++
		file := filepath.Join(t.TempDir(), "shown_test.go")
		if err := os.WriteFile(file, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f.at, err, out)
		}
	}
	if n == 0 {
		t.Error("the documents show no Go file")
	}
}

// TestDocumentedOutput runs sessions of the documents whose files are known, and looks for the
// shown lines, in order.
func TestDocumentedOutput(t *testing.T) {
	files := map[string]string{"bad.suite.ts": "import http from \"node:http\";\nimport p from \"left-pad\";\nexport default [http, p];\n"}
	dirs := map[string]string{}
	ran := 0
	for _, f := range fences(t) {
		doc, _, _ := strings.Cut(f.at, ":")
		if f.lang != "console" || !slices.Contains([]string{"docs/getting-started.md", "docs/suites-in-code.md"}, doc) {
			continue
		}
		if dirs[doc] == "" {
			dirs[doc] = t.TempDir()
			if doc == "docs/suites-in-code.md" {
				for name, text := range files {
					if err := os.WriteFile(filepath.Join(dirs[doc], name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, part := range strings.Split("\n"+f.text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if name, ok := strings.CutPrefix(command, "cat "); ok {
				if err := os.WriteFile(filepath.Join(dirs[doc], name), []byte(want), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			ran++
			var out bytes.Buffer
			env := func(name string) string {
				return map[string]string{"OPENAI_API_KEY": "sk-documented-0123456789", "PATH": os.Getenv("PATH")}[name]
			}
			cli.Main(t.Context(), cli.Env{
				Args: words(command)[1:], Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dirs[doc], Now: time.Now, Getenv: env,
				Environ: os.Environ, Size: func() (int, int, bool) { return 0, 0, false },
			})
			got := out.String()
			for line := range strings.SplitSeq(want, "\n") {
				if line = strings.TrimSpace(line); line == "" || line == "..." {
					continue
				}
				_, after, found := strings.Cut(got, line)
				if !found {
					t.Errorf("%s: $ %s does not print %q (there, or at all):\n%s", f.at, command, line, &out)
					break
				}
				got = after
			}
		}
	}
	if ran < 4 {
		t.Errorf("only %d commands ran", ran)
	}
}
