package html

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// openable writes the page of a run to a file.
func openable(t *testing.T, l *reporttest.Log) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(renderPage(t, l, &report.Source{Sessions: l.Indexed()}, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// manyLog is a run of 500 executions, every fifth case of which fails.
func manyLog() *reporttest.Log {
	var cases []plumb.CaseInfo
	for i := range 250 {
		cases = append(cases, plumb.CaseInfo{
			ID:       fmt.Sprintf("case-%03d", i),
			Category: []string{"search", "edit", "release"}[i%3],
		})
	}
	l := reporttest.NewLog(*reporttest.AgentLog().Events[0].Info, cases...)
	session := reporttest.BigSession(300)
	for i, c := range cases {
		for _, runner := range []string{"claude", "codex"} {
			j := reporttest.Passed(reporttest.Verdict("x", true, "yes", "", ""))
			if i%5 == 0 {
				j = reporttest.Failed(reporttest.Verdict("x", false, "no", "", ""))
			}
			l.Execute(c.ID, runner, session, j)
		}
	}
	return l.End("", 0)
}

// TestHTMLIsInert: no text of a run does anything, on any view of the page.
func TestHTMLIsInert(t *testing.T) {
	b := newBrowser(t)
	file := openable(t, poisoned())
	for view, want := range map[string]string{"": "#failures .card", "x0": ".step", "c0/2.2,0/1.1": ".pair"} {
		b.open(file, view)
		if view == "" {
			b.click("#matrixtools .chip") // with the answers
		}
		b.wait(fmt.Sprintf("(document.querySelector(%[1]q)?.scrollIntoView(), scrollBy(0, 500), document.querySelector(%[1]q))", want))
		if got := ask[string](b, `JSON.stringify(document.documentElement.dataset)`); strings.Contains(got, "pwned") {
			t.Errorf("#%s: a text was run: %s", view, got)
		}
		if n := ask[int](b, `document.querySelectorAll("img, svg[onload], a[href^=javascript], iframe, object").length`); n != 0 {
			t.Errorf("#%s: %d texts became markup", view, n)
		}
		if !strings.Contains(ask[string](b, "document.body.innerText"), "<img src=x onerror=") {
			t.Errorf("#%s: the text is not shown", view)
		}
	}
	// The policy holds, and the browser of these tests notices when something goes against it.
	if got := b.troubles(); len(got) > 0 {
		t.Errorf("behind the page: %q", got)
	}
	for _, attack := range []string{
		`document.body.append(Object.assign(document.createElement("script"), {text: "0"}))`,
		`document.body.innerHTML = "<b>"`,
		`fetch("https://example.com").catch(() => {})`, `Promise.reject(new Error("x")), 0`,
		`setTimeout(() => { throw new Error("x"); }), 0`,
	} {
		b.do(attack, chromedp.Evaluate[chromedp.Void]("try { "+attack+" } catch {}"))
		for end := time.Now().Add(patience); len(b.troubles()) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("nobody noticed %s", attack)
			}
		}
	}
	b.do("leave", chromedp.Navigate("about:blank"))
	b.troubles()
}

// TestHTMLSession: what the page shows of a session.
func TestHTMLSession(t *testing.T) {
	b := newBrowser(t)
	b.open(openable(t, reporttest.AgentLog()), "x0")
	b.shot("session")
	text := b.text("#view")
	for _, want := range []string{
		"git tag v1.4.0", "exit 128", "thinking · The user wants a release.", "subagent tester agent-1",
		"1 not declared by the suite", "holiday-planner",
		"Loaded via Skill tool", "Permission to use WebFetch has been denied.",
		"at /home/ana/app/evals/skills.suite.ts:42:18", "+## 1.4.0",
		"question for the agent: Why did you not annotate the tag?", "1 record of an unknown kind was skipped",
		"10,930 billable",
		"messages 4", "commands 3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the session lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "The summary names both changes.") {
		t.Error("the judge's answers to a check that holds are not folded")
	}
	if title := ask[string](b, "document.title"); !strings.HasPrefix(title, "✗ release › claude") {
		t.Errorf("the title is %q", title)
	}
	// Kinds of steps can be left out.
	all := b.number(".step")
	b.click(".showing .chip:nth-of-type(2)")
	b.wait(`!document.querySelector(".step.thinking")`)
	if n := b.number(".step"); n != all-2 {
		t.Errorf("%d steps of %d without thinking", n, all)
	}
}

