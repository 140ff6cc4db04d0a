package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestStream: a session that is written event by event becomes the same file as one that is written as a whole, and secrets
// are removed from it and from what the run goes on with, but not from what the runner gave.
func TestStream(t *testing.T) {
	report := &plumb.SessionReport{Prompt: `says "events":[] and <KEY>`, FinalOutput: "ok"}
	for i := range 3 {
		report.Events = append(report.Events, plumb.SessionEvent{Type: plumb.SessionCommand, Command: fmt.Sprint("echo ", i), Args: []byte(`{"a":"<&>"}`)})
	}
	report.Events[1].Output = "the <KEY> it is"
	redact := func(b []byte) []byte {
		if bytes.Contains(b, []byte("<KEY>")) {
			return bytes.ReplaceAll(b, []byte("<KEY>"), []byte("[REDACTED]"))
		}
		return b
	}
	l := &log{blobs: filepath.Join(t.TempDir(), BlobsDir), redact: redact}
	data, err := marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.blob(redact(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(l.blobs); err != nil {
		t.Fatal(err)
	}
	recorded := *report
	name, err := l.stream(&recorded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(l.blobs, name))
	if err != nil || name != want {
		t.Errorf("name %s, want %s; error %v\n%s%s", name, want, err, got, redact(data))
	}
	if files, _ := os.ReadDir(l.blobs); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if strings.Contains(recorded.Prompt+recorded.Events[1].Output, "<KEY>") || recorded.Events[2].Command != "echo 2" {
		t.Errorf("the secret is still there: %+v", recorded)
	}
	if !strings.Contains(report.Events[1].Output, "<KEY>") {
		t.Error("what the runner gave was changed")
	}
}
