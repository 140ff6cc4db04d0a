package plumb_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/plumb-eval/plumb"

// layers assigns a level to each package. A package imports only packages of lower levels, and
// never one of its own level.
var layers = map[string]int{
	".":                        0,
	"suites":                   0,
	"skills":                   0,
	"schema":                   0,
	"examples":                 0,
	"third_party/genai-prices": 0,
	"internal/chart":           0,
	"internal/encode":          0,
	"internal/files":           0,
	"internal/golden":          0, // only in tests
	"internal/text":            0,
	"internal/doc":             1,
	"internal/convert/draft":   2,
	"internal/promptfoo":       4,
	"internal/proc":            1,
	"internal/redact":          1,
	"check":                    2,
	"digest":                   2,
	"internal/judging":         1,
	"internal/runlog":          2,
	"internal/run":             3,
	"internal/script":          2,
	"internal/js":              2,
	"internal/template":        3,
	"internal/setting":         2,
	"internal/snapshot":        3,
	"internal/agent":           2,
	"internal/agent/proof":     3,
	"internal/runner/modelapi": 2,
	"internal/analyze":         2,
	"internal/wire":            1,
	"internal/agentscript":     2,
	"internal/fakemodel":       3,
	"internal/suite/lib":       3,
	"internal/runner":          3,
	"internal/calibrate":       3,
	"internal/results":         4,
	"internal/compare":         5,
	"internal/drift":           4,
	"internal/forecast":        4,
	"internal/report":          6,
	"internal/submit":          6,
	"internal/accept":          6,
	"internal/accepttest":      6, // only in tests
	"internal/store":           7,
	"internal/config":          7,
	"internal/convert":         6,
	"internal/suite/cases":     5,
	"internal/suite":           8,
	"internal/project":         9,
	"internal/explain":         10,
	"internal/garbage":         10,
	"internal/reporting":       11,
	"internal/job":             12,
	"internal/earlier":         13,
	"internal/plan":            13,
	"internal/cli":             14,
	"plumbtest":                14,
	"cmd/plumb":                15,
	"internal/gen":             15,
}

// room orders the packages of a house, which has a level as a whole: a package imports those of its
// house that come before it. Other packages import only internal/agent of its house, and any package
// of internal/report. The tester of the agents, internal/agent/proof, is above them and has a level
// of its own.
func room(dir string) (house string, order int) {
	switch {
	case dir == "internal/agent/transcript":
		return "internal/agent", 1
	case dir == "internal/agent/spec":
		return "internal/agent", 2
	case path.Dir(dir) == "internal/agent" && dir != "internal/agent/proof":
		return "internal/agent", 3
	case dir == "internal/agent":
		return dir, 4
	case dir == "internal/report":
		return dir, 1
	case dir == "internal/report/kind":
		return "internal/report", 3
	case path.Dir(dir) == "internal/report":
		return "internal/report", 2
	}
	return dir, 0
}

// TestGround: what a server stands on starts no program, and knows no agent, runner or engine.
func TestGround(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", append([]string{
		"list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}",
	}, ground()...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		imports[words[0]] = words[1:]
	}
	above := regexp.MustCompile("^(os/exec|" + module + "/internal/(agent|runner|run|script)(/.*)?)$")
	seen := map[string]bool{}
	var walk func(chain []string)
	walk = func(chain []string) {
		last := chain[len(chain)-1]
		if last == "modernc.org/libc" { // the C library, which has system(3): SQLite does not call it
			return
		}
		if above.MatchString(last) {
			t.Errorf("the ground reaches %s: %s", last, strings.Join(chain, " -> "))
			return
		}
		for _, next := range imports[last] {
			if !seen[next] {
				seen[next] = true
				walk(append(slices.Clip(chain), next))
			}
		}
	}
	for _, root := range ground() {
		walk([]string{module + strings.TrimPrefix(root, ".")})
	}
}

// ground lists the packages on which a server stands.
func ground() []string {
	return []string{
		"./check", "./internal/accept", "./internal/analyze", "./internal/chart", "./internal/compare", "./internal/drift",
		"./internal/judging", "./internal/report",
		"./internal/report/ci", "./internal/report/html", "./internal/report/kind", "./internal/report/terminal",
		"./internal/results", "./internal/runlog", "./internal/setting", "./internal/store", "./internal/submit",
		"./internal/suite/cases", "./internal/text",
	}
}

