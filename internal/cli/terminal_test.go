package cli_test

import (
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestTerminal runs a suite on a terminal: live and in color if the terminal supports it, otherwise
// in plain lines, and never with control codes from the model.
func TestTerminal(t *testing.T) {
	const osc, blink = "\x1b]0;title\a", "\x1b[5m"
	w := newWorld(t)
	w.terminal = true
	w.serve(fakemodel.Behavior{Answers: []fakemodel.Answer{{Contains: "Capital", Answer: osc + blink + "Lyon"}}})
	w.write("suite.jsonl", `{"id":"a","category":"factual","input":"Capital of France?","ideal":"Paris","assertion":{"type":"contains"}}`)
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		live bool
	}{
		{"capable", map[string]string{"TERM": "xterm-256color"}, nil, true},
		{"NO_COLOR", map[string]string{"TERM": "xterm-256color", "NO_COLOR": "1"}, nil, false},
		{"dumb", map[string]string{"TERM": "dumb"}, nil, false},
		{"JSON", map[string]string{"TERM": "xterm-256color"}, []string{"--json"}, false},
		{"markdown", map[string]string{"TERM": "xterm-256color"}, []string{"--report", "markdown"}, false},
		{"file", map[string]string{"TERM": "xterm-256color"}, []string{"--report", "terminal:out.txt", "--report", "markdown"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.env["TERM"], w.env["NO_COLOR"] = test.env["TERM"], test.env["NO_COLOR"]
			out := w.must(1, append([]string{"run", "suite.jsonl", "--model", "openai:gpt-4o"}, test.args...)...)
			if got := strings.Contains(out, "\x1b["); got != test.live {
				t.Errorf("escape codes: %v, want %v\n%q", got, test.live, out)
			}
			if strings.Contains(out, osc) || strings.Contains(out, blink) {
				t.Errorf("the model's escape codes are on the terminal:\n%q", out)
			}
			if !strings.Contains(out, "0/1 pass") {
				t.Errorf("no verdict:\n%s", out)
			}
		})
	}
	if text := w.read("out.txt"); strings.Contains(text, "\x1b") || !strings.Contains(text, "0/1 pass") {
		t.Errorf("a report in a file:\n%q", text)
	}
}

// TestNarrowTerminal lists runs and what can run here on a narrow terminal: no line begins below a
// column of names, and a table has fewer columns.
func TestNarrowTerminal(t *testing.T) {
	w := newWorld(t)
	w.terminal, w.width = true, 44
	w.serve(fakemodel.Behavior{})
	w.write("suite.jsonl", `{"id":"a","input":"Capital of France?","ideal":"Paris","assertion":{"type":"contains"}}`)
	w.must(1, "run", "suite.jsonl", "--model", "openai:gpt-4o")
	for line := range strings.Lines(w.must(0, "runs")) {
		if len(line) > w.width {
			t.Errorf("a line of %d columns: %q", len(line), line)
		}
	}
	if _, out, _ := w.plumb("doctor"); !strings.Contains(out, "\n    fix:  set GROQ_API_KEY") {
		t.Errorf("the doctor:\n%s", out)
	}
}
