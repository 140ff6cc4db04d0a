package report

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// The summary fits terminals of any width, and keeps the interval and the coverage of each column.
func TestSummaryFitsTheWidth(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		for name, l := range map[string]*log{"mixed": mixed(), "prompts": prompts(), "samples": samples()} {
			out := l.render(t, Terminal, Options{
				Terminal: true, Unicode: true, Size: func() (int, int) { return width, 24 },
				Getenv: func(key string) string { return map[string]string{"NO_COLOR": "1"}[key] },
			})
			tables, _, _ := strings.Cut(out, "\nrun  ") // the commands below are for copying
			for line := range strings.Lines(tables) {
				if strings.HasPrefix(line, "warning: ") || strings.HasPrefix(line, "  hint: ") {
					continue // whole, because people copy them
				}
				if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n >= width {
					t.Errorf("%s on %d columns: %d cells: %s", name, width, n, line)
				}
			}
			for _, want := range map[string][]string{
				"mixed": {"11–77 %", "20–94 %", "5/6", "3/6"}, "prompts": {"69–98 %", "76–100 %", "19/20"}, "samples": {"11–77 %", "5/7"},
			}[name] {
				if !strings.Contains(tables, want) {
					t.Errorf("%s on %d columns lacks %s:\n%s", name, width, want, tables)
				}
			}
		}
	}
}

// Twenty cases on two runners with a few failures fit on one screen.
func TestSummaryIsOneScreen(t *testing.T) {
	about := info("gpt-5", "gpt-5-mini")
	about.Judge = ""
	var cases []plumb.CaseInfo
	for i := range 20 {
		cases = append(cases, plumb.CaseInfo{
			ID: "refund-" + string(rune('a'+i)), Category: "support", Tags: []string{[]string{"billing", "tone"}[i%2]},
		})
	}
	l := newLog(about, cases...)
	for i, c := range cases {
		for _, r := range about.Runners {
			j := passed(verdict("contains", true, "ok", "14 days", ""))
			if i%8 == 3 && r.ID == "gpt-5-mini" {
				j = failed(verdict("contains", false, `"No." does not contain "14 days"`, "14 days", "No."))
			}
			l.execute(c.ID, r.ID, answer("No.", 300), j)
		}
	}
	out := l.end("", 0).render(t, Terminal, Options{Unicode: true})
	if n := strings.Count(out, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, out)
	}
	if strings.Count(out, "does not contain") != 3 {
		t.Errorf("a reason is told twice:\n%s", out)
	}
}

// While a session takes much longer than the others, an estimate of the time left would climb.
func TestNoEstimateWhileASessionHangs(t *testing.T) {
	r := newTerminal(Options{Getenv: func(string) string { return "" }})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.totals = plumb.Totals{Planned: 10, Finished: 4}
	r.pace.begin(now, 0)
	r.took = []time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, 60 * time.Second}
	r.running[execution{"slow", "gpt-5"}] = now
	if p := r.progress(now.Add(15 * time.Second)); !strings.Contains(p, "ETA") {
		t.Errorf("after 15 s: %s", p)
	}
	if p := r.progress(now.Add(19 * time.Second)); strings.Contains(p, "ETA") {
		t.Errorf("after 19 s, with a median of 6 s: %s", p)
	}
}

// A long prompt is shown with its first and its last part.
func TestAskedOf(t *testing.T) {
	if got := askedOf(" one\n two "); got != "one two" {
		t.Errorf("a short prompt is %q", got)
	}
	got := askedOf("first " + strings.Repeat("x", 1000) + " last")
	if !strings.HasPrefix(got, "first xxx") || !strings.HasSuffix(got, "xxx last") ||
		!strings.Contains(got, "(811 more characters)") {
		t.Errorf("a long prompt is %q", got)
	}
}

// Sums of prices have no noise in their last digits.
func TestRound12(t *testing.T) {
	for x, want := range map[float64]float64{
		0.00013749999999999998: 0.0001375, 1.1500000000000002e-05: 1.15e-05, 1.0 / 3: 0.333333333333, 0: 0, 42: 42,
	} {
		if got := text.Round(x); got != want {
			t.Errorf("%v becomes %v, want %v", x, got, want)
		}
	}
}
