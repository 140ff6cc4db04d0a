package suite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// fenced returns the fenced blocks of a Markdown file in the given language.
func fenced(t *testing.T, file, language string) []string {
	t.Helper()
	var blocks []string
	rest := string(read(t, file))
	for {
		_, after, found := strings.Cut(rest, "\n```"+language+"\n")
		if !found {
			break
		}
		block, next, closed := strings.Cut(after, "\n```\n")
		if !closed {
			t.Fatalf("%s: a block is not closed", file)
		}
		blocks, rest = append(blocks, block), "\n"+next
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no %s", file, language)
	}
	return blocks
}

// readConfig reads a config without warnings from a file with the given name.
func readConfig(t *testing.T, name, text string) error {
	t.Helper()
	c, err := config.Read(t.Context(), write(t, filepath.Join(t.TempDir(), name), text), lib.Host{})
	if err == nil && len(c.Warnings) > 0 {
		err = doc.Problems(c.Warnings)
	}
	return err
}

// TestDocs: what the manual shows can be used as it is.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs no concurrent code of its own: too slow with the race detector")
	}
	for _, text := range fenced(t, "../../docs/configuration.md", "yaml") {
		if err := readConfig(t, "plumb.yaml", text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for _, text := range fenced(t, "../../docs/configuration.md", "json") {
		if err := readConfig(t, "plumb.config.json", text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for _, text := range fenced(t, "../../docs/suites.md", "json") {
		if _, problems := NewBundle("", "suite.jsonl", []byte(text)).Validate(t.Context(), lib.Host{}); len(problems) > 0 {
			t.Errorf("%s\n%v", text, problems)
		}
	}
	for _, text := range fenced(t, "../../docs/suites.md", "yaml") {
		b := NewBundle("", "suite.yaml", []byte(text))
		b.files = &included{Files: map[string]string{"cases.csv": "text,answer\nDog,chien\nCat,chat\n"}}
		if _, problems := b.Validate(t.Context(), lib.Host{}); len(problems) > 0 {
			t.Errorf("%s\n%v", text, problems)
		}
	}
	for _, text := range fenced(t, "../../docs/suites.md", "toml") {
		text = strings.Replace(text, "# ...", "", 1)
		if _, problems := parseManifest("manifest.toml", []byte(text)); len(problems) > 0 {
			t.Errorf("%s\n%v", text, problems)
		}
	}

	for _, text := range fenced(t, "../../docs/suites.md", "ts") {
		suite, _ := loaded(t, suiteIn(t, map[string]string{"a.ts": text}), lib.Host{})
		if len(suite.Cases) == 0 {
			t.Errorf("%s\nhas no cases", text)
		}
	}
	for _, text := range fenced(t, "../../docs/configuration.md", "ts") {
		if err := readConfig(t, "plumb.config.ts", text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}

	// Every key of a manifest is in the manual.
	manual := string(read(t, "../../docs/suites.md"))
	for _, key := range tierKeys() {
		if !strings.Contains(manual, "`"+key+"`") && !strings.Contains(manual, "."+key+"`") {
			t.Errorf("docs/suites.md does not mention %s", key)
		}
	}
}
