package html

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// told is what a session of these tests answers: a text that no other session has.
func toldBy(run, caseID, runner string, repetition, session int) string {
	return fmt.Sprintf("ANSWER[%s|%s|%s|%d.%d]", run, caseID, runner, repetition, session)
}

var toldPattern = regexp.MustCompile(`ANSWER\[[^\]]*\]`)

// linkRunner answers with the text that names its session. The size of some answers puts their sessions into
// blobs.
type linkRunner struct{ run, id string }

func (r linkRunner) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{
		ID: r.id, PathKey: plumb.PathKey(r.id), Kind: plumb.RunnerModel, Config: "sha256:" + r.id,
		Agent: plumb.AgentInfo{Type: "openai", Model: "same-model"},
	}
}

func (r linkRunner) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	n := len(req.CaseID) + len(r.id) + req.Repetition + req.Session
	if strings.Contains(req.CaseID, "-down") && req.Repetition == 1 {
		return nil, errors.New("no answer from " + r.run)
	}
	s := &plumb.SessionReport{
		Runner: r.Info(), SessionID: r.run + r.id + req.CaseID + fmt.Sprint(req.Repetition, req.Session),
		Prompt: "PROMPT[" + req.CaseID + "]", FinalOutput: toldBy(r.run, req.CaseID, r.id, req.Repetition, req.Session),
	}
	if n%3 == 0 {
		s.FinalOutput += "\n" + strings.Repeat("large ", 60_000)
	}
	s.Usage.InputTokens, s.Usage.OutputTokens = new(int64(10)), new(int64(5))
	s.Usage.Total()
	return s, nil
}

// linkCheck passes or fails by the text, differently for each run, runner and repetition.
type linkCheck struct{}

func (linkCheck) Assert(_ context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	text := toldPattern.FindString(ev.Report.FinalOutput)
	sum := 0
	for _, c := range []byte(text) {
		sum = sum*31%1009 + int(c)
	}
	v := plumb.Verdict{Name: "told", Pass: sum%5 > 1, Reason: "verdict on " + text}
	if v.Pass {
		v.Score = 1
	}
	return []plumb.Verdict{v}, nil
}

