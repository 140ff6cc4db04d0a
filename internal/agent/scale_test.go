package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// stream writes a stream of one agent with records of about size bytes, total bytes in all, and returns its path. The
// records are calls of commands with their results, in turns.
func stream(tb testing.TB, agent string, size, total int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "stdout")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	begin, call, end := streamRecords(agent)
	output, _ := json.Marshal(strings.Repeat("line of output: héllo \"quoted\"\n", max(1, (2*size-len(call))/40)))
	written := 0
	put := func(s string) {
		n, err := w.WriteString(s)
		if err != nil {
			tb.Fatal(err)
		}
		written += n
	}
	put(begin)
	for i := 0; written < total; i++ {
		put(strings.ReplaceAll(strings.ReplaceAll(call, "%d", fmt.Sprint(i)), "%q", string(output)))
	}
	put(end)
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// streamRecords returns how a stream begins, a call with its result, and how it ends. %d is the number of the call, %q its
// output.
func streamRecords(agent string) (begin, call, end string) {
	switch agent {
	case "codex":
		return `{"type":"thread.started","thread_id":"t"}` + "\n" + `{"type":"turn.started"}` + "\n",
			`{"type":"item.started","item":{"id":"item_%d","type":"command_execution","command":"/bin/bash -lc 'cat f%d.txt'","aggregated_output":"","exit_code":null,"status":"in_progress"}}` + "\n" +
				`{"type":"item.completed","item":{"id":"item_%d","type":"command_execution","command":"/bin/bash -lc 'cat f%d.txt'","aggregated_output":%q,"exit_code":0,"status":"completed"}}` + "\n",
			`{"type":"item.completed","item":{"id":"last","type":"agent_message","text":"done"}}` + "\n" +
				`{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0}}` + "\n"
	case "cursor-agent":
		return `{"type":"system","subtype":"init","session_id":"s","cwd":"/ws","model":"m"}` + "\n",
			`{"type":"tool_call","subtype":"started","call_id":"c%d","tool_call":{"shellToolCall":{"args":{"command":"cat f%d.txt"}}},"timestamp_ms":1767225600000}` + "\n" +
				`{"type":"tool_call","subtype":"completed","call_id":"c%d","tool_call":{"shellToolCall":{"args":{"command":"cat f%d.txt"},"result":{"success":{"exitCode":0,"stdout":%q}}}},"timestamp_ms":1767225600000}` + "\n",
			`{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"inputTokens":1,"outputTokens":1}}` + "\n"
	case "opencode":
		head := `,"timestamp":1795164516272,"sessionID":"ses_1","part":{"messageID":"msg_%d","sessionID":"ses_1",`
		step := `{"type":"step_start"` + head + `"id":"a%d","type":"step-start"}}` + "\n"
		return step,
			`{"type":"tool_use"` + head + `"type":"tool","tool":"bash","callID":"c%d","state":{"status":"completed","input":{"command":"cat f%d.txt"},"output":%q,"metadata":{"output":"","exit":0,"truncated":false},"title":"t","time":{"start":1795164516269,"end":1795164516546}},"id":"b%d"}}` + "\n" +
				`{"type":"step_finish"` + head + `"id":"d%d","reason":"tool-calls","type":"step-finish","tokens":{"total":2,"input":1,"output":1,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}` + "\n" + step,
			`{"type":"text"` + head + `"id":"x","type":"text","text":"done"}}` + "\n" +
				`{"type":"step_finish"` + head + `"id":"y","reason":"stop","type":"step-finish","tokens":{"total":2,"input":1,"output":1,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}` + "\n"
	case "copilot":
		const tail = `,"timestamp":"2026-11-20T08:35:18.902Z","parentId":"24c6f02d-9a42-4a61-9a43-4a0a1f3e77d3"}` + "\n"
		return `{"type":"user.message","data":{"content":"go"},"id":"u"` + tail,
			`{"type":"assistant.message","data":{"messageId":"m%d","model":"gpt-5","content":"","toolRequests":[{"toolCallId":"c%d","name":"bash","arguments":{"command":"cat f%d.txt"},"type":"function"}],"turnId":"0"},"id":"a%d"` + tail +
				`{"type":"tool.execution_start","data":{"toolCallId":"c%d","toolName":"bash","arguments":{"command":"cat f%d.txt"},"turnId":"0","model":"gpt-5"},"id":"b%d"` + tail +
				`{"type":"tool.execution_complete","data":{"toolCallId":"c%d","model":"gpt-5","shellExecution":{"exitCode":0},"success":true,"result":{"content":%q,"detailedContent":""}},"id":"d%d"` + tail,
			`{"type":"assistant.message","data":{"messageId":"last","model":"gpt-5","content":"done","toolRequests":[]},"id":"z"` + tail +
				`{"type":"result","timestamp":"2026-11-20T08:35:18.949Z","sessionId":"s","exitCode":0,"usage":{}}` + "\n"
	case "gemini":
		return `{"type":"init","timestamp":"2026-11-20T08:35:20.877Z","session_id":"s","model":"m"}` + "\n",
			`{"type":"tool_use","timestamp":"2026-11-20T08:35:20.982Z","tool_name":"run_shell_command","tool_id":"c%d","parameters":{"command":"cat f%d.txt"}}` + "\n" +
				`{"type":"tool_result","timestamp":"2026-11-20T08:35:21.062Z","tool_id":"c%d","status":"success","output":%q}` + "\n",
			`{"type":"message","timestamp":"2026-11-20T08:35:21.149Z","role":"assistant","content":"done","delta":true}` + "\n" +
				`{"type":"result","timestamp":"2026-11-20T08:35:21.150Z","status":"success","stats":{"total_tokens":2,"input_tokens":1,"output_tokens":1,"cached":0}}` + "\n"
	default:
		return `{"type":"system","subtype":"init","session_id":"s","cwd":"/ws","model":"m","claude_code_version":"2"}` + "\n",
			`{"type":"assistant","message":{"id":"m%d","model":"m","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"cat f%d.txt"}}],"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s","uuid":"a%d","timestamp":"2026-11-20T08:35:16.225Z"}` + "\n" +
				`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":%q,"is_error":false}]},"parent_tool_use_id":null,"session_id":"s","uuid":"b%d","timestamp":"2026-11-20T08:35:16.225Z"}` + "\n",
			`{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"input_tokens":1,"output_tokens":1}}` + "\n"
	}
}

