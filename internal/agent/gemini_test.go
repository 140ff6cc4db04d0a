package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

func TestGeminiTorn(t *testing.T) {
	neverMoreThanRecorded(t, "gemini", "gemini", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "result") })
}

// TestGeminiExit: the exit code is in what the shell tool answers, behind the output.
func TestGeminiExit(t *testing.T) {
	for output, want := range map[string]string{
		"<untrusted_context>\nOutput: hello\nProcess Group PGID: 23140\n</untrusted_context>":                          "0",
		"<untrusted_context>\nOutput: oops\nExit Code: 3\nProcess Group PGID: 24552\n</untrusted_context>":             "3",
		"<untrusted_context>\nOutput: (empty)\nSignal: 9\nProcess Group PGID: 1\n</untrusted_context>":                 "",
		"<untrusted_context>\nOutput: Exit Code: 7\nProcess Group PGID: 1\n</untrusted_context>":                       "0",
		"<untrusted_context>\nOutput: a\nExit Code: 7\nb\nProcess Group PGID: 1\n</untrusted_context>":                 "0",
		"Command: x\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 5": "1",
		"Output: a\nError: spawn failed\nProcess Group PGID: 5":                                                        "",
		"oops": "", "": "", "a\nExit Code: 4": "4", "Exit Code: x": "",
	} {
		got := ""
		if code, ok := transcript.GeminiExit(output); ok {
			got = fmt.Sprint(code)
		}
		if got != want {
			t.Errorf("%q: exit code %q, want %q", output, got, want)
		}
	}
}

// TestGeminiFailures: the kind of a failure is told from the text, from stderr, or from the exit code.
func TestGeminiFailures(t *testing.T) {
	result := func(said string) string {
		return fmt.Sprintf(`{"type":"init","session_id":"s"}`+"\n"+`{"type":"result","status":"error","error":{"type":"unknown","message":%q}}`, said)
	}
	for _, c := range []struct {
		name, stdout, stderr string
		exit                 int
		class                string
		status               int
		begins               string
	}{
		{"by the text", result(`[API Error: {"error":{"code":401,"message":"API key not valid"}}]`), "", 0, "authentication", 401, "[API Error"},
		{"by stderr", result("[API Error: model: x does not exist]"), "ModelNotFoundError {\n  code: 404\n}", 1, "model-rejected", 404, "[API Error"},
		{"by the exit code", result("[API Error: no]"), "", 403 - 256, "authentication", 403, "[API Error: no]"},
		{"quota", result("[API Error: You exceeded your current quota]"), "  status: 429,", 429 - 256, "quota", 429, "[API Error: You"},
		{"rate", result("[API Error: too fast]"), "  status: 429,", 429 - 256, "rate-limit", 429, "[API Error: too"},
		{"server", result("[API Error: broken]"), "", 500 - 256, "runner-crash", 500, "[API Error: broken]"},
		{"an error record", `{"type":"init","session_id":"s"}` + "\n" + `{"type":"error","severity":"error","message":"Reached max session turns"}`, "", 53, "max-steps", 0, "Reached max"},
		{"not logged in", "", "Please set an Auth method in your settings.json", 41, "authentication", 401, "Please set"},
		{"interrupted", `{"type":"init","session_id":"s"}`, "", 0, "runner-crash", 0, "gemini ended without a terminal record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := written(t, c.stdout, c.stderr, nil)
			tr.ExitCode = &c.exit
			f := normalised(t, "gemini", tr).Error
			if f == nil || f.Class.ID != c.class || f.HTTPStatus != c.status || !strings.HasPrefix(f.Message, c.begins) {
				t.Errorf("got %+v, want class %q, status %d, message %q", f, c.class, c.status, c.begins)
			}
			if f != nil && f.Hint == "" && c.class != "runner-crash" {
				t.Error("no hint")
			}
		})
	}
}

// geminiChat is a saved chat.
func geminiChat(lines ...string) map[string]string {
	head := `{"sessionId":"s","startTime":"2026-11-20T08:00:00.000Z","kind":"main"}`
	return map[string]string{".gemini/tmp/ws/chats/session-2026-11-20T08-00-s.jsonl": strings.Join(append([]string{head}, lines...), "\n")}
}

