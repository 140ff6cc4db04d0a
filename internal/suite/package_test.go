package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plumb-eval/plumb/internal/doc"
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

// compiled returns a published schema, ready to use.
func compiled(tb testing.TB, text string) *jsonschema.Schema {
	tb.Helper()
	v, problem := doc.ParseJSON("schema", []byte(text))
	if problem != nil || len(v.Duplicates()) > 0 {
		tb.Fatalf("schema: %v, %v", problem, v.Duplicates())
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", document); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		tb.Fatal(err)
	}
	return s
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
