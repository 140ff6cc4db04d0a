package runlog_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// made creates the directories of runs, with these ids.
func made(t *testing.T, ids ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, id := range ids {
		if err := os.Mkdir(filepath.Join(root, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := runlog.WriteFile(filepath.Join(root, id, runlog.SpecFile), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind(t *testing.T) {
	root := made(t, "20261120-a", "20261120-b", "20261120-c", "20261120-d", "20261120-e", "20261121-aa", "20261122-a")
	if err := os.Mkdir(filepath.Join(root, "20261123-no-run"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, want, message, hint string }{
		{"last", "20261122-a", "", ""},
		{"20261121", "20261121-aa", "", ""},
		{"aa", "20261121-aa", "", ""},
		{"2-a", "20261122-a", "", ""},
		{"20261120-a", "20261120-a", "", ""}, // it also ends another id
		{"", "", "the name of the run is empty", "name a run, or write last; plumb runs lists the runs"},
		{"2026113-aa", "", `no run "2026113-aa" in ` + root, "did you mean 20261121-aa? list the runs with: plumb runs"},
		{"x", "", `no run "x" in ` + root, "list the runs with: plumb runs"},
		{
			"0-", "", `no run "0-" in ` + root, "list the runs with: plumb runs",
		},
		{
			"-a", "", `run "-a" is ambiguous: 20261120-a, 20261122-a`,
			"give more of the id, from its beginning or its end; list the runs with: plumb runs",
		},
		{
			"20261120", "", `run "20261120" is ambiguous: 20261120-a, 20261120-b, 20261120-c, 20261120-d and 1 more`,
			"give more of the id, from its beginning or its end; list the runs with: plumb runs",
		},
	} {
		path, err := runlog.Find(root, test.name)
		message, want := "", ""
		if err != nil {
			message = err.Error()
		}
		if test.want != "" {
			want = filepath.Join(root, test.want)
		}
		if path != want || message != test.message || plumb.Hint(err) != test.hint {
			t.Errorf("%q: got %q, %q, %q", test.name, path, message, plumb.Hint(err))
		}
	}
	four := made(t, "2-a", "2-b", "2-c", "2-d")
	if _, err := runlog.Find(four, "2"); err == nil || err.Error() != `run "2" is ambiguous: 2-a, 2-b, 2-c, 2-d` {
		t.Errorf("got %v", err)
	}
	for _, root := range []string{t.TempDir(), filepath.Join(t.TempDir(), "not there")} {
		_, err := runlog.Find(root, "last")
		if err == nil || err.Error() != "no runs in "+root || plumb.Hint(err) != "start a run with: plumb run" {
			t.Errorf("got %v", err)
		}
	}
	file := filepath.Join(root, "20261120-a", runlog.SpecFile)
	if _, err := runlog.Find(file, "last"); err == nil || !strings.HasPrefix(err.Error(), "list runs: ") {
		t.Errorf("runs in a file: %v", err)
	}
}

// TestOnlyOneProcessOwnsARun checks that a run in use can be neither opened nor deleted, and that
// both can be done afterwards.
func TestOnlyOneProcessOwnsARun(t *testing.T) {
	root := t.TempDir()
	d, err := runlog.Create(filepath.Join(root, "a", "b"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runlog.Open(d.Path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened a run without a spec: %v", err)
	}
	spec := map[string]string{"suite": "x"}
	if err := d.WriteSpec(spec); err != nil {
		t.Fatal(err)
	}
	if err := runlog.Delete(d.Path); !errors.Is(err, runlog.ErrLocked) || plumb.Hint(err) == "" {
		t.Errorf("deleted a run in use: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if runlog.Locked(d.Path) || runlog.Locked(root) {
		t.Error("it is seen as locked")
	}
	var got map[string]string
	if err := runlog.ReadSpec(d.Path, &got); err != nil || !cmp.Equal(got, spec) {
		t.Errorf("the spec is %v, %v", got, err)
	}
	again, err := runlog.Open(d.Path)
	if err != nil || again.ID != d.ID || again.Path != d.Path || !runlog.Locked(d.Path) {
		t.Fatalf("opened %+v, %v", again, err)
	}
	if err := again.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := runlog.Delete(d.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted a run that is gone: %v", err)
	}
	if err := runlog.ReadSpec(d.Path, &got); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read a spec that is gone: %v", err)
	}
	other, err := runlog.Create(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.WriteSpec(spec), other.Close(), runlog.Delete(other.Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a deleted run: %v", err)
	}
	if err := other.WriteSpec(func() {}); err == nil {
		t.Error("wrote a spec that is not data")
	}
}

// TestBrokenSpec reads a run.json that is not what it should be.
func TestBrokenSpec(t *testing.T) {
	d := written(t, t.TempDir(), 1, 1, "f")
	for _, text := range []string{`{"suite":`, `{"suite":1}`} {
		if err := runlog.WriteFile(d.Join(runlog.SpecFile), []byte(text)); err != nil {
			t.Fatal(err)
		}
		var spec struct {
			Suite string `json:"suite"`
		}
		if err := runlog.ReadSpec(d.Path, &spec); err == nil || !strings.HasPrefix(err.Error(), "read run.json: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestClean deletes what killed processes leave, and nothing else.
func TestClean(t *testing.T) {
	d := written(t, t.TempDir(), 1, 1, "f")
	for _, dir := range []string{runlog.BlobsDir, runlog.BundleDir, ".dir-1"} {
		if err := os.Mkdir(d.Join(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left := []string{".results.json-1234", ".report.html-12.html", "blobs/.session-77", "bundle/.suite-1"}
	kept := []string{"results.json", ".hidden", ".x-1.json", "report-1", "blobs/0123-4", ".dir-1/.x-1"}
	for _, name := range append(left, kept...) {
		if err := os.WriteFile(d.Join(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Clean(); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if _, err := os.Stat(d.Join(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	for _, name := range kept {
		if _, err := os.Stat(d.Join(name)); err != nil {
			t.Error(err)
		}
	}
	if err := os.RemoveAll(d.Join(runlog.BlobsDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Join(runlog.BlobsDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Clean(); err == nil || !strings.HasPrefix(err.Error(), "clean up the run directory: ") {
		t.Errorf("a file in place of a directory: %v", err)
	}
}

// TestFilesAreWrittenWhole checks that a write that breaks off leaves the old file.
func TestFilesAreWrittenWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := runlog.WriteFile(name, []byte("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	err := runlog.WriteTo(name, func(w io.Writer) error {
		_, _ = w.Write([]byte("ne"))
		return full
	})
	if text, _ := os.ReadFile(name); !errors.Is(err, full) || string(text) != "old" {
		t.Errorf("the file has %q; error %v", text, err)
	}
}
