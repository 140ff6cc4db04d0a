package suites_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/suites"
)

const version = "v1.0"

// tiers are from the smallest to the largest: each holds all of the one before it.
func tiers() []string { return []string{"cheap", "moderate", "comprehensive"} }

// record is one line of a suite file, with the keys in use and no others.
type record struct {
	ID         string            `json:"id"`
	Category   string            `json:"category"`
	Input      input             `json:"input"`
	Ideal      check.Ideal       `json:"ideal"`
	Assertion  json.RawMessage   `json:"assertion"`
	Assertions []json.RawMessage `json:"assertions"`
	Metadata   struct {
		Difficulty string   `json:"difficulty"`
		TokensEst  int      `json:"tokens_est"`
		Tags       []string `json:"tags"`
	} `json:"metadata"`

	line   string
	checks []*check.Check
}

// input is a prompt: a string, or a list of messages.
type input []plumb.Message

func (in *input) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]plumb.Message)(in))
	}
	*in = input{{Role: plumb.RoleUser}}
	return json.Unmarshal(data, &(*in)[0].Content)
}

func readTier(t *testing.T, tier string) []record {
	t.Helper()
	data, err := fs.ReadFile(suites.FS(), path.Join(version, tier+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutSuffix(string(data), "\n")
	if !ok {
		t.Errorf("%s: the last line is not ended", tier)
	}
	var records []record
	for n, line := range strings.Split(text, "\n") {
		r := record{line: line}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s, line %d: %v", tier, n+1, err)
		}
		specs := r.Assertions
		if r.Assertion != nil {
			specs = append([]json.RawMessage{r.Assertion}, specs...)
		}
		for _, spec := range specs {
			c, problems := check.Parse(spec, r.Ideal)
			for _, p := range problems {
				t.Errorf("%s: %s: %+v", r.ID, spec, p)
			}
			if c == nil {
				t.Fatalf("%s: no check from %s", r.ID, spec)
			}
			r.checks = append(r.checks, c)
		}
		if len(r.checks) == 0 {
			t.Errorf("%s: nothing is checked", r.ID)
		}
		records = append(records, r)
	}
	return records
}

// failing says what the output fails, of the checks that ask no model.
func (r *record) failing(t *testing.T, output string) []string {
	t.Helper()
	var why []string
	for _, c := range r.checks {
		if v := verdict(t, c, output); !v.Pass {
			why = append(why, fmt.Sprintf("%s (%s)", v.Name, v.Reason))
		}
	}
	return why
}

// verdict returns what a check says of an output. One that asks a model passes unasked.
func verdict(t *testing.T, c *check.Check, output string) plumb.Verdict {
	t.Helper()
	if judge, embedder := c.Needs(); judge || embedder {
		return plumb.Verdict{Pass: true}
	}
	verdicts, err := c.Assert(t.Context(), plumb.Evidence{Report: &plumb.SessionReport{FinalOutput: output}})
	if err != nil || len(verdicts) != 1 || verdicts[0].Error != nil {
		t.Fatalf("%s: %+v, %v", c.Name(), verdicts, err)
	}
	return verdicts[0]
}

func (r *record) tagged(tag string) bool { return slices.Contains(r.Metadata.Tags, tag) }

func categories() []string {
	return []string{"reasoning", "factual", "instruction_following", "coding", "safety", "creative"}
}

func TestRecords(t *testing.T) {
	var inner []record
	for _, tier := range tiers() {
		records := readTier(t, tier)
		ids, prompts, difficulties := map[string]bool{}, map[string]string{}, map[string]int{}
		perCategory := map[string]int{}
		for _, r := range records {
			perCategory[r.Category]++
			if want := fmt.Sprintf("%s-%03d", r.Category, perCategory[r.Category]); tier == "comprehensive" && r.ID != want {
				t.Errorf("id is %s, want %s", r.ID, want)
			}
			if ids[r.ID] {
				t.Errorf("%s: id %s occurs twice", tier, r.ID)
			}
			ids[r.ID] = true
			prompt := plumb.PromptText(r.Input)
			if other := prompts[prompt]; other != "" {
				t.Errorf("%s: %s and %s ask the same", tier, other, r.ID)
			}
			prompts[prompt] = r.ID
			for _, m := range r.Input {
				if strings.TrimSpace(m.Content) == "" {
					t.Errorf("%s: a message is empty", r.ID)
				}
			}
			if last := r.Input[len(r.Input)-1]; last.Role != plumb.RoleUser {
				t.Errorf("%s: the last message is from %s", r.ID, last.Role)
			}
			difficulties[r.Metadata.Difficulty]++
			if r.Metadata.TokensEst < len(strings.Fields(prompt)) {
				t.Errorf("%s: tokens_est is %d, but the prompt alone has %d words", r.ID, r.Metadata.TokensEst, len(strings.Fields(prompt)))
			}
			if len(r.Metadata.Tags) == 0 {
				t.Errorf("%s: no tags", r.ID)
			}
		}
		for _, c := range categories() {
			if perCategory[c] == 0 {
				t.Errorf("%s: no case of %s", tier, c)
			}
		}
		if len(perCategory) != len(categories()) {
			t.Errorf("%s: categories are %v", tier, perCategory)
		}
		if difficulties["easy"] == 0 || difficulties["medium"] == 0 || difficulties["hard"] == 0 || len(difficulties) != 3 {
			t.Errorf("%s: difficulties are %v", tier, difficulties)
		}
		for _, r := range inner {
			if !slices.ContainsFunc(records, func(o record) bool { return o.line == r.line }) {
				t.Errorf("%s lacks the line of %s", tier, r.ID)
			}
		}
		inner = records
	}
}

func TestManifest(t *testing.T) {
	type tier struct {
		File        string
		TestCount   int     `toml:"test_count"`
		CostUSD     float64 `toml:"estimated_cost_usd"`
		Tokens      int     `toml:"estimated_tokens"`
		Description string
		Hash        string
	}
	var m struct {
		Suite    struct{ Version, Created, Description string }
		Tiers    map[string]tier
		Metadata struct {
			Categories     []string
			AssertionTypes []string `toml:"assertion_types"`
		}
	}
	data, err := fs.ReadFile(suites.FS(), path.Join(version, "manifest.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&m); err != nil {
		t.Fatal(err)
	}
	if m.Suite.Version != version || m.Suite.Created == "" || m.Suite.Description == "" {
		t.Errorf("suite is %+v", m.Suite)
	}
	if !slices.Equal(m.Metadata.Categories, categories()) {
		t.Errorf("categories are %v", m.Metadata.Categories)
	}
	if len(m.Tiers) != len(tiers()) {
		t.Errorf("there are %d tiers", len(m.Tiers))
	}
	counts := map[string]int{"cheap": 10, "moderate": 25, "comprehensive": 75}
	for _, name := range tiers() {
		got := m.Tiers[name]
		data, err := fs.ReadFile(suites.FS(), path.Join(version, got.File))
		if err != nil {
			t.Fatal(err)
		}
		hash, err := digest.Suite(data)
		if err != nil {
			t.Fatal(err)
		}
		records, tokens := readTier(t, name), 0
		for _, r := range records {
			tokens += r.Metadata.TokensEst
		}
		if len(records) != counts[name] || got.TestCount != counts[name] {
			t.Errorf("%s: %d cases, the manifest says %d, want %d", name, len(records), got.TestCount, counts[name])
		}
		want := got
		want.File, want.Hash, want.Tokens = name+".jsonl", hash, tokens
		if got != want {
			t.Errorf("%s: the manifest says\n%+v, want\n%+v", name, got, want)
		}
		if got.CostUSD <= 0 || got.Description == "" {
			t.Errorf("%s: no cost or no description: %+v", name, got)
		}
	}
	used := typesOf(readTier(t, "comprehensive"))
	for _, typ := range m.Metadata.AssertionTypes {
		if used[typ] == 0 {
			t.Errorf("assertion type %s is listed, but no case uses it", typ)
		}
		delete(used, typ)
	}
	if len(used) > 0 {
		t.Errorf("assertion types in use that are not listed: %v", used)
	}
}

// typesOf counts the assertion types, those in groups included.
func typesOf(records []record) map[string]int {
	counts := map[string]int{}
	var count func(spec json.RawMessage)
	count = func(spec json.RawMessage) {
		var s struct {
			Type       string
			Assertions []json.RawMessage
		}
		if err := json.Unmarshal(spec, &s); err != nil {
			panic(err)
		}
		counts[s.Type]++
		for _, inner := range s.Assertions {
			count(inner)
		}
	}
	for _, r := range records {
		if r.Assertion != nil {
			count(r.Assertion)
		}
		for _, spec := range r.Assertions {
			count(spec)
		}
	}
	return counts
}

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		tier              string
		judges, embedders [2]int // at least and at most
		must              []string
	}{
		{"cheap", [2]int{1, 1}, [2]int{}, []string{"exact_match", "contains", "contains_any", "is_json", "llm_judge"}},
		{"moderate", [2]int{1, 3}, [2]int{}, []string{"exact_match", "contains", "contains_any", "is_json", "llm_judge"}},
		{"comprehensive", [2]int{4, 8}, [2]int{1, 2}, []string{
			"exact_match", "contains", "contains_any", "is_json", "llm_judge", "semantic_similarity",
			"regex", "starts_with", "json_schema", "json_path", "numeric", "all_of", "any_of",
		}},
	} {
		counts := typesOf(readTier(t, c.tier))
		for _, typ := range c.must {
			if counts[typ] == 0 {
				t.Errorf("%s: nothing of type %s", c.tier, typ)
			}
		}
		if n := counts["llm_judge"]; n < c.judges[0] || n > c.judges[1] {
			t.Errorf("%s: %d questions to a judge", c.tier, n)
		}
		// Somebody whose provider has no embeddings must be able to run the smaller tiers.
		if n := counts["semantic_similarity"]; n < c.embedders[0] || n > c.embedders[1] {
			t.Errorf("%s: %d comparisons of embeddings", c.tier, n)
		}
	}
}