// linkRun performs a run of items with the prompts a and b on the runners v1 and v2, then resumes it with more
// repetitions. It returns its directory.
func linkRun(t *testing.T, name string, items ...string) string {
	t.Helper()
	s := &plumb.Suite{Name: "links", Hash: "sha256:0"}
	for _, item := range items {
		for _, prompt := range []string{"a", "b"} {
			s.Cases = append(s.Cases, plumb.Case{
				ID: item + "." + prompt, Item: item, PromptName: prompt, Hash: "sha256:" + strings.TrimPrefix(item, "new-") + prompt,
				Messages: []plumb.Message{{Role: plumb.RoleUser, Content: item + prompt}}, Assertions: []plumb.Assertion{linkCheck{}},
			})
		}
	}
	path := ""
	for _, raise := range []int{0, 3} {
		dir, err := runlog.Create(t.TempDir(), time.Now())
		if path != "" {
			dir, err = runlog.Open(path)
		} else if err == nil {
			path, err = dir.Path, dir.WriteSpec(struct{}{})
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = run.Suite(t.Context(), run.Input{
			Dir: dir, Suite: s, Runners: []plumb.Runner{linkRunner{name, "v1"}, linkRunner{name, "v2"}}, Raise: raise,
			Settings: run.Settings{Repeat: 2, Retry: 1, Parallel: 4, Schedule: run.Parallel},
		})
		if err := errors.Join(err, dir.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// linkSide opens a run directory as the side of a comparison.
func linkSide(t *testing.T, path, ref string) (*compare.Side, results.Sessions) {
	t.Helper()
	side, err := compare.Open(path+ref, compare.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := runlog.At(path).Index()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return side, x.Sessions
}

// compareSides makes the comparison of two sides.
func compareSides(tb interface {
	Helper()
	Fatal(...any)
}, base, cand *compare.Side, renamed map[string]string, baseSessions, candSessions results.Sessions,
) *report.Compared {
	tb.Helper()
	m, err := compare.Match(base, cand, compare.MatchOptions{Vary: []compare.Kind{compare.VaryAny}, Map: renamed})
	if err != nil {
		tb.Fatal(err)
	}
	return &report.Compared{
		Comparison: compare.Analyze(m, compare.DefaultChoices()), Matching: m, Baseline: baseSessions, Candidate: candSessions,
	}
}

// visited is a link of a page with what surrounds it, and the answers of the view that it opens.
type visited struct {
	Href, Row, Heading string
	Prompts, Answers   []string
	Shows              []string
}

// walk opens each link to sessions of the first page, and each choice of a session that these views
// offer, and returns what they show.
func (b *browser) walk() []visited {
	b.t.Helper()
	return ask[[]visited](b, `(async () => {
		const frame = () => new Promise(requestAnimationFrame);
		const of = (text, pattern) => [...new Set(text.match(pattern) || [])];
		const context = (a) => {
			const cell = a.closest("[data-at]"), row = a.closest("tr");
			return "at=" + (cell ? cell.dataset.at : "") + ";" + (row ? [...row.cells].map((c) => c.innerText).join("|") : "");
		};
		const links = new Map(), out = [];
		const collect = (root) => {
			for (const a of root.querySelectorAll("a[href^='#x'], a[href^='#c']")) if (/^#[xc]\d/.test(a.getAttribute("href"))) {
				const key = a.getAttribute("href") + context(a);
				if (!links.has(key)) links.set(key, {href: a.getAttribute("href").slice(1), row: context(a)});
			}
			for (const o of root.querySelectorAll("select[aria-label='Session'] option")) if (/^x\d/.test(o.value)) links.set(o.value, {href: o.value, row: "choice"});
		};
		for (let y = 0; y < document.documentElement.scrollHeight; y += 400) {
			scrollTo(0, y);
			await frame(); await frame();
			collect(document.getElementById("main"));
		}
		for (const l of links.values()) {
			location.hash = l.href;
			for (let i = 0; document.documentElement.dataset.shown !== l.href; i++) {
				if (i > 2000) throw new Error("nothing at " + l.href);
				await new Promise((r) => setTimeout(r, 5));
			}
			const view = document.getElementById("view"), text = view.innerText;
			out.push({Href: l.href, Row: l.row, Heading: view.querySelector("h1").innerText, Prompts: of(view.textContent, /PROMPT\[[^\]]*\]/g),
				Answers: of(text, /ANSWER\[[^\]]*\]/g), Shows: of(view.textContent, /plumb show [^\n]*?--runner \S+/g)});
			collect(view);
		}
		location.hash = "";
		return out;
	})()`)
}

// TestU1EveryLink opens every link of the pages of comparisons and of a run in a browser. Each opens the
// recorded sessions of its case, runner, prompt and repetition.
func TestU1EveryLink(t *testing.T) {
	b := newBrowser(t)
	items := []string{"apple", "berry", "cherry-down", "date", "elder", "fig", "grape"}
	first := linkRun(t, "A", items...)
	second := linkRun(t, "B", "zero", "fig", "date", "berry", "apple", "new-elder", "cherry-down")
	type sides struct {
		name                   string
		basePath, candPath     string
		baseRef, candRef       string
		basePrompt, candPrompt string
	}
	for _, test := range []sides{
		{"two runs", first, second, "", "", "", ""},
		{"two runners", first, first, "#v1", "#v2", "", ""},
		{"two runners of two runs", second, first, "#v2", "#v1", "", ""},
		{"one runner of one side", first, second, "#v2", "", "", ""},
		{"two prompts", first, first, "", "", "a", "b"},
		{"two prompts, the other way", second, second, "", "", "b", "a"},
		{"two prompts of two runs", first, second, "", "", "b", "b"},
		{"prompt and runner", first, second, "#v2", "#v2", "b", "a"},
	} {
		base, baseSessions := linkSide(t, test.basePath, test.baseRef)
		cand, candSessions := linkSide(t, test.candPath, test.candRef)
		var renamed map[string]string
		if test.basePrompt != "" {
			var err error
			if base, err = base.OfPrompt(test.basePrompt); err != nil {
				t.Fatal(err)
			}
			if cand, err = cand.OfPrompt(test.candPrompt); err != nil {
				t.Fatal(err)
			}
			renamed = compare.PairItems(base, cand)
		}
		if test.baseRef != "" && test.candRef == "" {
			renamed = map[string]string{"v2": "v1"}
		}
		c := compareSides(t, base, cand, renamed, baseSessions, candSessions)
		want := map[string]*pair{} // by the words of the row
		pairs := pairsOf(c)
		for i := range pairs {
			want[pairs[i].Case+"|"+pairs[i].Runner] = &pairs[i]
		}
		b.open(comparisonFile(t, c), "")
		opened := map[string]bool{}
		for _, v := range b.walk() {
			_, row, _ := strings.Cut(v.Row, ";")
			cells := strings.Split(row, "|")
			if len(cells) < 2 {
				continue // a link of a view: a chosen session, or a side of two
			}
			p := want[cells[0]+"|"+cells[1]]
			if p == nil {
				t.Fatalf("%s: the row %q is no pair", test.name, v.Row)
			}
			opened[cells[0]+"|"+cells[1]] = true
			names := map[bool]string{true: "A", false: "B"}
			got := map[string]int{}
			for _, answer := range v.Answers {
				part := strings.Split(strings.Trim(strings.TrimPrefix(answer, "ANSWER["), "]"), "|")
				got[strings.Join(part[:3], "|")]++
			}
			wanted := map[string]int{}
			for k, path := range []string{test.basePath, test.candPath} {
				wanted[names[path == first]+"|"+sideOfRow(p.Case, k)+"|"+sideOfRow(p.Runner, k)] = 1
			}
			if !strings.Contains(row, "-down") && !maps.Equal(got, wanted) {
				t.Errorf("%s: the link %s of %q shows %v instead of %v", test.name, v.Href, row, got, wanted)
			}
		}
		if len(opened) != len(pairs) || len(pairs) == 0 {
			t.Errorf("%s: links of %d of %d pairs", test.name, len(opened), len(pairs))
		}
		b.shot("links")
	}

	x, err := runlog.At(first).Index()
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	dir := t.TempDir()
	var page bytes.Buffer
	r := New(&page, "", &report.Source{Sessions: x.Sessions})
	if err := r.Report(plumb.Event{Type: plumb.EventRunFinished}, x.Run()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(file, "")
	cells := map[string]bool{}
	for _, v := range b.walk() {
		m := regexp.MustCompile(`^x(\d+)(?:/(\d+)\.(\d+))?$`).FindStringSubmatch(v.Href)
		if m == nil {
			t.Fatalf("%+v", v)
		}
		var at int
		fmt.Sscan(m[1], &at)
		caseID, runner := x.Run().At(at)
		cells[m[1]] = true
		if of, _, _ := strings.Cut(strings.TrimPrefix(v.Row, "at="), ";"); v.Row != "choice" && of != "" && of != m[1] {
			t.Errorf("the link %s is in the cell %s", v.Href, of)
		}
		if !strings.Contains(v.Heading, caseID) || !strings.Contains(v.Heading, runner) {
			t.Errorf("%s: heading %q instead of %s on %s", v.Href, v.Heading, caseID, runner)
		}
		for _, answer := range v.Answers {
			if prefix := fmt.Sprintf("ANSWER[A|%s|%s|", caseID, runner); !strings.HasPrefix(answer, prefix) ||
				m[2] != "" && answer != prefix+m[2]+"."+m[3]+"]" {
				t.Errorf("%s shows %s", v.Href, answer)
			}
		}
		if len(v.Prompts) > 0 && !slices.Equal(v.Prompts, []string{"PROMPT[" + caseID + "]"}) {
			t.Errorf("%s shows %v", v.Href, v.Prompts)
		}
		if len(v.Answers) == 0 && !strings.Contains(caseID, "-down") {
			t.Errorf("%s shows no answer", v.Href)
		}
		if !slices.Contains(v.Shows, fmt.Sprintf("plumb show %s %s --runner %s", x.Run().Info.ID, caseID, runner)) {
			t.Errorf("%s: commands %q", v.Href, v.Shows)
		}
	}
	if len(cells) != len(x.Run().Executions) {
		t.Errorf("links to %d of %d executions", len(cells), len(x.Run().Executions))
	}
}

// TestU1AnyComparison: each row of the page of a random comparison names the sessions of its case
// and runner on both sides, whatever the sides hold.
func TestU1AnyComparison(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := [2]*reporttest.Log{}
		for k := range runs {
			runs[k] = drawnLog(t, string(rune('A'+k)))
		}
		of := [2]int{0, rapid.IntRange(0, 1).Draw(t, "other run")}
		sides := [2]*compare.Side{}
		for k := range sides {
			side := drawnSide(t, runs[of[k]], fmt.Sprint("side", k))
			sides[k] = side
		}
		renamed := map[string]string{}
		if rapid.Bool().Draw(t, "by item") {
			renamed = compare.PairItems(sides[0], sides[1])
		}
		m, err := compare.Match(sides[0], sides[1], compare.MatchOptions{Vary: []compare.Kind{compare.VaryAny}, Map: renamed})
		if err != nil {
			t.Skip(err) // nothing is on both sides
		}
		c := &report.Compared{
			Comparison: compare.Analyze(m, compare.DefaultChoices()), Matching: m,
			Baseline: runs[of[0]].Indexed(), Candidate: runs[of[1]].Indexed(),
		}
		var page bytes.Buffer
		if err := WriteComparison(&page, Frame{}, &report.Source{}, c); err != nil {
			t.Fatal(err)
		}
		checkPairs(t, page.String(), c, [2]string{string(rune('A' + of[0])), string(rune('A' + of[1]))})
	})
}

// drawnLog draws a run: cases in any order, some of which are missing or not measured, one to three
// runners, and one or two prompts.
func drawnLog(t *rapid.T, name string) *reporttest.Log {
	runners := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"v1", "v2", "v3"}), 1, 3, rapid.ID).Draw(t, "runners")
	about := reporttest.Info(runners...)
	about.ID = name
	var cases []plumb.CaseInfo
	for _, item := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5, rapid.ID).Draw(t, "items") {
		for _, prompt := range []string{"short", "long"} {
			if rapid.IntRange(0, 5).Draw(t, "missing") > 0 {
				cases = append(cases, plumb.CaseInfo{ID: item + "." + prompt, Item: item, Prompt: prompt, Hash: "sha256:" + item + prompt, Repeat: 2})
			}
		}
	}
	l := reporttest.NewLog(about, cases...)
	for _, c := range cases {
		for _, runner := range runners {
			n := rapid.IntRange(0, 2).Draw(t, "repetitions")
			for repetition := 1; repetition <= n; repetition++ {
				j := reporttest.Passed(reporttest.Verdict("x", true, "ok", "", ""))
				if rapid.Bool().Draw(t, "fails") {
					j = reporttest.Failed(reporttest.Verdict("x", false, "no", "", ""))
				}
				r := reporttest.Answer(toldBy(name, c.ID, runner, repetition, 1), 10)
				r.SessionID = r.FinalOutput
				l.Session(c.ID, runner, repetition, 1, r, nil, j)
				if rapid.IntRange(0, 5).Draw(t, "again") == 0 { // measured again after a resume
					l.Session(c.ID, runner, repetition, 1, r, nil, j)
				}
			}
			if n == 2 {
				l.Finish(c.ID, runner, reporttest.ResultOf(2, nil, reporttest.Passed()))
			}
		}
	}
	return l.End("", 0)
}