// TestLargeTranscripts: 200 MB become a report within bounded memory. Of short records there are so many that the report
// itself is what is large; of those it takes less.
func TestLargeTranscripts(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	total := 60 << 20
	if os.Getenv("PLUMB_CI") != "" {
		total = 200 << 20
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(112 << 20)) // as plumb normalize does
	for _, shape := range []struct {
		name              string
		size, total, most int // most is bytes of heap at the peak
	}{
		{"1 MB records", 1 << 20, total, 64 << 20},
		{"10 KB records", 10 << 10, total, 64 << 20},
		{"2 KB records", 2 << 10, total, 128 << 20},
		{"700 byte records", 700, total, 150 << 20},
		{"a small transcript of 700 byte records", 700, 30 << 20, 96 << 20},
	} {
		t.Run(shape.name, func(t *testing.T) {
			path := stream(t, "claude-code", shape.size, shape.total)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			before := m.HeapAlloc
			done, peak := make(chan struct{}), make(chan uint64)
			go func() {
				most := uint64(0)
				for {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most = max(most, m.HeapAlloc)
					select {
					case <-done:
						peak <- most
						return
					case <-time.After(5 * time.Millisecond):
					}
				}
			}()
			report, err := Normalize("claude-code", transcript.Transcript{Stdout: path})
			close(done)
			most := int64(<-peak) - int64(before)
			if err != nil {
				t.Fatal(err)
			}
			if report.FinalOutput != "done" || len(report.Events) < 100 {
				t.Errorf("%d events, final output %q", len(report.Events), report.FinalOutput)
			}
			commands := 0 // each reads a file of its own
			for _, e := range report.Events {
				if e.Type != plumb.SessionCommand {
					continue
				}
				if want := fmt.Sprintf("cat f%d.txt", commands); e.Command != want || e.ExitCode == nil || *e.ExitCode != 0 {
					t.Fatalf("command %d is %q with exit code %v, want %q", commands, e.Command, e.ExitCode, want)
				}
				commands++
			}
			if commands < 20 || len(report.Files.ObservedReads) != commands || report.Steps != commands {
				t.Errorf("%d commands, %d reads, %d steps", commands, len(report.Files.ObservedReads), report.Steps)
			}
			t.Logf("%d events, %d MB of heap at the peak", len(report.Events), most>>20)
			if most > int64(shape.most) {
				t.Errorf("%d MB of heap at the peak", most>>20)
			}
		})
	}
}

func benchmarkNormalise(b *testing.B, agent string) {
	b.Helper()
	for _, size := range []int{700, 10 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("record=%d", size), func(b *testing.B) {
			path := stream(b, agent, size, 8<<20)
			b.SetBytes(8 << 20)
			for b.Loop() {
				if _, err := Normalize(agent, transcript.Transcript{Stdout: path, Cwd: "/ws"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNormaliseCodex(b *testing.B)  { benchmarkNormalise(b, "codex") }
func BenchmarkNormaliseClaude(b *testing.B) { benchmarkNormalise(b, "claude-code") }
func BenchmarkNormaliseCursor(b *testing.B) { benchmarkNormalise(b, "cursor-agent") }
func BenchmarkNormaliseQwen(b *testing.B)   { benchmarkNormalise(b, "qwen") }

func BenchmarkNormaliseOpencode(b *testing.B) { benchmarkNormalise(b, "opencode") }
func BenchmarkNormaliseCopilot(b *testing.B)  { benchmarkNormalise(b, "copilot") }
func BenchmarkNormaliseGemini(b *testing.B)   { benchmarkNormalise(b, "gemini") }

// BenchmarkNormaliseRecording takes a real session with its files, which is small and mostly start-up.
func BenchmarkNormaliseRecording(b *testing.B) {
	for agent, dir := range map[string]string{"codex": "codex/ok", "claude-code": "claude/ok"} {
		b.Run(agent, func(b *testing.B) {
			r := readRecording(b, agent, filepath.Join("testdata", filepath.FromSlash(dir)))
			for b.Loop() {
				if _, err := Normalize(agent, r.t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