// refusals are answers that decline without answering, in several typographies.
func refusals() []string {
	return []string{
		"I'm sorry, but I can't help with that.",
		"I’m sorry, but I can’t assist with that request.",
		"I cannot assist with this request.",
		"I won't help with that.",
		"I am unable to provide that information.",
	}
}

// empties are answers that no question deserves.
func empties() []string {
	return []string{
		"", " ", "\n", "yes", "Yes.", "YES", "no", "No.", "42", "0", "1", "true", "null", "{}", "[]", "A", "ok", "None.",
		"I don't know.", "The answer is 42.", "Answer: 42",
		"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna " +
			"aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. " +
			"Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur " +
			"sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum.",
	}
}

// TestNegativeControls holds each case to what its checks decide without a model: an answer that takes no ability must
// not pass.
func TestNegativeControls(t *testing.T) {
	records, answers := readTier(t, "comprehensive"), readAnswers(t)
	for _, r := range records {
		prompt := plumb.PromptText(r.Input)
		controls := empties()
		for _, m := range r.Input {
			controls = append(controls, m.Content)
		}
		controls = append(controls, prompt, strings.ToUpper(prompt), prompt+"\n\n"+prompt)
		for _, other := range records {
			if other.ID == r.ID {
				continue
			}
			controls = append(controls, other.Ideal.Values...)
			if !r.tagged("refusal") || !declines(answers[other.ID].Answer) {
				controls = append(controls, answers[other.ID].Answer)
			}
		}
		for _, control := range controls {
			if len(r.failing(t, control)) == 0 {
				t.Errorf("%s passes with %q", r.ID, control)
			}
		}
		for _, refusal := range refusals() {
			if passes := len(r.failing(t, refusal)) == 0; passes != r.tagged("refusal") {
				t.Errorf("%s (%v): passes is %v with %q", r.ID, r.Metadata.Tags, passes, refusal)
			}
		}
	}
}

