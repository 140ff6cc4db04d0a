package reporttest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	mdtext "github.com/yuin/goldmark/text"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
)

// Prompts is a run of 20 cases with 2 prompts on 2 runners, with gates.
func Prompts() *Log {
	about := Info("openai:gpt-5", "openai:gpt-5-mini")
	about.SuiteName, about.SuiteVersion, about.Tier, about.SuitePath = "support", "", "", "evals/support.yaml"
	about.Gates = []plumb.Gate{
		{Text: "0.9", Metric: plumb.GatePassRate, Least: 0.9},
		{Text: "tag:billing=low:0.3", Metric: plumb.GatePassRate, Kind: plumb.GateTag, Name: "billing", Low: true, Least: 0.3},
		{Text: "0.95", Metric: plumb.GateCoverage, Least: 0.95},
	}
	var cases []plumb.CaseInfo
	for i := range 20 {
		for _, prompt := range []string{"short", "long"} {
			item := fmt.Sprintf("refund-%d", i+1)
			cases = append(cases, plumb.CaseInfo{
				ID: item + "." + prompt, Item: item, Prompt: prompt, Hash: "sha256:" + item + prompt,
				Tags: [][]string{{"billing"}, {"tone"}}[i%2], Category: "support",
				Source: plumb.Position{File: "evals/support.yaml", Line: 10 + 4*i, Column: 5},
			})
		}
	}
	l := NewLog(about, cases...)
	for i := range cases {
		c := &cases[i]
		for _, r := range about.Runners {
			a := Answer("We refund you within 14 days.", 300)
			a.Prompt = "Refund?"
			if c.Prompt == "long" {
				a.Prompt = "system: " + strings.Repeat("You are a helpful agent of a shop. ", 10) + "\n\nuser: Refund?"
			}
			a.CostUSD = new(0.00013749999999999998)
			switch c.ID + " " + r.ID {
			case "refund-3.short openai:gpt-5-mini", "refund-3.long openai:gpt-5-mini", "refund-7.short openai:gpt-5-mini":
				a.FinalOutput = "No."
				l.Execute(c.ID, r.ID, a, Failed(Verdict("contains", false, `"No." does not contain "14 days"`, "14 days", "No.")))
			case "refund-8.long openai:gpt-5":
				broke := &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 503"}
				l.Execute(c.ID, r.ID, nil, Broken(broke))
			default:
				l.Execute(c.ID, r.ID, a, Passed(Verdict("contains", true, "ok", "14 days", "")))
			}
		}
	}
	return l.End("", 0)
}

// Repeats is a run of an agent with three repetitions, side by side, and a retry.
func Repeats() *Log {
	i := Info("claude")
	i.Repeat, i.SelfJudged, i.Judge = 3, true, ""
	i.Runners[0].Kind, i.Runners[0].Agent = plumb.RunnerAgent, plumb.AgentInfo{Type: "claude-code", Model: "haiku"}
	l := NewLog(i, plumb.CaseInfo{ID: "skill one", Category: "skills"}, plumb.CaseInfo{ID: "own", Repeat: 1})
	good, bad := Passed(Verdict("command", true, "ran git", "git", "git")),
		Failed(Verdict("command", false, "never ran git", "git", "ls"))
	l.Session("skill one", "claude", 2, 1, Answer("second, first try", 20), nil, bad)
	l.Session("skill one", "claude", 1, 1, Answer("first", 10), nil, good)
	l.Session("skill one", "claude", 2, 2, Answer("second, second try", 30), nil, good)
	l.Session("skill one", "claude", 3, 1, Answer("third", 40), nil, bad)
	res := ResultOf(4, nil, bad)
	res.Passed, res.Failed, res.Score = 2, 1, 2.0/3
	l.Finish("skill one", "claude", res)
	l.Execute("own", "claude", Answer("fine", 10), good)
	return l.End("", 0)
}

// Samples is a run of a model with five repetitions: stable cases, flaky ones, one with errors, and
// one that could not be measured.
func Samples() *Log {
	i := Info("gpt-5")
	i.Repeat = 5
	counts := []struct {
		category               string
		passed, failed, broken int
	}{
		{"math", 5, 0, 0},
		{"math", 5, 0, 0},
		{"math", 4, 1, 0},
		{"text", 0, 5, 0},
		{"text", 2, 3, 0},
		{"text", 3, 0, 2},
		{"text", 0, 0, 5},
	}
	var cases []plumb.CaseInfo
	for n, c := range counts {
		cases = append(cases, plumb.CaseInfo{ID: fmt.Sprintf("%s-%d", c.category, n+1), Category: c.category})
	}
	l := NewLog(i, cases...)
	for n, c := range counts {
		l.Repeat(cases[n].ID, "gpt-5", int64(100*(n+1)), c.passed, c.failed, c.broken)
	}
	return l.End("", 0)
}

