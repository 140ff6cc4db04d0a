package promptfoo

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/plumb-eval/plumb/internal/doc"
)

// words are types of assertions of promptfoo 0.123.1, without not-, of which Plumb makes the same.
type words struct {
	names string
	// cell says what an assertion of these types has in a cell of a column __expected.
	cell cell
	// check makes the check of an assertion; nil if there is none with the same verdicts. instead says
	// what to use then.
	check   func(*assertion) doc.Value
	instead string
	// key is a key that only assertions of these types have.
	key string
}

// cell is what follows the type of an assertion in a cell.
type cell int

const (
	noCell     cell = iota // Plumb reads no such cell
	textCell               // a text after a colon
	listCell               // texts with commas after a colon
	schemaCell             // nothing, or a schema after a colon
	limitCell              // a number in parentheses
	scoreCell              // perhaps a number in parentheses, and a text after a colon
	plainCell              // the type is none in a cell: the whole cell is a text that equals the output
)

// allWords are all types. Everything that depends on a type is here.
func allWords() []words {
	return []words{
		{names: "equals", cell: textCell, check: (*assertion).equals},
		{names: "contains icontains", cell: textCell, check: (*assertion).contains},
		{names: "contains-any icontains-any contains-all icontains-all", cell: listCell, check: (*assertion).containsSeveral},
		{names: "starts-with", cell: textCell, check: (*assertion).startsWith},
		{names: "regex", cell: textCell, check: (*assertion).regex},
		{names: "is-json", cell: schemaCell, check: (*assertion).isJSON},
		{names: "contains-json", cell: schemaCell, check: (*assertion).containsJSON},
		{names: "javascript", cell: textCell, check: (*assertion).javascript},
		{names: "word-count", cell: textCell, check: (*assertion).wordCount},
		{names: "latency cost", cell: limitCell, check: (*assertion).limit},
		{names: "similar", cell: scoreCell, check: (*assertion).similar, key: "provider"},
		{names: "llm-rubric", cell: textCell, check: (*assertion).rubric, key: "provider"},
		{names: "levenshtein", check: (*assertion).levenshtein},
		{names: "rouge-n bleu gleu", check: (*assertion).overlap},
		{names: "assert-set", cell: plainCell, check: (*assertion).set, key: "assert"},

		{names: "python ruby webhook", instead: "use a js check, or llm_judge"},
		{
			names: "factuality model-graded-factuality model-graded-closedqa answer-relevance context-recall " +
				"context-relevance context-faithfulness conversation-relevance g-eval moderation classifier pi", instead: "use llm_judge",
		},
		{names: "is-refusal", instead: "use the check refusal, which finds refusals by its own list"},
		{names: "meteor", instead: "use the checks rouge, bleu or gleu"},
		{names: "rouge-l rouge-s", cell: plainCell, instead: "use the checks rouge, bleu or gleu"},
		{names: "is-xml contains-xml is-html contains-html", instead: "use is_xml, or a regex"},
		{names: "is-sql contains-sql", instead: "use a js check"},
		{
			names:   "is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call tool-call-f1 skill-used",
			instead: "use the checks of what an agent did, such as called_tool",
		},
		{names: "select-best max-score", cell: plainCell, instead: "use plumb compare, which compares runs"},
		{
			names: "agent-rubric finish-reason guardrails perplexity perplexity-score search-rubric trace-error-spans " +
				"trace-span-count trace-span-duration", instead: noEqual,
		},
	}
}

const noEqual = "docs/coming-from-promptfoo.md has the list"

// wordsWith returns the row of a type.
func wordsWith(name string) words {
	for _, w := range allWords() {
		for known := range strings.SplitSeq(w.names, " ") {
			if known == name {
				return w
			}
		}
	}
	return words{cell: plainCell, instead: noEqual}
}

// shorthand is not-, a type, a number in parentheses, and after a colon the value.
var shorthand = pattern(`^(not-)?([a-z][a-z-]*)(?:\(([0-9]+(?:\.[0-9]+)?)\))?(?::((?s).*))?$`)

// trajectory matches the types that have a colon in their name.
var trajectory = pattern(`^(?:not-)?trajectory:[a-z]`)

// ofCell returns the assertion that the text of a cell stands for, as a config has it: a type and a
// value, or a text that equals the output. why is set if it is one that Plumb does not have, or
// that promptfoo refuses.
func ofCell(cell string, at doc.Place) (assert doc.Value, why string) {
	typed := strings.TrimSpace(cell)
	assert = doc.Value{Kind: doc.Map, Place: at}
	set := func(kind, value string) {
		assert.Set("type", doc.NewString(kind, at))
		assert.Set("value", doc.NewString(value, at))
	}
	for prefix, kind := range map[string]string{
		"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "grade:": "llm-rubric",
	} {
		if value, ok := strings.CutPrefix(typed, prefix); ok {
			set(kind, strings.TrimSpace(value))
			return assert, ""
		}
	}
	if strings.HasPrefix(typed, "file://") || trajectory().MatchString(typed) {
		return assert, notCarried(typed)
	}
	m, w := shorthand().FindStringSubmatch(typed), words{cell: plainCell}
	if m != nil {
		w = wordsWith(m[2])
	}
	if w.cell == plainCell {
		set("equals", typed)
		return assert, ""
	}
	value, valued, number := strings.TrimSpace(m[4]), strings.Contains(typed, ":"), m[3]
	switch {
	case w.cell == noCell && valued, w.cell == limitCell && number == "": // promptfoo takes 0.75
		return assert, notCarried(typed)
	case w.cell != schemaCell && w.cell != limitCell && !valued:
		return assert, fmt.Sprintf("the expectation %q, which promptfoo takes for an assertion without a value", typed)
	case w.cell == scoreCell && number == "":
		number = "0.8" // that of the shorthand
	}
	set(m[1]+m[2], value)
	switch {
	case w.cell == listCell && strings.ContainsAny(value, "\"\n\\"):
		return assert, "an expectation with quotes in a list with commas"
	case w.cell == listCell:
		assert.Set("value", listed(value, at))
	case !valued || w.cell == limitCell:
		assert.Set("value", doc.Value{Place: at})
	}
	if w.cell == limitCell || w.cell == scoreCell {
		assert.Set("threshold", jsNumber(number, at))
	}
	return assert, ""
}

func notCarried(cell string) string {
	return fmt.Sprintf("the expectation %q cannot be carried over", strings.TrimSpace(cell))
}

// listed returns the texts between the commas of a text.
func listed(text string, at doc.Place) doc.Value {
	v := doc.Value{Kind: doc.List, Place: at}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			v.List = append(v.List, doc.NewString(part, at))
		}
	}
	return v
}

// pattern returns an expression that is compiled when it is first used.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
