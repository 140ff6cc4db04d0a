package suite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// listing renders all of the problems, one a line.
func listing(problems []doc.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func write(tb testing.TB, file, text string) string {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	return file
}

// line returns a valid case with one member replaced or added.
func line(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "category": "coding", "input": "hi", "ideal": "x", "assertion": {"type": "contains"}%s}`, id, more)
}

// load makes a suite of JSON lines without any problem.
func load(t *testing.T, text string) *plumb.Suite {
	t.Helper()
	suite, warnings, err := NewBundle("name", "a.jsonl", []byte(text)).Suite(t.Context(), lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return suite
}

// checkPositions fails unless every problem has a place within the file, or right behind it.
func checkPositions(t *testing.T, data []byte, problems []doc.Problem) {
	t.Helper()
	lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
	for _, p := range problems {
		if p.Pos.Line < 1 || p.Pos.Line > lines || p.Pos.Column < 1 || p.Message == "" {
			t.Errorf("%d lines, but a problem at %v", lines, p)
		}
	}
}
