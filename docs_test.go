package plumb_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// documents reads all Markdown files of the repository, by slash-separated path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() &&
			(name != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains(
				[]string{"testdata", "third_party", "node_modules"}, d.Name(),
			)):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		found[filepath.ToSlash(name)] = strings.ReplaceAll(string(text), "\r\n", "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// prose returns a document without its fenced blocks, which quote other things than links.
func prose(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, "`") == "" {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors returns the names that GitHub gives the headings of a document.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(prose(text)) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		names[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))] = true
	}
	return names
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	docs := documents(t)
	count := 0
	for name, text := range docs {
		for _, m := range link.FindAllStringSubmatch(prose(text), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") { // another site
				continue
			}
			count++
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.FromSlash(file)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			} else if anchor != "" && !anchors(docs[file])[anchor] {
				t.Errorf("%s: %s has no heading for the link %s", name, file, m[1])
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d links found", count)
	}
}

// TestDocumentsNameWhatExists looks at code spans that look like paths of this repository.
func TestDocumentsNameWhatExists(t *testing.T) {
	span := regexp.MustCompile("`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*)`")
	created := regexp.MustCompile("(?m)^(Create|Generated:) `.*$") // by a worked example of docs/adding.md
	for name, text := range documents(t) {
		text = created.ReplaceAllString(text, "")
		for _, m := range span.FindAllStringSubmatch(prose(text), -1) {
			if strings.Contains(m[1], "NAME") || strings.Contains(m[1], "KIND") {
				continue // a place for a name
			}
			first, rest, nested := strings.Cut(m[1], "/")
			if !nested && !strings.HasSuffix(m[1], ".go") {
				continue
			}
			if nested && !slices.Contains([]string{
				"cmd", "internal", "check", "digest", "plumbtest", "schema", "docs", "examples", ".ci", "third_party",
			}, first) {
				continue
			}
			at := []string{m[1], path.Join(path.Dir(name), m[1])}
			if nested && first == "internal" { // a name of the package, such as internal/run.Suite
				at = append(at, strings.TrimSuffix(m[1], path.Ext(rest)))
			}
			if !slices.ContainsFunc(at, func(p string) bool {
				_, err := os.Stat(filepath.FromSlash(p))
				return err == nil
			}) {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
}

// TestIndexesAreComplete makes sure that no page is lost.
func TestIndexesAreComplete(t *testing.T) {
	docs := documents(t)
	for name := range docs {
		dir, base := path.Split(name)
		if !strings.HasPrefix(dir, "docs/") || base == "README.md" {
			continue
		}
		if !strings.Contains(docs[dir+"README.md"], "]("+base+")") {
			t.Errorf("%sREADME.md does not list %s", dir, base)
		}
	}
}

// TestDependenciesHaveReasons makes sure that docs/dependencies.md has a line for each module that
// the binary imports.
func TestDependenciesHaveReasons(t *testing.T) {
	var named []string
	modules := regexp.MustCompile("`([^`\\s]+\\.[^`\\s]+/[^`\\s]+)`")
	for _, m := range modules.FindAllStringSubmatch(documents(t)["docs/dependencies.md"], -1) {
		named = append(named, m[1])
	}
	for _, files := range sources(t) {
		for _, file := range files {
			for _, imported := range file.imports {
				first, _, _ := strings.Cut(imported, "/")
				if !strings.Contains(first, ".") || strings.HasPrefix(imported, module) {
					continue
				}
				if !slices.ContainsFunc(
					named, func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") },
				) {
					t.Errorf("%s imports %s, of which docs/dependencies.md says nothing", file.name, imported)
				}
			}
		}
	}
}

// TestPromisesNameTheirTests checks that each promise in the tables of docs/safety.md names
// existing tests.
func TestPromisesNameTheirTests(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(name, ".txtar"):
			tests["TestScripts/"+strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(name)
			for _, m := range declared.FindAllSubmatch(text, -1) {
				tests[string(m[1])] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[^`]*)`")
	promises := 0
	table := false
	for line := range strings.Lines(documents(t)["docs/safety.md"]) {
		switch {
		case strings.HasPrefix(line, "| promise |"):
			table = true
			continue
		case !strings.HasPrefix(line, "|"):
			table = false
		}
		found := named.FindAllStringSubmatch(line, -1)
		if table && !strings.HasPrefix(line, "|---") {
			if promises++; found == nil {
				t.Errorf("no test is named for the promise %s", line)
			}
		}
		for _, m := range found {
			if !tests[m[1]] {
				t.Errorf("there is no test %s, which a promise names", m[1])
			}
		}
	}
	if promises < 30 {
		t.Errorf("only %d promises found", promises)
	}
}
