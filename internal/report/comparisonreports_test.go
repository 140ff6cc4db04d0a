package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/redact"
)

// comparedLog is a run of some cases on one model; those that fails selects fail.
func comparedLog(model string, n int, fails func(i int) bool) *log {
	var cases []plumb.CaseInfo
	for i := range n {
		cases = append(cases, plumb.CaseInfo{
			ID: fmt.Sprintf("case-%06d", i), Hash: fmt.Sprintf("sha256:%064d", i), Category: []string{"refund", hostile}[i%2],
			Tags: []string{"smoke"},
		})
	}
	l := newLog(info(model), cases...)
	l.events[0].Info.ID += "-" + model
	reply := func(i int, text string, ms int64) *plumb.SessionReport {
		r := answer(text, ms)
		r.SessionID = fmt.Sprint(model, i)
		return r
	}
	for i := range n {
		if fails(i) {
			l.execute(cases[i].ID, model, reply(i, "Refused: "+hostile, 120),
				failed(verdict("contains", false, `the answer lacks "yes"`, "yes", "Refused")))
			continue
		}
		l.execute(cases[i].ID, model, reply(i, "yes, of course", 100), passed(verdict("contains", true, "ok", "yes", "yes")))
	}
	return l.end("", 0)
}

// sideOf returns the side that the log of a run makes.
func sideOf(tb testing.TB, name string, l *log) *compare.Side {
	tb.Helper()
	run, samples := &plumb.Run{}, &analyze.Samples{}
	for _, ev := range l.events {
		if err := run.Apply(ev); err != nil {
			tb.Fatal(err)
		}
		if err := samples.Report(ev, run); err != nil {
			tb.Fatal(err)
		}
	}
	side := compare.OfRun(run, samples, "/runs/"+name)
	side.Name = name
	return side
}

// compared compares two logs.
func compared(tb testing.TB, base, cand *log, gates ...string) *Compared {
	tb.Helper()
	m, err := compare.Match(sideOf(tb, "main", base), sideOf(tb, "last", cand),
		compare.MatchOptions{Vary: []compare.Kind{compare.VaryAny}})
	if err != nil {
		tb.Fatal(err)
	}
	o := compare.DefaultOptions()
	for _, text := range gates {
		gate, err := compare.ParseGate(text)
		if err != nil {
			tb.Fatal(err)
		}
		o.Gates = append(o.Gates, gate)
	}
	return &Compared{
		Comparison: compare.Analyze(m, o), Matching: m, Baseline: base.sessions, Candidate: cand.sessions,
	}
}

// lostRun is a comparison in which 8 of 20 cases are lost, and one is won.
func lostRun(tb testing.TB, gates ...string) *Compared {
	tb.Helper()
	return compared(tb, comparedLog("gpt-5", 20, func(i int) bool { return i == 19 }),
		comparedLog("gpt-5-mini", 20, func(i int) bool { return i < 8 }), gates...)
}

func renderComparison(tb testing.TB, name string, o Options, c *Compared) string {
	tb.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if err := NewComparison(name, o, c); err != nil {
		tb.Fatal(err)
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

func TestComparisonJUnit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		gates                   []string
		tests, failures, errors int
	}{
		{nil, 1, 1, 0},
		{[]string{"pass_rate >= -5pp", "errors <= 5%", "pass_rate >= 90%", "broken <= 0"}, 4, 1, 2},
	} {
		text := renderComparison(t, JUnit, Options{}, lostRun(t, test.gates...))
		var doc struct {
			Suite struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Cases    []struct {
					Failure *struct{} `xml:"failure"`
					Error   *struct{} `xml:"error"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		s := doc.Suite
		if s.Tests != test.tests || s.Failures != test.failures || s.Errors != test.errors || len(s.Cases) != test.tests {
			t.Errorf("%v: got %+v\n%s", test.gates, s, text)
		}
	}
}

func TestComparisonActions(t *testing.T) {
	t.Parallel()
	summary := filepath.Join(t.TempDir(), "summary.md")
	o := Options{Screen: Screen{Getenv: func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": summary}[name] }}}
	text := renderComparison(t, GitHubActions, o, lostRun(t, "pass_rate >= 90%", "broken <= 0"))
	golden.Equal(t, "testdata/comparison-actions.txt", text)
	data, err := os.ReadFile(summary)
	if err != nil || !bytes.Contains(data, []byte("## ❌ Plumb: worse")) {
		t.Errorf("summary: %s, %v", data, err)
	}
}

func TestComparisonJSON(t *testing.T) {
	t.Parallel()
	var c compare.Comparison
	if err := json.Unmarshal([]byte(renderComparison(t, JSON, Options{}, lostRun(t))), &c); err != nil {
		t.Fatal(err)
	}
	if c.Conclusion != compare.Worse || c.ExitCode != 1 || len(c.Cases.Regressed) != 8 {
		t.Errorf("got %s, %d, %d regressions", c.Conclusion, c.ExitCode, len(c.Cases.Regressed))
	}
}

// comparisonFile writes the page of a comparison.
func comparisonFile(t *testing.T, c *Compared) string {
	t.Helper()
	dir := t.TempDir()
	renderComparison(t, HTML, Options{RunDir: dir}, c)
	return filepath.Join(dir, "comparison.html")
}

// The page lists all pairs, filters them, and shows two sessions side by side.
func TestComparisonPage(t *testing.T) {
	b := newBrowser(t)
	b.open(comparisonFile(t, lostRun(t, "pass_rate >= -5pp", "broken <= 0")), "")
	if text := b.text("h1"); !strings.Contains(text, "worse") {
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
	file := comparisonFile(t, lostRun(t, "pass_rate >= -5pp", "broken <= 0", "errors <= 5%"))
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
	c := lostRun(t)
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

// No secret of a run reaches a report of a comparison.
func TestComparisonSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-secret-4f3a9c1d77e0"
	base, cand := comparedLog("gpt-5", 4, func(int) bool { return false }), comparedLog("gpt-5-mini", 4, func(int) bool { return true })
	for i := range cand.events {
		if r := cand.events[i].Report; r != nil {
			r.FinalOutput += secret
		}
	}
	c := compared(t, base, cand)
	c.Warnings = append(c.Warnings, "the key "+secret+" was used")
	o := Options{Source: Source{Redact: redact.New([]redact.Secret{{Name: "A_KEY", Value: secret}})}}
	for _, name := range ComparisonNames() {
		if text := renderComparison(t, name, o, c); strings.Contains(text, secret) {
			t.Errorf("%s shows the secret", name)
		}
	}
}