// homes lists the packages that may import a third-party module or a package of the standard
// library; "DIR/..." means the packages in DIR. Test files may import anything.
var homes = map[string][]string{
	"github.com/spf13/cobra":                 {"internal/cli"},
	"github.com/spf13/pflag":                 {"internal/cli"},
	"github.com/openai/openai-go":            {},
	"github.com/anthropics/anthropic-sdk-go": {},
	"google.golang.org/genai":                {},
	"github.com/cenkalti/backoff":            {"internal/runner/modelapi", "internal/submit"},
	"github.com/klauspost/compress":          {"internal/store", "internal/submit"},
	"github.com/goccy/go-yaml":               {"internal/doc"},
	"github.com/pelletier/go-toml":           {"internal/suite"},
	"github.com/joho/godotenv":               {"internal/config"},
	"github.com/santhosh-tekuri/jsonschema":  {"check"},
	"charm.land":                             {},
	"github.com/charmbracelet":               {"internal/report/terminal", "internal/text"},
	"gonum.org/v1/gonum":                     {"internal/analyze", "internal/drift"},
	"github.com/gofrs/flock":                 {"internal/doc", "internal/runlog", "internal/store"},
	"github.com/jackc/pgx":                   {"internal/store"},
	"github.com/pressly/goose":               {"internal/store"},
	"modernc.org/sqlite":                     {"internal/store"},
	"github.com/aymanbagabas/go-udiff":       {"internal/report", "internal/run"},
	"modernc.org/quickjs":                    {"internal/script"},
	"modernc.org/libquickjs":                 {"internal/script"},
	"modernc.org/libc":                       {"internal/script"},
	"github.com/evanw/esbuild":               {"internal/script"},
	"github.com/go-sourcemap/sourcemap":      {"internal/script"},
	"github.com/nlnwa/whatwg-url":            {"internal/script"},
	"github.com/tidwall/gjson": {
		"internal/agent", "internal/agent/...", "internal/agentscript", "internal/fakemodel", "internal/wire",
	},
	"mvdan.cc/sh": {"internal/agent/transcript"},
	"testing":     {"plumbtest", "internal/golden", "internal/report/reporttest", "internal/accepttest"},
	"os/exec": {
		"internal/proc", "internal/run", "internal/runner", "internal/agent", "internal/script", "internal/project",
		"internal/cli", "internal/gen",
	},
	"database/sql":                {"internal/store"},
	"github.com/stretchr/testify": {},
	"github.com/chromedp":         {}, // only in tests
	"math/rand":                   {},
	"log":                         {},
}

