// Package golden compares what tests produce with files in testdata. UPDATE=1 rewrites the files.
package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal fails the test unless got is the text of file. Line ends do not count, because Git may
// change them. With UPDATE=1 it writes file first, with its folder.
func Equal(tb testing.TB, file, got string) {
	tb.Helper()
	got = lines(got)
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(lines(string(want)), got); diff != "" {
		tb.Errorf("%s (-want +got), UPDATE=1 rewrites it:\n%s", file, diff)
	}
}

// Updating reports whether tests rewrite their files.
func Updating() bool { return os.Getenv("UPDATE") == "1" }

func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
