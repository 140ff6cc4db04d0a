package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// parsed reads a config in a text.
func parsed(file string, data []byte) (*Config, doc.Problems) {
	tree, problems, ok := parse(file, data)
	if !ok {
		return nil, problems
	}
	c, found := fromValue(file, tree, false)
	return c, append(problems, found...).Sorted()
}
