package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func TestClaudeTorn(t *testing.T) {
	neverMoreThanRecorded(t, "claude-code", "claude", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "result") })
}

const (
	claudeInit = `{"type":"system","subtype":"init","session_id":"S","cwd":"/ws","model":"m","claude_code_version":"2.1","skills":["demo"],` +
		`"mcp_servers":[{"name":"docs","status":"connected"}],"plugins":[{"name":"p","path":"/p","source":"user"}],"memory_paths":{"auto":"/m/"}}`
	claudeEnd = `{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"S","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`
)

// claudeBlock is a record of the model's with one block, claudeResult one with what a tool answered.
func claudeBlock(id, block string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","model":"m","content":[` + block + `]},"parent_tool_use_id":null,"session_id":"S"}`
}

func claudeUse(id, tool, input string) string {
	return claudeBlock("m"+id, `{"type":"tool_use","id":"`+id+`","name":"`+tool+`","input":`+input+`}`)
}

func claudeResult(id, content, more string) string {
	return `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":` + content + `}]},"session_id":"S"` + more + `}`
}

func TestClaudeTools(t *testing.T) {
	isError := func(id, content, more string) string {
		return strings.Replace(claudeResult(id, content, more), `"type":"tool_result"`, `"type":"tool_result","is_error":true`, 1)
	}
	for name, c := range map[string]struct{ records, want []string }{
		"shell reads": {
			[]string{
				claudeUse("1", "Bash", `{"command":"cd sub && cat a.md"}`), claudeResult("1", `"x"`, `,"tool_use_result":{"stdout":"x","stderr":"","interrupted":false}`),
				claudeUse("2", "Bash", `{"command":"cat b.md"}`), claudeResult("2", `"y"`, `,"tool_use_result":{"stdout":"y","stderr":"Shell cwd was reset to /ws","interrupted":false}`),
				claudeUse("3", "Bash", `{"command":"cat c.md"}`),
			},
			[]string{
				`call Bash {"command":"cd sub && cat a.md"}`, "command cd sub && cat a.md -> 0", "read /ws/sub/a.md", `result Bash "x"`,
				`call Bash {"command":"cat b.md"}`, "command cat b.md -> 0", "read /ws/sub/b.md", `result Bash "y"`,
				`call Bash {"command":"cat c.md"}`, "command cat c.md", // it has no result
			},
		},
		"exit codes": {
			[]string{
				claudeUse("1", "Bash", `{"command":"false"}`), isError("1", `"Exit code 1"`, `,"tool_use_result":"Error: Exit code 1"`),
				claudeUse("2", "Bash", `{"command":"grep x y"}`), claudeResult("2", `""`, `,"tool_use_result":{"stdout":"","returnCodeInterpretation":"No matches found"}`),
				claudeUse("3", "Bash", `{"command":"sleep 9","run_in_background":true}`), claudeResult("3", `"Command running in background"`, `,"tool_use_result":{"stdout":"","backgroundTaskId":"b"}`),
			},
			[]string{
				`call Bash {"command":"false"}`, "command false -> 1", `result Bash "Exit code 1" (error)`,
				`call Bash {"command":"grep x y"}`, "command grep x y",
				`call Bash {"command":"sleep 9","run_in_background":true}`, "command sleep 9", `result Bash "Command running in background"`,
			},
		},
		"a read that failed is none": {
			[]string{claudeUse("1", "Read", `{"file_path":"none.md"}`), isError("1", `"File does not exist."`, ""), claudeUse("2", "Read", `{"file_path":"some.md"}`), claudeResult("2", `"x"`, "")},
			[]string{
				`call Read {"file_path":"none.md"}`, `result Read "File does not exist." (error)`,
				`call Read {"file_path":"some.md"}`, "read /ws/some.md", `result Read "x"`,
			},
		},
		"a skill that is not there is not loaded": {
			[]string{claudeUse("1", "Skill", `{"skill":"nope"}`), isError("1", `"Unknown skill: nope"`, "")},
			[]string{`call Skill {"skill":"nope"}`, `result Skill "Unknown skill: nope" (error)`},
		},
		"changes": {
			[]string{
				claudeUse("1", "Write", `{"file_path":"/ws/a"}`), claudeResult("1", `"File created successfully at: /ws/a"`, `,"tool_use_result":{"type":"create","filePath":"/ws/a"}`),
				claudeUse("2", "Edit", `{"file_path":"b"}`), claudeResult("2", `"The file b has been updated"`, `,"tool_use_result":{"filePath":"/ws/b","oldString":"x"}`),
				claudeUse("3", "MultiEdit", `{"file_path":"c"}`), isError("3", `"String not found"`, ""),
				claudeUse("4", "NotebookEdit", `{"notebook_path":"/ws/n.ipynb"}`), claudeResult("4", `"ok"`, ""),
			},
			[]string{
				`call Write {"file_path":"/ws/a"}`, `result Write "File created successfully at: /ws/a"`, "add /ws/a",
				`call Edit {"file_path":"b"}`, `result Edit "The file b has been updated"`, "update /ws/b",
				`call MultiEdit {"file_path":"c"}`, `result MultiEdit "String not found" (error)`,
				`call NotebookEdit {"notebook_path":"/ws/n.ipynb"}`, `result NotebookEdit "ok"`, "update /ws/n.ipynb",
			},
		},
		"denied": {
			[]string{
				claudeUse("1", "Bash", `{"command":"cat a > b"}`),
				`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"1","message":"not allowed","session_id":"S"}`,
				isError("1", `"not allowed"`, `,"tool_result_meta":[{"id":"1","permission_decision":{"decision":"deny"}}]`),
				claudeUse("2", "Read", `{"file_path":"secret"}`), isError("2", `"Permission denied"`, ""),
			},
			[]string{
				`call Bash {"command":"cat a > b"}`, "command cat a > b (error)", "denied Bash: not allowed", `result Bash "not allowed" (error)`,
				`call Read {"file_path":"secret"}`, `result Read "Permission denied" (error)`, "denied Read: ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			end := claudeEnd
			if name == "denied" {
				end = strings.Replace(end, `"stop_reason"`, `"permission_denials":[{"tool_name":"Bash","tool_use_id":"1","tool_input":{}},{"tool_name":"Read","tool_use_id":"2","tool_input":{}}],"stop_reason"`, 1)
			}
			report, err := Normalize("claude-code", written(t, lines(claudeInit, lines(c.records...)+end), "", nil))
			wantFailure(t, err, "", 0)
			wantEvents(t, report, c.want...)
			if name == "denied" && len(report.PermissionDenials) != 2 {
				t.Errorf("denials %+v", report.PermissionDenials)
			}
		})
	}
}

