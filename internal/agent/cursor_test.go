package agent

import (
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

func TestCursorTorn(t *testing.T) {
	neverMoreThanRecorded(t, "cursor-agent", "cursor", func(stdout []byte, r recording) bool {
		return hasRecord(stdout, "type", "result") || filepath.Base(r.dir) == "on-stderr" || filepath.Base(r.dir) == "mirrored"
	})
}

func TestCursorFixtures(t *testing.T) {
	dir := func(name string) transcript.Transcript {
		return readRecording(t, "cursor-agent", filepath.Join("testdata", "cursor", name)).t
	}
	report, err := Normalize("cursor-agent", dir("ok"))
	wantFailure(t, err, "", 0)
	wantEvents(t, report,
		"user : Use the demo skill.",
		"assistant thinking: I should read the skill.",
		"assistant commentary: Reading the skill.",
		`call read {"path":"skills/demo/SKILL.md"}`,
		"read /runs/cursor/ws/skills/demo/SKILL.md",
		`result read "{\"success\":{\"content\":\"# Demo\",\"isEmpty\":false,\"exceededLimit\":false,\"totalLines\":1,\"totalChars\":6}}"`,
		`call shell {"command":"echo hello && cat notes.md","workingDirectory":"/runs/cursor/ws/sub","timeout":30000}`,
		"command echo hello && cat notes.md -> 0",
		"read /runs/cursor/ws/sub/notes.md",
		`result shell "{\"success\":{\"command\":\"echo hello\",\"workingDirectory\":\"sub\",\"exitCode\":0,\"signal\":\"\",\"stdout\":\"hello\\n\",\"stderr\":\"\",\"executionTime\":12}}"`,
		`call write {"path":"/runs/cursor/ws/out.txt","fileText":"x"}`,
		`result write "{\"success\":{\"path\":\"/runs/cursor/ws/out.txt\",\"linesCreated\":1,\"fileSize\":1,\"fileCreated\":true}}"`,
		"add /runs/cursor/ws/out.txt",
		`call grep {"pattern":"x","path":"src"}`,
		`result grep "{\"success\":{\"matches\":[]}}"`,
		`call shell {"command":"rm -rf /"}`,
		"command rm -rf / (error)",
		`result shell "{\"rejected\":{\"command\":\"rm -rf /\",\"reason\":\"blocked by the allowlist\"}}" (error)`,
		"denied shell: blocked by the allowlist",
		`call shell {"command":"false"}`,
		"command false -> 1",
		`result shell "{\"failure\":{\"command\":\"false\",\"exitCode\":1,\"stdout\":\"\",\"stderr\":\"\"}}" (error)`,
		"assistant final: demo ready",
	)
	if u := report.Usage; *u.InputTokens != 3900 || *u.TotalTokens != 1610 || report.SessionID != "chat-1" || report.Model != "GPT-5" {
		t.Errorf("usage %+v, session %q", u, report.SessionID)
	}
	mirrored, err := Normalize("cursor-agent", dir("mirrored"))
	wantFailure(t, err, "", 0)
	if brief(mirrored) != brief(report) {
		t.Error("what standard error repeats is counted twice")
	}
	report, err = Normalize("cursor-agent", dir("alternative"))
	wantFailure(t, err, "", 0)
	wantEvents(t, report,
		"user : Use the demo skill.",
		`call shell {"command":"cat a.md"}`, "command cat a.md -> 0", "read /runs/cursor/ws/a.md",
		`result shell "{\"success\":{\"exitCode\":0,\"stdout\":\"x\",\"stderr\":\"\"}}"`,
		`call some-tool {"x":1}`,
		`call thread {"path":"never-read.md"}`,
		`call delete {"path":"old.txt"}`, `result delete "{\"success\":{}}"`, "delete /runs/cursor/ws/old.txt",
		`call read {"path":"none.md"}`, `result read "{\"error\":{\"errorMessage\":\"File not found\"}}" (error)`,
		"assistant final: fine",
	)
	if *report.Usage.InputTokens != 10 {
		t.Errorf("usage %+v", report.Usage)
	}
	for name, kind := range map[string]string{"no-terminal-record": "runner-crash", "plan-refused": "model-rejected"} {
		_, err := Normalize("cursor-agent", dir(name))
		wantFailure(t, err, kind, map[string]int{"model-rejected": 404}[kind])
	}
	_, err = Normalize("cursor-agent", dir("not-logged-in"))
	wantFailure(t, err, "authentication", 401)
	_, err = Normalize("cursor-agent", dir("is-error"))
	wantFailure(t, err, "rate-limit", 429)
}
