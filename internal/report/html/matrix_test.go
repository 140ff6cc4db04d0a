package html

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// capitals are the questions of matrixLog with their answers.
func capitals() [][2]string {
	return [][2]string{
		{"France", "Paris"},
		{"Japan", "Tokyo"},
		{"Australia", "Canberra"},
		{"Brazil", "Brasília"},
		{"Canada", "Ottawa"},
		{"Turkey", "Ankara"},
		{"Switzerland", "Bern"},
		{"Morocco", "Rabat"},
		{"New Zealand", "Wellington"},
		{"South Korea", "Seoul"},
		{"Kenya", "Nairobi"},
		{"Kazakhstan", "Astana"},
		{"Vietnam", "Hanoi"},
		{"Ecuador", "Quito"},
		{"Iceland", "Reykjavík"},
		{"Pakistan", "Islamabad"},
		{"Myanmar", "Naypyidaw"},
		{"Nigeria", "Abuja"},
		{"Portugal", "Lisbon"},
		{"Tanzania", "Dodoma"},
	}
}

// matrixLog is a run of items with two prompts on two models, as a suite with prompts makes it. Some
// answers are wrong, and one could not be had.
func matrixLog(items, repeat int) *reporttest.Log {
	i := reporttest.Info("gpt-5", "gpt-5-mini")
	i.SuiteName, i.SuitePath, i.Repeat = "capitals", "capitals.yaml", repeat
	texts := map[string]string{
		"short": "Capital of %s?",
		"tutor": "You are a patient geography tutor.\n\nA pupil asks: what is the capital of %s?\n" +
			"Answer in one or two sentences. Name the city first, then add one fact that helps the pupil to remember it. " +
			"Do not mention other cities unless people often confuse them with the capital, and do not praise the question.",
	}
	all := capitals()
	var cases []plumb.CaseInfo
	for n := range items {
		for _, prompt := range []string{"short", "tutor"} {
			item := "capital-of-" + strings.ToLower(strings.ReplaceAll(all[n%len(all)][0], " ", "-"))
			if n >= len(all) {
				item += fmt.Sprintf("-%04d", n)
			}
			cases = append(cases, plumb.CaseInfo{
				ID: item + "." + prompt, Item: item, Prompt: prompt, Category: "geography", Tags: []string{[]string{"smoke", "rare"}[n%2]},
			})
		}
	}
	l := reporttest.NewLog(i, cases...)
	for n, c := range cases {
		country, city := all[n/2%len(all)][0], all[n/2%len(all)][1]
		for m, model := range []string{"gpt-5", "gpt-5-mini"} {
			var last *plumb.Judgement
			passes := 0
			for repetition := 1; repetition <= repeat; repetition++ {
				text := city
				if c.Prompt == "tutor" {
					text = fmt.Sprintf("%s is the capital of %s. ", city, country) + []string{
						"It is the seat of the government and of most embassies, although it is not always the largest city of the country.",
						"Many people expect the largest city here, so remember that the government sits in a place that was chosen for it.\n\nTip: picture the letter **%s** on the map.",
					}[m]
					text = strings.ReplaceAll(text, "%s", city[:1])
				}
				j := reporttest.Passed(reporttest.Verdict("contains", true, "the output contains "+city, city, text))
				if wrong := n%14 == 5 && m == 1 || n%20 == 6 || repeat > 1 && n%6 == 0 && repetition == 2; wrong {
					text = strings.ReplaceAll(text, city, "Old Town")
					j = reporttest.Failed(reporttest.Verdict("contains", false, fmt.Sprintf("the output does not contain %q", city), city, text))
				} else {
					passes++
				}
				last = j
				r := reporttest.Answer(text, int64(180+(n*37+m*91)%900))
				r.Prompt = fmt.Sprintf(texts[c.Prompt], country)
				if n == 9 && m == 0 {
					f := &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 503 after 6 attempts"}
					last = reporttest.Broken(f)
					l.Session(c.ID, model, repetition, 1, nil, f, last)
					continue
				}
				l.Session(c.ID, model, repetition, 1, r, nil, j)
			}
			res := reporttest.ResultOf(repeat, new(0.0021), last)
			if repeat > 1 && res.Errored == 0 {
				res.Passed, res.Failed, res.Score = passes, repeat-passes, float64(passes)/float64(repeat)
				if passes < repeat {
					res.Outcome, res.Status = plumb.OutcomeFail, plumb.StatusFailed
				}
			}
			l.Finish(c.ID, model, res)
		}
	}
	return l.End("", 0)
}

