package agent

import (
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

func TestCodexTorn(t *testing.T) {
	neverMoreThanRecorded(t, "codex", "codex", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "turn.completed") })
}

const (
	codexMetaLine    = `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"T","cwd":"/ws","cli_version":"0.1"}}`
	codexSandboxed   = `{"timestamp":"2026-01-01T00:00:00Z","type":"turn_context","payload":{"cwd":"/ws","model":"m","sandbox_policy":{"type":"read-only"}}}`
	codexStreamBegin = `{"type":"thread.started","thread_id":"T"}` + "\n" + `{"type":"turn.started"}`
	codexStreamEnd   = `{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":5,"reasoning_output_tokens":2}}`
	codexDone        = `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"done"}}`
)

// rollout wraps the payload of a record.
func rollout(kind, payload string) string {
	return `{"timestamp":"2026-01-01T00:00:01Z","type":"` + kind + `","payload":` + payload + `}`
}

func codexTranscript(t *testing.T, stdout string, records ...string) transcript.Transcript {
	t.Helper()
	tr := written(t, stdout, "", map[string]string{"sessions/2026/01/01/rollout-2026-01-01T00-00-00-T.jsonl": lines(append([]string{codexMetaLine}, records...)...)})
	if stdout == "" {
		tr.Stdout = ""
	}
	tr.Cwd = ""
	return tr
}

// TestCodexDenied: a command that the sandbox denies is neither in the stream nor among the commands that ran.
func TestCodexDenied(t *testing.T) {
	for name, records := range map[string][]string{
		"function": {
			rollout("response_item", `{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat a.md > out.txt\"}","call_id":"c"}`),
			rollout("response_item", `{"type":"function_call_output","call_id":"c","output":"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 9\nOutput:\nbash: out.txt: Read-only file system\n"}`),
		},
		"code mode": {
			rollout("response_item", `{"type":"custom_tool_call","name":"exec","namespace":"functions","call_id":"c","input":"const r = await tools.exec_command({cmd: \"cat a.md > out.txt\"});\ntext(r.output);"}`),
			rollout("response_item", `{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"Script completed\nOutput:\n"},{"type":"input_text","text":"bash: out.txt: Read-only file system\n"}]}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdout := lines(codexStreamBegin, `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done"}}`, codexStreamEnd)
			report, err := Normalize("codex", codexTranscript(t, stdout, append([]string{codexSandboxed}, records...)...))
			wantFailure(t, err, "", 0)
			events := brief(report)
			for _, want := range []string{"command cat a.md > out.txt", "denied", "Read-only file system"} {
				if strings.Count(events, want) == 0 {
					t.Errorf("no %q in\n%s", want, events)
				}
			}
			if n := strings.Count(events, "\ncommand "); n != 1 || len(report.PermissionDenials) != 1 {
				t.Errorf("%d commands, %d denials:\n%s", n, len(report.PermissionDenials), events)
			}
		})
	}
}

