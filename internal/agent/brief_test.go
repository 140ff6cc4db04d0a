package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
)

// brief writes the events of a report as lines, for tests to compare.
func brief(r *plumb.SessionReport) string {
	if r == nil {
		return "no report\n"
	}
	var b strings.Builder
	for _, e := range r.Events {
		if e.Subagent != "" {
			fmt.Fprintf(&b, "(%s) ", e.Subagent)
		}
		switch e.Type {
		case plumb.SessionMessage:
			fmt.Fprintf(&b, "%s %s: %s", e.Role, e.Phase, e.Text)
		case plumb.SessionToolCall:
			fmt.Fprintf(&b, "call %s %s", e.Tool, e.Args)
		case plumb.SessionToolResult:
			fmt.Fprintf(&b, "result %s %q", e.Tool, e.Output)
		case plumb.SessionCommand:
			fmt.Fprintf(&b, "command %s", e.Command)
			if e.ExitCode != nil {
				fmt.Fprintf(&b, " -> %d", *e.ExitCode)
			}
		case plumb.SessionFileRead:
			fmt.Fprintf(&b, "read %s", e.Path)
		case plumb.SessionFileChange:
			fmt.Fprintf(&b, "%s %s", e.Change, e.Path)
		case plumb.SessionSkill:
			fmt.Fprintf(&b, "skill %s %s", e.Skill, e.Signal)
		case plumb.SessionDenial:
			fmt.Fprintf(&b, "denied %s: %s", e.Tool, e.Text)
		}
		if e.IsError {
			b.WriteString(" (error)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lines joins records to a transcript.
func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }

// wantEvents compares what the events of a report are about.
func wantEvents(t *testing.T, r *plumb.SessionReport, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", brief(r)); diff != "" {
		t.Errorf("events: -want +got:\n%s", diff)
	}
}

// wantFailure checks what kind of failure an error is. A nil error has the kind "".
func wantFailure(t *testing.T, err error, kind string, status int) {
	t.Helper()
	f, ok := errors.AsType[*plumb.Failure](err)
	if !ok {
		if err != nil || kind != "" {
			t.Errorf("error %v, want %q", err, kind)
		}
		return
	}
	if f.Class.ID != kind || f.HTTPStatus != status || f.Message == "" {
		t.Errorf("failure %q (%s, status %d), want %q, %d", f.Class.ID, f.Message, f.HTTPStatus, kind, status)
	}
}

func specOf(tb testing.TB, agent string) *spec.Spec {
	tb.Helper()
	spec, err := Find(agent)
	if err != nil {
		tb.Fatal(err)
	}
	return &spec
}