func TestClaudeOffers(t *testing.T) {
	report, err := Normalize("claude-code", written(t, lines(claudeInit, claudeEnd), "", nil))
	wantFailure(t, err, "", 0)
	want := []plumb.Offer{
		{Kind: plumb.OfferSkill, Name: "demo"},
		{Kind: plumb.OfferMCPServer, Name: "docs"},
		{Kind: plumb.OfferPlugin, Name: "p", Path: "/p", Source: "user"},
		{Kind: plumb.OfferMemory, Name: "auto", Path: "/m/"},
	}
	if fmt.Sprint(report.Offered) != fmt.Sprint(want) {
		t.Errorf("offered %v, want %v", report.Offered, want)
	}
}

func TestClaudeEnds(t *testing.T) {
	result := func(fields string) string { return `{"type":"result","session_id":"S",` + fields + `}` }
	for name, c := range map[string]struct {
		end, kind string
		status    int
		reason    plumb.FinishReason
		final     string
	}{
		"done":        {result(`"is_error":false,"subtype":"success","result":"x","stop_reason":"end_turn"`), "", 0, plumb.FinishStop, "x"},
		"truncated":   {result(`"is_error":false,"subtype":"success","result":"x","stop_reason":"max_tokens"`), "", 0, plumb.FinishTruncated, "x"},
		"refused":     {result(`"is_error":false,"subtype":"success","result":"x","stop_reason":"refusal"`), "", 0, plumb.FinishRefused, "x"},
		"no login":    {result(`"is_error":true,"subtype":"success","result":"Not logged in · Please run /login"`), "authentication", 401, "", "Not logged in · Please run /login"},
		"401":         {result(`"is_error":true,"subtype":"success","api_error_status":401,"result":"Failed to authenticate. API Error: 401"`), "authentication", 401, "", "Failed to authenticate. API Error: 401"},
		"credit":      {result(`"is_error":true,"subtype":"success","api_error_status":400,"result":"Credit balance is too low"`), "quota", 400, "", "Credit balance is too low"},
		"turns":       {result(`"is_error":true,"subtype":"error_max_turns","num_turns":3`), "max-steps", 0, "", ""},
		"interrupted": {result(`"is_error":true,"subtype":"error_during_execution","terminal_reason":"aborted_tools"`), "runner-crash", 0, "", ""},
		"budget":      {result(`"is_error":true,"subtype":"error_max_budget_usd","errors":["Reached maximum budget"]`), "runner-crash", 0, "", ""},
		"killed":      {"", "runner-crash", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Normalize("claude-code", written(t, lines(claudeInit, claudeUse("1", "Bash", `{"command":"ls"}`))+c.end, "", nil))
			wantFailure(t, err, c.kind, c.status)
			if report.FinishReason != c.reason || report.FinalOutput != c.final {
				t.Errorf("finish reason %q, final output %q", report.FinishReason, report.FinalOutput)
			}
		})
	}
}