// drawnSide draws a side of a run: all of it, one prompt, one runner, or both.
func drawnSide(t *rapid.T, l *reporttest.Log, name string) *compare.Side {
	run, samples := &plumb.Run{}, &analyze.Samples{}
	for _, ev := range l.Events {
		if err := cmp.Or(run.Apply(ev), samples.Report(ev, run)); err != nil {
			t.Fatal(err)
		}
	}
	side := compare.OfRun(run, samples, name)
	if rapid.Bool().Draw(t, "one runner") {
		id := side.Runners[rapid.IntRange(0, len(side.Runners)-1).Draw(t, "runner")].ID
		one, err := side.OfRunner(id)
		if err != nil {
			t.Fatal(err)
		}
		side = one
	}
	if rapid.Bool().Draw(t, "one prompt") {
		one, err := side.OfPrompt(rapid.SampledFrom([]string{"short", "long"}).Draw(t, "prompt"))
		if err != nil {
			t.Skip(err)
		}
		side = one
	}
	return side
}

// sideOfRow returns what a row says of one side: "a → b", or the same name for both.
func sideOfRow(words string, side int) string {
	base, cand, both := strings.Cut(words, " → ")
	if !both || side == 0 {
		return base
	}
	return cand
}

// checkPairs checks what the rows of the page of a comparison of two runs show.
func checkPairs(t *rapid.T, page string, c *report.Compared, names [2]string) {
	if head := "Pairs <small>" + text.Plural(len(pairsOf(c)), "pair") + "</small>"; !strings.Contains(page, head) {
		t.Errorf("the page does not have %q", head)
	}
	var index comparisonIndex
	_, text, _ := strings.Cut(page, `<script type="application/json" id="index">`)
	text, _, _ = strings.Cut(text, "</script>")
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	blocks := decodedBlocks(t, page)
	for i, want := range pairsOf(c) {
		row := index.Pairs[i]
		for k, at := range row.At {
			side := []*compare.Side{c.Matching.Base, c.Matching.Cand}[k]
			caseID, runner := sideOfRow(want.Case, k), sideOfRow(want.Runner, k)
			x, err := side.Run.Execution(caseID, runner)
			if err != nil {
				t.Fatal(err)
			}
			var answers, wanted []string
			if at >= 0 {
				for _, s := range index.List[at].Sessions {
					head := blocks[s.Head]
					answers = append(answers, head.Report.FinalOutput)
					show := fmt.Sprintf("plumb show %s %s", names[k], caseID)
					if len(side.Run.Info.Runners) > 1 {
						show += " --runner " + runner
					}
					if head.Show != show {
						t.Errorf("%s instead of %s", head.Show, show)
					}
				}
			}
			sessions := []results.Sessions{c.Baseline, c.Candidate}[k]
			_ = sessions(caseID, runner, func(ev plumb.Event) error {
				if ev.Type == plumb.EventSessionFinished {
					wanted = append(wanted, toldBy(names[k], caseID, runner, ev.Repetition, ev.Session))
				}
				return nil
			})
			if !slices.Equal(answers, slices.Compact(wanted)) {
				t.Errorf("row %+v, side %d, %v: %v instead of %v", row, k, x.State, answers, wanted)
			}
		}
	}
}

// decodedBlocks returns the blocks of a page that hold the facts of a session, by their numbers.
func decodedBlocks(t *rapid.T, page string) map[int]*sessionHead {
	found := map[int]*sessionHead{}
	for i, part := range strings.Split(page, `<script type="text/plain" id="b`)[1:] {
		_, packed, _ := strings.Cut(part, ">")
		packed, _, _ = strings.Cut(packed, "<")
		r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
		if err != nil {
			t.Fatal(err)
		}
		head := &sessionHead{}
		if json.NewDecoder(r).Decode(head) == nil {
			found[i] = head
		}
	}
	return found
}
