package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb/internal/files"
)

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a", true},
		{"/a", "/a", true},
		{"/a/", "/a", true},
		{"/ab", "/a", false},
		{"/a/..b", "/a", true},
		{"/a/../b", "/a", false},
		{"/", "/a", false},
		{"/a", "/", true},
		{"", "/a", false},
	} {
		if got := files.Within(filepath.FromSlash(test.path), filepath.FromSlash(test.dir)); got != test.want {
			t.Errorf("Within(%q, %q) is %v", test.path, test.dir, got)
		}
	}
}

func TestRemoveAll(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	inner := filepath.Join(root, "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(inner, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := files.RemoveAll(root); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("the directory is still there")
	}
}