// inMatrix opens the page of a run and scrolls to its matrix.
func (b *browser) inMatrix(l *reporttest.Log) {
	b.t.Helper()
	b.open(openable(b.t, l), "")
	b.toMatrix()
}

// inOrder shows the rows in the order of the suite.
func (b *browser) inOrder() {
	b.t.Helper()
	ask[any](b, `(() => { const e = document.getElementById("order"); e.value = "suite"; e.dispatchEvent(new Event("change")); })()`)
}

// toMatrix scrolls to the first rows of the matrix.
func (b *browser) toMatrix() {
	b.t.Helper()
	b.wait(`(document.getElementById("matrix").scrollIntoView(), document.querySelector(".mcell"))`)
}

// rows returns the number of rows, of which the page has only those near the window.
func (b *browser) rows() int {
	b.t.Helper()
	return ask[int](b, `Number(document.querySelector("div.matrix").getAttribute("aria-rowcount")) - 1`)
}

// cell returns what a reader sees of the cell of an execution.
func (b *browser) cell(at int) string {
	b.t.Helper()
	selector := fmt.Sprintf(".mcell[data-at='%d']", at)
	b.wait(fmt.Sprintf("document.querySelector(%q)", selector)) // cells appear near the window
	return b.text(selector)
}

// TestHTMLAnswers: the matrix has the prompt and the answer of each item, on each prompt and runner.
func TestHTMLAnswers(t *testing.T) {
	b := newBrowser(t)
	b.inMatrix(matrixLog(20, 1))
	b.shot("matrix")
	has := func(at int, texts ...string) {
		t.Helper()
		for _, want := range texts {
			if got := b.cell(at); !strings.Contains(got, want) {
				t.Errorf("cell %d lacks %q: %s", at, want, got)
			}
		}
	}
	lacks := func(at int, text string) {
		t.Helper()
		if got := b.cell(at); strings.Contains(got, text) {
			t.Errorf("cell %d has %q: %s", at, text, got)
		}
	}
	// The head of a column has the prompt once, that of a row the question.
	if text := b.text(".mhead"); !strings.Contains(text, "tutor gpt-5-mini") || b.number(".colhead") != 4 ||
		!strings.Contains(text, "Capital of …") || strings.Count(text, "You are a patient geography tutor.") != 1 {
		t.Errorf("the columns are %s", text)
	}
	// What differs comes first; the reader can ask for other orders.
	first := func(want string) {
		t.Helper()
		b.wait(fmt.Sprintf(`document.querySelector(".mbody .id")?.textContent === %q`, want))
	}
	first("capital-of-australia")
	b.click(".colhead:nth-child(2) button")
	first("capital-of-brazil")
	b.wait(`document.activeElement.closest(".colhead:nth-child(2)[aria-sort]")`)
	b.click(".colhead:nth-child(2) button")
	first("capital-of-australia")
	b.inOrder()
	first("capital-of-france")
	if text := b.text(".mbody .rowhead"); !strings.Contains(text, "France?") || strings.Contains(text, "Capital of France?") {
		t.Errorf("the first row is %s", text)
	}
	has(0, "✓", "pass", "Paris")
	has(11, "✗", "fail", `does not contain "Canberra"`)
	lacks(11, "tutor")
	ask[any](b, `document.querySelector("#failures .card:nth-of-type(2) details").open = true`)
	if text := b.text("#failures .card:nth-of-type(2)"); !strings.Contains(text, "Capital of Brazil?") {
		t.Errorf("the failure does not show what was asked: %s", text)
	}
	// The whole cell opens the session.
	b.click(".mcell[data-at='11'] .a")
	b.sees("x11")
	b.press(kb.Escape)
	b.sees("")
	// Whole prompts on demand; more of a cell, and less.
	ask[any](b, `document.querySelector("#matrixtools [name=prompt]").click()`)
	ask[any](b, `document.querySelector(".mcell[data-at='11'] .go").focus()`)
	b.press(" ")
	has(11, "do not praise")
	b.press(" ")
	lacks(11, "do not praise")
	// Filters of rows and of cells. The failures count what they show.
	chip := func(name string, cases int, failures string) {
		t.Helper()
		b.click("#filters " + name)
		if got := b.rows(); got != cases {
			t.Errorf("%s: %d cases, want %d", name, got, cases)
		}
		if got := b.text("#h-failures small"); got != failures {
			t.Errorf("%s: %q failures, want %q", name, got, failures)
		}
	}
	chip("[data-row=one]", 3, "3 of 8")
	b.click("#clear")
	chip("[data-word=error]", 1, "1 of 8")
	b.click("#filters .chip") // all
	chip("[data-row=differs]", 20, "8")
	b.click("#filters .chip")
	// Columns: with one prompt, most answers are the same.
	ask[any](b, `document.querySelectorAll(".menu")[1].querySelectorAll("input").forEach((e, i) => { if (i > 1) e.click(); })`)
	if n := b.number(".colhead"); n != 2 {
		t.Errorf("%d columns are left", n)
	}
	b.toMatrix()
	chip("[data-row=differs]", 0, "0 of 8")
	b.click("#clear")
	ask[any](b, `document.querySelectorAll(".menu")[1].querySelectorAll("input").forEach((e, i) => { if (i > 1) e.click(); })`)
	b.toMatrix()
	// Figures on demand.
	lacks(0, "$0.0021")
	lacks(0, "180ms")
	ask[any](b, `for (const name of ["latency", "tokens", "cost", "score"]) document.querySelector("#matrixtools [name=" + name + "]").click()`)
	has(0, "180ms", "100 → 20 tok", "$0.0021", "1.00")
	// What differs from another column, by words.
	b.do("base", chromedp.SendKeys(chromedp.CSS("#base"), "diff: tutor · gpt-5"))
	b.wait(`document.querySelector(".mcell[data-at='3'] ins")`)
	if del, ins := b.text(".mcell[data-at='3'] del"), b.text(".mcell[data-at='3'] ins"); strings.TrimSpace(del) != "It is the seat of" ||
		!strings.HasPrefix(ins, "Many people expect") {
		t.Errorf("-%q +%q", del, ins)
	}
	if n := b.number(".mcell[data-at='2'] ins"); n != 0 || !strings.Contains(b.text(".mhead"), "diff base") {
		t.Error("the base differs from itself")
	}
	b.shot("diff")
	// A text of an answer is found, and shown.
	b.press(kb.Escape + "/Reykj")
	b.wait(`document.activeElement.value === "Reykj"`)
	b.toMatrix()
	b.wait(`document.querySelector(".mcell mark")?.textContent === "Reykj"`)
	if n := b.rows(); n != 1 {
		t.Errorf("%d rows have the text", n)
	}
	b.press(kb.Escape)
	b.click("#clear")
	b.click("#matrixtools .chip") // a line of each answer
	has(0, "✓", "Paris")
	lacks(11, "does not contain")
	if high := ask[float64](b, `document.querySelector(".mcell[data-at='11'] .line1").offsetHeight`); high > 30 {
		t.Errorf("a line of an answer is %.0f pixels high", high)
	}
	b.shot("compact")
}

