package run

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestStream: a session that is written event by event becomes the same file as one that is written as a whole.
func TestStream(t *testing.T) {
	report := &plumb.SessionReport{Prompt: `says "events":[] and KEY`, FinalOutput: "ok"}
	for i := range 3 {
		report.Events = append(report.Events, plumb.SessionEvent{Type: plumb.SessionCommand, Command: fmt.Sprint("echo ", i), Args: []byte(`{"a":"<&>"}`)})
	}
	report.Events[1].Output = "the KEY it is"
	l := &log{blobs: filepath.Join(t.TempDir(), BlobsDir)}
	data, err := marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.blob(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(l.blobs); err != nil {
		t.Fatal(err)
	}
	name, err := l.stream(report)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(l.blobs, name))
	if err != nil || name != want {
		t.Errorf("name %s, want %s; error %v\n%s%s", name, want, err, got, data)
	}
	if files, _ := os.ReadDir(l.blobs); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}
