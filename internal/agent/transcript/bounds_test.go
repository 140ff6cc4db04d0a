package transcript

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestFullEvents: of the events of a long session those stay that say what was done, and what did
// not happen is removed.
func TestFullEvents(t *testing.T) {
	r := NewRecorder(&Format{Name: "claude-code"}, &Transcript{Cwd: "/ws"})
	for i := range fullEvents {
		r.FileChange(Origin{Call: fmt.Sprint("early", i)}, ChangeAdd, fmt.Sprint("out", i))
	}
	shell := func(id, command, output string) {
		o := Origin{Call: id}
		r.ToolCall(o, "Bash", `{"command":"x"}`)
		r.Command(o, command)
		r.ToolResult(o, output, false)
		r.Exit(id, 0)
	}
	shell("a", "cat a.txt", "hello")
	shell("b", "cat b.txt", "cat: b.txt: "+noSuchFile)
	r.ToolCall(Origin{Call: "late"}, "Bash", `{"command":"x"}`) // the result comes first
	r.ToolResult(Origin{Call: "late"}, "hello\ncat: z.txt: "+noSuchFile, false)
	r.Command(Origin{Call: "late"}, "cat y.txt z.txt")
	r.ToolCall(Origin{Call: "c"}, "Read", `{"file_path":"c.txt"}`)
	r.FileRead(Origin{Call: "c"}, "c.txt")
	r.ToolResult(Origin{Call: "c"}, "it is a directory", true)
	r.ToolCall(Origin{Call: "d"}, "Read", `{"file_path":"d/SKILL.md"}`)
	r.FileRead(Origin{Call: "d"}, "d/SKILL.md")
	r.ToolResult(Origin{Call: "d"}, "text", false)
	r.Message(Origin{}, RoleAssistant, PhaseFinal, "ok")
	r.Finished("", false)
	r.finish()

	var got []string
	for _, e := range r.Report.Events[fullEvents:] {
		got = append(got, string(e.Type)+" "+e.Tool+e.Command+e.Path)
	}
	want := []string{
		"command cat a.txt", "command cat b.txt", "command cat y.txt z.txt", "toolCall Read", "toolCall Read",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if reads := r.Report.Files.ObservedReads; !slices.Equal(reads,
		[]string{"/ws/a.txt", "/ws/y.txt", "/ws/d/SKILL.md"}) {
		t.Errorf("reads %q", reads)
	}
	if skills := r.Report.DetectedSkills; len(skills) != 1 || skills[0].Skill != "d" ||
		skills[0].Confidence != "strong" {
		t.Errorf("skills %v", skills)
	}
	if !slices.Equal(r.Report.Incomplete, []string{"toolCall", "fileRead", "toolResult", "message"}) {
		t.Errorf("incomplete: %q", r.Report.Incomplete)
	}
	if r.Report.FinalOutput != "ok" || len(r.Report.Notes) != 1 {
		t.Errorf("final output %q, notes %q", r.Report.FinalOutput, r.Report.Notes)
	}
}

// TestTooManyEvents: a session with more events than a report can have is not a measurement, and
// few of them are kept.
func TestTooManyEvents(t *testing.T) {
	r := NewRecorder(&Format{Name: "codex"}, &Transcript{})
	for i := range maxEvents + 1 {
		r.CommandOnly(Origin{Call: fmt.Sprint(i)}, "ls")
	}
	r.Finished("", false)
	r.finish()
	var f *plumb.Failure
	if !errors.As(r.verdict(), &f) || f.Origin != plumb.OriginNormalization || len(r.Report.Events) != keptAnyway {
		t.Errorf("failure %v with %d events", f, len(r.Report.Events))
	}
}
