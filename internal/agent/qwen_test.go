package agent

import "testing"

const (
	qwenInit = `{"type":"system","subtype":"init","session_id":"S","cwd":"/ws","model":"qwen3","qwen_code_version":"0.15.10","mcp_servers":[]}`
	qwenEnd  = `{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"S","usage":{"input_tokens":3600,"cache_read_input_tokens":2400,"output_tokens":110,"total_tokens":3710}}`
)

func TestQwen(t *testing.T) {
	report, err := Normalize("qwen", written(t, lines(qwenInit,
		claudeUse("1", "skill", `{"skill":"demo"}`), claudeResult("1", `"loaded"`, ""),
		claudeUse("2", "read_file", `{"absolute_path":"/ws/a.md"}`), claudeResult("2", `"x"`, ""),
		claudeUse("3", "run_shell_command", `{"command":"cat b.md","directory":"sub"}`), claudeResult("3", `"Command: cat b.md\nDirectory: sub\nOutput: x\nExit Code: 3\nSignal: (none)"`, ""),
		claudeUse("4", "write_file", `{"file_path":"/ws/n"}`), claudeResult("4", `"Successfully created and wrote to new file: /ws/n."`, ""),
		qwenEnd), "", nil))
	wantFailure(t, err, "", 0)
	wantEvents(t, report,
		"skill demo tool:skill", `call skill {"skill":"demo"}`, `result skill "loaded"`,
		`call read_file {"absolute_path":"/ws/a.md"}`, "read /ws/a.md", `result read_file "x"`,
		`call run_shell_command {"command":"cat b.md","directory":"sub"}`, "command cat b.md -> 3",
		`result run_shell_command "Command: cat b.md\nDirectory: sub\nOutput: x\nExit Code: 3\nSignal: (none)"`,
		`call write_file {"file_path":"/ws/n"}`, `result write_file "Successfully created and wrote to new file: /ws/n."`, "add /ws/n",
	)
	if report.AgentVersion != "0.15.10" || report.FinalOutput != "done" || *report.Usage.InputTokens != 3600 || *report.Usage.TotalTokens != 1310 {
		t.Errorf("%+v", report)
	}
}

// TestQwenFailures: before 0.24 a failure of the model API is a successful result, exit code 0.
func TestQwenFailures(t *testing.T) {
	_, err := Normalize("qwen", written(t, lines(qwenInit,
		`{"type":"result","subtype":"success","is_error":false,"result":"[API Error: 401 Incorrect API key provided]","session_id":"S","usage":{"input_tokens":0,"output_tokens":0}}`), "", nil))
	wantFailure(t, err, "authentication", 401)
	_, err = Normalize("qwen", written(t, lines(qwenInit,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 429 Too many requests]"},"session_id":"S"}`), "", nil))
	wantFailure(t, err, "rate-limit", 429)
}
