package script_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/script"
)

// TestBuildErrors compares what Build says about broken modules, all of it, with what it should.
func TestBuildErrors(t *testing.T) {
	a, err := txtar.ParseFile("testdata/broken.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := unpack(t, "testdata/broken.txtar")
	var got strings.Builder
	var seen []string
	for _, f := range a.Files {
		name, _, _ := strings.Cut(f.Name, "/")
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		fmt.Fprintf(&got, "== %s\n", name)
		_, err := script.Build(script.BuildOptions{
			Entry:   filepath.Join(dir, name, "main.ts"),
			Modules: map[string]bool{"plumb": true},
		})
		e, ok := errors.AsType[*script.BuildError](err)
		if !ok {
			fmt.Fprintf(&got, "%v\n", err)
			continue
		}
		for _, m := range e.Messages {
			fmt.Fprintf(&got, "%s: %s\n", m.Position, m.Text)
			if m.Source != "" {
				fmt.Fprintf(&got, "    | %s\n", m.Source)
			}
			if m.Hint != "" {
				fmt.Fprintf(&got, "    hint: %s\n", m.Hint)
			}
		}
	}
	text := strings.ReplaceAll(got.String(), dir, "DIR")
	golden.Equal(t, "testdata/broken.golden", text)
}
