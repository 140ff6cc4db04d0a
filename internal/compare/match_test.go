package compare

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

func match(t *testing.T, base, cand *Side, o MatchOptions) *Matching {
	t.Helper()
	m, err := Match(base, cand, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// names returns the pairs of the first pair of runners.
func names(m *Matching) string {
	var all []string
	for _, p := range m.Runners[0].Pairs {
		all = append(all, p.BaseCase+"="+p.CandCase)
	}
	return strings.Join(all, " ")
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*Refused](err)
	return ok
}

func TestRefused(t *testing.T) {
	t.Parallel()
	changed := newRecorded("b", "r")
	changed.info.Runners[0].Agent.Model, changed.info.Retry = "gpt-6", 5
	_, err := Match(newRecorded("a", "r").side(t), changed.side(t), MatchOptions{})
	r, _ := errors.AsType[*Refused](err)
	if r == nil || len(r.Differences) != 2 || !reflect.DeepEqual(r.Kinds, []Kind{VaryModel, VaryLimits}) {
		t.Fatalf("%v", err)
	}
	if hint := plumb.Hint(err); !strings.Contains(hint, "--vary model,limits") {
		t.Errorf("hint %q", hint)
	}
	_, err = Match(newRecorded("a", "r").side(t), changed.side(t), MatchOptions{Vary: []Kind{VaryModel}})
	r, _ = errors.AsType[*Refused](err)
	if r == nil || len(r.Differences) != 1 || r.Differences[0].Name != "retry" || len(r.Kinds) != 2 {
		t.Errorf("%v", err)
	}
	m := match(t, newRecorded("a", "r").side(t), changed.side(t), MatchOptions{Vary: []Kind{VaryAny}})
	if !reflect.DeepEqual(m.VariedKinds, []Kind{VaryAny}) || len(m.Varied) != 2 || !m.Declared {
		t.Errorf("%+v", m.VariedKinds)
	}
}

// TestDuplicates: of several cases with one hash, those with the same id are paired first, and one of
// the pairs counts.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	twins := func(id string, order ...int) *Side {
		x := newRecorded(id, "r")
		var cases []plumb.CaseInfo
		for _, i := range order {
			c := x.cases[i]
			c.Hash = "sha256:same"
			cases = append(cases, c)
		}
		x.cases = cases
		return x.side(t)
	}
	m := match(t, twins("a", 0, 1, 2), twins("b", 2, 0), MatchOptions{})
	const warning = "1 case is a copy with the same prompt and checks, and a case counts once: c2 of c0 (--repeat measures " +
		"a case again)"
	if got := names(m); got != "c0=c0" || !reflect.DeepEqual(m.OnlyBase, []string{"c1"}) ||
		!slices.Contains(m.Warnings, warning) {
		t.Errorf("%s, only in the baseline %v, warnings %q", got, m.OnlyBase, m.Warnings)
	}
	renamed := newRecorded("b", "r")
	renamed.cases[0].ID = "new"
	m = match(t, newRecorded("a", "r").side(t), renamed.side(t), MatchOptions{})
	if got := names(m); got != "c0=new c1=c1 c2=c2" {
		t.Error(got)
	}
}

// TestMirror: the swapped comparison has the mirrored pairs, and the order of cases and runners
// does not matter.
func TestMirror(t *testing.T) {
	t.Parallel()
	base, cand := newRecorded("a", "r", "q"), newRecorded("b", "q", "r")
	cand.cases[0], cand.cases[2] = cand.cases[2], cand.cases[0]
	base.cases[1].ID = "zz"
	forward := match(t, base.side(t), cand.side(t), MatchOptions{})
	back := match(t, cand.side(t), base.side(t), MatchOptions{})
	if len(forward.Runners) != 2 || len(back.Runners) != 2 {
		t.Fatal(forward.Runners)
	}
	for r := range forward.Runners {
		f, b := forward.Runners[r], back.Runners[r]
		if f.Base != b.Cand || len(f.Pairs) != len(b.Pairs) {
			t.Fatalf("%s and %s", f.Base, b.Cand)
		}
		for i := range f.Pairs {
			x, y := f.Pairs[i], b.Pairs[i]
			if x.BaseCase != y.CandCase || x.CandCase != y.BaseCase || x.Base[0].Answer != y.Cand[0].Answer {
				t.Errorf("pair %d: %s=%s and %s=%s", i, x.BaseCase, x.CandCase, y.BaseCase, y.CandCase)
			}
		}
	}
}