// TestGeminiSources: stream and chat tell of one session; each thing is reported once, in order.
func TestGeminiSources(t *testing.T) {
	const (
		begin  = `{"type":"init","timestamp":"2026-11-20T09:00:00.000Z","session_id":"s","model":"m"}` + "\n"
		asked  = `{"type":"message","role":"user","content":"go"}` + "\n"
		tool   = `{"type":"tool_use","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"ls"}}` + "\n"
		answer = `{"type":"tool_result","tool_id":"c1","status":"success","output":"files"}` + "\n"
		end    = `{"type":"result","status":"success","stats":{"total_tokens":13,"input_tokens":10,"output_tokens":2,"cached":4}}` + "\n"

		chatAsked  = `{"id":"u","timestamp":"2026-11-20T09:00:01.000Z","type":"user","content":[{"text":"go"}]}`
		chatTool   = `{"id":"g1","timestamp":"2026-11-20T09:00:02.000Z","type":"gemini","content":"Look.","thoughts":[{"subject":"S","description":"d"}],"tokens":{"input":5,"output":1,"cached":2,"thoughts":1,"tool":0,"total":7}%s}`
		toolCalls  = `,"toolCalls":[{"id":"c1","name":"run_shell_command","args":{"command":"ls"},"status":"success","result":[{"functionResponse":{"response":{"output":"Output: files\nProcess Group PGID: 1"}}}]}]`
		chatAnswer = `{"id":"g2","timestamp":"2026-11-20T09:00:04.000Z","type":"gemini","content":"All done.","tokens":{"input":5,"output":1,"cached":2,"thoughts":0}}`
		chatOld    = `{"id":"g0","timestamp":"2026-11-20T08:00:04.000Z","type":"gemini","content":"Earlier.","tokens":{"input":99,"output":1}}`
	)
	said := func(s string) string {
		return fmt.Sprintf(`{"type":"message","role":"assistant","content":%q,"delta":true}`+"\n", s)
	}
	stream := begin + asked + said("Lo") + said("ok.") + tool + answer + said("All ") + said("done.") + end
	const whole = "user go|thinking S\nd|commentary Look.|command ls 0|final All done."
	for _, c := range []struct {
		name, stdout string
		chat         []string
		events       string
		final        string
	}{
		{"stream only", stream, nil, "user go|commentary Look.|command ls|final All done.", "All done."},
		{"both", stream, []string{chatOld, chatAsked, fmt.Sprintf(chatTool, ""), fmt.Sprintf(chatTool, toolCalls), chatAnswer}, whole, "All done."},
		{"a message saved once", stream, []string{chatAsked, fmt.Sprintf(chatTool, toolCalls), chatAnswer}, whole, "All done."},
		{"tools saved late", stream, []string{chatAsked, fmt.Sprintf(chatTool, ""), `{"type":"info","content":"x"}`, fmt.Sprintf(chatTool, toolCalls), chatAnswer}, whole, "All done."},
		{"chat without its end", stream, []string{chatAsked, fmt.Sprintf(chatTool, toolCalls)}, whole, "All done."},
		{"chat without the tool", stream, []string{chatAsked, fmt.Sprintf(chatTool, "")}, "user go|thinking S\nd|commentary Look.|command ls|final All done.", "All done."},
		{"stream without its end", begin + asked + said("Look.") + tool, []string{chatAsked, fmt.Sprintf(chatTool, "")}, "user go|thinking S\nd|commentary Look.|command ls", ""},
		{"a request that was tried again", begin + asked + said("All wr") + said("All done.") + end, []string{chatAsked, chatAnswer}, "user go|final All done.", "All done."},
		{"a longer answer", begin + asked + said("All done. And more.") + end, []string{chatAsked, chatAnswer}, "user go|final All done.|final And more.", "All done. And more."},
		{"the chat of another", strings.ReplaceAll(stream, `"session_id":"s"`, `"session_id":"other"`), []string{chatAsked, chatAnswer}, "user go|commentary Look.|command ls|final All done.", "All done."},
		{"chat only", "", []string{chatAsked, fmt.Sprintf(chatTool, toolCalls), chatAnswer}, whole, "All done."},
	} {
		t.Run(c.name, func(t *testing.T) {
			session := map[string]string(nil)
			if c.chat != nil {
				session = geminiChat(c.chat...)
			}
			o := normalised(t, "gemini", written(t, c.stdout, "", session))
			var got []string
			for _, e := range o.Report.Events {
				switch e.Type {
				case plumb.SessionMessage:
					phase := e.Phase
					if e.Role == transcript.RoleUser {
						phase = transcript.RoleUser
					}
					got = append(got, phase+" "+e.Text)
				case plumb.SessionCommand:
					text := "command " + e.Command
					if e.ExitCode != nil {
						text += fmt.Sprint(" ", *e.ExitCode)
					}
					got = append(got, text)
				default:
				}
			}
			if diff := cmp.Diff(c.events, strings.Join(got, "|")); diff != "" {
				t.Errorf("events -want +got:\n%s", diff)
			}
			if o.Report.FinalOutput != c.final {
				t.Errorf("final output %q, want %q", o.Report.FinalOutput, c.final)
			}
			if (o.Error == nil) != strings.HasSuffix(c.stdout, end) {
				t.Errorf("error %v", o.Error)
			}
			if in, out := o.Report.Usage.InputTokens, o.Report.Usage.OutputTokens; strings.HasSuffix(c.stdout, end) && (*in != 10 || *out != 3) {
				t.Errorf("%d tokens in, %d out", *in, *out)
			}
		})
	}
}

