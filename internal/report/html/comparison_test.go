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
	b.click(`#pairtools .chip.fail`)
	if n := rows(); n != 8 {
		t.Errorf("%d lost rows", n)
	}
	b.click(`#pairs tbody tr a`)
	b.wait(`document.querySelector("#view .pairs")`)
	if text := b.text("#view"); !strings.Contains(text, "baseline: gpt-5") || !strings.Contains(text, "candidate: gpt-5-mini") ||
		!strings.Contains(text, "yes, of course") || !strings.Contains(text, "Refused") {
		t.Errorf("side by side: %s", text)
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