// TestOldRuns: a run without a setup opens, and what it did not record is unknown.
func TestOldRuns(t *testing.T) {
	t.Parallel()
	old := func(id string) *recorded {
		x := newRecorded(id, "r").agent()
		x.info.Setup = nil
		for i := range x.cases {
			x.cases[i].PromptHash, x.cases[i].ChecksHash = "", ""
		}
		return x
	}
	is := func(all []Difference, want ...string) {
		t.Helper()
		var got []string
		for _, d := range all {
			got = append(got, d.Name)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// Equal hashes of the configurations say that arguments and permissions are equal.
	m := match(t, old("a").side(t), newRecorded("b", "r").agent().side(t), MatchOptions{})
	is(m.Varied)
	is(m.Unknown, "time limit", "scoring version", "agent version", "skills", "instructions", "MCP servers")
	// Another hash says that something differs, but not what.
	other := old("b")
	other.info.Runners[0].Config = "sha256:bad"
	m = match(t, old("a").side(t), other.side(t), MatchOptions{})
	is(m.Varied, "configuration")
	// Changed cases pair by id; which part changed is not known.
	changed := old("b")
	changed.cases[0].Hash = "sha256:other"
	m = match(t, old("a").side(t), changed.side(t), MatchOptions{Vary: []Kind{VaryPrompt}})
	if !m.ByID || len(m.Runners[0].Pairs) != 3 {
		t.Errorf("%s", names(m))
	}
	if got := lines(m.Unknown); !strings.Contains(got, "prompt: prompt unknown → unknown in case c0") {
		t.Error(got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	base, cand := newRecorded("a", "r").agent(), newRecorded("b", "r").agent()
	base.model, cand.model = "gpt-5-2026-01-01", "gpt-5-2026-02-02"
	base.version, cand.version = "1.0", "1.0"
	cand.at = cand.at.Add(50 * time.Hour)
	m := match(t, base.side(t), cand.side(t), MatchOptions{})
	got := strings.Join(m.Warnings, "\n")
	for _, want := range []string{
		"the reported model changed although the requested model is the same: gpt-5-2026-01-01 → gpt-5-2026-02-02",
		"the two sides lie 2d 1h apart",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if len(m.Varied) != 0 {
		t.Error(lines(m.Varied))
	}
	// With another requested model, another reported one is no surprise.
	cand.info.Runners[0].Agent.Model, cand.at = "gpt-6", base.at
	if m := match(t, base.side(t), cand.side(t), MatchOptions{}); len(m.Warnings) != 0 {
		t.Errorf("%q", m.Warnings)
	}
	cand.version = "2.0"
	if _, err := Match(base.side(t), cand.side(t), MatchOptions{}); !isRefused(err) {
		t.Error("another version of the agent is a difference")
	}
}

// TestSameAnswers: a recorded answer on both sides is one measurement, unless its checks or its
// judge vary.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	shared := func(id string) *recorded {
		x := newRecorded(id, "r")
		x.cases[1].Repeat = 2
		x.answer = func(c, _, repetition int) string {
			if c == 0 || c == 1 && repetition == 1 {
				return fmt.Sprintf("recorded %d %d", c, repetition)
			}
			return ""
		}
		return x
	}
	m := match(t, shared("a").side(t), shared("b").side(t), MatchOptions{})
	p := m.Runners[0].Pairs
	if !p[0].SameAnswer || p[0].Same != 1 || p[0].Measured() {
		t.Errorf("%+v", p[0])
	}
	if p[1].SameAnswer || p[1].Same != 1 || len(p[1].Base) != 1 || len(p[1].Cand) != 1 || !p[1].Measured() {
		t.Errorf("%+v", p[1])
	}
	if p[2].SameAnswer || p[2].Same != 0 {
		t.Errorf("%+v", p[2])
	}
	judged := shared("b")
	judged.info.Judge = "openai:gpt-5"
	m = match(t, shared("a").side(t), judged.side(t), MatchOptions{})
	if p := m.Runners[0].Pairs[0]; p.SameAnswer || !p.Measured() {
		t.Errorf("with another judge: %+v", p)
	}
}

func TestEarlyStop(t *testing.T) {
	t.Parallel()
	x := newRecorded("a", "r").agent()
	for i := range x.cases {
		x.cases[i].Repeat = 3
	}
	x.outcome = func(c, _, repetition int) byte {
		if c == 0 && repetition == 2 || c == 1 && repetition == 3 {
			return 'f'
		}
		return 'p'
	}
	y := newRecorded("b", "r").agent()
	m := match(t, x.side(t), y.side(t), MatchOptions{})
	for i, want := range []bool{true, false, false} {
		p := &m.Runners[0].Pairs[i]
		if p.EarlyStop != want || p.Planned() != 0 || p.BasePlanned != 3 || p.CandPlanned != 1 {
			t.Errorf("%s: stopped early %v, planned %d and %d", p.Case.ID, p.EarlyStop, p.BasePlanned, p.CandPlanned)
		}
	}
}

func TestClusters(t *testing.T) {
	t.Parallel()
	x := newRecorded("b", "r")
	x.cases[0].Metadata = map[string]string{"source": "book"}
	x.cases[1].Tags = nil
	side := x.side(t)
	for by, want := range map[string]string{
		"":         "case c0|case c1|case c2",
		"category": "category math|category math|category math",
		"tag:src-": "tag:src- src-a|case c1|tag:src- src-a",
		"source":   "source book|case c1|case c2",
	} {
		m := match(t, newRecorded("a", "r").side(t), side, MatchOptions{Cluster: by})
		var got []string
		for _, p := range m.Runners[0].Pairs {
			got = append(got, p.Cluster)
		}
		if strings.Join(got, "|") != want || m.Clustered != (by != "") {
			t.Errorf("%s: %s, want %s", by, strings.Join(got, "|"), want)
		}
	}
	if _, err := Match(newRecorded("a", "r").side(t), side, MatchOptions{Cluster: "tag:none"}); err == nil {
		t.Error("no error for a tag that no case has")
	}
}

// TestHistory: a baseline of several runs holds the repetitions of all, at most 20 of a case, and a
// run is not compared with itself.
func TestHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := func(want string, runs ...*recorded) {
		t.Helper()
		var sides []*Side
		for _, x := range runs {
			sides = append(sides, x.side(t))
		}
		notes, err := SetBaseline(t.Context(), dir, "main", sides)
		if err != nil || strings.Join(notes, "; ") != want {
			t.Fatalf("%q, %v; want %q", notes, err, want)
		}
	}
	run := func(i, repeat int) *recorded {
		x := newRecorded(fmt.Sprintf("run-%d", i), "r")
		x.at = x.at.Add(time.Duration(i) * time.Hour)
		for c := range x.cases {
			x.cases[c].Repeat = repeat
		}
		x.outcome = func(_, _, _ int) byte { return "pf"[i%2] }
		return x
	}
	set("", run(2, 8), run(1, 8))
	set("", run(3, 8))
	s, err := Open("main", OpenOptions{Baselines: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.At(0, 0)); got != 20 || !s.History || s.ID != "run-3" {
		t.Fatalf("%d repetitions", got)
	}
	outcomes := ""
	for _, x := range s.At(0, 0) {
		outcomes += string(x.Outcome[:1])
	}
	if outcomes != "ffffppppppppffffffff" { // four of run 1, eight of runs 2 and 3
		t.Error(outcomes)
	}
	m := match(t, s, run(3, 8).side(t), MatchOptions{})
	if p := m.Runners[0].Pairs[0]; p.Same != 8 || len(p.Base) != 12 || len(p.Cand) != 8 || p.EarlyStop {
		t.Errorf("%d same, %d and %d", p.Same, len(p.Base), len(p.Cand))
	}
	changed := run(4, 2)
	changed.cases[1].Hash = "sha256:changed"
	set("1 case starts over because the prompt or the checks changed: c1", changed)
	s, _ = Open(filepath.Join(dir, "main.jsonl"), OpenOptions{})
	if a, b := len(s.At(0, 0)), len(s.At(1, 0)); a != 20 || b != 2 {
		t.Errorf("%d and %d repetitions", a, b)
	}
	other := run(5, 1)
	other.info.Runners[0].Agent.Model = "gpt-6"
	set("the baseline starts over: model openai:gpt-5 → openai:gpt-6 on runner r", other)
	if _, err := SetBaseline(t.Context(), dir, "main", []*Side{run(1, 1).side(t), other.side(t)}); !isRefused(err) {
		t.Errorf("runs that differ: %v", err)
	}
	all, err := Baselines(dir)
	if err != nil || len(all) != 1 || all[0].Samples != 3 || all[0].Cases != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestBaselineOfOneRun: the side of a baseline is the side of its run, but for what it does not
// keep.
func TestBaselineOfOneRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newRecorded("a", "q", "r")
	x.cases[1].ExpectedFail = true
	x.outcome = func(c, r, _ int) byte { return "pfe"[(c+r)%3] }
	want := x.side(t)
	if _, err := SetBaseline(t.Context(), dir, "main", []*Side{want}); err != nil {
		t.Fatal(err)
	}
	got, err := Open("main", OpenOptions{Baselines: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Facts, want.Facts) || !reflect.DeepEqual(got.Runners, want.Runners) ||
		!reflect.DeepEqual(got.Cases, want.Cases) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for i := range want.Samples {
		for j, w := range want.Samples[i] {
			g := got.Samples[i][j]
			if g.Outcome != w.Outcome || fmt.Sprint(g.Score, g.Tokens, g.CostUSD, g.LatencyMs) !=
				fmt.Sprint(w.Score, w.Tokens, w.CostUSD, w.LatencyMs) {
				t.Errorf("got %+v\nwant %+v", g, w)
			}
		}
	}
	if differ := differences(got, want); len(differ) != 0 {
		t.Error(lines(differ))
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	kinds, err := ParseVary([]string{"model, prompt", "model"})
	if err != nil || !reflect.DeepEqual(kinds, []Kind{VaryModel, VaryPrompt}) {
		t.Error(kinds, err)
	}
	for _, bad := range []string{"", "modl", "model,"} {
		if _, err := ParseVary([]string{bad}); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if got, err := ParseMap([]string{"a=b", "c=d=e"}); err != nil || got["a"] != "b" || got["c"] != "d=e" {
		t.Error(got, err)
	}
	for _, bad := range [][]string{{"a"}, {"=b"}, {"a="}, {"a=b", "a=c"}} {
		if _, err := ParseMap(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestOnlyOneRunner(t *testing.T) {
	t.Parallel()
	s := newRecorded("a", "p", "q").side(t)
	one, err := s.OfRunner("q")
	if err != nil || len(one.Runners) != 1 || len(one.Samples) != 3 || &one.At(1, 0)[0] != &s.At(1, 1)[0] {
		t.Errorf("%+v, %v", one, err)
	}
	m := match(t, one, mustOnly(t, s, "p"), MatchOptions{})
	if len(m.Warnings) != 0 || m.Runners[0].Base != "q" || m.Runners[0].Cand != "p" {
		t.Errorf("%q", m.Warnings)
	}
	if _, err := Match(s, newRecorded("b", "x", "y").side(t), MatchOptions{}); err == nil {
		t.Error("no runner is on both sides")
	}
	m = match(t, s, newRecorded("b", "x", "y").side(t), MatchOptions{Map: map[string]string{"p": "y"}})
	if len(m.Runners) != 1 || m.Runners[0].Cand != "y" || len(m.OnlyCandRunners) != 1 {
		t.Errorf("%+v", m.Runners)
	}
}

func mustOnly(t *testing.T, s *Side, id string) *Side {
	t.Helper()
	one, err := s.OfRunner(id)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// TestClusterHints: a cluster that no case has is an error that says what there is.
func TestClusterHints(t *testing.T) {
	t.Parallel()
	x := newRecorded("b", "r")
	x.cases[0].Metadata = map[string]string{"origin": "o", "author": "a"}
	for by, want := range map[string]string{
		"categry": "did you mean category?", "orign": "did you mean origin?",
		"zzzzz":     "use category, tag:PREFIX, or a key of metadata (author, origin)",
		"tag:categ": "use category, tag:PREFIX, or a key of metadata (author, origin)",
	} {
		_, err := Match(newRecorded("a", "r").side(t), x.side(t), MatchOptions{Cluster: by})
		if err == nil || plumb.Hint(err) != want {
			t.Errorf("%s: %v, hint %q, want %q", by, err, plumb.Hint(err), want)
		}
	}
}

// TestSameRun: a warning says that both sides are one run.
func TestSameRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base, cand *Side
		want       bool
	}{
		{newRecorded("a", "r").side(t), newRecorded("a", "r").side(t), true},
		{newRecorded("a", "r").side(t), newRecorded("b", "r").side(t), false},
		{newRecorded("", "r").side(t), newRecorded("", "r").side(t), false},
	} {
		warnings := match(t, test.base, test.cand, MatchOptions{}).Warnings
		if got := slices.Contains(warnings, "both sides are the same run"); got != test.want {
			t.Errorf("%q and %q: %q", test.base.ID, test.cand.ID, warnings)
		}
	}
}

// TestStoppedRuns: one of several runs that ended a case at a failure before its last repetition. The
// oldest run of a full history can have lost its first repetitions instead.
func TestStoppedRuns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		runs, green string // one letter for each repetition; g for green
		planned     int
		want        bool
	}{
		{"aabb", "gggg", 2, false},
		{"abb", "ggg", 2, false},
		{"abb", "-gg", 2, true},
		{"aab", "gg-", 2, true},
		{"aab", "g-g", 2, false},
		{"aaab", "ggg-", 2, true},
		{"ab", "--", 1, false},
		{"aa", "g-", 3, true},
		{"", "", 2, false},
		{"a" + strings.Repeat("b", historyLimit-1), strings.Repeat("-", historyLimit), 2, false},
		{"a" + strings.Repeat("b", historyLimit-2), strings.Repeat("-", historyLimit-1), 2, true},
		{strings.Repeat("a", historyLimit-1) + "b", strings.Repeat("-", historyLimit), 2, true},
	} {
		samples, runs := make([]analyze.Sample, len(test.runs)), strings.Split(test.runs, "")
		for i := range samples {
			samples[i].Green = test.green[i] == 'g'
		}
		if got := stoppedIn(samples, runs, test.planned); got != test.want {
			t.Errorf("%s %s of %d: %t", test.runs, test.green, test.planned, got)
		}
	}
}
