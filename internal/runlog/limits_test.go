package runlog_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// closed is a log in memory.
type closed struct{ *bytes.Reader }

func (closed) Close() error { return nil }

// inMemory returns a log that is kept in memory.
func inMemory(text string, limits runlog.Limits) *runlog.Log {
	return &runlog.Log{
		Name:   "memory",
		Open:   func() (runlog.Lines, error) { return closed{bytes.NewReader([]byte(text))}, nil },
		Blob:   func(string) ([]byte, error) { return nil, os.ErrNotExist },
		Limits: limits,
	}
}

// TestLimits reads a log from elsewhere at each limit, and one step beyond it.
func TestLimits(t *testing.T) {
	d := written(t, t.TempDir(), 3, 1, "f")
	data, err := os.ReadFile(d.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	log := string(data)
	longest, deepest := 0, 1
	for line := range strings.Lines(log) {
		longest = max(longest, len(line))
	}
	for ; read(inMemory(log, runlog.Limits{Depth: deepest})) != nil; deepest++ {
		if deepest > 100 {
			t.Fatal("the log has no depth")
		}
	}
	exact := runlog.Limits{LineBytes: longest, Bytes: int64(len(log)), Depth: deepest, Strict: true}
	if err := read(inMemory(log, exact)); err != nil {
		t.Fatalf("a log within its limits: %v", err)
	}
	line := func(text string) string { return `{"type":"note","note":` + text + "}\n" }
	for _, test := range []struct {
		name, log string
		change    func(*runlog.Limits)
		want      string
	}{
		{"a long line", log, func(l *runlog.Limits) { l.LineBytes = longest - 2 }, "is longer than"},
		{"a long log", log, func(l *runlog.Limits) { l.Bytes-- }, "has more than"},
		{"a long log without an end", strings.TrimSuffix(log, "\n") + "x", func(*runlog.Limits) {}, ""},
		{"a log that goes on after the limit", log + "x", func(*runlog.Limits) {}, "has more than"},
		{"deep values", log, func(l *runlog.Limits) { l.Depth-- }, "nested deeper"},
		{"an empty line", "\n" + log, func(l *runlog.Limits) { l.Bytes++ }, "line 1: the log is damaged: this line has no"},
		{"a second empty line", strings.SplitAfterN(log, "\n", 2)[0] + "\n", func(*runlog.Limits) {}, "line 2: the log is damaged"},
		{"only a checksum", `,"crc":"00000001"}` + "\n", func(*runlog.Limits) {}, "line 1: the log is damaged: the checksum"},
		{"no checksum", line(`{"text":"x"}`), func(*runlog.Limits) {}, "has no checksum"},
	} {
		limits := exact
		test.change(&limits)
		err := read(inMemory(test.log, limits))
		if got := err == nil; got != (test.want == "") || !got && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	for name, text := range map[string]string{
		"a key twice": line(`{"text":"x","text":"y"}`), "text that is not UTF-8": line("{\"text\":\"\xff\"}"),
		"braces in texts": line(`{"text":"[[[[[[[[[[{{{{\"[[[["}`), "values side by side": line(`{"text":"x","a":[[],[],[]]}`),
	} {
		refused := name == "a key twice" || name == "text that is not UTF-8"
		if err := read(inMemory(text, runlog.Limits{Depth: 4})); err != nil {
			t.Errorf("%s, of this program: %v", name, err)
		}
		sealed := runlog.Sealed(text)
		if err := read(inMemory(sealed, runlog.Limits{Depth: 4, Strict: true})); (err != nil) != refused {
			t.Errorf("%s, from elsewhere: %v", name, err)
		}
	}
}

func read(l *runlog.Log) error { return l.Read(func(plumb.Event) error { return nil }) }