// sources parses the imports and comments of all Go files of the module except tests, by package
// directory. Modules within it, such as internal/bench, are no part of it.
func sources(t *testing.T) map[string][]source {
	t.Helper()
	found := map[string][]source{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." {
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
		}
		if d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{name: name, comment: file.Doc.Text()}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		found[dir] = append(found[dir], s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

type source struct {
	name    string
	comment string
	imports []string
}

func TestLayers(t *testing.T) {
	for dir, files := range sources(t) {
		house, order := room(dir)
		level, ok := layers[house]
		if !ok {
			t.Errorf("package %s has no layer; add it to the table, with a decision record", dir)
			continue
		}
		for _, file := range files {
			for _, imported := range file.imports {
				rest, ours := strings.CutPrefix(imported, module)
				if !ours {
					continue
				}
				to := path.Clean("./" + rest)
				other, before := room(to)
				switch {
				case other == house && before >= order:
					t.Errorf("%s imports %s, which does not come before it in %s", file.name, imported, house)
				case other == house:
				case other == "internal/agent" && to != other:
					t.Errorf("%s imports %s; only internal/agent does", file.name, imported)
				case layers[other] >= level:
					t.Errorf("%s: level %d imports %s of level %d", file.name, level, to, layers[other])
				}
			}
		}
	}
	for dir := range layers {
		if _, err := os.Stat(filepath.FromSlash(dir)); err != nil {
			t.Errorf("the table names %s, which does not exist", dir)
		}
	}
}

func TestHomes(t *testing.T) {
	for dir, files := range sources(t) {
		for _, file := range files {
			for _, imported := range file.imports {
				for home, allowed := range homes {
					within := imported == home || strings.HasPrefix(imported, home+"/")
					if home == "log" || home == "math/rand" { // log/slog and math/rand/v2 are allowed
						within = imported == home
					}
					below := path.Dir(dir) + "/..."
					if within && !slices.Contains(allowed, dir) && !slices.Contains(allowed, below) {
						t.Errorf("%s imports %s, whose home is %v", file.name, imported, allowed)
					}
				}
			}
		}
	}
}

func TestVocabularyDoesNoIO(t *testing.T) {
	for _, file := range sources(t)["."] {
		for _, imported := range file.imports {
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") ||
				slices.Contains([]string{"os", "io", "net", "net/http", "log/slog"}, imported) {
				t.Errorf(
					"%s imports %s; the vocabulary uses only the standard library and does no I/O", file.name, imported,
				)
			}
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	for dir, files := range sources(t) {
		documented := 0
		for _, file := range files {
			if file.comment != "" {
				documented++
			}
		}
		if documented != 1 {
			t.Errorf("package %s has %d package comments, want one", dir, documented)
		}
	}
}

// TestWalkNamesWhatExists checks that each file that docs/walk.md mentions exists.
func TestWalkNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile("docs/walk.md")
	if err != nil {
		t.Fatal(err)
	}
	mentioned := 0
	separator := func(r rune) bool { return strings.ContainsRune(" \n()[]`,", r) }
	for word := range strings.FieldsFuncSeq(string(text), separator) {
		if !strings.HasSuffix(word, ".go") {
			continue
		}
		mentioned++
		if _, err := os.Stat(filepath.FromSlash(word)); err != nil {
			t.Error(fmt.Errorf("docs/walk.md mentions %s: %w", word, err))
		}
	}
	if mentioned == 0 {
		t.Error("docs/walk.md mentions no file")
	}
}

// openers lists the files that open files by path themselves, with the reason. All others use package
// files or package doc, which refuse what could block or never end.
var openers = map[string]string{
	"internal/files/open.go":          "the one place",
	"internal/script/files.go":        "node:fs of code, within the same bounds",
	"internal/agent/launch.go":        "the input of an agent, in a directory of Plumb",
	"internal/agent/sandbox.go":       "files in the home that Plumb makes for a session",
	"internal/agent/withhold.go":      "the copy of a configuration in a workspace",
	"internal/agent/proof/proof.go":   "a new workspace",
	"internal/agent/opencode/spec.go": "files in the home that Plumb makes for a session",
	"internal/agent/spec/launch.go":   "files in the home that Plumb makes for a session",
	"internal/cli/init_ci.go":         "O_EXCL creates a new file",
	"internal/project/project.go":     "a file that does not exist",
	"internal/run/bootstrap.go":       "the log of a program, in the run directory",
	"internal/runlog/writer.go":       "the log that was read before",
	"internal/run/tree.go":            "a new workspace",
	"internal/run/workspace.go":       "a new workspace",
	"internal/runner/command.go":      "the input of a program, in a directory of Plumb",
	"internal/suite/checkcode.go":     "files of checks, in a directory of Plumb",
	"plumbtest/run.go":                "a test of workspaces, in a temporary directory",
}

// TestOpeners: no other package opens a path of the user, which could be a pipe or a device.
func TestOpeners(t *testing.T) {
	call := regexp.MustCompile(`\bos\.(Open|OpenFile|ReadFile|Create|WriteFile)\(`)
	found := map[string]bool{}
	for dir, all := range sources(t) {
		switch {
		case dir == "internal/proc", strings.HasPrefix(dir, "third_party/"), // processes; code of others
			slices.Contains([]string{"internal/fakemodel", "internal/gen", "internal/golden"}, dir): // tools
			continue
		}
		for _, s := range all {
			text, err := os.ReadFile(s.name)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.ToSlash(s.name)
			if at := call.FindIndex(text); at != nil {
				found[name] = true
				if openers[name] == "" {
					t.Errorf("%s: %s...) opens a path: use package files or doc, or add the reason to openers", name, text[at[0]:at[1]])
				}
			}
		}
	}
	for name := range openers {
		if !found[name] {
			t.Errorf("openers has %s, which opens nothing", name)
		}
	}
}

// TestDocumentsAreDecodedInOnePlace checks that whoever reads a document does not decode it with
// encoding/json, which accepts a key twice, and in several spellings. doc.Decode does not.
func TestDocumentsAreDecodedInOnePlace(t *testing.T) {
	// These files have a checksum or a hash, or belong to other programs.
	exempt := []string{
		"internal/runner/cache.go", "internal/agent/withhold.go", "internal/agent/sandbox.go", "internal/suite/checkcode.go",
		"internal/suite/bundle.go", "internal/suite/record.go", "internal/runlog/read.go",
	}
	reads := regexp.MustCompile(`\b(?:doc\.Read(?:Stream|FS)?|os\.ReadFile)\(`)
	decodes := regexp.MustCompile(`\bjson2?\.(?:Unmarshal|NewDecoder)\(`)
	for _, files := range sources(t) {
		for _, file := range files {
			text, err := os.ReadFile(file.name)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.ToSlash(file.name)
			if reads.Match(text) && decodes.Match(text) && !slices.Contains(exempt, name) {
				t.Errorf("%s reads documents and decodes JSON itself; use doc.Decode", name)
			}
		}
	}
}
