package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func TestCopilotTorn(t *testing.T) {
	neverMoreThanRecorded(t, "copilot", "copilot", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "result") })
}

func TestCopilotVector(t *testing.T) {
	for _, v := range vectors(t).Normalize {
		if v.AgentType != "copilot" {
			continue
		}
		var raw struct{ Records, TelemetryRecords []json.RawMessage }
		if err := json.Unmarshal(v.Input.RawSession, &raw); err != nil {
			t.Fatal(err)
		}
		lines := func(records []json.RawMessage) string {
			var b strings.Builder
			for _, r := range records {
				compact, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				b.Write(append(compact, '\n'))
			}
			return b.String()
		}
		tr := written(t, lines(raw.Records), "", map[string]string{"copilot-otel.jsonl": lines(raw.TelemetryRecords)})
		tr.Cwd, tr.Prompt = v.Input.Cwd, v.Input.Prompt
		report, err := Normalize("copilot", tr)
		if err != nil {
			t.Fatal(err)
		}
		want := v.Expected
		events := want["events"].([]any)
		for _, e := range events {
			delete(e.(map[string]any), "at") // "T0" is no time
		}
		// The result is what the model saw, not what was made for the terminal.
		events[4].(map[string]any)["output"] = "c"
		// A command that ran once is one command.
		want["events"] = append(events[:5:5], events[6:]...)
		if diff := cmp.Diff(want["sessionId"], any(report.SessionID)); diff != "" {
			t.Error(diff)
		}
		delete(want, "sessionId")
		if diff := cmp.Diff(want, documented(t, report)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// copilotLine is a record with an id.
func copilotLine(id, kind, data string) string {
	return fmt.Sprintf(`{"type":%q,"data":%s,"id":%q,"timestamp":"2026-11-20T08:35:18.902Z"}`+"\n", kind, data, id)
}

const copilotEnd = `{"type":"result","sessionId":"s","exitCode":0}` + "\n"

// TestCopilotEnd: exit code 0 is not enough.
func TestCopilotEnd(t *testing.T) {
	said := copilotLine("1", "assistant.message", `{"content":"done","toolRequests":[]}`)
	asks := copilotLine("2", "assistant.message", `{"content":"","toolRequests":[{"name":"bash"}]}`)
	failure := func(data string) string { return copilotLine("3", "session.error", data) }
	for _, c := range []struct{ name, stdout, class, begins string }{
		{"an answer", said + copilotEnd, "", ""},
		{"no terminal record", said, "runner-crash", "copilot ended without a terminal record"},
		{"in the middle", said + asks + copilotEnd, "runner-crash", "copilot ended in the middle"},
		{"no message", copilotEnd, "runner-crash", "copilot ended without an answer"},
		{"a subagent's message only", strings.Replace(said, `"data"`, `"agentId":"a","data"`, 1) + copilotEnd, "runner-crash", "copilot ended without an answer"},
		{"interrupted", said + copilotLine("4", "abort", `{"reason":"user_initiated"}`) + copilotEnd, "runner-crash", "abort: user_initiated"},
		{"quota", failure(`{"errorType":"quota","message":"No more.","statusCode":402}`) + copilotEnd, "quota", "No more."},
		{"rate", failure(`{"errorType":"rate_limit","message":"Slow down.","statusCode":429}`) + copilotEnd, "rate-limit", "Slow down."},
		{"auth", failure(`{"errorType":"authentication","message":"Who?"}`) + copilotEnd, "authentication", "Who?"},
		{"model", failure(`{"errorType":"query","message":"Model 'x' not found on provider (HTTP 404).","statusCode":404}`) + copilotEnd, "model-rejected", "Model 'x'"},
		{"an error that was overcome", failure(`{"errorType":"query","message":"x"}`) + said + copilotEnd, "", ""},
		{"an error after the answer", said + failure(`{"errorType":"query","message":"x"}`) + copilotEnd, "runner-crash", "x"},
		{"a subagent's error", strings.Replace(failure(`{"message":"x"}`), `"data"`, `"agentId":"a","data"`, 1) + said + copilotEnd, "", ""},
		{"exit code", said + copilotLine("5", "model.call_failure", `{"statusCode":401,"errorMessage":"unauthorized"}`) + strings.Replace(copilotEnd, `"exitCode":0`, `"exitCode":1`, 1), "authentication", "unauthorized\ncopilot ended with exit code 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := normalised(t, "copilot", written(t, c.stdout, "", nil)).Error
			if f == nil && c.class == "" {
				return
			}
			if f == nil || f.Class.ID != c.class || !strings.HasPrefix(f.Message, c.begins) {
				t.Errorf("got %+v, want class %q, message %q", f, c.class, c.begins)
			}
		})
	}
}

// TestCopilotTurns: of a log with several turns, the one counts that the stream shows.
func TestCopilotTurns(t *testing.T) {
	usage := func(id string, n int) string {
		return copilotLine(id, "session.usage_record", fmt.Sprintf(`{"usage":{"inputTokens":%d,"outputTokens":1}}`, n))
	}
	total := func(id string, n int) string {
		return copilotLine(id, "session.shutdown", fmt.Sprintf(
			`{"shutdownType":"routine","agentMetrics":{"main":{"modelMetrics":{"m":{"usage":{"inputTokens":%d,"outputTokens":%d}}}}}}`, n, n))
	}
	message := func(id string) string {
		return copilotLine(id, "assistant.message", fmt.Sprintf(`{"messageId":%q,"content":%q,"toolRequests":[]}`, id, "answer "+id))
	}
	start := copilotLine("s", "session.start", `{"sessionId":"sid","copilotVersion":"1.2","selectedModel":"m","context":{"cwd":"/there"}}`)
	resume := copilotLine("r", "session.resume", `{}`)
	log := start + usage("u1", 10) + message("m1") + total("t1", 10) + resume + usage("u2", 20) + message("m2") + total("t2", 30)
	sums := start + message("m1") + total("t1", 10) + resume + message("m2") + total("t2", 30)
	for _, c := range []struct {
		name, stdout, log string
		resumed           bool
		messages          string
		input             int64
	}{
		{"the first", message("m1") + copilotEnd, log, false, "answer m1", 10},
		{"the second", message("m2") + copilotEnd, log, false, "answer m2", 20},
		{"no stream", "", log, false, "answer m1|answer m2", 30},
		{"no stream, resumed", "", log, true, "answer m2", 20},
		{"sums only", message("m2") + copilotEnd, sums, false, "answer m2", 20},
		{"a stream that breaks off", copilotLine("x", "assistant.turn_start", `{}`), log, false, "answer m2", 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := written(t, c.stdout, "", map[string]string{"session-state/sid/events.jsonl": c.log})
			tr.Resumed, tr.Cwd = c.resumed, ""
			if c.stdout == "" {
				tr.Stdout = ""
			}
			report := normalised(t, "copilot", tr).Report
			var got []string
			for _, e := range report.Events {
				got = append(got, e.Text)
			}
			if text := strings.Join(got, "|"); text != c.messages {
				t.Errorf("messages %s, want %s", text, c.messages)
			}
			if n := report.Usage.InputTokens; n == nil || *n != c.input {
				t.Errorf("input tokens %v, want %d", n, c.input)
			}
			if report.AgentVersion != "1.2" || report.Model != "m" {
				t.Errorf("version %q, model %q", report.AgentVersion, report.Model)
			}
		})
	}
	t.Run("the log of another", func(t *testing.T) {
		stdout := strings.Replace(message("m9"), `"id"`, `"nr"`, 1) + copilotEnd
		report := normalised(t, "copilot", written(t, stdout, "", map[string]string{"sid/events.jsonl": log})).Report
		if report.Usage.InputTokens != nil || report.FinalOutput != "answer m9" {
			t.Errorf("usage %+v, final output %q", report.Usage, report.FinalOutput)
		}
	})
}

// TestCopilotTools: what tool calls become, and that what fails or never ends did not happen.
func TestCopilotTools(t *testing.T) {
	var stdout strings.Builder
	for i, c := range [][4]string{
		{"view", `{"path":"a.txt"}`, `"success":true,"result":{"content":"x"}`, ""},
		{"view", `{"path":"dir"}`, `"success":true,"result":{"content":"x"},"toolTelemetry":{"properties":{"viewType":"directory"}}`, ""},
		{"view", `{"path":"gone.txt"}`, `"success":false,"error":{"message":"Path does not exist","code":"failure"}`, ""},
		{"view", `{"path":"unfinished.txt"}`, "", ""},
		{"edit", `{"path":"e.txt"}`, `"success":true,"fileEdits":[{"path":"/ws/e.txt","kind":"edit"}]`, ""},
		{"create", `{"path":"c.txt"}`, `"success":false,"error":{"message":"no","code":"denied"}`, ""},
		{"str_replace_editor", `{"command":"create","path":"o.txt"}`, `"success":true`, ""},
		{"apply_patch", `{"input":"*** Update File: p.txt\n"}`, `"success":true,"fileEdits":[{"path":"/ws/d.txt","kind":"delete"}]`, ""},
		{"skill", `{"skill":"none"}`, `"success":false,"error":{"message":"Skill not found"}`, ""},
		{"skill", `{"skill":"demo"}`, `"success":true`, ""},
		{"bash", `{"command":"make"}`, `"success":true,"result":{"content":"x\n<exited with exit code 2>"}`, ""},
		{"bash", `{"command":"sleep 9"}`, "", ""},
		{"read_bash", `{"shellId":"1"}`, `"success":true`, ""},
	} {
		stdout.WriteString(copilotLine(fmt.Sprint("s", i), "tool.execution_start", fmt.Sprintf(`{"toolCallId":"c%d","toolName":%q,"arguments":%s}`, i, c[0], c[1])))
		if c[2] != "" {
			stdout.WriteString(copilotLine(fmt.Sprint("e", i), "tool.execution_complete", fmt.Sprintf(`{"toolCallId":"c%d",%s}`, i, c[2])))
		}
	}
	report := normalised(t, "copilot", written(t, stdout.String(), "", nil)).Report
	var got []string
	for _, e := range report.Events {
		switch e.Type {
		case plumb.SessionToolCall, plumb.SessionToolResult:
		default:
			code := ""
			if e.ExitCode != nil {
				code = fmt.Sprint(" ", *e.ExitCode)
			}
			got = append(got, fmt.Sprintf("%s %s%s%s%s%s", e.Type, e.Path, e.Skill, e.Command, e.Change, code))
		}
	}
	want := []string{
		"fileRead /ws/a.txt", "fileChange /ws/e.txtupdate", "permissionDenied ", "fileChange /ws/o.txtadd", "fileChange /ws/p.txtupdate",
		"fileChange /ws/d.txtdelete", "skillSignal demo", "command make 2", "command sleep 9",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func FuzzCopilot(f *testing.F) {
	for _, r := range recordings(f, "copilot", "copilot") {
		stdout, _ := os.ReadFile(r.t.Stdout)
		logs, _ := filepath.Glob(filepath.Join(r.dir, "session", "*", "session-state", "*", "events.jsonl"))
		var log []byte
		if len(logs) > 0 {
			log, _ = os.ReadFile(logs[0])
		}
		f.Add(stdout, log, false)
	}
	otel, _ := os.ReadFile("testdata/copilot/otel-subagent/session/copilot-otel.jsonl")
	f.Add([]byte(nil), otel, true)
	f.Fuzz(func(t *testing.T, stdout, log []byte, resumed bool) {
		fuzzOne(t, "copilot", stdout, "state/s/events.jsonl", log, resumed)
		fuzzOne(t, "copilot", stdout, "copilot-otel.jsonl", log, resumed)
	})
}
