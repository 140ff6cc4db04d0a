package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func TestMarkdownFits(t *testing.T) {
	l := storm(3000)
	for _, c := range l.run(t).Cases {
		l.note("warning", strings.Repeat(c.ID+" ", 50), "")
	}
	got := l.render(t, Markdown, Options{})
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
	l := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1", Category: "c|d `e`"})
	l.execute("a-1", "gpt-5", answer(evil, 1), failed(verdict("exact", false, evil, evil+"\n1", evil+"\n2")))
	l.end("", 0)
	got := l.render(t, Markdown, Options{})
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
	golden.Equal(t, "testdata/comparison.md", renderComparison(t, Markdown, Options{}, lostRun(t)))
	golden.Equal(t, "testdata/comparison-gates.md", renderComparison(t, Markdown, Options{}, lostRun(t, "pass_rate >= -5pp", "errors <= 5%")))
}

// A comment on a pull request has a limited size, whatever the comparison is.
func TestComparisonMarkdownSize(t *testing.T) {
	t.Parallel()
	c := compared(t, comparedLog("gpt-5", 3000, func(int) bool { return false }),
		comparedLog("gpt-5-mini", 3000, func(int) bool { return true }))
	if text := renderComparison(t, Markdown, Options{}, c); len(text) > markdownSize || !strings.Contains(text, "worse") {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}

// TestF24Cost is the line that was live.
func TestF24Cost(t *testing.T) {
	t.Parallel()
	for _, model := range hostileTexts() {
		about := info("m")
		about.Runners[0].Agent.Model = model
		l := newLog(about, plumb.CaseInfo{ID: "a"})
		r := answer("x", 1)
		r.CostUSD = nil
		l.execute("a", "m", r, passed(verdict("x", true, "", "", "")))
		got := l.end("", 0).render(t, Markdown, Options{})
		if live := liveMarkdown(got); live != nil || !strings.Contains(got, "no price for") {
			t.Errorf("%q: %q in\n%s", model, live, got)
		}
	}
}

// TestMarkdownText: what is set as text or code is read as that text, alone and in a table.
func TestMarkdownText(t *testing.T) {
	t.Parallel()
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	for _, s := range append(hostileTexts(), "time 3.2s", "p < 0.05", "-35 pp [-59, -5]", "a · b – c", "1/3 → 2/3") {
		for what, source := range map[string]markup{
			"set": "x " + set(s) + " y", "code": "x " + code(s) + " y", "start": set(s), "cell": "| a | b |\n| --- | --- |\n| " + setCell(s) + " | end |\n",
			"code cell": "| a | b |\n| --- | --- |\n| " + cellText(s) + " | end |\n",
		} {
			if live := liveMarkdown(string(source)); live != nil {
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

// TestU1MarkdownNamesRunners: a case that was lost on one of several runners is listed with it.
func TestU1MarkdownNamesRunners(t *testing.T) {
	t.Parallel()
	logOf := func(lost string) *log {
		l := newLog(info("v1", "v2"), plumb.CaseInfo{ID: "a", Hash: "sha256:a"}, plumb.CaseInfo{ID: "b", Hash: "sha256:b"})
		for _, id := range []string{"a", "b"} {
			for _, runner := range []string{"v1", "v2"} {
				r := answer(lost+id+runner, 10)
				r.SessionID = r.FinalOutput
				j := passed(verdict("x", true, "", "", ""))
				if lost == id+runner {
					j = failed(verdict("x", false, "no", "", ""))
				}
				l.execute(id, runner, r, j)
			}
		}
		return l.end("", 0)
	}
	c := compared(t, logOf(""), logOf("bv2"))
	for kind, want := range map[string]string{Markdown: "- `b on v2` 1/1 → 0/1", Terminal: "b on v2  1/1 → 0/1"} {
		if text := renderComparison(t, kind, Options{Screen: Screen{Unicode: true}}, c); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", kind, want, text)
		}
	}
}
