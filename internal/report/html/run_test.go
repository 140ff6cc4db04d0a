package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// renderPage returns what the reporter of a run writes, without its file in dir.
func renderPage(tb testing.TB, l *reporttest.Log, src *report.Source, dir string) string {
	tb.Helper()
	if src.Sessions == nil {
		src.Sessions = l.Sessions
	}
	var out bytes.Buffer
	if _, err := report.Replay(New(&out, dir, src), l.All()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func indexOf(t *testing.T, page string) (index pageIndex) {
	t.Helper()
	if err := json.Unmarshal(reporttest.PageIndex(t, page), &index); err != nil {
		t.Fatal(err)
	}
	return index
}

// TestHTMLData checks the content of the page for a run of agents: its front, its index and its
// blocks.
func TestHTMLData(t *testing.T) {
	page := renderPage(t, reporttest.AgentLog(), &report.Source{}, "")
	front, _, _ := strings.Cut(page, `<script type="text/plain"`)
	_, front, _ = strings.Cut(front, "<main")
	golden.Equal(t, "testdata/agents.front.html", front)
	text, err := json.MarshalIndent(map[string]any{"index": indexOf(t, page), "blocks": reporttest.PageBlocks(t, page)}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/agents.data.json", string(text)+"\n")
}

// TestHTMLTiles: nothing is added up over different prompts and models. Each column has its rate, the best
// is marked, and what pools columns has no interval.
func TestHTMLTiles(t *testing.T) {
	front := func(l *reporttest.Log) *runFront {
		t.Helper()
		f, err := frontOf(&report.Source{Sessions: l.Sessions}, l.Run(t))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := front(matrixLog(20, 1))
	if f.Heading != "5 of 20 cases failed in at least one of 4 columns, 1 not measured" {
		t.Errorf("the heading is %q", f.Heading)
	}
	var got []string
	for _, row := range f.Grid {
		for i, x := range row.Tiles {
			got = append(got, fmt.Sprint(row.Name, " ", f.Across[i], " ", x.Passed, " ", x.Interval, " ", x.More, x.Best, x.Bar != ""))
		}
	}
	want := []string{
		"short gpt-5 18/20 69–98 % false true", "short gpt-5-mini 18/20 69–98 % false true",
		"tutor gpt-5 19/19 83–100 % 19/20 measuredtrue true", "tutor gpt-5-mini 17/20 63–95 % false true",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(f.Tiles) > 0 {
		t.Errorf("the grid is %q", got)
	}
	for _, x := range f.Rates {
		if x.Interval != "–" || x.Bar != "" || strings.Contains(x.Name, "all") {
			t.Errorf("a row over several columns: %+v", x)
		}
	}
	f = front(reporttest.Simple(4))
	if f.Heading != "All 4 cases passed" || len(f.Tiles) != 1 || f.Tiles[0].Passed != "4/4" || f.Tiles[0].Best || len(f.Grid) > 0 {
		t.Errorf("one column: %q, %+v, %+v", f.Heading, f.Tiles, f.Grid)
	}
	if f = front(brokenLog()); f.Heading != "No case was measured" || f.Tiles[0].More != "nothing was measured" || f.Tiles[0].Bar != "" {
		t.Errorf("nothing measured: %q, %+v", f.Heading, f.Tiles)
	}
}

// TestHTMLPolicy: the page may run its own script and use its own style, and nothing else, and it
// needs nothing else.
func TestHTMLPolicy(t *testing.T) {
	for name, l := range map[string]*reporttest.Log{
		"agents": reporttest.AgentLog(), "mixed": reporttest.Mixed(),
		"none": reporttest.NewLog(reporttest.Info("gpt-5")).End("", 0),
	} {
		page := renderPage(t, l, &report.Source{}, "")
		m := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("%s: no policy", name)
		}
		policy := html.UnescapeString(m[1])
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") ||
			strings.Contains(policy, "http") {
			t.Errorf("%s: %s", name, policy)
		}
		for _, e := range []struct{ directive, pattern string }{
			{"script-src", `(?s)<script>(.*?)</script>`},
			{"style-src", `(?s)<style>(.*?)</style>`},
		} {
			found := regexp.MustCompile(e.pattern).FindAllStringSubmatch(page, -1)
			if len(found) != 1 {
				t.Fatalf("%s: %d elements for %s", name, len(found), e.directive)
			}
			sum := sha256.Sum256([]byte(found[0][1]))
			if want := e.directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
				"';"; !strings.Contains(policy, want) {
				t.Errorf("%s: policy %s lacks %s", name, policy, want)
			}
		}
		if m := regexp.MustCompile(`(?i)\s(src|srcset|onload|onclick|style)=|<(link|img|iframe|object|embed|base|form)\b|@import|url\(`).FindString(
			regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")); m != "" {
			t.Errorf("%s: the page has %q", name, m)
		}
	}
}

// TestHTMLFile: without its own file, the page goes to the run directory, completely or not at all.
func TestHTMLFile(t *testing.T) {
	dir := t.TempDir()
	out := renderPage(t, reporttest.Mixed(), &report.Source{}, dir)
	name := filepath.Join(dir, "report.html")
	if out != "\nHTML report: "+name+"\n\n" {
		t.Errorf("it says %q", out)
	}
	data, err := os.ReadFile(name)
	if err != nil || !strings.HasSuffix(string(data), "</html>\n") {
		t.Errorf("%v: %.100s", err, data)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if _, err := report.Replay(New(io.Discard, filepath.Join(dir, "missing"), &report.Source{}), reporttest.Mixed().All()); err == nil {
		t.Error("a directory that is missing is no error")
	}
}

// TestHTMLSize: a page takes what fits, failures first, and says what it leaves out.
func TestHTMLSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	l := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a-pass"}, plumb.CaseInfo{ID: "b-fail"}, plumb.CaseInfo{ID: "c-pass"})
	for i, id := range []string{"a-pass", "b-fail", "c-pass"} {
		j := reporttest.Passed()
		if i == 1 {
			j = reporttest.Failed(reporttest.Verdict("x", false, "no", "", ""))
		}
		l.Execute(id, "gpt-5", reporttest.BigSession(12_000), j)
	}
	l.End("", 0)
	for size, want := range map[int][3]string{
		pageSize:          {"b-fail whole", "a-pass whole", "c-pass whole"},
		reserve + 200<<10: {"b-fail whole", "a-pass part", "c-pass part"},
		100:               {"b-fail none", "a-pass none", "c-pass none"},
	} {
		var out bytes.Buffer
		r := New(&out, "", &report.Source{Sessions: l.Direct})
		r.page.Limit = size
		if _, err := report.Replay(r, l.All()); err != nil {
			t.Fatal(err)
		}
		index, all := indexOf(t, out.String()), reporttest.PageBlocks(t, out.String())
		for i, x := range index.List {
			got := "none"
			if head := x.Sessions[0].Head; head >= 0 {
				facts, _ := all[head].(map[string]any)
				there := 0.0
				list, _ := facts["blocks"].([]any)
				for _, b := range list {
					pair, _ := b.([]any)
					n, _ := pair[1].(float64)
					there += n
				}
				got = "part"
				if there == facts["steps"] {
					got = "whole"
				}
			}
			if got = x.Case + " " + got; got != want[i] {
				t.Errorf("size %d: %s, want %s", size, got, want[i])
			}
		}
		if out.Len() > size+400<<10 {
			t.Errorf("size %d: the page has %d bytes", size, out.Len())
		}
	}
}

// TestHTMLStreams: a page of many sessions holds one of them at a time.
func TestHTMLStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	cases := make([]plumb.CaseInfo, 500)
	for i := range cases {
		cases[i].ID = fmt.Sprintf("case-%03d", i)
	}
	l := reporttest.NewLog(reporttest.Info("gpt-5"), cases...)
	res := reporttest.ResultOf(1, nil, reporttest.Passed())
	for _, c := range cases {
		l.Add(plumb.Event{Type: plumb.EventSessionStarted, Case: c.ID, Runner: "gpt-5", Repetition: 1, Session: 1})
		l.Finish(c.ID, "gpt-5", res)
	}
	l.End("", 0)
	var peak uint64
	calls := 0
	sessions := func(_, _ string, yield func(plumb.Event) error) error {
		if calls++; calls%50 == 0 {
			peak = max(peak, reporttest.Heap())
		}
		return yield(plumb.Event{Type: plumb.EventSessionFinished, Repetition: 1, Session: 1, Report: reporttest.BigSession(1000)})
	}
	before := reporttest.Heap()
	if _, err := report.Replay(New(io.Discard, "", &report.Source{Sessions: sessions}), l.All()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sessions, heap grew by at most %d kB", calls, (int64(peak)-int64(before))>>10)
	if peak == 0 || int64(peak)-int64(before) > 16<<20 {
		t.Errorf("the heap grew by %d bytes", int64(peak)-int64(before))
	}
}

// poisoned is a run in which every text is evil.
func poisoned() *reporttest.Log { return reporttest.Poisoned(reporttest.AgentLog(), reporttest.Evil) }