// TestHTMLPrompts: a run of a prompt suite has no timelines of one message, and what was asked is
// to be read.
func TestHTMLPrompts(t *testing.T) {
	b := newBrowser(t)
	file := openable(t, reporttest.Mixed())
	b.open(file, "x1")
	text := b.text("#view")
	if strings.Contains(text, "Timeline") || strings.Count(text, "It is 41.") != 2 ||
		!strings.Contains(text, "question") {
		t.Errorf("the session of a prompt:\n%s", text)
	}
	b.open(file, "x3") // nothing came back
	if text = b.text("#view"); !strings.Contains(text, "Nothing was recorded.") || strings.Contains(text, "Timeline") ||
		b.number(".showing input") != 0 {
		t.Errorf("a session without a report:\n%s", text)
	}
}

// TestHTMLAlone: where there is one session, nothing leads to others.
func TestHTMLAlone(t *testing.T) {
	b := newBrowser(t)
	b.open(openable(t, reporttest.Simple(1)), "x0")
	if n := b.number(".bar2 button"); n != 1 {
		t.Errorf("%d buttons; want the one that leads back", n)
	}
	b.press("c")
	b.wait(`document.getElementById("live").textContent === "no other session to compare with"`)
}

// TestHTMLKeys presses every key that the documentation names.
func TestHTMLKeys(t *testing.T) {
	b := newBrowser(t)
	b.open(openable(t, reporttest.AgentLog()), "")
	has := func(want string) {
		t.Helper()
		b.wait(fmt.Sprintf("document.activeElement.hash === %q", want))
	}
	for _, step := range []struct{ key, want string }{
		{"j", "#x0"},
		{"j", "#x5"},
		{"j", "#x7"},
		{"k", "#x5"},
		{"k", "#x0"},
	} {
		b.press(step.key)
		has(step.want)
	}
	b.press(kb.Enter)
	b.sees("x0")
	if got := b.focused(); got != "H1" {
		t.Errorf("the focus is on %s", got)
	}
	// Steps.
	b.press("j")
	b.wait(`document.querySelector(".step.sel.user") === document.activeElement`)
	b.press("j")
	b.wait(`document.querySelector(".step.sel.thinking") === document.activeElement`)
	b.press(kb.Enter)
	b.wait(`document.querySelector(".step.sel details").open`)
	b.press(kb.Enter)
	b.wait(`!document.querySelector(".step.sel details").open`)
	b.press("k")
	b.wait(`document.querySelector(".step.sel.user")`)
	// Find in the session. Letters are letters there.
	b.press("/")
	b.wait(`document.activeElement.matches(".showing input")`)
	b.press("no tag mess" + kb.Enter)
	b.wait(`document.querySelector(".step.sel mark")?.textContent === "no tag mess"`)
	b.press(kb.Escape)
	b.wait(`!document.activeElement.matches("input")`)
	// Other executions.
	b.press(kb.ArrowRight)
	b.sees("x3/1.1")
	b.press(kb.ArrowLeft)
	b.sees("x0/2.2")
	b.press(kb.ArrowLeft)
	b.wait(`document.getElementById("live").textContent === "this is the first execution"`)
	// Two sessions.
	b.press("c")
	b.sees("c0/2.2,0/1.1")
	b.wait(`document.querySelector(".pair.first.sel")`)
	b.press("j")
	b.wait(`document.getElementById("live").textContent === "no more differences"`)
	b.press("x")
	b.sees("c0/1.1,0/2.2")
	b.press(kb.Escape)
	b.sees("")
	has("#x0") // where it was opened
	// The matrix.
	b.inOrder()
	ask[any](b, `document.querySelector(".matrix a").focus()`)
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "#x1"},
		{kb.ArrowDown, "#x3"},
		{kb.ArrowLeft, "#x2"},
		{kb.ArrowUp, "#x0"},
		{kb.ArrowUp, "#x0"},
	} {
		b.press(step.key)
		has(step.want)
	}
	// All keys, the colors, the filter.
	b.press("?")
	b.wait(`document.getElementById("keys").open`)
	b.shot("keys")
	b.press("j")
	b.wait(`document.activeElement.closest("#keys")`) // nothing moves behind
	b.press("?")
	b.wait(`!document.getElementById("keys").open`)
	b.press("?")
	b.wait(`document.getElementById("keys").open`)
	b.press(kb.Escape)
	b.wait(`!document.getElementById("keys").open`)
	for _, want := range []string{"light", "dark", ""} {
		b.press("t")
		b.wait(fmt.Sprintf("document.documentElement.className === %q", want))
	}
	b.press("/")
	b.wait(`document.activeElement.id === "text"`)
	b.press("jkt?x")
	if got := ask[string](b, `document.getElementById("text").value`); got != "jkt?x" {
		t.Errorf("the filter got %q", got)
	}
	// The first stop of the keyboard leads past the header, on every view.
	b.open(b.file(), "x0")
	b.press(kb.Tab)
	ask[any](b, `document.querySelector(".skip").focus()`)
	b.press(kb.Enter)
	b.wait(`document.activeElement.matches("#view h1")`)
	b.sees("x0")
}

