package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameRealCommands makes sure that each command line of Plumb in the README, the
// documents, the skills and llms.txt names a command and flags that exist.
func TestDocumentsNameRealCommands(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	// A command line begins a line of a block or a code span. It ends with the span, a comment, or
	// another command.
	lines := regexp.MustCompile("(?m)(?:^ *(?:\\$ )?|`|&& )plumb ([a-z]+(?:[ -][^`\n#|&;<>]*)?)(?:[`\n#|&;<>]|$)")
	checked := 0
	for _, file := range documentFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lines.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(m[1])
			cmd, _, err := root.Find(words)
			if err != nil || cmd == root && words[0] != "help" {
				t.Errorf("%s: plumb %s: there is no such command", file, m[1])
				continue
			}
			for _, word := range words {
				name, isFlag := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(strings.TrimRight(name, ".,:])…"), "=")
				name, _, _ = strings.Cut(name, "|")
				if isFlag && name != "" && cmd.Flag(name) == nil && name != "help" {
					t.Errorf("%s: plumb %s: the command has no flag --%s", file, m[1], name)
				}
			}
			checked++
		}
	}
	if checked < 200 {
		t.Errorf("only %d command lines found", checked)
	}
}

// documentFiles returns the documents that must be true today. Decision records and the changelog
// tell of the past, and adding.md makes a command of its own.
func documentFiles(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md", "../../llms.txt"}
	for _, dir := range []string{"../../docs", "../../skills", "../../examples"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "decisions" {
				return fs.SkipDir
			}
			if err == nil && filepath.Ext(name) == ".md" && d.Name() != "adding.md" {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
