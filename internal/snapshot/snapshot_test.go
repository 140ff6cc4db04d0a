package snapshot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/snapshot"
)

var codex = plumb.RunnerInfo{ID: "codex", Agent: plumb.AgentInfo{Type: "codex", Model: "gpt-5"}}

func sessions(version string, totals ...int64) []*plumb.SessionReport {
	var all []*plumb.SessionReport
	for _, n := range totals {
		s := &plumb.SessionReport{AgentVersion: version}
		if n >= 0 {
			s.Usage.TotalTokens = &n
		}
		all = append(all, s)
	}
	return all
}

func open(t *testing.T, o snapshot.Settings) *snapshot.Baselines {
	t.Helper()
	b, err := snapshot.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "plumb.snapshots.json")
	c := &plumb.Case{ID: "open-main"}
	now := func() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }
	b := open(t, snapshot.Settings{Path: path, Absolute: new(10.0), Now: now})
	if _, f := b.Verify(c, codex, sessions("0.169.0", 100, 101)); f != nil {
		t.Fatalf("a first measurement is the baseline, not %v", f)
	}
	if err := b.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "version": 1,
  "entries": {
    "open-main::codex": {
      "caseId": "open-main",
      "runnerId": "codex",
      "metric": "totalTokens",
      "value": 100.5,
      "agentType": "codex",
      "model": "gpt-5",
      "agentVersion": "0.169.0",
      "counting": "gross",
      "updatedAt": "2026-11-20T10:00:00.000Z"
    }
  }
}
`
	if string(data) != want {
		t.Errorf("file:\n%s\nwant:\n%s", data, want)
	}

	for _, test := range []struct {
		name              string
		absolute, percent *float64
		actual            int64
		fails             string
	}{
		{"fewer", new(0.0), nil, 1, ""},
		{"equal to the limit", new(10.0), nil, 110, ""},
		{
			"above the absolute limit", new(10.0), nil, 111,
			"actual 111 > allowed 110.50\nbaseline 100.50, +10.50 tokens (+10.4%)\nkey: open-main / codex",
		},
		{"within the percentage", nil, new(20.0), 120, ""},
		{"above the percentage", nil, new(20.0), 121, "allowed 120.60"},
		{"either limit counts", new(1000.0), new(1.0), 102, "allowed 101.5"},
		{"not reported", new(10.0), nil, -1, "Snapshot check requires provider token metric totalTokens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := open(t, snapshot.Settings{Path: path, Absolute: test.absolute, Percent: test.percent})
			_, f := b.Verify(c, codex, sessions("0.169.0", test.actual))
			switch {
			case f == nil && test.fails != "":
				t.Error("it passed")
			case f != nil && (test.fails == "" || !strings.Contains(f.Message, test.fails)):
				t.Errorf("failure %q, want %q", f.Message, test.fails)
			}
			if f != nil && f.Class.ID != "snapshot" {
				t.Errorf("class %v", f.Class)
			}
			if test.actual < 0 && f.Origin.Outcome(true) != plumb.OutcomeError {
				t.Error("what was not reported was not measured")
			}
			if b.Changed() != 0 {
				t.Error("a baseline changed unasked")
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
	c := &plumb.Case{ID: "c"}
	b := open(t, snapshot.Settings{Path: path, Percent: new(5.0)})
	b.Verify(c, codex, sessions("1", 100))
	if err := b.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	var notes []string
	other := codex
	other.Agent.Model = "gpt-6"
	b = open(
		t, snapshot.Settings{Path: path, Percent: new(5.0), Note: func(n plumb.Note) { notes = append(notes, n.Text) }},
	)
	_, f := b.Verify(c, other, sessions("2", 200))
	for _, want := range []string{"model gpt-5, this run with gpt-6", "agent version 1, this run with 2"} {
		if f == nil || !strings.Contains(f.Message, want) || !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("neither failure %v nor notes %q say %q", f, notes, want)
		}
	}
	b = open(t, snapshot.Settings{Path: path, Metric: "inputTokens", Percent: new(5.0)})
	input := sessions("1", 100)
	input[0].Usage.InputTokens = new(int64(100))
	if _, f := b.Verify(c, codex, input); f == nil || f.Origin.Outcome(true) != plumb.OutcomeError ||
		!strings.Contains(f.Message, "has the metric totalTokens") {
		t.Errorf("another metric is not comparable: %v", f)
	}
	b = open(t, snapshot.Settings{Path: path, Percent: new(5.0), Update: true})
	if _, f := b.Verify(c, codex, sessions("1", 900)); f != nil || b.Changed() != 1 {
		t.Errorf("update: %v, %d changed", f, b.Changed())
	}
}

func TestDamagedFiles(t *testing.T) {
	for content, want := range map[string]string{
		"{":                          ":1:2: the document is not complete",
		`{"version":2,"entries":{}}`: "version is 2",
		`{"version":1}`:              "no entries",
	} {
		path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := snapshot.Open(snapshot.Settings{Path: path})
		if err == nil || !strings.Contains(err.Error(), "Failed to load snapshots from "+path) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
	if _, err := snapshot.Open(snapshot.Settings{Metric: "tokens"}); err == nil {
		t.Error("an unknown metric was taken")
	}
}

func TestConcurrentRunsKeepEachOthersUpdates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
	var runs sync.WaitGroup
	for i := range 8 {
		b := open(t, snapshot.Settings{Path: path, Absolute: new(0.0)})
		runs.Go(func() {
			b.Verify(&plumb.Case{ID: fmt.Sprint("case-", i)}, codex, sessions("1", int64(i)))
			if err := b.Save(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `"caseId"`); n != 8 {
		t.Errorf("%d of 8 entries are left", n)
	}
}

// The counts of skillgym 0.8.1 for the same sessions match, although it counts differently.
func TestBaselinesOfSkillgym(t *testing.T) {
	count := func(input, output, reasoning, cache, write int64) plumb.Usage {
		u := plumb.Usage{InputTokens: &input, OutputTokens: &output, CacheTokens: &cache}
		if reasoning > 0 {
			u.ReasoningTokens = &reasoning
		}
		if write > 0 {
			u.CacheWriteTokens = &write
		}
		u.Total()
		return u
	}
	for _, tt := range []struct {
		agent                string
		usage                plumb.Usage
		total, input, output float64
	}{
		{"claude-code", count(66, 4, 0, 6, 50), 14, 16, 4},
		{"opencode", count(137, 25, 5, 30, 7), 125, 130, 20},
		{"cursor-agent", count(15, 5, 0, 3, 2), 15, 13, 5},
		{"codex", count(1000, 50, 10, 400, 0), 660, 1000, 50},
		{"codex", count(1000, 50, 0, 400, 0), 1050, 1000, 50},
		{"copilot", count(100, 20, 4, 60, 0), 64, 100, 20},
		{"gemini", count(100, 20, 4, 60, 3), 60, 100, 20},
	} {
		for metric, value := range map[string]float64{
			"totalTokens": tt.total, "inputTokens": tt.input, "outputTokens": tt.output,
		} {
			path := filepath.Join(t.TempDir(), "skillgym.snapshots.json")
			c, r := &plumb.Case{ID: "c"}, plumb.RunnerInfo{ID: "r", Agent: plumb.AgentInfo{Type: tt.agent, Model: "m"}}
			text := fmt.Sprintf(
				`{"version":1,"entries":{"c::r":{"caseId":"c","runnerId":"r","metric":%q,"value":%v,"agentType":%q,"model":"m"}}}`,
				metric, value, tt.agent,
			)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			report := []*plumb.SessionReport{{Usage: tt.usage}}
			b := open(t, snapshot.Settings{Path: path, Metric: metric, Absolute: new(0.0)})
			if _, f := b.Verify(c, r, report); f != nil {
				t.Errorf("%s %s: %v", tt.agent, metric, f)
			}
			text = strings.Replace(text, fmt.Sprint(`"value":`, value), fmt.Sprint(`"value":`, value-1), 1)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b = open(t, snapshot.Settings{Path: path, Metric: metric, Absolute: new(0.0)})
			if _, f := b.Verify(c, r, report); f == nil ||
				!strings.Contains(f.Message, fmt.Sprint("actual ", value, " > allowed ", value-1)) {
				t.Errorf("%s %s: %v", tt.agent, metric, f)
			}
		}
	}
}

// The order of a file that skillgym wrote for these cases and runners, which is that of ICU's root
// collation; no character of HTML is escaped in it.
func TestFilesAreOrderedAsBySkillgym(t *testing.T) {
	const order = "_x::c _x::C-2 (p)::c (p)::C-2 +q::c <b>::c 10::c 1e::c 2::c 9::c a-b::c a::c a::C-2 a.b::c a1::c A2::c ab::c Äz::c B::c B::C-2 " +
		"e::c é::c e::C-2 é::C-2 é1::c ss::c ß2::c x_y::c x-y::c x.y::c z::c zb::c Zz::c 日本::c"
	path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
	b := open(t, snapshot.Settings{Path: path, Absolute: new(0.0)})
	keys := strings.Fields(order)
	for _, key := range slices.Backward(keys) {
		name, id, _ := strings.Cut(key, "::")
		if _, f := b.Verify(
			&plumb.Case{ID: name}, plumb.RunnerInfo{ID: id, Agent: codex.Agent}, sessions("", 1),
		); f != nil {
			t.Fatal(f)
		}
	}
	if err := b.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		if key, ok := strings.CutPrefix(line, `    "`); ok && strings.Contains(key, "::") {
			got = append(got, strings.TrimSuffix(key, "\": {\n"))
		}
	}
	if diff := cmp.Diff(keys, got); diff != "" {
		t.Error(diff)
	}
}