// TestGeminiOlderChat: chats used to be one document, with texts for contents.
func TestGeminiOlderChat(t *testing.T) {
	const doc = `{
	"sessionId": "s", "projectHash": "x", "startTime": "2026-01-01T00:00:00.000Z",
	"messages": [
		{"id": "1", "timestamp": "2026-01-01T00:00:00.000Z", "type": "user", "content": "go"},
		{"id": "2", "timestamp": "2026-01-01T00:00:01.000Z", "type": "gemini", "content": "", "model": "m",
			"toolCalls": [{"id": "c", "name": "read_many_files", "args": {"paths": ["*.txt", "sub/b.md"]}, "status": "success",
				"result": [{"functionResponse": {"response": {"output": "--- /ws/a.txt ---\n\none\n--- End of content ---"}}}]}]},
		{"id": "3", "timestamp": "2026-01-01T00:00:02.000Z", "type": "gemini", "content": "done", "tokens": {"input": 3, "output": 1, "thoughts": 2, "tool": 1}}
	]}`
	report := normalised(t, "gemini", written(t, "", "", map[string]string{"chats/session-1.json": doc})).Report
	if diff := cmp.Diff([]string{"/ws/a.txt", "/ws/sub/b.md"}, report.Files.ObservedReads); diff != "" {
		t.Error(diff)
	}
	if u := report.Usage; *u.InputTokens != 4 || *u.OutputTokens != 3 || *u.ReasoningTokens != 2 {
		t.Errorf("usage %+v", u)
	}
	if report.SessionID != "s" || report.Model != "m" || report.Steps != 2 {
		t.Errorf("session %q, model %q, steps %d", report.SessionID, report.Model, report.Steps)
	}
}

func FuzzGemini(f *testing.F) {
	for _, r := range recordings(f, "gemini", "gemini") {
		stdout, _ := os.ReadFile(r.t.Stdout)
		chats, _ := filepath.Glob(filepath.Join(r.dir, "session", "state", ".gemini", "tmp", "ws", "chats", "*.jsonl"))
		var chat []byte
		if len(chats) > 0 {
			chat, _ = os.ReadFile(chats[0])
		}
		f.Add(stdout, chat, false)
	}
	f.Add([]byte(nil), []byte(`{"sessionId":"s","messages":[{"type":"gemini","toolCalls":[{"id":"a"}]}]}`), true)
	f.Fuzz(func(t *testing.T, stdout, chat []byte, resumed bool) {
		fuzzOne(t, "gemini", stdout, "chats/session-1.jsonl", chat, resumed)
		fuzzOne(t, "gemini", stdout, "chats/session-1.json", chat, resumed)
	})
}

// TestGeminiStreamLost: the saved chat tells the same story as the stream, as long as the model's last word is in it.
func TestGeminiStreamLost(t *testing.T) {
	for _, name := range []string{"ok", "edit", "skill"} {
		r := readRecording(t, "gemini", "testdata/gemini/"+name)
		whole, _ := Normalize("gemini", r.t)
		r.t.Stdout = ""
		report, err := Normalize("gemini", r.t)
		wantFailure(t, err, "", 0)
		if diff := cmp.Diff(brief(whole), brief(report)); diff != "" || report.FinalOutput != whole.FinalOutput || report.FinishReason != whole.FinishReason {
			t.Errorf("%s: final output %q, finish reason %q, events: -with the stream +without:\n%s", name, report.FinalOutput, report.FinishReason, diff)
		}
	}
	for _, name := range []string{"term-tool", "e404"} {
		r := readRecording(t, "gemini", "testdata/gemini/"+name)
		r.t.Stdout, r.t.ExitCode = "", nil
		if _, err := Normalize("gemini", r.t); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
