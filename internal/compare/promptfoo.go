package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// promptfooFile is the JSON that promptfoo writes with --output. Versions 2 and 3 have the rows
// under results.results.
type promptfooFile struct {
	EvalID  string `json:"evalId"`
	Results struct {
		Timestamp string         `json:"timestamp"`
		Results   []promptfooRow `json:"results"`
	} `json:"results"`
}

// promptfooRow is one test with one prompt on one provider. With --repeat there are several.
type promptfooRow struct {
	PromptIdx     int              `json:"promptIdx"`
	Provider      nameOf           `json:"provider"`
	Prompt        nameOf           `json:"prompt"`
	Vars          jsontext.Value   `json:"vars"`
	TestCase      promptfooTest    `json:"testCase"`
	Success       bool             `json:"success"`
	Score         *float64         `json:"score"`
	FailureReason int              `json:"failureReason"`
	Error         jsontext.Value   `json:"error"`
	GradingResult jsontext.Value   `json:"gradingResult"`
	LatencyMs     *float64         `json:"latencyMs"`
	Cost          *float64         `json:"cost"`
	TokenUsage    *promptfooTokens `json:"tokenUsage"`
	Response      *struct {
		Cached     bool             `json:"cached"`
		TokenUsage *promptfooTokens `json:"tokenUsage"`
	} `json:"response"`
}

type promptfooTest struct {
	Description string                    `json:"description"`
	Vars        jsontext.Value            `json:"vars"`
	Assert      jsontext.Value            `json:"assert"`
	Threshold   jsontext.Value            `json:"threshold"`
	Metadata    map[string]jsontext.Value `json:"metadata"`
}

type promptfooTokens struct {
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
		if err := json2.Unmarshal(text, &n.Raw, jsontext.AllowInvalidUTF8(true)); err != nil {
			return err
		}
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
	n.ID, n.Label, n.Raw = scalar(o.ID), scalar(o.Label), scalar(o.Raw)
	return nil
}

// scalar returns a text, or the JSON of a number or a boolean, and "" for anything else.
func scalar(v jsontext.Value) string {
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

func parsePromptfoo(path string, text []byte, flat bool) (*Side, error) {
	var f promptfooFile
	if flat { // the rows alone, as its server returns them
		var rows struct {
			Results []promptfooRow `json:"results"`
		}
		if err := decode(path, 1, text, &rows); err != nil {
			return nil, err
		}
		f.Results.Results = rows.Results
	} else if err := decode(path, 1, text, &f); err != nil {
		return nil, err
	}
	rows := f.Results.Results
	if len(rows) == 0 {
		return nil, problem(path, 1, text, "results.results is missing or empty")
	}
	s := newSide(path, SourcePromptfoo)
	s.ID, s.Started, s.Ended = f.EvalID, instant(f.Results.Timestamp), instant(f.Results.Timestamp)
	s.Facts = unknownFacts(nil, VaryWorkspace, VaryJudge, VaryLimits, VaryPlumb)
	columns := promptfooRunners(rows)
	for i := range rows {
		r := &rows[i]
		f := facts{}
		f.add(VaryModel, "model", r.Provider.ID, r.Provider.ID != "")
		s.addRunner(Runner{
			ID: columns[columnOf(r)], Agent: plumb.AgentInfo{Model: r.Provider.ID},
			Facts: unknownFacts(f, VaryParameters),
		})
	}
	names := newPromptfooNames()
	prompts := make(map[string][]string)
	for i := range rows {
		r := &rows[i]
		c := r.testCase(names)
		at := s.caseAt(c)
		s.Cases[at].Repeat = max(s.Cases[at].Repeat, 1)
		if r.Prompt.Raw != "" && !slices.Contains(prompts[c.ID], r.Prompt.Raw) {
			prompts[c.ID] = append(prompts[c.ID], r.Prompt.Raw)
		}
		s.add(at, s.runner(columns[columnOf(r)]), r.sample())
	}
	for i := range s.Cases {
		if texts := prompts[s.Cases[i].ID]; len(texts) > 0 {
			slices.Sort(texts)
			s.Cases[i].Prompt = textHash(strings.Join(texts, "\x00"))
		}
		for r := range s.Runners {
			s.Cases[i].Repeat = max(s.Cases[i].Repeat, len(s.At(i, r)))
		}
	}
	return s.Side, nil
}

// column is a prompt on a provider.
type column struct {
	index    int
	provider string
}

func columnOf(r *promptfooRow) column {
	return column{r.PromptIdx, cmp.Or(r.Provider.Label, r.Provider.ID)}
}

// promptfooRunners names the columns: by the provider and, if a provider has several columns, by
// the prompt.
func promptfooRunners(rows []promptfooRow) map[column]string {
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
		name := joinWords(names[c], label)
		for n := 2; slices.ContainsFunc(order, func(o column) bool { return o != c && names[o] == name }); n++ {
			name = joinWords(names[c], label, fmt.Sprintf("(%d)", n))
		}
		names[c] = name
	}
	return names
}

