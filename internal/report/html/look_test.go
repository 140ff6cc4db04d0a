package html

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// oddLog is a run with unusual names and texts: very long ones, right-to-left text, emoji.
func oddLog() *reporttest.Log {
	i := reporttest.Info("gpt-5", "claude-with-a-very-long-runner-name-that-somebody-made-up")
	i.SuiteName = strings.Repeat("a-very-long-suite-name-", 6)
	long, rtl, emoji := strings.Repeat("checks-that-the-agent-does-not-", 8), "مرحبا بالعالم 🌿 שלום", "👩‍👩‍👧‍👦 emoji 漢字"
	l := reporttest.NewLog(i, plumb.CaseInfo{
		ID: long, Category: strings.Repeat("category", 6),
		Tags: []string{strings.Repeat("tag", 20), "b"},
	},
		plumb.CaseInfo{ID: rtl, Category: "rtl"}, plumb.CaseInfo{ID: emoji, Tags: []string{"絵文字"}})
	r := reporttest.BigSession(20)
	r.Workspace = "/tmp/plumb-workspaces-0/20261120-154626-npt7nq/case/claude--c857d09d/repeat-1"
	command := "find / -name '" + strings.Repeat("x", 400) + "' -exec sh -c 'echo " + strings.Repeat("word ", 100) +
		"' ;"
	r.Events = append(r.Events,
		plumb.SessionEvent{Type: plumb.SessionCommand, Command: command, ExitCode: new(1)},
		plumb.SessionEvent{Type: plumb.SessionFileRead, Path: r.Workspace + "/docs/guide.md"},
		plumb.SessionEvent{Type: plumb.SessionFileRead, Path: r.Workspace + "-2/other.md"},
		plumb.SessionEvent{
			Type: plumb.SessionMessage, Role: "assistant",
			Text: "مرحبا، هذا نص طويل من اليمين إلى اليسار. " + strings.Repeat("شيء آخر ", 30) + "👍🏽🎉",
		},
		plumb.SessionEvent{Type: plumb.SessionMessage, Role: "user", Text: strings.Repeat("abcdefghij", 60)})
	for range 30 {
		r.PermissionDenials = append(r.PermissionDenials, plumb.PermissionDenial{
			Tool:    strings.Repeat("Tool", 20),
			Message: "no",
		})
	}
	l.Execute(long, "gpt-5", r, reporttest.Failed(reporttest.Verdict("commands.includes", false, strings.Repeat("nobreak", 60)+"\n"+command,
		strings.Repeat("é", 500), strings.Repeat("got ", 300))))
	l.Execute(long, i.Runners[1].ID, r, reporttest.Passed(reporttest.Verdict("x", true, "y", "", "")))
	l.Execute(rtl, "gpt-5", r, reporttest.Failed(reporttest.Verdict("contains", false, "النص لا يحتوي على «نعم»", "نعم 🌿", "لا")))
	l.Execute(emoji, "gpt-5", r, reporttest.Passed())
	return l.End("", 0)
}

// brokenLog is a run in which nothing could be measured.
func brokenLog() *reporttest.Log {
	l := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a"}, plumb.CaseInfo{ID: "b"})
	f := &plumb.Failure{
		Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 401 invalid api key",
		Hint:     "export OPENAI_API_KEY",
		Provider: "openai", HTTPStatus: 401, RequestID: "req_9", Attempts: 1,
	}
	for _, id := range []string{"a", "b"} {
		l.Session(id, "gpt-5", 1, 1, nil, f, reporttest.Broken(f))
		l.Finish(id, "gpt-5", reporttest.ResultOf(1, nil, reporttest.Broken(f)))
	}
	return l.End("", 0)
}