// auto are options with a test that fails above twice the mean of the samples.
func auto(o snapshot.Settings) snapshot.Settings {
	o.Auto = true
	o.Now = func() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }
	o.Decide = func(string, [][]float64) snapshot.Test {
		return func(measured, samples []float64) (plumb.SnapshotCheck, string) {
			sum := 0.0
			for _, s := range samples {
				sum += s / float64(len(samples))
			}
			c := plumb.SnapshotCheck{Samples: len(samples), Failed: measured[0] > 2*sum}
			return c, fmt.Sprintf("%v against %v", measured, samples)
		}
	}
	return o
}

func TestSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
	c := &plumb.Case{ID: "c"}
	other := codex
	other.Agent.Model = "gpt-6"
	claude := codex
	claude.Agent.Type = "claude-code"
	cached := sessions("1", 100)
	cached[0].Cached = true
	many := make([]int64, 25)
	for i := range many {
		many[i] = int64(100 + i)
	}
	const start = `"samples": [
        100,
        101
      ],`
	steps := []struct {
		name     string
		o        snapshot.Settings
		runner   plumb.RunnerInfo
		sessions []*plumb.SessionReport
		want     string // in the file
	}{
		{"the first run records its repetitions", snapshot.Settings{}, codex, sessions("1", 100, 101), start},
		{"a green run appends nothing", snapshot.Settings{}, codex, sessions("1", 100), start},
		{"nor does a red one", snapshot.Settings{}, codex, sessions("1", 1000), start},
		{"nor does a cached answer", snapshot.Settings{Update: true}, codex, cached, start},
		{"an update appends", snapshot.Settings{Update: true}, codex, sessions("1", 105), "101,\n        105\n"},
		{"value is the mean", snapshot.Settings{}, codex, sessions("1", 100), `"value": 102,`},
		{"20 samples stay", snapshot.Settings{Update: true}, codex, sessions("1", many...), "[\n        105,\n"},
		{"a reset starts over", snapshot.Settings{Reset: true}, codex, sessions("1", 7), "[\n        7\n"},
		{"another version does", snapshot.Settings{Update: true}, codex, sessions("2", 8), "[\n        8\n"},
		{"another model does", snapshot.Settings{Update: true}, other, sessions("2", 9), "[\n        9\n"},
		{"another agent does", snapshot.Settings{Update: true}, claude, sessions("2", 10), "[\n        10\n"},
		{
			"another metric does",
			snapshot.Settings{Update: true, Metric: plumb.MetricLatencyMs},
			claude,
			[]*plumb.SessionReport{{AgentVersion: "2", LatencyMs: 11}, {LatencyMs: 5, Cached: true}},
			"[\n        11\n",
		},
	}
	for _, s := range steps {
		s.o.Path = path
		b := open(t, auto(s.o))
		check, f := b.Verify(c, s.runner, s.sessions)
		if (f != nil) != strings.HasSuffix(s.name, "red one") {
			t.Errorf("%s: %v", s.name, f)
		}
		if check != nil && check.Metric == "" {
			t.Errorf("%s: %+v", s.name, check)
		}
		if err := b.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), s.want) {
			t.Errorf("%s: the file is %s, want %s", s.name, data, s.want)
		}
	}
}

