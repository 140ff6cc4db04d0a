package promptfoo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// Results are a result file, which promptfoo writes with --output.
type Results struct {
	// ID is that of the evaluation, and Time when it was made, as it is written.
	ID, Time string
	Tests    []ResultTest
	Rows     []Result
}

// ResultTest is a test of a result file. It has no id of its own: its description or its variables
// name it.
type ResultTest struct {
	ID string
	// Checks and Prompts are hashes of its assertions and of its rendered prompts; "" if it has none.
	Checks, Prompts string
	Metadata        map[string]string

	prompts []string
}

// Result is a row: one test with one prompt on one provider. With --repeat there are several. Figures
// are nil where the file has none.
type Result struct {
	// Test is an index in the tests. Column names the provider, and the prompt if the provider has
	// several.
	Test   int    `json:"-"`
	Column string `json:"-"`

	Provider  nameOf   `json:"provider"`
	Score     *float64 `json:"score"`
	LatencyMs *float64 `json:"latencyMs"`
	Cost      *float64 `json:"cost"`

	PromptIdx int            `json:"promptIdx"`
	Prompt    nameOf         `json:"prompt"`
	Vars      jsontext.Value `json:"vars"`
	TestCase  struct {
		Description string                    `json:"description"`
		Vars        jsontext.Value            `json:"vars"`
		Assert      jsontext.Value            `json:"assert"`
		Threshold   jsontext.Value            `json:"threshold"`
		Metadata    map[string]jsontext.Value `json:"metadata"`
	} `json:"testCase"`
	Success       bool           `json:"success"`
	FailureReason int            `json:"failureReason"`
	Error         jsontext.Value `json:"error"`
	GradingResult jsontext.Value `json:"gradingResult"`
	TokenUsage    Tokens         `json:"tokenUsage"`
	Response      struct {
		Cached     bool    `json:"cached"`
		TokenUsage *Tokens `json:"tokenUsage"`
	} `json:"response"`
}

// Tokens are the tokens of a row.
type Tokens struct {
	Total      *float64 `json:"total"`
	Prompt     *float64 `json:"prompt"`
	Completion *float64 `json:"completion"`
}

// nameOf is a value that is a text, or an object with an id, a label and a raw text.
type nameOf struct{ ID, Label, Raw string }

// UnmarshalJSON accepts both forms, and nothing for any other value.
func (n *nameOf) UnmarshalJSON(text []byte) error {
	*n = nameOf{}
	if jsontext.Value(text).Kind() == '"' {
		n.Raw = plainText(text)
		n.ID = n.Raw
		return nil
	}
	var o struct {
		ID    jsontext.Value `json:"id"`
		Label jsontext.Value `json:"label"`
		Raw   jsontext.Value `json:"raw"`
	}
	if jsontext.Value(text).Kind() != '{' {
		return nil
	}
	err := json2.Unmarshal(text, &o, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	n.ID, n.Label, n.Raw = plainText(o.ID), plainText(o.Label), plainText(o.Raw)
	return nil
}

// plainText returns a text, or the JSON of a number or a boolean, and "" for anything else.
func plainText(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		var s string
		if json2.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true)) != nil {
			return ""
		}
		return s
	case '0', 't', 'f':
		return string(v)
	default:
		return ""
	}
}

// ReadResults reads a result file. In a flat one, which the server of promptfoo returns, the rows
// are directly under results.
func ReadResults(path string, text []byte, flat bool) (*Results, error) {
	var f struct { // versions 2 and 3 have the rows under results.results
		EvalID  string `json:"evalId"`
		Results struct {
			Timestamp string   `json:"timestamp"`
			Results   []Result `json:"results"`
		} `json:"results"`
	}
	var rows struct {
		Results []Result `json:"results"`
	}
	var to any = &f
	if flat {
		to = &rows
	}
	if err := doc.Decode(path, 1, text, to, doc.Foreign()...); err != nil {
		return nil, err
	}
	results := &Results{ID: f.EvalID, Time: f.Results.Timestamp, Rows: append(f.Results.Results, rows.Results...)}
	if len(results.Rows) == 0 {
		return nil, doc.Problems{{Pos: doc.Position(path, text, 0), Message: "results.results is missing or empty"}}
	}
	columns, names := columnNames(results.Rows), &testNames{map[string]int{}, map[string]bool{}}
	for i := range results.Rows {
		r := &results.Rows[i]
		r.Column, r.Test = columns[columnOf(r)], names.test(results, r)
		if t := &results.Tests[r.Test]; r.Prompt.Raw != "" && !slices.Contains(t.prompts, r.Prompt.Raw) {
			t.prompts = append(t.prompts, r.Prompt.Raw)
		}
	}
	for i := range results.Tests {
		if t := &results.Tests[i]; len(t.prompts) > 0 {
			slices.Sort(t.prompts)
			t.Prompts = textHash(strings.Join(t.prompts, "\x00"))
		}
	}
	return results, nil
}