// Stopped is a run of an agent whose executions stop at the first repetition that is not green.
func Stopped() *Log {
	i := Info("claude")
	i.Repeat = 3
	i.Runners[0].Kind, i.Runners[0].Agent = plumb.RunnerAgent, plumb.AgentInfo{Type: "claude-code", Model: "haiku"}
	l := NewLog(i, plumb.CaseInfo{ID: "all"}, plumb.CaseInfo{ID: "first"}, plumb.CaseInfo{ID: "second"})
	l.Repeat("all", "claude", 100, 3, 0, 0)
	l.Repeat("first", "claude", 200, 0, 1, 0)
	l.Repeat("second", "claude", 300, 1, 0, 1)
	return l.End("", 0)
}

// Repeat adds an execution with the given numbers of passed, failed and broken repetitions.
func (l *Log) Repeat(caseID, runner string, ms int64, pass, fail, broke int) {
	f := &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 500"}
	good, bad := Passed(Verdict("contains", true, "ok", "x", "x")), Failed(Verdict("contains", false, "lacks x", "x", "y"))
	last := good
	for n := range pass + fail + broke {
		switch {
		case n < pass:
			l.Session(caseID, runner, n+1, 1, Answer("x", ms), nil, good)
		case n < pass+fail:
			last = bad
			l.Session(caseID, runner, n+1, 1, Answer("y", ms), nil, bad)
		default:
			if fail == 0 {
				last = Broken(f)
			}
			l.Session(caseID, runner, n+1, 1, nil, f, Broken(f))
		}
	}
	res := ResultOf(pass+fail+broke, new(0.0021*float64(pass+fail)), last)
	res.Passed, res.Failed, res.Errored = pass, fail, broke
	if pass+fail > 0 {
		res.Score = float64(pass) / float64(pass+fail)
		res.LatencyMs, res.DurationMs = ms, ms+20
	}
	l.Finish(caseID, runner, res)
}

// Storm is a run in which many cases fail with long and wide texts.
func Storm(cases int) *Log {
	list := make([]plumb.CaseInfo, cases)
	for i := range list {
		list[i] = plumb.CaseInfo{ID: fmt.Sprintf("case-%03d", i), Category: "a category with a long name 漢字漢字"}
	}
	l := NewLog(Info("gpt-5"), list...)
	for i := range list {
		long := strings.Repeat(fmt.Sprintf("wide 漢字 %d 👩‍👩‍👧 ", i), 30)
		j := Failed(Verdict("contains", false, long, long, "one\n"+long+"\n\tthree"))
		if i%3 == 0 {
			j = Passed(Verdict("contains", true, "ok", "", ""))
		}
		l.Execute(list[i].ID, "gpt-5", Answer(long, 10), j)
	}
	return l.End("", 0)
}

// ComparedLog is a run of some cases on one model; those that fails selects fail.
func ComparedLog(model string, n int, fails func(i int) bool) *Log {
	var cases []plumb.CaseInfo
	for i := range n {
		cases = append(cases, plumb.CaseInfo{
			ID: fmt.Sprintf("case-%06d", i), Hash: fmt.Sprintf("sha256:%064d", i), Category: []string{"refund", hostile}[i%2],
			Tags: []string{"smoke"},
		})
	}
	l := NewLog(Info(model), cases...)
	l.Events[0].Info.ID += "-" + model
	reply := func(i int, text string, ms int64) *plumb.SessionReport {
		r := Answer(text, ms)
		r.SessionID = fmt.Sprint(model, i)
		return r
	}
	for i := range n {
		if fails(i) {
			l.Execute(cases[i].ID, model, reply(i, "Refused: "+hostile, 120),
				Failed(Verdict("contains", false, `the answer lacks "yes"`, "yes", "Refused")))
			continue
		}
		l.Execute(cases[i].ID, model, reply(i, "yes, of course", 100), Passed(Verdict("contains", true, "ok", "yes", "yes")))
	}
	return l.End("", 0)
}

