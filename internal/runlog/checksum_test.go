package runlog_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/runlog"
)

// TestDamagedLog damages a log in every way that a disk or an edit can. Each damage must be an
// error that names a line.
func TestDamagedLog(t *testing.T) {
	d := written(t, t.TempDir(), 4, 1, "f")
	log, err := os.ReadFile(d.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(log)))
	read := func(text string) error { return read(inMemory(text, runlog.Limits{})) }
	if err := read(string(log)); err != nil {
		t.Fatal(err)
	}
	damaged := func(what, text string) {
		t.Helper()
		if err := read(text); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range lines[:len(lines)-1] {
		before, after := strings.Join(lines[:i], ""), strings.Join(lines[i+1:], "")
		damaged(fmt.Sprintf("line %d is missing", i+1), before+after)
		damaged(fmt.Sprintf("line %d is doubled", i+1), before+lines[i]+lines[i]+after)
		damaged(
			fmt.Sprintf("line %d has changed places", i+1),
			strings.Join(lines[:i], "")+lines[i+1]+lines[i]+strings.Join(lines[i+2:], ""),
		)
		for at := 0; at < len(lines[i])-1; at += 11 {
			b := []byte(lines[i])
			b[at] ^= 1 << (at % 7)
			if b[at] != '\n' {
				damaged(fmt.Sprintf("byte %d of line %d is flipped", at, i+1), before+string(b)+after)
			}
		}
	}
	for at := len(log) - len(lines[len(lines)-1]); at < len(log); at++ {
		if err := read(string(log[:at])); err != nil {
			t.Errorf("a log that was torn at byte %d of its last line: %v", at, err)
		}
	}
	old := regexp.MustCompile(`,"crc":"[0-9a-f]{8}"}\n`).ReplaceAllString(string(log), "}\n")
	if strings.Contains(old, `"crc"`) || old == string(log) {
		t.Fatal("the log does not look as this test thinks")
	}
	if err := read(old); err != nil {
		t.Errorf("a log of an earlier version: %v", err)
	}
}
