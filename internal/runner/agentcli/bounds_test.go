package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestFullEvents: of the events of a long session those stay that say what was done, and what did not happen is removed.
func TestFullEvents(t *testing.T) {
	r := newRecorder(&Format{Name: "claude-code"}, &Transcript{Cwd: "/ws"})
	for i := range fullEvents {
		r.fileChange(origin{call: fmt.Sprint("early", i)}, changeAdd, fmt.Sprint("out", i))
	}
	shell := func(id, command, output string) {
		o := origin{call: id}
		r.toolCall(o, "Bash", json.RawMessage(`{"command":"x"}`))
		r.command(o, command)
		r.toolResult(o, output, false)
		r.exit(id, 0)
	}
	shell("a", "cat a.txt", "hello")
	shell("b", "cat b.txt", "cat: b.txt: "+noSuchFile)
	r.toolCall(origin{call: "late"}, "Bash", json.RawMessage(`{"command":"x"}`)) // the result comes first
	r.toolResult(origin{call: "late"}, "cat: z.txt: "+noSuchFile, false)
	r.command(origin{call: "late"}, "cat y.txt z.txt")
	r.toolCall(origin{call: "c"}, "Read", json.RawMessage(`{"file_path":"c.txt"}`))
	r.fileRead(origin{call: "c"}, "c.txt")
	r.toolResult(origin{call: "c"}, "it is a directory", true)
	r.toolCall(origin{call: "d"}, "Read", json.RawMessage(`{"file_path":"d/SKILL.md"}`))
	r.fileRead(origin{call: "d"}, "d/SKILL.md")
	r.toolResult(origin{call: "d"}, "text", false)
	r.message(origin{}, roleAssistant, phaseFinal, "ok")
	r.finished("", false)
	r.finish(&Transcript{})

	var got []string
	for _, e := range r.report.Events[fullEvents:] {
		got = append(got, string(e.Type)+" "+e.Tool+e.Command+e.Path)
	}
	want := []string{
		"command cat a.txt", "fileRead /ws/a.txt", "command cat b.txt", "command cat y.txt z.txt", "fileRead /ws/y.txt",
		"toolCall Read", "toolCall Read", "fileRead /ws/d/SKILL.md",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if reads := r.report.Files.ObservedReads; !slices.Equal(reads, []string{"/ws/a.txt", "/ws/y.txt", "/ws/d/SKILL.md"}) {
		t.Errorf("reads %q", reads)
	}
	if skills := r.report.DetectedSkills; len(skills) != 1 || skills[0].Skill != "d" || skills[0].Confidence != "strong" {
		t.Errorf("skills %v", skills)
	}
	if !slices.Equal(r.report.Incomplete, []string{"toolCall", "toolResult", "message"}) {
		t.Errorf("incomplete: %q", r.report.Incomplete)
	}
	if r.report.FinalOutput != "ok" || len(r.report.Notes) != 1 {
		t.Errorf("final output %q, notes %q", r.report.FinalOutput, r.report.Notes)
	}
}

// TestTooManyEvents: a session with more events than a report can have is not a measurement, and few of them are kept.
func TestTooManyEvents(t *testing.T) {
	r := newRecorder(&Format{Name: "codex"}, &Transcript{})
	for i := range maxEvents + 1 {
		r.commandOnly(origin{call: fmt.Sprint(i)}, "ls")
	}
	r.finished("", false)
	r.finish(&Transcript{})
	var f *plumb.Failure
	if !errors.As(r.verdict(&Transcript{}), &f) || f.Origin != plumb.OriginNormalization || len(r.report.Events) != keptAnyway {
		t.Errorf("failure %v with %d events", f, len(r.report.Events))
	}
}