// sideOf returns the side that the log of a run makes.
func sideOf(tb testing.TB, name string, l *Log) *compare.Side {
	tb.Helper()
	run, samples := &plumb.Run{}, &analyze.Samples{}
	for _, ev := range l.Events {
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

// CompareLogs compares two logs.
func CompareLogs(tb testing.TB, base, cand *Log, gates ...string) *report.Compared {
	tb.Helper()
	m, err := compare.Match(sideOf(tb, "main", base), sideOf(tb, "last", cand),
		compare.MatchOptions{Vary: []compare.Kind{compare.VaryAny}})
	if err != nil {
		tb.Fatal(err)
	}
	o := compare.DefaultChoices()
	for _, text := range gates {
		gate, err := compare.ParseGate(text)
		if err != nil {
			tb.Fatal(err)
		}
		o.Gates = append(o.Gates, gate)
	}
	return &report.Compared{
		Comparison: compare.Analyze(m, o), Matching: m, Baseline: base.Sessions, Candidate: cand.Sessions,
	}
}

// LostRun is a comparison in which 8 of 20 cases are lost, and one is won.
func LostRun(tb testing.TB, gates ...string) *report.Compared {
	tb.Helper()
	return CompareLogs(tb, ComparedLog("gpt-5", 20, func(i int) bool { return i == 19 }),
		ComparedLog("gpt-5-mini", 20, func(i int) bool { return i < 8 }), gates...)
}

// Evil is a text that does something wherever it is read as anything but text.
const Evil = `<img src=x onerror="document.documentElement.dataset.pwned=1"></script></style></title>` +
	`<script>document.documentElement.dataset.pwned=2</script>"'><svg onload=document.documentElement.dataset.pwned=3>{{.}}` + "`${1}` \u2028 \x00 &lt;b&gt; javascript:alert(1)"

// poison replaces all texts in v, but for those that are words of ours.
func poison(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(text)
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Time]() {
			poison(v.Elem(), text)
		}
	case reflect.Slice:
		if raw, ok := reflect.TypeAssert[json.RawMessage](v); ok {
			if len(raw) > 0 && v.CanSet() {
				v.SetBytes(encoded(map[string]string{text: text}))
			}
			return
		}
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			known := v.Type() == reflect.TypeFor[plumb.SessionEvent]() && field.Name == "Type" ||
				v.Type() == reflect.TypeFor[plumb.Judgement]() && (field.Name == "Outcome" || field.Name == "Status") ||
				v.Type() == reflect.TypeFor[plumb.ExecutionResult]() &&
					(field.Name == "Outcome" || field.Name == "Status")
			if field.IsExported() && !known {
				poison(v.Field(i), text)
			}
		}
	default:
	}
}

// Poisoned replaces every text of a run.
func Poisoned(l *Log, text string) *Log {
	data, err := json.Marshal(l.Events) // a copy: sessions are shared
	if err != nil {
		panic(err)
	}
	l.Events = nil
	if err := json.Unmarshal(data, &l.Events); err != nil {
		panic(err)
	}
	rename := map[string]string{}
	name := func(id string) string {
		if id != "" && rename[id] == "" {
			rename[id] = text + id
		}
		return rename[id]
	}
	for i := range l.Events {
		ev := &l.Events[i]
		ev.Case, ev.Runner = name(ev.Case), name(ev.Runner)
		if ev.Info != nil {
			runners := ev.Info.Runners
			ids := []string{}
			for _, r := range runners {
				ids = append(ids, r.ID)
			}
			poison(reflect.ValueOf(ev.Info), text)
			for j := range runners {
				runners[j].ID, runners[j].Kind = name(ids[j]), plumb.RunnerAgent
			}
		}
		for j := range ev.Cases {
			id := ev.Cases[j].ID
			poison(reflect.ValueOf(&ev.Cases[j]), text)
			ev.Cases[j].ID = name(id)
		}
		for _, v := range []any{ev.Report, ev.Failure, ev.Judgement, ev.Result, ev.Note, ev.End} {
			if !reflect.ValueOf(v).IsNil() {
				poison(reflect.ValueOf(v), text)
			}
		}
	}
	return l
}

// HostileTexts are texts that do something where they are read as anything but text.
func HostileTexts() []string {
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

// LiveMarkdown returns what a page that renders Markdown as GitHub does would make of a text, beside the
// markup that Plumb writes.
func LiveMarkdown(source string) (live []string) {
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

// Heap returns the bytes that are in use after a collection.
func Heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// PageBlocks decodes the blocks of a page, in order.
func PageBlocks(tb testing.TB, page string) []any {
	tb.Helper()
	var out []any
	for _, m := range regexp.MustCompile(`<script type="text/plain" id="b(\d+)">([^<]*)</script>`).FindAllStringSubmatch(page, -1) {
		if m[1] != fmt.Sprint(len(out)) {
			tb.Fatalf("block %s is the %d. one", m[1], len(out))
		}
		packed, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			tb.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			tb.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			tb.Fatal(err)
		}
		out = append(out, value)
	}
	return out
}

// PageIndex returns the index of the blocks of a page, in JSON.
func PageIndex(tb testing.TB, page string) []byte {
	tb.Helper()
	m := regexp.MustCompile(`<script type="application/json" id="index">(.*)</script>`).FindStringSubmatch(page)
	if m == nil {
		tb.Fatal("the page has no index")
	}
	return []byte(m[1])
}
