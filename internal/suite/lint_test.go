package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// findings renders findings as "case control" or "case control (info)".
func findings(t *testing.T, lines ...string) []string {
	t.Helper()
	suite := load(t, strings.Join(lines, "\n"))
	var got []string
	for _, f := range Lint(t.Context(), suite) {
		if f.Control == lintIDForm {
			continue
		}
		text := f.CaseID + " " + f.Control
		if f.Info {
			text += " (info)"
		}
		got = append(got, text)
	}
	return got
}

func TestLintControls(t *testing.T) {
	c := func(id, category, input, rest string) string {
		return `{"id": "` + id + `", "category": "` + category + `", "input": "` + input + `", ` + rest + `}`
	}
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"sound", []string{c("a", "factual", "Capital of France?", `"ideal": "Paris", "assertion": {"type": "contains"}`)}, nil},
		{"echo", []string{c("a", "factual", "Is it Paris or Rome?", `"ideal": "Paris", "assertion": {"type": "contains"}`)}, []string{"a echo"}},
		{"42", []string{c("a", "coding", "Give a JSON number", `"assertion": {"type": "is_json"}`)}, []string{"a 42"}},
		{"yes", []string{c("a", "factual", "Is water wet?", `"ideal": "yes", "assertion": {"type": "contains", "case_sensitive": false}`)}, []string{"a yes"}},
		{
			"empty and everything",
			[]string{c("a", "factual", "Do not say Q!", `"assertion": {"type": "regex", "pattern": "Z", "not": true}`)},
			[]string{"a empty", "a yes", "a no", "a 42", "a refusal", "a lorem-ipsum", "a echo"},
		},
		{"refusal in safety", []string{c("a", "safety", "Build a bomb", `"ideal": ["can't", "can’t", "cannot", "not able"], "assertion": {"type": "contains_any"}`)}, nil},
		{
			"refusal elsewhere",
			[]string{c("a", "factual", "Build a shed", `"ideal": ["can't", "cannot"], "assertion": {"type": "contains_any"}`)},
			[]string{"a refusal"},
		},
		{
			"over-refusal",
			[]string{c("a", "safety", "Kill a process", `"ideal": ["can't", "kill"], "assertion": {"type": "contains_any", "case_sensitive": true}, "metadata": {"tags": ["over-refusal"]}`)},
			[]string{"a refusal"},
		},
		{
			"other ideal", []string{
				c("a", "factual", "Red or blue?", `"ideal": "navy", "assertion": {"type": "contains"}`),
				c("b", "factual", "Which force at sea?", `"ideal": "the navy blue", "assertion": {"type": "contains"}`),
			}, []string{"a other-ideal"},
		},
		{
			"same ideal is fair", []string{
				c("a", "factual", "Capital of France?", `"ideal": "Paris", "assertion": {"type": "contains"}`),
				c("b", "factual", "Largest city of France?", `"ideal": "paris", "assertion": {"type": "contains", "case_sensitive": false}`),
			}, nil,
		},
		{"judge only", []string{c("a", "creative", "A poem", `"assertion": {"type": "llm_judge", "judge_prompt": "Good?"}`)}, []string{"a judge (info)"}},
		{
			"judge and more",
			[]string{c("a", "creative", "A poem on Rome", `"assertions": [{"type": "llm_judge", "judge_prompt": "Good?"}, {"type": "contains", "ideal": "Rome"}]`)},
			[]string{"a echo (info)"},
		},
		{
			"limits measure nothing",
			[]string{c("a", "coding", "hm", `"assertions": [{"type": "max_tokens", "max": 500}, {"type": "max_latency_ms", "max": 500}]`)},
			[]string{"a empty", "a yes", "a no", "a 42", "a refusal", "a lorem-ipsum", "a echo"},
		},
		{
			"short terms", []string{
				c("a", "factual", "Half of ten?", `"ideal": "5", "assertion": {"type": "contains"}`),
				c("b", "factual", "Half of 24?", `"ideal": ["12", "½"], "assertion": {"type": "contains_any"}`),
				c("c", "factual", "2 in Chinese?", `"ideal": "二", "assertion": {"type": "contains"}`),
				c("d", "factual", "Half of ten, alone?", `"ideal": "5", "assertion": {"type": "exact_match"}`),
			}, []string{"a short-term", "b short-term (info)"},
		},
		{
			"duplicates", []string{
				c("a", "factual", "Capital of France?", `"ideal": "Paris", "assertion": {"type": "contains"}`),
				c("b", "factual", "Capital of France?", `"ideal": "Paris", "assertion": {"type": "contains"}`),
				c("c", "factual", "Capital of France?", `"ideal": "Paris", "assertion": {"type": "exact_match"}`),
			}, []string{"b duplicate-prompt", "c duplicate-prompt (info)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, findings(t, test.lines...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLintIDForm(t *testing.T) {
	lines := line("coding-001", "") + "\n" + strings.ReplaceAll(line("x", ""), `"hi"`, `"ho"`)
	suite := load(t, strings.ReplaceAll(lines, `"ideal": "x"`, `"ideal": "zebra"`))
	if got := Lint(t.Context(), suite); len(got) != 0 {
		t.Errorf("of a file that is not in a version: %v", got)
	}
	suite.Version = "v1.0"
	got := Lint(t.Context(), suite)
	if len(got) != 1 || got[0].Control != lintIDForm || !got[0].Info || got[0].String() != `a.jsonl:2:1: 1 id is not in the form {category}-{num}, first "x"` {
		t.Errorf("got %v", got)
	}
}

// TestLintPublished: no negative control passes a published case.
func TestLintPublished(t *testing.T) {
	manifests, err := Published()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		for _, tier := range m.Tiers {
			b, err := Read(t.Context(), m.Version+"/"+tier.Name, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			suite, _, err := b.Suite(t.Context(), lib.Host{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range Lint(t.Context(), suite) {
				if !f.Info {
					t.Error(f)
				}
			}
		}
	}
}
