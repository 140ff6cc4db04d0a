package run_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// TestOldLogIsResumed checks that a resumed run adds lines with checksums to a log of an earlier
// version.
func TestOldLogIsResumed(t *testing.T) {
	d := newDir(t)
	o := run.Input{Dir: d, Suite: suite(4), Runners: []plumb.Runner{&fake{id: "f", run: echo}}}
	if _, err := run.Suite(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(d.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`,"crc":"[0-9a-f]{8}"}\n`).ReplaceAllString(string(log), "}\n")
	lines := slices.Collect(strings.Lines(old))
	part := strings.Join(lines[:len(lines)/2], "")
	if err := os.WriteFile(d.Join(runlog.EventsFile), []byte(part), 0o600); err != nil {
		t.Fatal(err)
	}
	state, err := run.Suite(t.Context(), o)
	if err != nil || state.Totals.Passed != 4 {
		t.Fatalf("%+v, %v", state, err)
	}
	whole, err := os.ReadFile(d.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	added, ok := strings.CutPrefix(string(whole), part)
	if !ok || strings.Count(added, `,"crc":"`) != strings.Count(added, "\n") {
		t.Errorf("the log now is\n%s", whole)
	}
	if err := runlog.At(d.Path).Read(func(plumb.Event) error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestStrangeSessions reads sessions back whose texts and verdicts look like parts of a log line.
func TestStrangeSessions(t *testing.T) {
	const strange = `a text with ,"report":{"x":1}} in it`
	verdicts := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
		return []plumb.Verdict{
			{Name: "strange", Reason: strange, Details: json.RawMessage(`{"a":1,"report":{"x":{"y":2}}}`)},
		}, nil
	})
	answer := func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		r := report(strange)
		r.Prompt = strange
		switch req.CaseID {
		case "case-001":
			return r, plumb.Failuref(plumb.OriginRunner, "%s", strange)
		case "case-002":
			r.FinalOutput += strings.Repeat("x", 300<<10) // large enough for a blob
		}
		return r, nil
	}
	emitted := map[string][]plumb.Event{}
	o := run.Input{
		Dir: newDir(t), Suite: suite(3, verdicts), Workspaces: run.Workspaces{Cwd: t.TempDir()},
		Runners: []plumb.Runner{agent("a", answer)},
		Emit: func(ev plumb.Event, _ *plumb.Run) error {
			if ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged {
				emitted[ev.Case] = append(emitted[ev.Case], ev)
			}
			return nil
		},
	}
	do(t, o)
	x, err := runlog.At(o.Dir.Path).Index()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	for _, c := range o.Suite.Cases {
		var read []plumb.Event
		if err := x.Sessions(
			c.ID, "a", func(ev plumb.Event) error { read = append(read, ev); return nil },
		); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(read)
		want, _ := json.Marshal(emitted[c.ID])
		if diff := cmp.Diff(string(want), string(got)); diff != "" || len(read) != 2 || read[0].Report == nil {
			t.Errorf("%s: %s", c.ID, diff)
		}
	}
}
