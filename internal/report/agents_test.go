package report

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
)

// TestAgentsFit draws the table of agents on terminals of many widths: no line is too long, and the
// cost is there as long as there is room for it.
func TestAgentsFit(t *testing.T) {
	run := &plumb.Run{}
	for _, ev := range agentLog().events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		width  int
		shows  []string
		hidden string
	}{
		{0, []string{"reason", "cache", "$0.029", "codex (codex:gpt-5-codex)"}, "…"},
		{200, []string{"reason", "cache", "$0.029", "codex (codex:gpt-5-codex)"}, "…"},
		{92, []string{"reason", "cache", "$0.029", "codex (codex:gpt-5-codex)"}, "…"},
		{79, []string{"billable", "steps", "$0.029", "codex (codex:gpt-5-codex)"}, "reason"},
		{60, []string{"billable", "steps", "$0.029", "✓ find-the"}, "reason"},
		{30, []string{"time"}, "reason"},
	} {
		var out bytes.Buffer
		s := &summary{
			t: newTheme(false, true), w: bufio.NewWriter(&out), width: test.width,
			screen: &Screen{Getenv: func(string) string { return "" }}, src: &Source{}, run: run,
		}
		s.agents()
		if err := s.w.Flush(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := ansi.StringWidth(strings.TrimRight(line, "\n")); test.width > 0 && n > test.width {
				t.Errorf("width %d: a line of %d: %q", test.width, n, line)
			}
		}
		for _, want := range test.shows {
			if !strings.Contains(out.String(), want) {
				t.Errorf("width %d lacks %q:\n%s", test.width, want, &out)
			}
		}
		if strings.Contains(out.String(), test.hidden) {
			t.Errorf("width %d shows %q:\n%s", test.width, test.hidden, &out)
		}
	}
}