// column is a prompt on a provider.
type column struct {
	index    int
	provider string
}

func columnOf(r *Result) column {
	return column{r.PromptIdx, cmp.Or(r.Provider.Label, r.Provider.ID)}
}

// columnNames names the columns: by the provider and, if a provider has several columns, by
// the prompt.
func columnNames(rows []Result) map[column]string {
	names, labels := map[column]string{}, map[column]string{}
	count := map[string]int{}
	var order []column
	for i := range rows {
		c := columnOf(&rows[i])
		if _, ok := names[c]; ok {
			continue
		}
		order = append(order, c)
		names[c], labels[c] = cmp.Or(c.provider, "provider"), rows[i].Prompt.Label
		count[c.provider]++
	}
	slices.SortFunc(order, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.provider, b.provider))
	})
	const longest = 40
	used := map[string]int{}
	for _, c := range order {
		if count[c.provider] == 1 {
			continue
		}
		used[c.provider]++
		label := labels[c]
		if label == "" || len(label) > longest || strings.ContainsAny(label, "\n{") {
			label = fmt.Sprintf("prompt %d", used[c.provider])
		}
		name := names[c] + " " + label
		for n := 2; slices.ContainsFunc(order, func(o column) bool { return o != c && names[o] == name }); n++ {
			name = fmt.Sprintf("%s %s (%d)", names[c], label, n)
		}
		names[c] = name
	}
	return names
}

// testNames gives each test of a file an id.
type testNames struct {
	known map[string]int // by content
	used  map[string]bool
}

// test returns the index of the test of a row, which it adds if it is new.
func (n *testNames) test(results *Results, r *Result) int {
	vars, checks := r.TestCase.Vars, ""
	if len(vars) == 0 {
		vars = r.Vars
	}
	vars = canonical(vars)
	if len(r.TestCase.Assert) > 0 {
		checks = textHash(string(canonical(r.TestCase.Assert)) + string(canonical(r.TestCase.Threshold)))
	}
	content := r.TestCase.Description + "\x00" + string(vars) + "\x00" + checks
	if at, known := n.known[content]; known {
		return at
	}
	name := cmp.Or(strings.TrimSpace(r.TestCase.Description), varsName(vars), "test")
	t := ResultTest{ID: name, Checks: checks}
	for k := 2; n.used[t.ID]; k++ {
		t.ID = fmt.Sprintf("%s (%d)", name, k)
	}
	for key, v := range r.TestCase.Metadata {
		if value := plainText(v); value != "" {
			if t.Metadata == nil {
				t.Metadata = map[string]string{}
			}
			t.Metadata[key] = value
		}
	}
	n.known[content], n.used[t.ID] = len(results.Tests), true
	results.Tests = append(results.Tests, t)
	return len(results.Tests) - 1
}

// canonical returns a JSON value in one form, whatever the order of its keys.
func canonical(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if v.Canonicalize(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return nil
	}
	return v
}

// varsName returns a name for a test from its variables.
func varsName(vars jsontext.Value) string {
	const longest = 60
	name := strings.Trim(string(vars), "{}")
	if len(name) <= longest {
		return name
	}
	return text.Shorten(name, longest) + " " + textHash(string(vars))[:8]
}

func textHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// failedToRun is the failure reason of a row that could not be measured.
const failedToRun = 2

// Outcome returns the outcome of the row.
func (r *Result) Outcome() plumb.Outcome {
	failed := len(r.Error) > 0 && r.Error.Kind() != 'n'
	graded := len(r.GradingResult) > 0 && r.GradingResult.Kind() == '{'
	switch {
	case r.Success:
		return plumb.OutcomePass
	case r.FailureReason == failedToRun, failed && !graded:
		return plumb.OutcomeError
	}
	return plumb.OutcomeFail
}

// Tokens returns the tokens of the response, or else of the row.
func (r *Result) Tokens() Tokens { return *cmp.Or(r.Response.TokenUsage, &r.TokenUsage) }
