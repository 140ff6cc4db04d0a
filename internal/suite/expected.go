package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// shorthand is the form of a cell in a column __expected: not-, a word, a number in parentheses, and
// after a colon the value.
var shorthand = regexp.MustCompile(`^(not-)?([a-z][a-z-]*)(?:\(([0-9.]+)\))?(?::((?s).*))?$`)

// expectation returns the check that a cell of a column __expected stands for, in the words of
// promptfoo: a word and a value, such as contains:Paris, or the right answer itself.
func (x *expander) expectation(cell *doc.Member) (spec doc.Value, ok bool) {
	at := cell.Value.Place
	text := cell.Value.Text()
	if cell.Value.Kind == doc.Map || cell.Value.Kind == doc.List || cell.Value.Kind == doc.Null {
		x.add(at, cell.Key+" must be a text, not "+cell.Value.Kind.String(), "")
		return spec, false
	}
	spec = doc.Value{Kind: doc.Map, Place: at}
	set := func(key, value string) { spec.Set(key, doc.NewString(value, at)) }
	list := func(key string, values []string) {
		l := doc.Value{Kind: doc.List, Place: at}
		for _, v := range values {
			l.List = append(l.List, doc.NewString(strings.TrimSpace(v), at))
		}
		spec.Set(key, l)
	}
	not, word, number, value := "", "equals", "", text
	if m := shorthand.FindStringSubmatch(text); m != nil && slices.Contains(expectations(), m[2]) &&
		(strings.Contains(text, ":") || slices.Contains([]string{"is-json", "contains-json", "latency", "cost"}, m[2])) {
		not, word, number, value = m[1], m[2], m[3], m[4]
	}
	ignoreCase := false
	if plain, found := strings.CutPrefix(word, "icontains"); found {
		word, ignoreCase = "contains"+plain, true
	}
	switch word {
	case "equals":
		set("type", "exact_match")
		set("ideal", value)
	case "contains":
		set("type", "contains")
		set("ideal", value)
	case "contains-any":
		set("type", "contains_any")
		list("ideal", strings.Split(value, ","))
	case "contains-all":
		set("type", "all_of")
		all := doc.Value{Kind: doc.List, Place: at}
		for part := range strings.SplitSeq(value, ",") {
			one := doc.Value{Kind: doc.Map, Place: at}
			one.Set("type", doc.NewString("contains", at))
			one.Set("ideal", doc.NewString(strings.TrimSpace(part), at))
			if ignoreCase {
				one.Set("case_sensitive", doc.NewBool(false, at))
			}
			all.List = append(all.List, one)
		}
		spec.Set("assertions", all)
	case "starts-with":
		set("type", "starts_with")
		set("ideal", value)
	case "regex":
		set("type", "regex")
		set("pattern", value)
	case "is-json", "contains-json":
		set("type", "is_json")
	case "similar":
		set("type", "semantic_similarity")
		set("ideal", value)
		if threshold, valid := doc.NewNumber(number, at); valid {
			spec.Set("threshold", threshold)
		}
	case "llm-rubric", "grade":
		set("type", "llm_judge")
		set("judge_prompt", value)
	case "javascript", "fn", "eval":
		set("type", "js")
		set("expr", value)
	case "latency", "cost":
		set("type", map[string]string{"latency": "max_latency_ms", "cost": "max_cost_usd"}[word])
		if limit, valid := doc.NewNumber(number, at); valid {
			spec.Set("max", limit)
		}
	default:
		x.add(at, fmt.Sprintf("the expectation %q of promptfoo has no equivalent here", word),
			"write the check as an assertion under defaults")
		return spec, false
	}
	if ignoreCase && word != "contains-all" {
		spec.Set("case_sensitive", doc.NewBool(false, at))
	}
	if not != "" {
		spec.Set("not", doc.NewBool(true, at))
	}
	return spec, true
}

// expectations are the words that begin a cell of a column __expected.
func expectations() []string {
	return []string{
		"equals", "contains", "contains-any", "contains-all", "icontains", "icontains-any", "icontains-all", "starts-with",
		"regex", "is-json", "contains-json", "similar", "llm-rubric", "grade", "javascript", "fn", "eval", "latency", "cost",
		"python", "file", "levenshtein", "factuality", "rouge-n", "model-graded-closedqa", "answer-relevance", "webhook",
		"bleu", "is-sql", "contains-sql", "is-xml", "contains-xml", "is-html", "contains-html", "perplexity", "classifier",
		"moderation", "is-refusal", "word-count", "meteor", "gleu", "guardrails", "pi", "select-best", "max-score",
	}
}