// TestHTMLFilters: what is asked for is shown, on the cards and in the matrix.
func TestHTMLFilters(t *testing.T) {
	b := newBrowser(t)
	file := openable(t, reporttest.AgentLog())
	b.open(file, "")
	shows := func(hits string, cards, rows int) {
		t.Helper()
		b.wait(fmt.Sprintf(`document.querySelectorAll(".mbody .mrow").length === %d`, rows)) // they appear near the window
		if got := b.text("#hits"); got != hits || b.number("#failures .card") != cards ||
			b.number(".mbody .mrow") != rows {
			t.Errorf("%q, %d cards, %d rows; want %q, %d, %d", got, b.number("#failures .card"),
				b.number(".mbody .mrow"), hits, cards, rows)
		}
	}
	shows("", 4, 4)
	b.click(".chip.fail")
	shows("2 executions of 2 cases", 2, 2)
	b.click(".chip.error")
	shows("3 executions of 3 cases", 3, 3)
	b.click(".chip.fail")
	shows("1 execution of 1 case", 1, 1)
	b.click("#clear")
	shows("", 4, 4)
	b.click(`[data-word="flaky"]`)
	shows("1 execution of 1 case", 1, 1)
	b.click("#clear")
	b.click(".chip.pass")
	if n := b.number("#flaky li"); n != 0 {
		t.Errorf("%d flaky cases are shown among those that pass", n)
	}
	b.click("#clear")
	for _, s := range []struct {
		list, keys, hits string
		cards, rows      int
	}{
		{"#runner", "cod", "4 executions of 4 cases", 3, 4},
		{"#group", "sea", "2 executions of 2 cases", 2, 2},
		{"#tag", "smo", "1 execution of 1 case", 1, 1},
	} {
		b.do(s.list, chromedp.SendKeys(chromedp.CSS(s.list), s.keys))
		shows(s.hits, s.cards, s.rows)
	}
	b.click("#clear")
	b.press("Git Tag -a") // the focus is there; this is in a card only
	shows("1 execution of 1 case", 1, 1)
	if n := ask[int](b, `document.querySelectorAll(".mcell:not(.out)").length`); n != 1 {
		t.Errorf("%d cells are not greyed out", n)
	}
	b.click("#clear")
	b.press("holiday-plan")
	shows("0 executions of 0 cases; press Enter to search the sessions", 0, 0)
	b.shot("nothing")
	b.press(kb.Enter)
	b.wait(`document.querySelector("#found [role=status]")?.textContent.startsWith("found in")`)
	b.shot("found")
	if got := b.text("#found [role=status]"); got != "found in 5 of 13 sessions" ||
		!strings.Contains(b.text("#found li"), "holiday-planner") {
		t.Errorf("found: %s; %s", got, b.text("#found"))
	}
	b.click("#found li a")
	b.wait(`document.documentElement.dataset.shown?.startsWith("x0/")`)
	b.do("back", chromedp.NavigateBack())
	b.sees("")
	shows("0 executions of 0 cases; press Enter to search the sessions", 0, 0)
	b.click("#clear")
	b.do("another figure", chromedp.SendKeys(chromedp.CSS("#metric"), "steps"))
	if got := b.text(".mcell"); !strings.Contains(got, "7") {
		t.Errorf("the first cell shows %q, not steps", got)
	}
}

