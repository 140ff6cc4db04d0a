package html

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// comparisonFile writes the page of a comparison.
func comparisonFile(t *testing.T, c *report.Compared) string {
	t.Helper()
	dir := t.TempDir()
	if err := ReportComparison(io.Discard, dir, &report.Source{}, c); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "comparison.html")
}

// The page lists all pairs, filters them, and shows two sessions side by side.
func TestComparisonPage(t *testing.T) {
	b := newBrowser(t)
	b.open(comparisonFile(t, reporttest.LostRun(t, "pass_rate >= -5pp", "broken <= 0")), "")
	if text := b.text("h1"); !strings.Contains(text, "Worse by 35 points") {
		t.Errorf("heading: %s", text)
	}
	rows := func() int { return ask[int](b, `document.querySelectorAll("#pairs tbody tr").length`) }
	if n := rows(); n != 20 {
		t.Errorf("%d rows", n)
	}
	if text := b.text(".parts"); text != "8 lost\n11 same\n1 won" {
		t.Errorf("the pairs are %q", text)
	}
	if text := ask[string](b, `document.querySelector(".effect .wide svg").textContent`); !strings.Contains(text, "-35") || !strings.Contains(text, "margin: -2 to +2") {
		t.Errorf("the picture has the words %q", text)
	}
	row := b.text("#pairs tbody tr")
	for _, want := range []string{"case-000000", "question", "yes, of course", "Refused: ", "lacks \"yes\"", "lost"} {
		if !strings.Contains(row, want) {
			t.Errorf("the first row lacks %q: %s", want, row)
		}
	}
	b.click(`#pairtools .chip.fail`)
	if n := rows(); n != 8 {
		t.Errorf("%d lost rows", n)
	}
	b.click(`#pairs tbody tr td.side .a`) // the whole row opens the sessions
	b.wait(`document.querySelector("#view .pairs")`)
	if text := b.text("#view"); !strings.Contains(text, "baseline: gpt-5") || !strings.Contains(text, "candidate: gpt-5-mini") ||
		!strings.Contains(text, "yes, of course") || !strings.Contains(text, "Refused") {
		t.Errorf("side by side: %s", text)
	}
}

// TestComparisonHeadlines: the heading says the conclusion in a few words, and a candidate that is worse
// never looks like a pass.
func TestComparisonHeadlines(t *testing.T) {
	every := func(n, at int) func(int) bool { return func(i int) bool { return i%n == at } }
	for _, test := range []struct {
		want, word string
		n          int
		base, cand func(int) bool
		gates      []string
	}{
		{"Worse by 24.5 points", "fail", 200, every(400, 1), every(4, 1), nil},
		{"Worse by 24.5 points", "fail", 200, every(400, 1), every(4, 1), []string{"pass_rate >= -50pp"}},
		{"Better by 23 points", "pass", 60, every(4, 0), every(60, 59), nil},
		{"Equivalent: within ±2 points", "pass", 2000, every(100, 0), every(100, 1), nil},
		{"Not decisive: between -16 and +16 points", "error", 30, every(15, 0), every(15, 1), nil},
	} {
		c := reporttest.CompareLogs(t, reporttest.ComparedLog("gpt-5", test.n, test.base), reporttest.ComparedLog("gpt-6", test.n, test.cand),
			test.gates...)
		f := comparisonFrontOf(c.Comparison)
		if f.Headline != test.want || f.Word != test.word {
			t.Errorf("%s %q, want %s %q", f.Word, f.Headline, test.word, test.want)
		}
		if len(f.Effects) != 1 || f.Effects[0].Wide == "" || f.Effects[0].Pairs == "" {
			t.Errorf("%s: no picture", f.Headline)
		}
	}
}

// The page fits into windows of any width and can be read in both colors.
func TestComparisonLooks(t *testing.T) {
	b := newBrowser(t)
	file := comparisonFile(t, reporttest.LostRun(t, "pass_rate >= -5pp", "broken <= 0", "errors <= 5%"))
	for _, look := range []struct {
		color         string
		width, height int64
	}{{"light", 1280, 900}, {"dark", 1280, 900}, {"light", 390, 844}} {
		b.size(look.width, look.height)
		b.media("", "prefers-color-scheme", look.color)
		b.open(file, "")
		b.shot(fmt.Sprintf("comparison-%s-%d", look.color, look.width))
		if wide := ask[int64](b, "document.documentElement.scrollWidth"); wide > look.width {
			t.Errorf("%+v: %d pixels wide", look, wide)
		}
		b.accessible(fmt.Sprint(look))
	}
}

// 100,000 pairs do not make the page unusable.
func TestComparisonScale(t *testing.T) {
	b := newBrowser(t)
	n := 100_000
	if os.Getenv("PLUMB_CI") == "" {
		n = 20_000
	}
	c := reporttest.LostRun(t)
	pairs := c.Matching.Runners[0].Pairs
	for len(c.Matching.Runners[0].Pairs) < n {
		c.Matching.Runners[0].Pairs = append(c.Matching.Runners[0].Pairs, pairs...)
	}
	file := comparisonFile(t, c)
	b.open(file, "")
	if rows := ask[int](b, `document.querySelectorAll("#pairs tbody tr").length`); rows != 200 {
		t.Errorf("%d rows at first", rows)
	}
	const typed = `(() => { const t = performance.now(), field = document.querySelector("#text"); field.value = "000007";
		field.dispatchEvent(new Event("input")); return performance.now() - t; })()`
	if ms := ask[float64](b, typed); ms > 1000 {
		t.Errorf("a filter over %d pairs takes %.0f ms", n, ms)
	}
}