// TestHTMLMatrixKeys: the matrix needs no mouse.
func TestHTMLMatrixKeys(t *testing.T) {
	b := newBrowser(t)
	b.inMatrix(matrixLog(20, 3))
	has := func(hash string) {
		t.Helper()
		b.wait(fmt.Sprintf("document.activeElement.hash === %q", hash))
	}
	b.inOrder()
	ask[any](b, `document.querySelector(".mcell .go").focus()`)
	for _, step := range []struct{ key, want string }{
		{"l", "#x1"},
		{"j", "#x5"},
		{kb.ArrowDown, "#x9"},
		{"h", "#x8"},
		{"h", "#x8"},
		{"k", "#x4"},
		{"l", "#x5"},
		{"l", "#x6"},
	} {
		b.press(step.key)
		has(step.want)
	}
	for range 18 {
		b.press("j")
	}
	has("#x78") // the last row
	if text := ask[string](b, hiddenFocus); text != "" {
		t.Error(text)
	}
	b.press(kb.Enter)
	b.sees("x78")
	b.press(kb.Escape)
	b.sees("")
	has("#x78")
	b.press("y")
	b.wait(`document.getElementById("live").textContent === "copied the answer"`)
	b.press("d")
	b.wait(`document.querySelector(".colhead:nth-child(4) .tag")`)
	has("#x78")
	b.press("d")
	b.wait(`!document.querySelector(".colhead .tag")`)
	// Repetitions.
	ask[any](b, `scrollTo(0, 0)`)
	b.reach(".mcell[data-at='0']")
	if got := b.cell(0); !strings.Contains(got, "2/3 flaky") || !strings.Contains(got, "✗") || !strings.Contains(got, "#2") || !strings.Contains(got, "Old Town") {
		t.Errorf("the repetition that failed is not shown: %s", got)
	}
	ask[any](b, `document.querySelector(".mcell[data-at='0'] .go").focus()`)
	b.press("]")
	b.wait(`document.activeElement.hash === "#x0/3.1"`)
	if got := b.cell(0); !strings.Contains(got, "2/3") || !strings.Contains(got, "✓") || !strings.Contains(got, "Paris") {
		t.Errorf("the third repetition: %s", got)
	}
	b.press("[[")
	b.wait(`document.activeElement.hash === "#x0/1.1"`)
	b.press("k") // the first row
	has("#x0/1.1")
	for range 20 { // below the last row are the failures
		b.press("j")
	}
	b.wait(`document.activeElement.closest("#failures")`)
	b.press("k")
	has("#x76")
}