// TestHTMLMatrix: a reader who opens a cell of a long table returns to it, in every way.
func TestHTMLMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	b := newBrowser(t)
	b.open(openable(t, manyLog()), "")
	b.shot("first")
	if n := b.number("#failures .card"); n != firstFailures {
		t.Errorf("%d of 100 failures are shown before anybody asks for more", n)
	}
	b.media("print")
	if n := b.number("#failures .card"); n != 100 {
		t.Errorf("%d of 100 failures are printed", n)
	}
	if n := b.number("#failures .card .check"); n != 100 {
		t.Errorf("the reasons of %d of 100 failures are printed", n)
	}
	b.media("")
	b.click("#unfold")
	if n := b.number("#failures .card"); n != 100 || b.focused() != "#x50" {
		t.Errorf("%d failures; the focus is on %s", n, b.focused())
	}
	for name, back := range map[string]func(){
		"Esc":    func() { b.press(kb.Escape) },
		"button": func() { b.click(".bar2 button") },
		"Back":   func() { b.do("back", chromedp.NavigateBack()) },
	} {
		b.reach(`.matrix a[href="#x403"]`)
		b.click(`.matrix a[href="#x403"]`)
		b.sees("x403")
		if got := b.text("#view h1"); got != "✓ case-201 › codex (codex:gpt-5-codex)" {
			t.Errorf("the session of %s", got)
		}
		back()
		b.sees("")
		if !ask[bool](b, `(() => { const r = document.activeElement.getBoundingClientRect();
			return document.activeElement.hash === "#x403" && r.top > 0 && r.bottom < innerHeight && document.elementFromPoint(r.x + 5, r.y + 5).closest("a") === document.activeElement; })()`) {
			b.shot("back")
			t.Errorf("%s leads to %s", name, b.focused())
		}
	}
	if title := ask[string](b, "document.title"); !strings.HasPrefix(title, "✗ claude: 200/250 pass") {
		t.Errorf("the title is %q", title)
	}
}

// TestHTMLCompare: two sessions side by side, from where they part.
func TestHTMLCompare(t *testing.T) {
	b := newBrowser(t)
	file := openable(t, reporttest.AgentLog())
	b.open(file, "x0")
	b.click(".bar2 button[title^=Compare]")
	b.sees("c0/2.2,0/1.1")
	b.shot("compare")
	row := b.text(".pair.first")
	if !strings.Contains(row, "git tag v1.4.0") || !strings.Contains(row, "git tag -a v1.4.0") ||
		b.number(".pair.first") != 1 {
		t.Errorf("the first difference is %s", row)
	}
	if !ask[bool](b, `(() => { const r = document.querySelector(".pair.first").getBoundingClientRect();
		return r.top >= document.querySelector(".bar2").getBoundingClientRect().bottom && r.bottom <= innerHeight; })()`) {
		t.Error("the first difference is out of sight")
	}
	if got := b.text(".names"); !strings.Contains(got, "claude (claude-code:haiku) · repetition 2, try 2") ||
		!strings.Contains(got, "repetition 1, try 1") {
		t.Errorf("the sides are %s", got)
	}
	rows := b.number(".pair")
	b.click(".bar2 .chip:nth-of-type(3)") // differences only
	b.wait(fmt.Sprintf(`document.querySelectorAll(".pair").length < %d`, rows))
	// Another session on the right.
	b.do("choose", chromedp.SendKeys(chromedp.CSS(".heads .card:nth-child(2) select[aria-label=Runner]"), "c"))
	b.wait(`document.documentElement.dataset.shown?.startsWith("c0/2.2,1/")`)
	// The same things done in other words.
	b.open(file, "c0/1.1,1/1.1")
	if got := b.text("#view"); !strings.Contains(got, "Both sessions did the same.") || b.number(".pair.first") != 0 {
		t.Errorf("two equal sessions:\n%s", got)
	}
	// The same things done by another agent, whose tools have other names, in another place.
	sides := reporttest.NewLog(*reporttest.AgentLog().Events[0].Info, plumb.CaseInfo{ID: "release"})
	for n, runner := range []string{"claude", "codex"} {
		r := reporttest.Release([]string{"/tmp/a/b/c/ws", "/var/d"}[n], true)
		r.Workspace = []string{"/tmp/a/b/c/ws", "/var/d"}[n]
		for i := range r.Events {
			if e := &r.Events[i]; e.Tool == "Bash" || e.Tool == "Read" || e.Tool == "Edit" {
				e.Tool = []string{e.Tool, "exec_command"}[n]
			}
		}
		sides.Execute("release", runner, r, reporttest.Passed())
	}
	b.open(openable(t, sides.End("", 0)), "c0/1.1,1/1.1")
	if got := b.text("#view [role=status]"); !strings.HasPrefix(got, "Both sessions did the same.") {
		t.Errorf("two agents that do the same: %s", got)
	}
}