// A baseline without samples is one sample. One of skillgym is compared with skillgym's count and
// replaced by an update.
func TestBaselinesWithoutSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
	for counting, want := range map[string]string{"gross": "[\n        100,\n        130\n", "": "[\n        130\n"} {
		text := fmt.Sprintf(`{"version":1,"entries":{"c::codex":{"caseId":"c","runnerId":"codex",`+
			`"metric":"totalTokens","value":100,"agentType":"codex","model":"gpt-5","counting":%q}}}`, counting)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, auto(snapshot.Settings{Path: path}))
		check, f := b.Verify(&plumb.Case{ID: "c"}, codex, sessions("1", 130))
		if f != nil || check == nil || check.Samples != 1 {
			t.Errorf("%q: %+v, %v", counting, check, f)
		}
		b = open(t, auto(snapshot.Settings{Path: path, Update: true}))
		b.Verify(&plumb.Case{ID: "c"}, codex, sessions("1", 130))
		if err := b.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%q: %s", counting, data)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"version":1,"entries":{"c::codex":{"metric":"totalTokens","value":1,"samples":[1,2,null,-1,1e308]}}}`)
	f.Add(`{"version":1,"entries":{"c::codex":{"samples":{}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := snapshot.Open(auto(snapshot.Settings{Path: path}))
		if err == nil {
			b.Verify(&plumb.Case{ID: "c"}, codex, sessions("1", 130))
		}
	})
}

// F28: runs that end in any order keep the samples of each other, also those that began before there
// was a baseline.
func TestF28RunsAtTheSameTimeKeepSamples(t *testing.T) {
	t.Parallel()
	decide := func(string, [][]float64) snapshot.Test { return nil }
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		files++
		path := filepath.Join(dir, fmt.Sprint(files, ".json"))
		var open []*snapshot.Baselines
		want := map[string]int{}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			if n := len(open); n > 0 && rapid.Bool().Draw(t, "save") {
				at := rapid.IntRange(0, n-1).Draw(t, "run")
				if err := open[at].Save(context.Background()); err != nil {
					t.Fatal(err)
				}
				open = slices.Delete(open, at, at+1)
				continue
			}
			b, err := snapshot.Open(snapshot.Settings{
				Path: path, Auto: true, Update: rapid.Bool().Draw(t, "update"), Decide: decide,
			})
			if err != nil {
				t.Fatal(err)
			}
			id := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "case")
			before := b.Changed()
			b.Verify(&plumb.Case{ID: id}, codex, sessions("1", int64(i+1)))
			want[id] += b.Changed() - before
			open = append(open, b)
		}
		for _, b := range open {
			if err := b.Save(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		var f struct {
			Entries map[string]struct{ Samples []float64 }
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		for id, n := range want {
			if got := len(f.Entries[id+"::"+codex.ID].Samples); got != n {
				t.Fatalf("case %s has %d samples, want %d", id, got, n)
			}
		}
	})
}

// Without --update-snapshots, a run does not replace a baseline that another run made meanwhile.
func TestF28FirstBaselineStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plumb.snapshots.json")
	first := open(t, snapshot.Settings{Path: path, Absolute: new(0.0)})
	second := open(t, snapshot.Settings{Path: path, Absolute: new(0.0)})
	for i, b := range []*snapshot.Baselines{first, second} {
		b.Verify(&plumb.Case{ID: "a"}, codex, sessions("1", int64(i+1)))
		if err := b.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"value": 1,`) {
		t.Errorf("%v: %s", err, data)
	}
}
