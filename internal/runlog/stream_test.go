package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/encode"
)

// TestStreamedSession checks that a session of very many events, which is never encoded as a whole
// in memory, becomes the same file as one that is.
func TestStreamedSession(t *testing.T) {
	report := &plumb.SessionReport{Prompt: `says "events":[] and KEY`, FinalOutput: "ok"}
	for i := range streamedEvents + 1 {
		report.Events = append(report.Events, plumb.SessionEvent{
			Type: plumb.SessionCommand, Command: fmt.Sprint("echo ", i), Args: []byte(`{"a":"<&>"}`),
		})
	}
	data, err := new(encode.Encoder).Append(nil, report)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	l := &Writer{blobs: filepath.Join(t.TempDir(), BlobsDir)}
	line, err := l.encode(nil, &plumb.Event{Type: plumb.EventSessionFinished, Report: report})
	if err != nil {
		t.Fatal(err)
	}
	var ev plumb.Event
	if err := json.Unmarshal(line, &ev); err != nil || ev.Report != nil {
		t.Fatalf("the line is %s, error %v", line, err)
	}
	name := ev.Blob
	got, err := os.ReadFile(filepath.Join(l.blobs, name))
	if sum := sha256.Sum256(data); err != nil || string(got) != string(data) || name != hex.EncodeToString(sum[:]) {
		t.Errorf("the blob %s has %d bytes, want %d; error %v", name, len(got), len(data), err)
	}
	if files, _ := os.ReadDir(l.blobs); len(files) != 1 {
		t.Errorf("%d files are left, want 1", len(files))
	}
}
