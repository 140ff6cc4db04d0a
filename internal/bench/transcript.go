package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/agent"
)

// agents lists the agents whose transcripts bench can generate.
func agents() []string { return agent.Types() }

// transcriptMain writes the output stream of an agent that runs commands until the stream has a
// given size.
func transcriptMain(args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench transcript", flag.ContinueOnError)
	fs.SetOutput(stderr)
	name := fs.String("agent", "claude-code", "whose transcript")
	record := fs.Int("record", 900, "about how many bytes a line has")
	size := fs.Int("size", 100_000, "bytes in all")
	out := fs.String("out", "transcript.jsonl", "file to write")
	if err := fs.Parse(args); err != nil {
		return err
	}
	return writeTranscript(*out, *name, *record, *size)
}

// finalAnswer is the end of every transcript.
const finalAnswer = "The answer is 42."

// writeTranscript writes a transcript of about size bytes. Its calls run commands, with outputs
// such that the mean line has record bytes.
func writeTranscript(file, agent string, record, size int) (err error) {
	begin, call, end := records(agent)
	if call == "" {
		return fmt.Errorf("no transcript format for agent %s", agent)
	}
	end = strings.ReplaceAll(end, "ANSWER", finalAnswer)
	const line = "ok  \tgithub.com/example/\"shop\"/cart\t0.412s — 17 tests\n"
	encoded, err := json.Marshal(line)
	if err != nil {
		return err
	}
	escaped := string(encoded[1 : len(encoded)-1])
	room := max(0, record*strings.Count(call, "\n")-len(call))
	output := `"` + strings.Repeat(escaped, max(1, room/len(escaped))) + `"`

	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<18)
	written := len(begin) + len(end)
	put := func(text string) {
		if err == nil {
			_, err = w.WriteString(text)
		}
	}
	put(begin)
	for i := 0; written < size && err == nil; i++ {
		text := strings.NewReplacer("%d", strconv.Itoa(i), "%q", output).Replace(call)
		put(text)
		written += len(text)
	}
	put(end)
	return errors.Join(err, w.Flush())
}

