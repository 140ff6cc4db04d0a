package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/config"
)

// TestCommandsAreComplete checks that README.md has each command, and that a script runs it and
// each flag of plumb run.
func TestCommandsAreComplete(t *testing.T) {
	readme, err := os.ReadFile(filepath.FromSlash("../../README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.FromSlash("testdata/script/*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var scripts strings.Builder
	for _, file := range files {
		if filepath.Base(file) == "help.txtar" {
			continue // it has all commands and flags, and runs none
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(text)
	}
	for _, c := range commands() {
		made := c.make(&app{})
		if name := made.Name(); name != c.name {
			t.Errorf("plumb %s is in the list of commands as %s", name, c.name)
		}
		if strings.Contains(string(readme), "`plumb "+c.name) == made.Hidden {
			t.Errorf("plumb %s: the table of commands in README.md has the commands that are not hidden", c.name)
		}
		if !regexp.MustCompile(`(?m)^[^#\n]*plumb ` + c.name + `( |$)`).MatchString(scripts.String()) {
			t.Errorf("no script in internal/cli/testdata/script runs plumb %s", c.name)
		}
	}
	for _, s := range new(config.Settings).List() {
		used := regexp.MustCompile(`--` + s.Flag + `[ =\n]`).MatchString(scripts.String())
		if s.Short != "" {
			used = used || strings.Contains(scripts.String(), " -"+s.Short+" ")
		}
		if s.Flag != "" && !used {
			t.Errorf("no script in internal/cli/testdata/script uses --%s", s.Flag)
		}
	}
}
