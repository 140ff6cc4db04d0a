package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

// rolled makes a rollout of Codex from payloads, each with the type of its record before it.
func rolled(payloads ...string) map[string]string {
	var b strings.Builder
	for _, p := range append([]string{`session_meta {"id":"T","cwd":"/ws"}`, `event_msg {"type":"task_started"}`}, payloads...) {
		kind, payload, _ := strings.Cut(p, " ")
		fmt.Fprintf(&b, `{"timestamp":"2026-01-01T00:00:00.000Z","type":"%s","payload":%s}`+"\n", kind, payload)
	}
	return map[string]string{"sessions/2026/01/01/rollout-2026-01-01T00-00-00-T.jsonl": b.String()}
}

// TestVariants: what versions of the agents write in other ways, and what the recordings do not have.
func TestVariants(t *testing.T) {
	const (
		codexDone   = `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}`
		codexAnswer = `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"ok"}}`
		say         = `response_item {"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}`
		complete    = `event_msg {"type":"task_complete","last_agent_message":"ok"}`
		cursorInit  = `{"type":"system","subtype":"init","session_id":"S","cwd":"/ws"}`
		cursorEnd   = `{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"S"}`
		geminiInit  = `{"type":"init","session_id":"S","model":"m"}`
		geminiEnd   = `{"type":"result","status":"success","stats":{}}`
	)
	synthetic := strings.Replace(claudeBlock("e", `{"type":"text","text":"API Error: 429 slow down"}`), `"model":"m"`, `"model":"<synthetic>"`, 1)
	for _, c := range []struct {
		name, agent    string
		stream, stderr string
		session        map[string]string
		exit           int
		kind           string
		status         int
		id, final      string
		events         []string
	}{
		{
			name: "the session's id in a record of older versions", agent: "codex",
			stream: lines(`{"type":"session.created","session_id":"OLD"}`, codexAnswer, codexDone), id: "OLD", final: "ok", events: []string{"assistant final: ok"},
		},
		{
			name: "the session's id outside of the payload", agent: "codex",
			stream: lines(`{"type":"session_meta","session_id":"TOP","payload":{"cwd":"/x"}}`, codexAnswer, codexDone), id: "TOP", final: "ok", events: []string{"assistant final: ok"},
		},
		{
			name: "a command is named by the call alone", agent: "codex", id: "T", final: "ok",
			session: rolled(`response_item {"type":"function_call","name":"shell","call_id":"c","arguments":"{\"command\":[\"bash\",\"-lc\",\"cat a\"]}"}`,
				`event_msg {"type":"exec_command_end","call_id":"c","aggregated_output":"A","exit_code":0}`,
				`response_item {"type":"function_call_output","call_id":"c","output":"A"}`, say, complete),
			events: []string{`call shell {"command":["bash","-lc","cat a"]}`, "command cat a -> 0", "read /ws/a", `result shell "A"`, "assistant final: ok"},
		},
		{
			name: "a turn that is complete after an error", agent: "codex", id: "T", kind: "quota",
			session: rolled(`event_msg {"type":"error","message":"You have hit your usage limit"}`, `event_msg {"type":"task_complete","last_agent_message":null}`),
		},
		{
			name: "an error that did not end the turn", agent: "codex", id: "T", final: "ok",
			session: rolled(`event_msg {"type":"error","message":"401 Unauthorized"}`, say, complete), events: []string{"assistant final: ok"},
		},
		{
			name: "why the stream broke off", agent: "codex", id: "T", kind: "authentication", status: 401, exit: 1,
			stream:  lines(`{"type":"thread.started","thread_id":"T"}`, `{"type":"turn.started"}`),
			session: rolled(`event_msg {"type":"error","message":"unexpected status 401 Unauthorized"}`),
		},
		{
			name: "a script of code mode that was killed", agent: "codex", id: "T", kind: "runner-crash",
			session: rolled(`response_item {"type":"custom_tool_call","name":"exec","call_id":"c","input":"await tools.exec_command({cmd: \"sleep 9\"})"}`),
			events:  []string{`call exec {"input":"await tools.exec_command({cmd: \"sleep 9\"})"}`, "command sleep 9"},
		},
		{
			name: "a context that is full", agent: "codex", kind: "runner-crash", exit: 1,
			stream: lines(`{"type":"turn.failed","error":{"message":"Codex ran out of room in the model's context window."}}`),
		},
		{
			name: "an error of the model API that did not end the session", agent: "claude-code", id: "S", final: "done",
			stream: lines(claudeInit, synthetic, claudeBlock("1", `{"type":"text","text":"done"}`), claudeEnd), events: []string{"assistant final: done"},
		},
		{
			name: "interrupted long after a request was tried again", agent: "claude-code", id: "S", kind: "runner-crash", final: "hm",
			stream: lines(claudeInit, `{"type":"system","subtype":"api_retry","attempt":1,"error_status":429,"error":"rate_limit","session_id":"S"}`,
				claudeBlock("1", `{"type":"text","text":"hm"}`),
				`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","session_id":"S"}`),
			events: []string{"assistant final: hm"},
		},
		{
			name: "the limit of a subscription", agent: "claude-code", id: "S", kind: "quota", exit: 1, final: "You've hit your session limit · resets 3pm",
			stream: lines(claudeInit, `{"type":"result","subtype":"success","is_error":true,"result":"You've hit your session limit · resets 3pm","session_id":"S"}`),
		},
		{
			name: "a step that ends for another reason", agent: "opencode", id: "ses_1", final: "ok",
			stream: lines(`{"type":"text","sessionID":"ses_1","part":{"id":"1","type":"text","text":"ok"}}`, `{"type":"step_finish","sessionID":"ses_1","part":{"id":"2","type":"step-finish","reason":"other"}}`),
			events: []string{"assistant final: ok"},
		},
		{
			name: "an export of another name", agent: "opencode", id: "ses_1", final: "ok",
			session: map[string]string{"ses_1.json": `{"info":{"id":"ses_1"},"messages":[{"info":{"id":"m","role":"assistant","finish":"stop"},"parts":[{"type":"text","text":"ok"}]}]}`},
			events:  []string{"assistant final: ok"},
		},
		{
			name: "a refusal that only the export has", agent: "opencode", id: "ses_1", kind: "permission-denied",
			session: map[string]string{"session.export.json": `{"info":{"id":"ses_1"},"messages":[{"info":{"id":"m","role":"assistant"},"parts":[` +
				`{"id":"p","type":"tool","tool":"bash","callID":"c","state":{"status":"error","input":{"command":"ls"},"error":"The user rejected permission to use this specific tool call."}}]}]}`},
			events: []string{`call bash {"command":"ls"}`, `result bash "The user rejected permission to use this specific tool call." (error)`, "command ls (error)", "denied bash: The user rejected permission to use this specific tool call."},
		},
		{
			name: "a model that the flag named", agent: "copilot", stderr: `Error: Model "nope" from --model flag is not available.`, exit: 1, kind: "model-rejected", status: 404,
		},
		{
			name: "a model that the API does not know", agent: "gemini", id: "S", kind: "model-rejected", status: 404, exit: 1,
			stream: lines(geminiInit, `{"type":"result","status":"error","error":{"message":"[API Error: models/x is not found for API version v1beta]"}}`),
		},
		{
			name: "a parameter that the model does not take", agent: "gemini", id: "S", kind: "runner-crash", exit: 1,
			stream: lines(geminiInit, `{"type":"result","status":"error","error":{"message":"Unsupported parameter: 'temperature' is not supported with this model."}}`),
		},
		{
			name: "the status is the exit code", agent: "gemini", id: "S", kind: "authentication", status: 401, exit: 401 - 256, stream: lines(geminiInit),
		},
		{
			name: "ended by a signal", agent: "gemini", id: "S", kind: "runner-crash", exit: 143, stream: lines(geminiInit),
		},
		{
			name: "the limit of turns", agent: "gemini", id: "S", kind: "max-steps", exit: 53,
			stream: lines(geminiInit, `{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"Reached max session turns for this session."}}`),
		},
		{
			name: "two turns", agent: "gemini", id: "S", final: "two",
			stream: lines(geminiInit, `{"type":"message","role":"assistant","content":"one","delta":true}`, geminiEnd, geminiInit,
				`{"type":"message","role":"user","content":"again"}`, `{"type":"message","role":"assistant","content":"two","delta":true}`, geminiEnd),
			events: []string{"assistant commentary: one", "user : again", "assistant final: two"},
		},
		{
			name: "the other shape of a result", agent: "cursor-agent", id: "S", final: "ok",
			stream: lines(cursorInit, `{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"tool":{"case":"shellToolCall","value":{"args":{"command":"ls"},"result":{"case":"failure","value":{"exitCode":2}}}}}}`,
				`{"type":"tool_call","subtype":"completed","call_id":"d","tool_call":{"tool":{"case":"shellToolCall","value":{"args":{"command":"rm x"},"result":{"case":"rejected","value":{"reason":"no"}}}}}}`, cursorEnd),
			events: []string{
				`call shell {"command":"ls"}`, "command ls -> 2", `result shell "{\"case\":\"failure\",\"value\":{\"exitCode\":2}}" (error)`,
				`call shell {"command":"rm x"}`, "command rm x (error)", `result shell "{\"case\":\"rejected\",\"value\":{\"reason\":\"no\"}}" (error)`, "denied shell: no",
			},
		},
		{
			name: "a message in pieces", agent: "cursor-agent", id: "S", final: "ok",
			stream: lines(cursorInit,
				`{"type":"assistant","timestamp_ms":1,"message":{"content":[{"type":"text","text":"le"}]}}`, `{"type":"assistant","timestamp_ms":2,"message":{"content":[{"type":"text","text":"t me"}]}}`,
				`{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"lsToolCall":{"args":{}}}}`,
				`{"type":"assistant","timestamp_ms":3,"message":{"content":[{"type":"text","text":"o"}]}}`, `{"type":"assistant","timestamp_ms":4,"message":{"content":[{"type":"text","text":"k"}]}}`,
				`{"type":"assistant","message":{"content":[{"type":"text","text":"ok"}]}}`, cursorEnd),
			events: []string{"assistant final: let me", "call ls {}", "assistant final: ok"},
		},
	} {
		t.Run(c.agent+"/"+c.name, func(t *testing.T) {
			tr := written(t, c.stream, c.stderr, c.session)
			if tr.ExitCode = &c.exit; c.stream == "" && c.stderr == "" {
				tr.Stdout = ""
			}
			report, err := Normalize(c.agent, tr)
			wantFailure(t, err, c.kind, c.status)
			if report == nil {
				report = &plumb.SessionReport{}
			}
			if diff := cmp.Diff(strings.Join(c.events, "\n"), strings.TrimSuffix(brief(report), "\n")); diff != "" {
				t.Errorf("events: -want +got:\n%s", diff)
			}
			if report.SessionID != c.id || report.FinalOutput != c.final {
				t.Errorf("session %q, final output %q; want %q, %q", report.SessionID, report.FinalOutput, c.id, c.final)
			}
		})
	}
}
