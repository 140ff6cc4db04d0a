package report

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestJUnitReads parses what was written and checks its counts against its elements.
func TestJUnitReads(t *testing.T) {
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
		Skipped *struct {
			Message string `xml:"message,attr"`
		} `xml:"skipped"`
		Out string `xml:"system-out"`
	}
	var doc struct {
		Tests  int `xml:"tests,attr"`
		Suites []struct {
			Name     string     `xml:"name,attr"`
			Tests    int        `xml:"tests,attr"`
			Failures int        `xml:"failures,attr"`
			Errors   int        `xml:"errors,attr"`
			Skipped  int        `xml:"skipped,attr"`
			Cases    []testcase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	l := mixed()
	l.execute("gap-002", "gpt-5-mini", answer("nul \x00 \ufffe ]]> \x1b[1m"+strings.Repeat("x", junitOutput), 1),
		failed(verdict("a\x01b", false, "c\x02]]>", "", "")))
	l.end("", 0)
	if err := xml.Unmarshal([]byte(l.render(t, JUnit, Options{})), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 12 || len(doc.Suites) != 2 {
		t.Fatalf("%d tests, %d suites", doc.Tests, len(doc.Suites))
	}
	for _, s := range doc.Suites {
		failures, errs, skipped := 0, 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errs++
			}
			if c.Skipped != nil {
				skipped++
				if c.Skipped.Message == "" {
					t.Errorf("%s: skipped without a reason", c.Name)
				}
			}
			if len(c.Out) > junitOutput+200 {
				t.Errorf("%s: %d bytes of output", c.Name, len(c.Out))
			}
		}
		if len(s.Cases) != s.Tests || failures != s.Failures || errs != s.Errors || skipped != s.Skipped {
			t.Errorf("%s: counts %d %d %d %d, elements %d %d %d %d", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped,
				len(s.Cases), failures, errs, skipped)
		}
	}
}

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

func TestStepSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("# before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": path}[name] }
	l := storm(100)
	out := l.render(t, GitHubActions, Options{Screen: Screen{Getenv: getenv}})
	if got := strings.Count(out, "::error "); got != annotations {
		t.Errorf("%d annotations, want %d: GitHub shows no more", got, annotations)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		if !strings.HasPrefix(line, "::") {
			t.Errorf("a message broke into a line of its own: %q", line)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(data), "# before\n## ") {
		t.Errorf("step summary %q (%v)", data, err)
	}
}

func TestLogsCannotCommandCI(t *testing.T) {
	l := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1"})
	evil := "x\n::add-mask::y\n##[error]z\n##vso[task.setvariable]w"
	l.execute("a-1", "gpt-5", answer(evil, 1), failed(verdict("exact", false, evil, evil, evil+"\nmore")))
	l.end("", 0)
	out := l.render(t, Terminal, Options{Screen: Screen{Getenv: func(n string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[n] }}})
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") ||
			strings.Contains(line, "##vso[") {
			t.Errorf("a workflow command: %q", line)
		}
	}
}
