package ci

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// rendered returns what write writes.
func rendered(tb testing.TB, write func(io.Writer) error) string {
	tb.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func renderMarkdown(tb testing.TB, l *reporttest.Log) string {
	tb.Helper()
	return rendered(tb, func(w io.Writer) error { return WriteMarkdown(w, &report.Source{Sessions: l.Sessions}, l.Run(tb)) })
}

func TestMarkdownFits(t *testing.T) {
	l := reporttest.Storm(3000)
	for _, c := range l.Run(t).Cases {
		l.Note("warning", strings.Repeat(c.ID+" ", 50), "")
	}
	got := renderMarkdown(t, l)
	if len(got) >= 65_536 || len(got) < 5_000 {
		t.Errorf("a comment of %d bytes", len(got))
	}
	if strings.Count(got, "<details>") != strings.Count(got, "</details>") || strings.Count(got, "```")%2 != 0 {
		t.Error("a part was cut in two")
	}
}

// TestMarkdownIsInert: nothing that a model wrote may format, link, notify or break out of its
// place.
func TestMarkdownIsInert(t *testing.T) {
	evil := "````\n</details> @octocat [x](https://evil.example) | `` ` `` <img src=x> ::error::x"
	l := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a-1", Category: "c|d `e`"})
	l.Execute("a-1", "gpt-5", reporttest.Answer(evil, 1), reporttest.Failed(reporttest.Verdict("exact", false, evil, evil+"\n1", evil+"\n2")))
	l.End("", 0)
	got := renderMarkdown(t, l)
	fence := ""
	for line := range strings.SplitSeq(got, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:strings.LastIndexByte(strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyz"), '`')+1]
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
		case strings.Contains(stripCode(line), "octocat"), strings.Contains(stripCode(line), "<img"):
			t.Errorf("not inert: %s", line)
		}
	}
	if fence != "" {
		t.Error("a block does not end")
	}
	if !strings.Contains(got, "| category <code>c&#124;d &#96;e&#96;</code> |") {
		t.Errorf("category in the table:\n%s", got)
	}
}

// stripCode removes code spans, as CommonMark pairs runs of backticks.
func stripCode(s string) string {
	var out strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			out.WriteString(s)
			break
		}
		out.WriteString(s[:i])
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		rest, end := s[i+n:], -1
		for at := 0; at < len(rest); {
			j := strings.IndexByte(rest[at:], '`')
			if j < 0 {
				break
			}
			run := len(rest[at+j:]) - len(strings.TrimLeft(rest[at+j:], "`"))
			if run == n {
				end = at + j + run
				break
			}
			at += j + run
		}
		if end < 0 {
			out.WriteString(s[i : i+n])
			s = rest
			continue
		}
		s = rest[end:]
	}
	return out.String()
}

func TestComparisonMarkdown(t *testing.T) {
	t.Parallel()
	golden.Equal(t, "testdata/comparison.md", MarkdownComparison(reporttest.LostRun(t).Comparison))
	golden.Equal(t, "testdata/comparison-gates.md", MarkdownComparison(reporttest.LostRun(t, "pass_rate >= -5pp", "errors <= 5%").Comparison))
}

// A comment on a pull request has a limited size, whatever the comparison is.
func TestComparisonMarkdownSize(t *testing.T) {
	t.Parallel()
	c := reporttest.CompareLogs(t, reporttest.ComparedLog("gpt-5", 3000, func(int) bool { return false }),
		reporttest.ComparedLog("gpt-5-mini", 3000, func(int) bool { return true }))
	if text := MarkdownComparison(c.Comparison); len(text) > markdownSize || !strings.Contains(text, "worse") {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}

// TestF24Cost is the line that was live.
func TestF24Cost(t *testing.T) {
	t.Parallel()
	for _, model := range reporttest.HostileTexts() {
		about := reporttest.Info("m")
		about.Runners[0].Agent.Model = model
		l := reporttest.NewLog(about, plumb.CaseInfo{ID: "a"})
		r := reporttest.Answer("x", 1)
		r.CostUSD = nil
		l.Execute("a", "m", r, reporttest.Passed(reporttest.Verdict("x", true, "", "", "")))
		got := renderMarkdown(t, l.End("", 0))
		if live := reporttest.LiveMarkdown(got); live != nil || !strings.Contains(got, "no price for") {
			t.Errorf("%q: %q in\n%s", model, live, got)
		}
	}
}

// TestMarkdownText: what is set as text or code is read as that text, alone and in a table.
func TestMarkdownText(t *testing.T) {
	t.Parallel()
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	for _, s := range append(reporttest.HostileTexts(), "time 3.2s", "p < 0.05", "-35 pp [-59, -5]", "a · b – c", "1/3 → 2/3") {
		for what, source := range map[string]markup{
			"set": "x " + set(s) + " y", "code": "x " + code(s) + " y", "start": set(s), "cell": "| a | b |\n| --- | --- |\n| " + setCell(s) + " | end |\n",
			"code cell": "| a | b |\n| --- | --- |\n| " + cellText(s) + " | end |\n",
		} {
			if live := reporttest.LiveMarkdown(string(source)); live != nil {
				t.Errorf("%s: %q is %q: %q", what, s, source, live)
			}
			var html bytes.Buffer
			if err := md.Convert([]byte(source), &html); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(what, "cell") && strings.Count(html.String(), "<td>") != 2 {
				t.Errorf("%s: %q has other cells: %s", what, s, html.String())
			}
			if strings.Contains(html.String(), "<h1") || strings.Contains(html.String(), "<em>") || strings.Contains(html.String(), "<strong>") ||
				strings.Contains(html.String(), "<li>") || strings.Contains(html.String(), "<blockquote>") {
				t.Errorf("%s: %q formats: %s", what, s, html.String())
			}
		}
	}
}