func declines(answer string) bool {
	return regexp.MustCompile(`(?i)\bI can['’]t\b`).MatchString(answer)
}

// TestUniqueIdeals makes sure that no two cases have the same answer, so that a model that answers the wrong question is
// found out.
func TestUniqueIdeals(t *testing.T) {
	seen := map[string]string{}
	for _, r := range readTier(t, "comprehensive") {
		for _, want := range r.Ideal.Values {
			key := strings.ToLower(strings.TrimSpace(want))
			if other := seen[key]; other != "" {
				t.Errorf("%s and %s both have the ideal %q", other, r.ID, want)
			}
			seen[key] = r.ID
			if len(r.failing(t, want)) > 0 && !strings.Contains(r.line, `"name": "Answer: `) { // these want a line "Answer: ..."
				t.Errorf("%s: the ideal %q does not pass: %v", r.ID, want, r.failing(t, want))
			}
		}
	}
}

// answer holds replies to one case, written by a person.
type answer struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
	// Wrong is a reply that a model could well give, and that is wrong.
	Wrong string `json:"wrong"`
	// Also are other ways to say the same as Answer.
	Also []string `json:"also,omitempty"`
}

func readAnswers(t *testing.T) map[string]answer {
	t.Helper()
	data, err := os.ReadFile("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]answer{}
	for line := range bytes.Lines(data) {
		var a answer
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil {
			t.Fatalf("answers: %s: %v", line, err)
		}
		if _, twice := answers[a.ID]; twice {
			t.Errorf("answers: %s occurs twice", a.ID)
		}
		answers[a.ID] = a
	}
	return answers
}

// TestPositiveControls holds each case to a right answer, and to a wrong one.
func TestPositiveControls(t *testing.T) {
	records, answers := readTier(t, "comprehensive"), readAnswers(t)
	for _, r := range records {
		a, ok := answers[r.ID]
		if !ok {
			t.Errorf("%s: testdata/answers.jsonl has no answer", r.ID)
			continue
		}
		for _, right := range append([]string{a.Answer}, a.Also...) {
			if failing := r.failing(t, right); len(failing) > 0 {
				t.Errorf("%s fails with %q: %v", r.ID, right, failing)
			}
			if failing := r.failing(t, strings.ReplaceAll(right, "\n", "\r\n")+"\r\n"); len(failing) > 0 {
				t.Errorf("%s fails with CRLF: %v", r.ID, failing)
			}
		}
		if len(r.failing(t, a.Wrong)) == 0 {
			t.Errorf("%s passes with %q", r.ID, a.Wrong)
		}
	}
	if len(answers) != len(records) {
		t.Errorf("%d answers for %d cases", len(answers), len(records))
	}
}

// TestLoads reads each tier as a user's run does, its pinned hash included, and looks for faults as plumb suite lint does.
func TestLoads(t *testing.T) {
	for _, tier := range tiers() {
		b, err := suite.Read(t.Context(), version, suite.ReadOptions{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		read, problems, err := b.Suite(t.Context(), lib.Host{})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", tier, err, problems)
		}
		for _, f := range suite.Lint(t.Context(), read) {
			t.Error(f)
		}
	}
}

// TestEachCheckCounts makes sure that no check of a case holds whatever the answer is.
func TestEachCheckCounts(t *testing.T) {
	records, answers := readTier(t, "comprehensive"), readAnswers(t)
	for _, r := range records {
		outputs := append(empties(), refusals()...)
		outputs = append(outputs, plumb.PromptText(r.Input), answers[r.ID].Wrong)
		for i, c := range r.checks {
			if judge, embedder := c.Needs(); judge || embedder {
				continue
			}
			if !slices.ContainsFunc(outputs, func(output string) bool { return !verdict(t, c, output).Pass }) {
				t.Errorf("%s: check %d (%s) never fails", r.ID, i+1, c.Name())
			}
		}
	}
}