// promptfooNames gives each test of a file an id.
type promptfooNames struct {
	ids  map[string]string // by content
	used map[string]bool
}

func newPromptfooNames() *promptfooNames {
	return &promptfooNames{map[string]string{}, map[string]bool{}}
}

// testCase returns the case of a row. Tests have no ids: the description or the variables name
// them.
func (r *promptfooRow) testCase(names *promptfooNames) Case {
	vars, checks := r.TestCase.Vars, ""
	if len(vars) == 0 {
		vars = r.Vars
	}
	vars = canonical(vars)
	if len(r.TestCase.Assert) > 0 {
		checks = textHash(string(canonical(r.TestCase.Assert)) + string(canonical(r.TestCase.Threshold)))
	}
	content := r.TestCase.Description + "\x00" + string(vars) + "\x00" + checks
	id, known := names.ids[content]
	if !known {
		name := cmp.Or(strings.TrimSpace(r.TestCase.Description), varsName(vars), "test")
		id = name
		for n := 2; names.used[id]; n++ {
			id = fmt.Sprintf("%s (%d)", name, n)
		}
		names.ids[content], names.used[id] = id, true
	}
	c := Case{ID: id, Checks: checks}
	for key, v := range r.TestCase.Metadata {
		if text := scalar(v); text != "" {
			if c.Metadata == nil {
				c.Metadata = map[string]string{}
			}
			c.Metadata[key] = text
		}
	}
	c.Category = c.Metadata["category"]
	return c
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
	text := strings.Trim(string(vars), "{}")
	if len(text) <= longest {
		return text
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "… " + textHash(string(vars))[:8]
}

func textHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// The failure reasons of promptfoo.
const promptfooError = 2

func (r *promptfooRow) sample() analyze.Sample {
	x := emptySample()
	failed := len(r.Error) > 0 && r.Error.Kind() != 'n'
	graded := len(r.GradingResult) > 0 && r.GradingResult.Kind() == '{'
	switch {
	case r.Success:
		x.Outcome, x.Green = plumb.OutcomePass, true
	case r.FailureReason == promptfooError, failed && !graded:
		x.Outcome, x.Class = plumb.OutcomeError, "error"
	default:
		x.Outcome, x.Class = plumb.OutcomeFail, plumb.OriginAssertion.Class().ID
	}
	if x.Measured() {
		x.Score = share(r.Score)
	}
	tokens := r.TokenUsage
	if r.Response != nil {
		x.Cached, tokens = r.Response.Cached, cmp.Or(r.Response.TokenUsage, tokens)
	}
	if tokens != nil {
		x.Tokens, x.InputTokens = positive(tokens.Total), positive(tokens.Prompt)
		x.OutputTokens = positive(tokens.Completion)
	}
	x.LatencyMs, x.CostUSD = positive(r.LatencyMs), figure(r.Cost)
	return x
}