// TestHTMLDownload: what is shown can be taken along as CSV and as JSON. No text is a formula.
func TestHTMLDownload(t *testing.T) {
	b := newBrowser(t)
	l := reporttest.NewLog(reporttest.Info("gpt-5", "gpt-5-mini"), plumb.CaseInfo{ID: "a"}, plumb.CaseInfo{ID: "b", Category: "x,y"})
	for _, id := range []string{"a", "b"} {
		l.Execute(id, "gpt-5", reporttest.Answer("=HYPERLINK(\"http://x\")", 10), reporttest.Passed())
		l.Execute(id, "gpt-5-mini", reporttest.Answer("-5", 10), reporttest.Failed(reporttest.Verdict("numeric", false, "two\nlines, \"quoted\"", "5", "-5")))
	}
	b.inMatrix(l.End("", 0))
	dir := t.TempDir()
	b.do("downloads", func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		p := cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir}
		_, err := cdp.Call(ctx, target, cdpbrowser.SetDownloadBehavior, p)
		return chromedp.Void{}, err
	})
	file := func(n int, kind string) []byte {
		t.Helper()
		ask[any](b, fmt.Sprintf(`[...document.querySelectorAll(".menu:last-of-type button")][%d].click()`, n))
		name := filepath.Join(dir, "20260301-090000-ab12."+kind)
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if data, err := os.ReadFile(name); err == nil && len(data) > 0 {
				return data
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	var list []struct {
		Case, Runner, Category, Outcome, Asked, Answer, Reason string
		InputTokens                                            int
	}
	if err := json.Unmarshal(file(1, "json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 || list[0].Answer != `=HYPERLINK("http://x")` || list[3].Case != "b" || list[3].InputTokens != 100 ||
		list[3].Outcome != "fail" || list[3].Asked != "question" {
		t.Errorf("%+v", list)
	}
	b.click("#filters .chip.fail")
	rows, err := csv.NewReader(bytes.NewReader(file(0, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[2][3] != "x,y" || rows[2][14] != "-5" || !strings.Contains(rows[2][15], "two\nlines, \"quoted\"") {
		t.Errorf("%q", rows)
	}
	b.click("#clear")
	if err := os.Remove(filepath.Join(dir, "20260301-090000-ab12.csv")); err != nil {
		t.Fatal(err)
	}
	if data := string(file(0, "csv")); !strings.Contains(data, `"'=HYPERLINK(""http://x"")"`) {
		t.Errorf("a formula: %s", data)
	}
}

// TestHTMLMatrixScale: 5,000 cells are shown with a page of bounded size, and scroll.
func TestHTMLMatrixScale(t *testing.T) {
	b := newBrowser(t)
	l := matrixLog(1250, 1)
	start := time.Now()
	file := openable(t, l)
	written := time.Since(start)
	b.open(file, "")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("5,000 cells: %d kB, written in %v, shown in %v", info.Size()>>10, written, time.Since(start)-written)
	b.toMatrix()
	b.shot("many")
	const scroll = `new Promise((done) => { const times = []; let last = performance.now(), most = 0;
		const step = (now) => { times.push(now - last); last = now; scrollBy(0, 400); most = Math.max(most, document.querySelectorAll("body *:not(script)").length);
			if (times.length < 200) requestAnimationFrame(step); else { times.sort((a, b) => a - b); done([times[100], times[190], times[199], most]); } };
		requestAnimationFrame(step); })`
	got := ask[[]float64](b, scroll)
	t.Logf("scrolled 80,000 pixels: a frame took %.0f ms in the median, %.0f ms at most in 95 %%, %.0f ms at most; %.0f elements", got[0], got[1], got[2], got[3])
	if got[3] > 20_000 {
		t.Errorf("%.0f elements", got[3])
	}
	b.wait(`(scrollTo(0, document.querySelector("#rates").offsetTop - 900), [...document.querySelectorAll(".mbody .id")].some((e) => e.textContent === "capital-of-south-korea-1249"))`)
	const typed = `(() => { const t = performance.now(), field = document.querySelector("#text"); field.value = "Old Town";
		field.dispatchEvent(new Event("input")); return performance.now() - t; })()`
	ms := ask[float64](b, typed)
	t.Logf("a search in 5,000 answers takes %.0f ms", ms)
	if ms > 1000 || b.rows() == 0 {
		t.Errorf("a search takes %.0f ms and shows %d rows", ms, b.rows())
	}
}

// TestHTMLAnswersLimit: the answers of a page are bounded, and it counts what it leaves out.
func TestHTMLAnswersLimit(t *testing.T) {
	t.Parallel()
	var cases []plumb.CaseInfo
	for i := range 40 {
		cases = append(cases, plumb.CaseInfo{ID: fmt.Sprint(i)})
	}
	l := reporttest.NewLog(reporttest.Info("gpt-5"), cases...)
	for i, c := range cases {
		j := reporttest.Passed()
		if i == 39 {
			j = reporttest.Failed(reporttest.Verdict("x", false, "no", "", ""))
		}
		l.Execute(c.ID, "gpt-5", reporttest.Answer(strings.Repeat("answer ", 600), 10), j)
	}
	l.End("", 0)
	var out bytes.Buffer
	r := New(&out, "", &report.Source{Sessions: l.Indexed()})
	r.page.Limit = 300 << 10
	if _, err := report.Replay(r, l.All()); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	index, blocks := indexOf(t, page), reporttest.PageBlocks(t, page)
	var answers []struct{ At int }
	for _, id := range index.Answers {
		var list []struct{ At int }
		text, err := json.Marshal(blocks[id])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, list...)
	}
	// The failures come first.
	if index.AnswersLeft == 0 || len(answers)+index.AnswersLeft != 40 || len(answers) < 20 || answers[0].At != 39 {
		t.Errorf("answers %v, %d left out", answers, index.AnswersLeft)
	}
}

// TestHTMLExplained: a session shows the stored answers to plumb explain, and the whole command.
func TestHTMLExplained(t *testing.T) {
	b := newBrowser(t)
	var dirs []string
	l := reporttest.AgentLog()
	file := filepath.Join(t.TempDir(), "page.html")
	page := renderPage(t, l, &report.Source{
		Sessions: l.Direct, Flags: "--config my.config.ts", Explained: func(dir string) ([]report.Explained, error) {
			dirs = append(dirs, dir)
			return []report.Explained{{Question: "Why did you not annotate the tag?", Answer: "I <b>forgot</b> it."}}, nil
		},
	}, "")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(file, "x0")
	if text := b.text(".explained"); !strings.Contains(text, "I <b>forgot</b> it.") || !strings.Contains(text, "annotate the tag?") {
		t.Errorf("the explanation: %s", text)
	}
	if len(dirs) == 0 || !strings.HasPrefix(filepath.ToSlash(dirs[len(dirs)-1]), "release/claude--") {
		t.Errorf("asked about %q", dirs)
	}
	if text := b.text(".lead .copyable code"); !strings.HasPrefix(text, "plumb explain ") || !strings.HasSuffix(text, " --config my.config.ts") {
		t.Errorf("the command is %q", text)
	}
	b.click(".lead .copyable button")
	b.wait(`document.getElementById("live").textContent === "copied the command"`)
	if text := b.text("#view"); !strings.Contains(text, "events") {
		t.Errorf("the timeline does not count events: %s", text)
	}
}

// TestHTMLMatrixLooks: the matrix fits into windows of any width and can be read in both colors.
func TestHTMLMatrixLooks(t *testing.T) {
	b := newBrowser(t)
	for _, look := range []struct {
		name, color   string
		width, height int64
	}{{"light", "light", 1440, 1000}, {"dark", "dark", 1440, 1000}, {"phone", "light", 390, 844}} {
		b.size(look.width, look.height)
		b.media("", "prefers-color-scheme", look.color)
		b.inMatrix(matrixLog(20, 1))
		b.shot("look-" + look.name)
		if wide := ask[int64](b, "document.documentElement.scrollWidth"); wide > look.width {
			t.Errorf("%s: %d pixels wide", look.name, wide)
		}
		b.accessible(look.name)
	}
}