// hiddenFocus says what is wrong with how the focus is shown, if anything is.
const hiddenFocus = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), r = e.getClientRects()[0];
	if (e === document.body) return "";
	const name = e.outerHTML.slice(0, 90);
	if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return "no outline: " + name;
	if (!r || r.bottom <= 0 || r.top >= innerHeight) return "out of sight: " + name;
	const x = Math.max(0, Math.min(innerWidth - 1, r.x + Math.min(r.width / 2, 8))), top = document.elementFromPoint(x, Math.max(0, Math.min(innerHeight - 1, r.y + r.height / 2)));
	return e.contains(top) || top && top.contains(e) ? "" : "covered by " + (top && top.outerHTML.slice(0, 60)) + ": " + name;
})()`

// TestHTMLLooks: whatever is in a run, each view of it fits into windows of any width, can be read
// in both colors, and can be used without eyes or hands.
func TestHTMLLooks(t *testing.T) {
	b := newBrowser(t)
	for _, p := range []struct {
		name  string
		log   *reporttest.Log
		views []string
	}{
		{"agents", reporttest.AgentLog(), []string{"", "x0", "x3", "x5", "c0/2.2,0/1.1"}},
		{"prompts", reporttest.Mixed(), []string{"", "x1", "x4", "c0/1.1,1/1.1"}},
		{"nothing", reporttest.NewLog(reporttest.Info("gpt-5")).End("", 0), []string{""}},
		{"stopped", reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a"}).End(plumb.StopCost, 1), []string{""}},
		{"one", reporttest.Simple(1), []string{"", "x0"}},
		{"errors", brokenLog(), []string{"", "x0"}},
		{"odd", oddLog(), []string{"", "x0", "c0/1.1,1/1.1"}},
		{"samples", reporttest.Samples(), []string{""}},
	} {
		if os.Getenv("PLUMB_CI") == "" && p.name != "agents" && p.name != "odd" {
			continue // CI looks at all of them
		}
		file := openable(t, p.log)
		for n, view := range p.views {
			for _, look := range []struct {
				name, color   string
				width, height int64
				tabs          int
			}{
				{"light", "light", 1280, 900, 50},
				{"dark", "dark", 1280, 900, 0},
				{"narrow", "light", 390, 844, 50},
				{"tablet", "dark", 820, 1180, 0},
			} {
				at := fmt.Sprintf("%s #%s %s", p.name, view, look.name)
				b.size(look.width, look.height)
				b.media("", "prefers-color-scheme", look.color)
				b.open(file, view)
				b.shot(fmt.Sprintf("%s-%d-%s", p.name, n, look.name))
				if wide := ask[int](b, "document.documentElement.scrollWidth"); int64(wide) > look.width {
					t.Errorf("%s: %d pixels wide", at, wide)
				}
				b.accessible(at)
				for n := range look.tabs {
					var way chromedp.Modifier
					if n >= 30 {
						way = chromedp.ModifierShift // and back
					}
					b.do("tab", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(way)))
					if text := ask[string](b, hiddenFocus); text != "" {
						t.Errorf("%s: after %d tabs: %s", at, n+1, text)
					}
				}
			}
		}
	}
}

// TestHTMLOdd: paths are shown without the workspace that they are in, and text from right to left
// keeps its marks.
func TestHTMLOdd(t *testing.T) {
	b := newBrowser(t)
	b.open(openable(t, oddLog()), "x0")
	text := b.text(".lines")
	if !strings.Contains(text, "\ndocs/guide.md") || !strings.Contains(text, "/repeat-1-2/other.md") {
		t.Errorf("the timeline:\n%s", text)
	}
	b.do("rest", chromedp.ScrollIntoView(chromedp.CSS(".step:last-child")))
	b.shot("odd")
	if dir := ask[string](b, `[...document.querySelectorAll("bdi")].map((e) => getComputedStyle(e).unicodeBidi).join()`); strings.Trim(strings.ReplaceAll(dir, "isolate", ""), ",") != "" {
		t.Errorf("texts run into each other: %s", dir)
	}
}
