package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	mdtext "github.com/yuin/goldmark/text"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// hostileTexts are texts that do something where they are read as anything but text.
func hostileTexts() []string {
	return []string{
		`gpt </script><svg onload=pwn(6)>`, `<img src=x onerror=alert(1)>`, `<!-- hidden`, `</details></summary><h1>`, `<a href="https://evil.example">x</a>`,
		`[x](https://evil.example)`, `![x](https://evil.example/x.png)`, `[x]: https://evil.example "t"`, `[x][y]`, `<https://evil.example>`,
		`https://evil.example/?q=1`, `www.evil.example`, `mail evil@evil.example now`, `@team`, `ping (@octo-org/team) #1 GH-1`,
		"` <img src=x>", "`` a ` <img src=x> ``` b", "```\n<img src=x>\n```", "~~~\n@team\n~~~", `a | b | <img src=x>`, `a \| <img src=x> \\| [x](https://evil.example)`,
		"`|` \\`|<img src=x>", "line\n\n# @team\n- [x](https://evil.example)", "\r\n<img src=x>\r@team", "\x1b[35;5mred \x1b]8;;https://evil.example\x07x\x1b]8;;\x07",
		"\u202egnp.exe\u2066 \u200b\u200f\ufeff", "**bold** _it_ ~~gone~~ $x$ :tada:", `&lt;img src=x&gt; &#64;team`, `\<img src=x> \[x](https://evil.example)`, "::error::x %0A::set-output",
		"> 1", "- 1", "=1", "x[1](https://evil.example)", "[1]", "[1]: x", "p < 5 <b>", "\x00\x01\x7f\u009b2J\u2028@team",
	}
}

// liveMarkdown returns what a page that renders Markdown as GitHub does would make of a text, beside the
// markup that Plumb writes.
func liveMarkdown(source string) (live []string) {
	src := []byte(source)
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(mdtext.NewReader(src))
	own := regexp.MustCompile(`</?(details|summary|sub|code)>`)
	entity := regexp.MustCompile(`&#\d+;`) // a character of code
	mention := regexp.MustCompile(`(^|[^A-Za-z0-9_])[@#][A-Za-z0-9]`)
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Link, *ast.Image, *ast.AutoLink, *ast.LinkReferenceDefinition:
			live = append(live, n.Kind().String())
		case *ast.RawHTML:
			if html := string(n.Segments.Value(src)); own.ReplaceAllString(html, "") != "" {
				live = append(live, html)
			}
		case *ast.HTMLBlock:
			if html := own.ReplaceAllString(string(n.Lines().Value(src)), ""); strings.ContainsAny(html, "<>@[&") {
				live = append(live, html)
			}
		case *ast.Text:
			if s := entity.ReplaceAllString(string(n.Segment.Value(src)), "_"); mention.MatchString(s) {
				live = append(live, s)
			}
		}
		return ast.WalkContinue, nil
	})
	return live
}

// TestF24HostileTexts puts hostile texts into all texts of runs and of comparisons, and renders every report.
// None of them is more than text anywhere.
func TestF24HostileTexts(t *testing.T) {
	t.Parallel()
	styles := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, s := range hostileTexts() {
		check := func(name, what, got string) {
			plain := got
			if what == "color" {
				if strings.Contains(got, "\x1b[35;5m") {
					t.Errorf("%s with %q: a foreign color", name, s)
				}
				plain = styles.ReplaceAllString(got, "")
			}
			if at := strings.IndexFunc(plain, text.Hidden); at >= 0 {
				t.Errorf("%s, %s, with %q: control character in %q", name, what, s, plain[max(0, at-60):min(len(plain), at+20)])
			}
			switch what {
			case Markdown:
				for _, live := range liveMarkdown(got) {
					t.Errorf("%s with %q: live: %q in\n%s", name, s, live, got)
				}
			case JUnit:
				d := xml.NewDecoder(strings.NewReader(got))
				for {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("%s with %q: %v", name, s, err)
					}
				}
			case GitHubActions:
				command := regexp.MustCompile(`^::(error|warning|notice) title=[^:\n]*::`)
				for line := range strings.Lines(got) {
					if !command.MatchString(line) {
						t.Errorf("%s with %q: the line %q", name, s, line)
					}
				}
			}
		}
		dir := t.TempDir()
		getenv := func(name string) string {
			return map[string]string{"GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary.md")}[name]
		}
		for name, make := range map[string]func() *log{
			"agents": agentLog, "mixed": mixed, "prompts": prompts, "repeats": repeats, "samples": samples, "stopped": stopped,
		} {
			for _, priced := range []bool{true, false} {
				l := make()
				l = poisonedWith(l, s)
				for i := range l.events {
					if r := l.events[i].Result; r != nil && !priced {
						r.CostUSD = nil
					}
				}
				for _, kind := range []string{Markdown, JUnit, GitHubActions, Terminal, JSONSummary} {
					check(name, kind, l.render(t, kind, Options{Source: Source{Flags: "--config " + ShellWord(s)}, Screen: Screen{Unicode: true, Getenv: getenv}}))
				}
				check(name, "color", l.render(t, Terminal, Options{Screen: Screen{Unicode: true, Color: true}}))
			}
		}
		for _, gates := range [][]string{nil, {"pass_rate >= -5pp", "broken <= 0"}} {
			c := lostRun(t, gates...)
			data := *c
			poisonNames(reflect.ValueOf(c.Comparison), s)
			for _, kind := range []string{Markdown, JUnit, GitHubActions, Terminal, JSON} {
				check("comparison", kind, renderComparison(t, kind, Options{Screen: Screen{Unicode: true, Getenv: getenv}}, &data))
			}
			check("comparison", "color", renderComparison(t, Terminal, Options{Screen: Screen{Unicode: true, Color: true}}, &data))
		}
		summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		if err != nil {
			t.Fatal(err)
		}
		check("step summary", Markdown, string(summary))
	}
}

// poisonNames replaces the texts of a comparison, but for the words that Plumb has types for.
func poisonNames(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(text)
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem().Kind() == reflect.Struct && v.Type().String() != "*time.Time" {
			poisonNames(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poisonNames(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.PkgPath() != "time" {
				poisonNames(v.Field(i), text)
			}
		}
	default:
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