// TestHTMLPrint: what leaves on paper is whole, and has no buttons.
func TestHTMLPrint(t *testing.T) {
	b := newBrowser(t)
	long := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "long"})
	long.Execute("long", "gpt-5", reporttest.BigSession(7_000), reporttest.Failed(reporttest.Verdict("x", false, "no", "", "")))
	agents, many := openable(t, reporttest.AgentLog()), openable(t, long.End("", 0))
	for _, p := range []struct {
		name, file, view string
		least, most      int
	}{
		{"first", agents, "", 2, 4},
		{"session", agents, "x0", 3, 5},
		{"comparison", agents, "c0/2.2,0/1.1", 1, 3},
		{"long", many, "x0", 120, 160},
	} {
		b.media("", "prefers-color-scheme", "dark") // paper is white
		b.open(p.file, p.view)
		before := ask[int](b, `document.querySelectorAll("*").length`)
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		b.keep(p.name+".pdf", pdf)
		pages := bytes.Count(pdf, []byte("/Type /Page\n"))
		t.Logf("%s: %d pages, %d kB", p.name, pages, len(pdf)>>10)
		if pages < p.least || pages > p.most {
			t.Errorf("%s: %d pages", p.name, pages)
		}
		b.wait(fmt.Sprintf(`document.querySelectorAll("*").length < %d`,
			before+50)) // what was drawn for the printer only is gone
		b.media("print", "prefers-color-scheme", "dark")
		if n := b.number("button, input, .heads select, nav, summary:not([open] > summary, .thinking summary, .lead > * > summary)"); n != 0 {
			t.Errorf("%s: %d things that do nothing on paper", p.name, n)
		}
		if got := ask[string](b, "getComputedStyle(document.body).backgroundColor"); got != "rgb(255, 255, 255)" {
			t.Errorf("%s: the paper is %s", p.name, got)
		}
	}
}

// TestHTMLScale: 500 executions, and a session of 300,000 events, are shown with a page of bounded
// size, and can be gone through to their end.
func TestHTMLScale(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b := newBrowser(t)
	long := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "long"})
	report := reporttest.BigSession(300_000)
	long.Execute("long", "gpt-5", report, reporttest.Failed(reporttest.Verdict("x", false, "no", "", "")))
	steps, _ := timeline(report)
	bounded := func(name string) {
		t.Helper()
		if n := b.number(".step"); n < 50 || n > 1000 {
			t.Errorf("%s: %d steps are drawn", name, n)
		}
		if n := ask[int](b, `document.querySelectorAll("body *:not(script)").length`); n > 20_000 {
			t.Errorf("%s: %d elements", name, n)
		}
	}
	for name, l := range map[string]*reporttest.Log{"long": long.End("", 0), "many": manyLog()} {
		start := time.Now()
		file := openable(t, l)
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 10<<20 {
			t.Errorf("%s: %d bytes", name, info.Size())
		}
		written := time.Since(start)
		b.open(file, "x0")
		t.Logf("%s: %d kB written in %v, shown in %v", name, info.Size()>>10, written, time.Since(start)-written)
		bounded(name)
		if name != "long" {
			continue
		}
		start = time.Now()
		b.wait(fmt.Sprintf(`(scrollTo(0, 1e9), document.querySelector("[data-i='%d']"))`, len(steps)-1))
		bounded("at the end")
		ended := time.Since(start)
		b.press("/")
		b.wait(`document.activeElement.matches(".showing input")`)
		b.press("Step 120000:" + kb.Enter)
		b.wait(`document.querySelector(".step.sel mark")?.textContent === "Step 120000:" && document.getElementById("live").textContent.startsWith("found in step")`)
		if !ask[bool](b, `(() => { const r = document.querySelector(".step.sel").getBoundingClientRect(); return r.top > 100 && r.bottom < innerHeight; })()`) {
			t.Error("what was found is out of sight")
		}
		t.Logf("at its end in %v; found what is far into it in %v", ended, time.Since(start)-ended)
		bounded("found")
		b.press(kb.Escape + "j")
		b.wait(`document.querySelector(".step.sel.command .cmd")?.textContent.includes("internal/file_")`)
	}
}
