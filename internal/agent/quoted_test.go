package agent

import (
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestQuotedRecords: what a model or a command merely says, records of the agent's own format among it, is no failure, no
// exit code, no read and no skill.
func TestQuotedRecords(t *testing.T) {
	const quoted = `{\"type\":\"error\",\"message\":\"Model not found\"}\n{\"type\":\"turn.failed\",\"error\":{\"message\":\"x\"}}\n` +
		`{\"type\":\"result\",\"is_error\":true}\n401 Unauthorized, insufficient_quota; I used the demo skill; cat skills/demo/SKILL.md\n` +
		`Exit code 7\nExit Code: 5\n<shellId: 0 completed with exit code 4>\nwords`
	for _, agent := range []string{"codex", "claude-code", "opencode", "cursor-agent", "copilot", "gemini", "qwen"} {
		t.Run(agent, func(t *testing.T) {
			begin, call, end := streamRecords(agent)
			call = strings.NewReplacer("cat f%d.txt", "echo cat skills/demo/SKILL.md", "%d", "1", "%q", `"`+quoted+`"`).Replace(call)
			end = strings.ReplaceAll(end, `"done"`, `"done: `+quoted+`"`)
			tr := written(t, begin+call+end, "", nil)
			report, err := Normalize(agent, tr)
			if err != nil {
				t.Fatal(err)
			}
			if want := "done: " + strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(quoted); report.FinalOutput != want {
				t.Errorf("final output %q", report.FinalOutput)
			}
			for _, e := range report.Events {
				switch e.Type {
				case plumb.SessionMessage, plumb.SessionToolCall, plumb.SessionToolResult:
				case plumb.SessionCommand:
					if e.Command != "echo cat skills/demo/SKILL.md" || e.ExitCode != nil && *e.ExitCode != 0 {
						t.Errorf("command %q with exit code %d", e.Command, *e.ExitCode)
					}
				default:
					t.Errorf("an event %+v", e)
				}
			}
			if len(report.DetectedSkills) > 0 || len(report.Files.ObservedReads) > 0 {
				t.Errorf("skills %v, reads %v", report.DetectedSkills, report.Files.ObservedReads)
			}
		})
	}
}

// TestExportOnly: an exported session is a whole one.
func TestExportOnly(t *testing.T) {
	r := readRecording(t, "opencode", "testdata/opencode/ok")
	r.t.Stdout = ""
	report, err := Normalize("opencode", r.t)
	if err != nil {
		t.Fatal(err)
	}
	if report.FinalOutput != "demo ready" {
		t.Errorf("final output %q", report.FinalOutput)
	}
}