// TestCodexOlder: formats that versions before 0.50 or so have written.
func TestCodexOlder(t *testing.T) {
	report, err := Normalize("codex", codexTranscript(t, "",
		rollout("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n<cwd>/ws</cwd>"}]}`),
		rollout("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /ws\n\n<INSTRUCTIONS>be good"}]}`),
		rollout("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}`),
		rollout("event_msg", `{"type":"user_message","message":"do it"}`),
		rollout("event_msg", `{"type":"agent_reasoning","text":"hm"}`),
		rollout("response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`),
		rollout("response_item", `{"type":"local_shell_call","call_id":"l","status":"completed","action":{"type":"exec","command":["bash","-lc","cat a.md"],"working_directory":"sub"}}`),
		rollout("response_item", `{"type":"function_call_output","call_id":"l","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"}`),
		rollout("response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"/bin/zsh\",\"-lc\",\"head -n 3 b.md\"],\"workdir\":\"/other\"}","call_id":"s"}`),
		rollout("event_msg", `{"type":"exec_command_end","call_id":"s","command":["/bin/zsh","-lc","head -n 3 b.md"],"cwd":"/other","parsed_cmd":[{"type":"read","cmd":"head -n 3 b.md","name":"b.md","path":"b.md"}],"exit_code":2}`),
		rollout("response_item", `{"type":"function_call_output","call_id":"s","output":"Exit code: 2\nWall time: 0 seconds\nOutput:\nno"}`),
		rollout("response_item", `{"type":"function_call","name":"apply_patch","arguments":"{\"input\":\"*** Begin Patch\\n*** Update File: x.go\\n*** End Patch\"}","call_id":"p"}`),
		rollout("response_item", `{"type":"function_call_output","call_id":"p","output":"{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"}`),
		rollout("response_item", `{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`),
		rollout("event_msg", `{"type":"agent_message","message":"all\n\ndone"}`),
		rollout("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"all"},{"type":"output_text","text":"done"}]}`),
		rollout("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":9,"cached_input_tokens":1,"output_tokens":3,"reasoning_output_tokens":2},"last_token_usage":{"input_tokens":9,"output_tokens":3}}}`),
		rollout("event_msg", `{"type":"token_count","info":null}`),
		codexDone,
	))
	wantFailure(t, err, "", 0)
	wantEvents(t, report,
		"user : do it",
		"assistant thinking: hm",
		`call local_shell {"type":"exec","command":["bash","-lc","cat a.md"],"working_directory":"sub"}`,
		`result local_shell "{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"`,
		"command cat a.md -> 0",
		"read /ws/sub/a.md",
		`call shell {"command":["/bin/zsh","-lc","head -n 3 b.md"],"workdir":"/other"}`,
		"command head -n 3 b.md -> 2",
		`result shell "Exit code: 2\nWall time: 0 seconds\nOutput:\nno" (error)`,
		`call apply_patch {"input":"*** Begin Patch\n*** Update File: x.go\n*** End Patch"}`,
		`result apply_patch "{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"`,
		"update /ws/x.go",
		`call web_search {"type":"search","query":"q"}`,
		"assistant final: all\n\ndone",
	)
	if report.FinalOutput != "all\n\ndone" || report.Steps != 1 || len(report.RequestUsage) != 1 || *report.Usage.TotalTokens != 11 {
		t.Errorf("final output %q, %d steps, %d requests, usage %+v", report.FinalOutput, report.Steps, len(report.RequestUsage), report.Usage)
	}
	if len(report.Offered) != 1 || report.Offered[0].Path != "/ws/AGENTS.md" {
		t.Errorf("offered %v", report.Offered)
	}
}

// TestCodexStreamOnly: without a rollout the stream is all there is.
// TestCodexReasoning: streams of older versions do not count reasoning, and their rollouts do.
func TestCodexReasoning(t *testing.T) {
	report, err := Normalize("codex", codexTranscript(t, lines(codexStreamBegin, `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done"}}`,
		`{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":5}}`),
		rollout("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":5,"reasoning_output_tokens":2}}}`),
		codexDone,
	))
	wantFailure(t, err, "", 0)
	if u := report.Usage; u.ReasoningTokens == nil || *u.ReasoningTokens != 2 || *u.TotalTokens != 11 {
		t.Errorf("usage %+v", u)
	}
}

func TestCodexStreamOnly(t *testing.T) {
	tr := written(t, lines(codexStreamBegin,
		`{"type":"item.completed","item":{"id":"a","type":"reasoning","text":"hm"}}`,
		`{"type":"item.started","item":{"id":"b","type":"command_execution","command":"/bin/bash -lc 'cat \"a b.md\"'","exit_code":null,"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"b","type":"command_execution","command":"/bin/bash -lc 'cat \"a b.md\"'","aggregated_output":"text","exit_code":0,"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"bash -lc ls","exit_code":1,"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"d","type":"file_change","changes":[{"path":"/ws/x","kind":"update"},{"path":"y","kind":"delete"}],"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"e","type":"file_change","changes":[{"path":"/ws/z","kind":"add"}],"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"f","type":"mcp_tool_call","server":"docs","tool":"search","arguments":{"q":1},"result":{"content":[{"type":"text","text":"hit"}]},"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"g","type":"web_search","query":"q"}}`,
		`{"type":"item.completed","item":{"id":"h","type":"todo_list","items":[{"text":"x","completed":true}]}}`,
		`{"type":"item.completed","item":{"id":"i","type":"from_the_future","x":1}}`,
		`{"type":"item.completed","item":{"id":"j","type":"agent_message","text":"done"}}`,
		`{"type":"from.the.future"}`, `not a record`,
		codexStreamEnd), "", nil)
	report, err := Normalize("codex", tr)
	wantFailure(t, err, "", 0)
	wantEvents(t, report,
		"assistant thinking: hm",
		`command cat "a b.md" -> 0`,
		"read /ws/a b.md",
		`result  "text"`,
		"command ls -> 1",
		`result  "" (error)`,
		"update /ws/x",
		"delete /ws/y",
		`call mcp__docs__search {"q":1}`,
		`result mcp__docs__search "hit"`,
		`call web_search {"query":"q"}`,
		`call update_plan {"items":[{"text":"x","completed":true}]}`,
		"assistant final: done",
	)
	if got := strings.Join(report.Notes, "\n"); !strings.Contains(got, "from_the_future") || !strings.Contains(got, "from.the.future") || !strings.Contains(got, "not a record") {
		t.Errorf("notes %s", got)
	}
}

// TestCodexBackground: a command that goes on in the background has a result before it ends; it is one command.
func TestCodexBackground(t *testing.T) {
	report, err := Normalize("codex", codexTranscript(t, "",
		rollout("response_item", `{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"c"}`),
		rollout("response_item", `{"type":"function_call_output","call_id":"c","output":"Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"}`),
		rollout("event_msg", `{"type":"item_completed","item":{"type":"CommandExecution","id":"c","command":["/bin/bash","-lc","make"],"cwd":"file:///ws","parsed_cmd":[{"type":"unknown","cmd":"make"}],"status":"failed","exit_code":2}}`),
		codexDone))
	wantFailure(t, err, "", 0)
	wantEvents(t, report, `call exec_command {"cmd":"make"}`,
		`result exec_command "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"`, "command make -> 2")
}

// TestCodexSubagent: a thread that the session started has a rollout of its own; its work is not the main thread's.
func TestCodexSubagent(t *testing.T) {
	tr := codexTranscript(t, lines(codexStreamBegin, `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"main"}}`, codexStreamEnd),
		rollout("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"main"}],"phase":"final_answer"}`))
	child := written(t, "", "", map[string]string{
		"a/rollout-2026-01-01T00-00-00-T.jsonl": lines(codexMetaLine,
			rollout("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"main"}],"phase":"final_answer"}`)),
		"a/rollout-2026-01-01T00-00-05-S.jsonl": lines(
			`{"type":"session_meta","payload":{"id":"S","cwd":"/ws","source":{"subagent":{"thread_spawn":{"parent_thread_id":"T","depth":1,"agent_role":"explorer"}}}}}`,
			rollout("event_msg", `{"type":"item_completed","item":{"type":"CommandExecution","id":"x","command":["bash","-lc","cat z"],"cwd":"file:///ws","exit_code":0,"aggregated_output":"zed\n"}}`),
			rollout("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"sub"}],"phase":"final_answer"}`),
			rollout("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":7,"output_tokens":2}}}`),
			rollout("event_msg", `{"type":"task_complete","last_agent_message":"sub"}`)),
		"a/rollout-2026-01-01T00-00-09-U.jsonl": lines(`{"type":"session_meta","payload":{"id":"U","cwd":"/ws"}}`,
			rollout("event_msg", `{"type":"agent_message","message":"unrelated"}`)),
	})
	tr.Session = child.Session
	report, err := Normalize("codex", tr)
	wantFailure(t, err, "", 0)
	wantEvents(t, report, "assistant final: main", "(S) command cat z -> 0", "(S) read /ws/z", "(S) assistant final: sub")
	if report.FinalOutput != "main" || *report.Usage.InputTokens != 10 {
		t.Errorf("final output %q, usage %+v", report.FinalOutput, report.Usage)
	}
	if len(report.Subagents) != 1 || report.Subagents[0].Type != "explorer" || *report.Subagents[0].Usage.InputTokens != 7 {
		t.Errorf("subagents %+v", report.Subagents)
	}
}

func TestCodexFailures(t *testing.T) {
	for name, c := range map[string]struct {
		said, kind string
		status     int
	}{
		"401":         {"unexpected status 401 Unauthorized: bad key, url: http://x/v1/responses", "authentication", 401},
		"429":         {"exceeded retry limit, last status: 429 Too Many Requests", "rate-limit", 429},
		"500":         {"We're currently experiencing high demand, which may cause temporary errors.", "runner-crash", 0},
		"503":         {"unexpected status 503 Service Unavailable: later", "runner-crash", 503},
		"unsupported": {`{"type":"error","status":400,"error":{"type":"invalid_request_error","message":"The 'gpt-x' model is not supported when using Codex with a ChatGPT account."}}`, "model-rejected", 400},
	} {
		t.Run(name, func(t *testing.T) {
			quoted := strings.ReplaceAll(strings.ReplaceAll(c.said, `\`, `\\`), `"`, `\"`)
			report, err := Normalize("codex", written(t, lines(codexStreamBegin, `{"type":"turn.failed","error":{"message":"`+quoted+`"}}`), "", nil))
			wantFailure(t, err, c.kind, c.status)
			if report == nil || report.SessionID != "T" {
				t.Error("no report")
			}
		})
	}
	_, err := Normalize("codex", written(t, "", "Not inside a trusted directory and --skip-git-repo-check was not specified.\n", nil))
	wantFailure(t, err, "permission", 0)
	_, err = Normalize("codex", written(t, "Welcome to Codex!\n", "", nil))
	wantFailure(t, err, "normalization", 0)
}
