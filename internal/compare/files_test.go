package compare

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// table returns a side as text: one line for each case on each runner.
func table(s *Side) string {
	var b strings.Builder
	for c := range s.Cases {
		for r := range s.Runners {
			fmt.Fprintf(&b, "%s on %s:", s.Cases[c].ID, s.Runners[r].ID)
			for _, x := range s.At(c, r) {
				fmt.Fprintf(&b, " %s", x.Outcome)
				if x.Green != (x.Outcome == plumb.OutcomePass) {
					b.WriteString(" and green")
				}
				if x.Cached {
					b.WriteString(" cached")
				}
				for _, v := range []float64{x.Score, x.Tokens, x.LatencyMs, x.CostUSD} {
					if math.IsNaN(v) {
						b.WriteString(" -")
					} else {
						fmt.Fprintf(&b, " %g", v)
					}
				}
				b.WriteString(";")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind SourceKind
		want string
	}{
		"blocks.json": {SourceBlocks, `demo-001 on gpt-4o: pass 1 - 401 -;
demo-001 on claude-opus-4-6: pass 1 - 401 -;
demo-002 on gpt-4o: fail 0 - 402 -;
demo-002 on claude-opus-4-6: fail 0 - 402 -;
demo-003 on gpt-4o: pass 1 - 403 -;
demo-003 on claude-opus-4-6:
demo-004 on gpt-4o: pass 1 - 404 -;
demo-004 on claude-opus-4-6:
demo-005 on gpt-4o: pass 1 - 405 -;
demo-005 on claude-opus-4-6:
demo-006 on gpt-4o: error - - 407 -;
demo-006 on claude-opus-4-6:
`},
		"skillgym.json": {SourceSkillgym, `flaky on c: pass - 14 3900 -;
three on c: pass - 20 900 -; fail - 30 1000 -;
crash on c: error - - 10 -;
gap on c: fail and green - - 10 -;
`},
		"promptfoo.json": {SourcePromptfoo, `"text":"hello" on openai:gpt-5: pass 1 12 120 0.0012; fail 0 12 120 0.0012;
"text":"bye" on openai:gpt-5: error - - - 0.0012;
has a name on openai:gpt-5: pass cached 1 12 120 0.0012;
`},
	} {
		s, err := Open(filepath.Join("testdata", name), OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := table(s); s.Kind != test.kind || got != test.want {
			t.Errorf("%s is %s:\n%swant %s", name, s.Kind, got, test.want)
		}
		m, err := Match(s, s, MatchOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(m.Varied) > 0 || len(m.Unknown) == 0 || len(m.Runners[0].Pairs) != len(s.Cases) {
			t.Errorf("%s with itself: varied %sunknown %s", name, lines(m.Varied), lines(m.Unknown))
		}
	}
}

func TestSkillgymStoppedEarly(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join("testdata", "skillgym.json"), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for c, want := range map[string]bool{"flaky": false, "three": true, "gap": false} {
		if got := s.stoppedEarly(s.index(c), 0); got != want {
			t.Errorf("%s stopped early: %v", c, got)
		}
	}
	if !s.At(s.index("gap"), 0)[0].Green {
		t.Error("an expected failure is green")
	}
}

// TestPromptfooColumns: a prompt on a provider is a runner of its own if the provider has several.
func TestPromptfooColumns(t *testing.T) {
	t.Parallel()
	text := `{"results":{"results":[
{"promptIdx":0,"provider":"a","prompt":{"raw":"x","label":"short"},"success":true},
{"promptIdx":1,"provider":"a","prompt":{"raw":"y","label":"{{a long one}}"},"success":false,"error":"bad"},
{"promptIdx":2,"provider":{"id":"b","label":"B"},"prompt":"z","success":false}]}}`
	s, err := parseFile("f.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	const want = "test on a short: pass - - - -;\ntest on a prompt 2: error - - - -;\ntest on B: fail - - - -;\n"
	if got := table(s); got != want {
		t.Errorf("got %swant %s", got, want)
	}
}

// TestBadFiles: each mistake is an error with the place.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{``, "f.json:1:1: "},
		{`{`, "f.json:1:2: "},
		{`nothing`, "f.json:1:"},
		{`3`, "f.json:1:1: expected an object, not a number"},
		{`{"a": 1}`, "f.json:1:1: the document holds no results"},
		{`[]`, "f.json:1:1: the document holds no results"},
		{`[3]`, "f.json:1:2: 0: expected an object, not a number"},
		{`[{"results": 3}]`, "f.json:1:14: 0.results: expected a list, not a number"},
		{`[{"results": []}]`, "0.run_metadata.model_id is missing"},
		{`{"cases": 3}`, "f.json:1:11: cases: expected a list, not a number"},
		{"{\n\"cases\": [\n{}]}", "f.json: cases.0.caseId is missing"},
		{
			`{"cases": [{"caseId": "a", "runnerResults": [{}]}]}`,
			"cases.0.runnerResults.0.runner.id is missing",
		},
		{`{"cases": [{"caseId": "a"}, {"caseId": "a"}]}`, "cases.1.caseId: a is in the file twice"},
		{`{"cases": [{"caseId": "a", "tags": "x"}]}`, "cases.0.tags: expected a list, not a string"},
		{
			`{"cases": [{"caseId": "a", "runnerResults": [{"durationMs": "x"}]}]}`,
			"cases.0.runnerResults.0.durationMs: expected a number, not a string",
		},
		{`{"results": {"version": 3}}`, "results.results is missing or empty"},
		{
			`{"results": {"results": [{"success": "yes"}]}}`,
			"results.results.0.success: expected true or false, not a string",
		},
		{`{"results": [{"success": 1}]}`, "results.0.success: expected true or false, not a number"},
		{
			`{"suite_version": "v", "run_metadata": {"model_id": "m"}, "results": [{}]}`,
			"0.results.0.test_id is missing",
		},
	} {
		_, err := parseFile("f.json", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// check makes sure that a side that was read from any file can be used.
func check(t *testing.T, s *Side) {
	t.Helper()
	if len(s.Samples) != len(s.Cases)*len(s.Runners) {
		t.Fatalf("%d lists of samples for %d cases on %d runners", len(s.Samples), len(s.Cases), len(s.Runners))
	}
	for _, samples := range s.Samples {
		for i := range samples {
			checkSample(t, &samples[i])
		}
	}
	if m, err := Match(s, s, MatchOptions{Vary: []Kind{VaryAny}}); err == nil {
		for _, r := range m.Runners {
			for i := range r.Pairs {
				_ = r.Pairs[i].Measured()
			}
		}
	}
}

func checkSample(t *testing.T, x *analyze.Sample) {
	t.Helper()
	if x.Score < 0 || x.Score > 1 || x.Tokens < 0 || x.CostUSD < 0 || math.IsInf(x.LatencyMs, 0) || x.Repetition < 1 {
		t.Fatalf("%+v", x)
	}
}

func FuzzResults(f *testing.F) {
	for _, name := range []string{"blocks.json", "skillgym.json", "promptfoo.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"results":{"results":[{"provider":{"id":3},"vars":{"a":[1e999]},"score":-1}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseFile("f.json", text); err == nil {
			check(t, s)
		}
	})
}

func FuzzBaseline(f *testing.F) {
	f.Add([]byte(`{"schema":1,"name":"main","runners":[{"id":"r"}]}` + "\n" +
		`{"case":"a","runner":"r","repetitions":[{"run":"x","outcome":"pass","score":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parseBaseline("b.jsonl", text)
		if err != nil {
			return
		}
		check(t, b.side("b.jsonl"))
	})
}
