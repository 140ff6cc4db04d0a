package doc_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/doc"
)

func write(path, text string) error {
	return doc.Write(path, func(f *doc.File) error {
		_, err := f.Write([]byte(text))
		return err
	})
}

// TestWrite checks that a file is replaced atomically, also behind a link, and that an open file of
// a process is written directly.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err)
	}
	before, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if err := write(link, "new"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	info, statErr := os.Lstat(link)
	if err != nil || string(text) != "new" || statErr != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q, %v, %v", text, err, statErr)
	}
	was := make([]byte, 3)
	if _, err := before.Read(was); err != nil || string(was) != "old" {
		t.Errorf("the file was changed in place: %q, %v", was, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestWriteBelowDev checks that a directory below /dev, such as the memory file system of Linux, is
// treated like any other.
func TestWriteBelowDev(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/shm is there on Linux only")
	}
	file, err := os.CreateTemp("/dev/shm", "plumb-test-")
	if err != nil {
		t.Skip(err)
	}
	file.Close()
	defer os.Remove(file.Name())
	if err := write(file.Name(), "text"); err != nil {
		t.Error(err)
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := doc.Read(path, 100); err != nil || len(data) != 100 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := doc.Read(path, 99); err == nil {
		t.Error("a file above the bound was read")
	}
	if _, err := doc.Read(filepath.Dir(path), 100); err == nil {
		t.Error("a directory was read")
	}
}