// TestClaudeStreamLost: the session file tells the same story as the stream, as long as the model's last word is in it.
func TestClaudeStreamLost(t *testing.T) {
	r := readRecording(t, "claude-code", "testdata/claude/ok")
	whole, _ := Normalize("claude-code", r.t)
	r.t.Stdout = ""
	report, err := Normalize("claude-code", r.t)
	wantFailure(t, err, "", 0)
	if diff := cmp.Diff(brief(whole), brief(report)); diff != "" {
		t.Errorf("events: -with the stream +without:\n%s", diff)
	}
	if report.FinalOutput != whole.FinalOutput || report.FinishReason != whole.FinishReason || report.Prompt != whole.Prompt || report.Usage.Tokens() != whole.Usage.Tokens() {
		t.Errorf("final output %q, finish reason %q, prompt %q, usage %+v", report.FinalOutput, report.FinishReason, report.Prompt, report.Usage)
	}
	r.t.ExitCode = new(1)
	_, err = Normalize("claude-code", r.t)
	wantFailure(t, err, "runner-crash", 0)
	for _, broken := range []string{"int-tool", "term-tool", "e404"} {
		r := readRecording(t, "claude-code", "testdata/claude/"+broken)
		r.t.Stdout, r.t.ExitCode = "", nil
		if _, err := Normalize("claude-code", r.t); err == nil {
			t.Errorf("%s: no error", broken)
		}
	}
}

// TestClaudePrompt: the stream has no prompt, the session file has those of all turns.
func TestClaudePrompt(t *testing.T) {
	said := func(uuid, kind, more, content string) string {
		return `{"type":"` + kind + `","uuid":"` + uuid + `","sessionId":"S",` + more + `"message":{"id":"` + uuid + `","role":"` + kind + `","content":` + content + `}}`
	}
	file := lines(
		said("1", "user", `"promptSource":"sdk",`, `"first"`), said("2", "assistant", "", `[{"type":"text","text":"A"}]`),
		said("3", "user", `"isMeta":true,`, `"of the agent itself"`), said("4", "user", "", `[{"type":"text","text":"second"}]`),
		said("5", "user", "", `[{"type":"tool_result","tool_use_id":"x","content":"out"}]`), said("6", "assistant", "", `[{"type":"text","text":"B"}]`))
	end := `{"type":"result","subtype":"success","is_error":false,"result":"B","session_id":"S"}`
	for name, c := range map[string]struct {
		stream, want string
		resumed      bool
	}{
		"the first turn":  {`{"type":"assistant","uuid":"2","session_id":"S","message":{"content":[]}}`, "first", false},
		"the second turn": {`{"type":"assistant","uuid":"6","session_id":"S","message":{"content":[]}}`, "second", true},
		"nobody knows":    {`{"type":"assistant","uuid":"9","session_id":"S","message":{"content":[]}}`, "", false},
	} {
		tr := written(t, lines(claudeInit, c.stream, end), "", map[string]string{"projects/ws/S.jsonl": file})
		tr.Prompt, tr.Resumed = "", c.resumed
		report, err := Normalize("claude-code", tr)
		wantFailure(t, err, "", 0)
		if report.Prompt != c.want {
			t.Errorf("%s: prompt %q, want %q", name, report.Prompt, c.want)
		}
	}
}

// TestClaudeSubagents: with two of them only the session files tell what each used.
func TestClaudeSubagents(t *testing.T) {
	sub := func(parent, record string) string {
		return strings.Replace(record, `"parent_tool_use_id":null`, `"parent_tool_use_id":"`+parent+`","subagent_type":"kind"`, 1)
	}
	end := `{"type":"result","subtype":"success","is_error":false,"result":"main","session_id":"S","usage":{"input_tokens":10,"output_tokens":1},` +
		`"model_usage_since_last_result":{"m":{"inputTokens":40,"outputTokens":9,"costUSD":0.5}},"total_cost_usd":3}`
	report, err := Normalize("claude-code", written(t, lines(claudeInit,
		claudeUse("a", "Agent", `{"prompt":"x"}`), claudeUse("b", "Agent", `{"prompt":"y"}`),
		sub("a", claudeBlock("s1", `{"type":"text","text":"sub a"}`)), sub("b", claudeUse("c", "Bash", `{"command":"ls"}`)), end), "", nil))
	wantFailure(t, err, "", 0)
	wantEvents(t, report, `call Agent {"prompt":"x"}`, `call Agent {"prompt":"y"}`, "(a) assistant final: sub a", `(b) call Bash {"command":"ls"}`, "(b) command ls")
	if report.FinalOutput != "main" || *report.CostUSD != 0.5 || len(report.Subagents) != 2 || report.Subagents[0].Usage != nil || !strings.Contains(report.Notes[0], "38 tokens") {
		t.Errorf("final output %q, cost %v, subagents %+v, notes %q", report.FinalOutput, *report.CostUSD, report.Subagents, report.Notes)
	}
}
