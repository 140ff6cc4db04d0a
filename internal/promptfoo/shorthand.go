// Package promptfoo has the rules of promptfoo that both the reader of data files and the converter
// follow: the shorthand of a column __expected, and what its assertions mean. So a file gets the same
// verdicts whichever command reads it.
package promptfoo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Assertion is an assertion in the shorthand of promptfoo, such as not-contains:Paris.
type Assertion struct {
	// Kind is the type of the assertion without not-.
	Kind string
	Not  bool
	// Value is the text after the colon, if Valued is set. A list with commas is in Words instead.
	Value  string
	Valued bool
	Words  []string
	// Threshold is the number in parentheses, or "".
	Threshold string
}

// shorthand is not-, a word, a number in parentheses, and after a colon the value.
var shorthand = regexp.MustCompile(`^(not-)?([a-z][a-z-]*)(?:\(([0-9]+(?:\.[0-9]+)?)\))?(?::((?s).*))?$`)

// ParseShorthand reads the text of a cell: a type and a value, or a text that equals the output. why
// is set if the text is an assertion that Plumb does not have, or that promptfoo refuses.
func ParseShorthand(cell string) (a Assertion, why string) {
	text := strings.TrimSpace(cell)
	for prefix, kind := range map[string]string{
		"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "grade:": "llm-rubric",
	} {
		if value, ok := strings.CutPrefix(text, prefix); ok {
			return Assertion{Kind: kind, Value: strings.TrimSpace(value), Valued: true}, ""
		}
	}
	refused := fmt.Sprintf("the expectation %q cannot be carried over", text)
	m := shorthand.FindStringSubmatch(text)
	switch {
	case strings.HasPrefix(text, "file://"), trajectory.MatchString(text):
		return a, refused
	case m == nil || !slices.Contains(Types(), m[2]):
		return Assertion{Kind: "equals", Value: text, Valued: true}, ""
	}
	a = Assertion{Kind: m[2], Not: m[1] != "", Value: strings.TrimSpace(m[4]), Valued: strings.Contains(text, ":")}
	switch a.Kind {
	case "is-json", "contains-json":
		return a, ""
	case "latency", "cost":
		if a.Threshold = m[3]; a.Threshold == "" { // promptfoo takes 0.75
			return a, refused
		}
		return a, ""
	case "similar":
		if a.Threshold = m[3]; a.Threshold == "" {
			a.Threshold = "0.8" // that of the shorthand
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		if strings.ContainsAny(a.Value, "\"\n\\") {
			return a, "an expectation with quotes in a list with commas"
		}
		a.Words = []string{}
		for word := range strings.SplitSeq(a.Value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				a.Words = append(a.Words, word)
			}
		}
	case "equals", "contains", "icontains", "starts-with", "regex", "word-count", "llm-rubric", "javascript":
	default:
		if a.Valued {
			return a, refused
		}
	}
	if !a.Valued {
		return a, fmt.Sprintf("the expectation %q, which promptfoo takes for an assertion without a value", text)
	}
	return a, ""
}

// trajectory matches the types that have a colon in their name.
var trajectory = regexp.MustCompile(`^(?:not-)?trajectory:[a-z]`)

// Types are the types of assertions in the shorthand, as promptfoo 0.123.1 has them.
func Types() []string {
	return []string{
		"agent-rubric", "answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any", "contains-html",
		"contains-json", "contains-sql", "contains-xml", "context-faithfulness", "context-recall", "context-relevance",
		"conversation-relevance", "cost", "equals", "factuality", "finish-reason", "g-eval", "gleu", "guardrails", "icontains",
		"icontains-all", "icontains-any", "is-html", "is-json", "is-refusal", "is-sql", "is-valid-function-call",
		"is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "javascript", "latency", "levenshtein",
		"llm-rubric", "meteor", "model-graded-closedqa", "model-graded-factuality", "moderation", "perplexity",
		"perplexity-score", "pi", "python", "regex", "rouge-n", "ruby", "search-rubric", "similar", "skill-used", "starts-with",
		"tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration", "webhook", "word-count",
	}
}