// records returns the start of an agent's stream, one command call with its result, and the end of
// the stream. %d is the number of the call, %q its output.
func records(agent string) (begin, call, end string) {
	switch agent {
	case "codex":
		return `{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}` + "\n" +
				`{"type":"turn.started"}` + "\n",
			`{"type":"item.started","item":{"id":"item_%d","type":"command_execution","command":"/bin/bash -lc 'go test ./p%d'","aggregated_output":"","exit_code":null,"status":"in_progress"}}` + "\n" +
				`{"type":"item.completed","item":{"id":"item_%d","type":"command_execution","command":"/bin/bash -lc 'go test ./p%d'","aggregated_output":%q,"exit_code":0,"status":"completed"}}` + "\n",
			`{"type":"item.completed","item":{"id":"last","type":"agent_message","text":"ANSWER"}}` + "\n" +
				`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":10,"reasoning_output_tokens":0}}` + "\n"
	case "cursor-agent":
		return `{"type":"system","subtype":"init","session_id":"s","cwd":"/ws","model":"m"}` + "\n",
			`{"type":"tool_call","subtype":"started","call_id":"c%d","tool_call":{"shellToolCall":{"args":{"command":"go test ./p%d"}}},"timestamp_ms":1767225600000}` + "\n" +
				`{"type":"tool_call","subtype":"completed","call_id":"c%d","tool_call":{"shellToolCall":{"args":{"command":"go test ./p%d"},"result":{"success":{"exitCode":0,"stdout":%q}}}},"timestamp_ms":1767225600000}` + "\n",
			`{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","session_id":"s","usage":{"inputTokens":100,"outputTokens":10}}` + "\n"
	case "opencode":
		const head = `,"timestamp":1795164516272,"sessionID":"ses_1","part":{"messageID":"msg_%d","sessionID":"ses_1",`
		const step = `{"type":"step_start"` + head + `"id":"a%d","type":"step-start"}}` + "\n"
		const tokens = `"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}` + "\n"
		return step,
			`{"type":"tool_use"` + head + `"type":"tool","tool":"bash","callID":"c%d","state":{"status":"completed","input":{"command":"go test ./p%d"},"output":%q,"metadata":{"output":"","exit":0,"truncated":false},"title":"t","time":{"start":1795164516269,"end":1795164516546}},"id":"b%d"}}` + "\n" +
				`{"type":"step_finish"` + head + `"id":"d%d","reason":"tool-calls","type":"step-finish",` + tokens +
				step,
			`{"type":"text"` + head + `"id":"x","type":"text","text":"ANSWER"}}` + "\n" +
				`{"type":"step_finish"` + head + `"id":"y","reason":"stop","type":"step-finish",` + tokens
	case "copilot":
		const tail = `,"timestamp":"2026-11-20T08:35:18.902Z","parentId":"24c6f02d-9a42-4a61-9a43-4a0a1f3e77d3"}` + "\n"
		return `{"type":"user.message","data":{"content":"go"},"id":"u"` + tail,
			`{"type":"assistant.message","data":{"messageId":"m%d","model":"gpt-5","content":"","toolRequests":[{"toolCallId":"c%d","name":"bash","arguments":{"command":"go test ./p%d"},"type":"function"}],"turnId":"0"},"id":"a%d"` + tail +
				`{"type":"tool.execution_start","data":{"toolCallId":"c%d","toolName":"bash","arguments":{"command":"go test ./p%d"},"turnId":"0","model":"gpt-5"},"id":"b%d"` + tail +
				`{"type":"tool.execution_complete","data":{"toolCallId":"c%d","model":"gpt-5","shellExecution":{"exitCode":0},"success":true,"result":{"content":%q,"detailedContent":""}},"id":"d%d"` + tail,
			`{"type":"assistant.message","data":{"messageId":"last","model":"gpt-5","content":"ANSWER","toolRequests":[]},"id":"z"` + tail +
				`{"type":"result","timestamp":"2026-11-20T08:35:18.949Z","sessionId":"s","exitCode":0,"usage":{}}` +
				"\n"
	case "gemini":
		return `{"type":"init","timestamp":"2026-11-20T08:35:20.877Z","session_id":"s","model":"m"}` + "\n",
			`{"type":"tool_use","timestamp":"2026-11-20T08:35:20.982Z","tool_name":"run_shell_command","tool_id":"c%d","parameters":{"command":"go test ./p%d"}}` + "\n" +
				`{"type":"tool_result","timestamp":"2026-11-20T08:35:21.062Z","tool_id":"c%d","status":"success","output":%q}` + "\n",
			`{"type":"message","timestamp":"2026-11-20T08:35:21.149Z","role":"assistant","content":"ANSWER","delta":true}` + "\n" +
				`{"type":"result","timestamp":"2026-11-20T08:35:21.150Z","status":"success","stats":{"total_tokens":110,"input_tokens":100,"output_tokens":10,"cached":0}}` + "\n"
	case "claude-code", "qwen":
		const tail = `,"parent_tool_use_id":null,"session_id":"0c72e262-1c53-4450-968e-b01776de7877","uuid":"%d","timestamp":"2026-11-20T08:35:16.225Z"}` + "\n"
		return `{"type":"system","subtype":"init","session_id":"0c72e262-1c53-4450-968e-b01776de7877","cwd":"/ws","model":"m","claude_code_version":"2.1.328"}` + "\n",
			`{"type":"assistant","message":{"id":"m%d","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"go test ./p%d"}}],"usage":{"input_tokens":100,"output_tokens":10}}` + tail +
				`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":%q,"is_error":false}]}` + tail,
			`{"type":"assistant","message":{"id":"last","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ANSWER"}],"usage":{"input_tokens":100,"output_tokens":10}}` + strings.ReplaceAll(tail, "%d", "z") +
				`{"type":"result","subtype":"success","is_error":false,"duration_ms":100,"num_turns":2,"result":"ANSWER","session_id":"0c72e262-1c53-4450-968e-b01776de7877","usage":{"input_tokens":100,"output_tokens":10}}` + "\n"
	default:
		return "", "", ""
	}
}
