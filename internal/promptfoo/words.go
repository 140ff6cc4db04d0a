package promptfoo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// word is a type of assertion of promptfoo 0.123.1, without not-.
type word struct {
	name string
	// cell says what an assertion of this type has in a cell of a column __expected.
	cell cell
	// check makes the check of an assertion; nil if there is none with the same verdicts.
	check func(*assertion) doc.Value
	// instead names what to use in place of an assertion without a check, and key a key that only this type has.
	instead, key string
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

// words are all types of assertions. Everything that depends on a type is here.
func words() []word {
	const (
		agent   = "the checks of what an agent did, such as called_tool"
		code    = "a js check, or llm_judge"
		compare = "plumb compare compares runs"
		judge   = "llm_judge"
		markup  = "is_xml, or a regex"
		overlap = "the checks rouge, bleu or gleu"
		script  = "a js check"
	)
	return []word{
		{name: "equals", cell: textCell, check: (*assertion).equals},
		{name: "contains", cell: textCell, check: (*assertion).contains},
		{name: "icontains", cell: textCell, check: (*assertion).contains},
		{name: "contains-any", cell: listCell, check: (*assertion).containsSeveral},
		{name: "icontains-any", cell: listCell, check: (*assertion).containsSeveral},
		{name: "contains-all", cell: listCell, check: (*assertion).containsSeveral},
		{name: "icontains-all", cell: listCell, check: (*assertion).containsSeveral},
		{name: "starts-with", cell: textCell, check: (*assertion).startsWith},
		{name: "regex", cell: textCell, check: (*assertion).regex},
		{name: "is-json", cell: schemaCell, check: (*assertion).isJSON},
		{name: "contains-json", cell: schemaCell, check: (*assertion).containsJSON},
		{name: "javascript", cell: textCell, check: (*assertion).javascript},
		{name: "word-count", cell: textCell, check: (*assertion).wordCount},
		{name: "latency", cell: limitCell, check: (*assertion).limit},
		{name: "cost", cell: limitCell, check: (*assertion).limit},
		{name: "similar", cell: scoreCell, check: (*assertion).similar, key: "provider"},
		{name: "llm-rubric", cell: textCell, check: (*assertion).rubric, key: "provider"},
		{name: "levenshtein", check: (*assertion).levenshtein},
		{name: "rouge-n", check: (*assertion).overlap},
		{name: "bleu", check: (*assertion).overlap},
		{name: "gleu", check: (*assertion).overlap},
		{name: "assert-set", cell: plainCell, check: (*assertion).set, key: "assert"},

		{name: "python", instead: code},
		{name: "ruby", instead: code},
		{name: "webhook", instead: code},
		{name: "factuality", instead: judge},
		{name: "model-graded-factuality", instead: judge},
		{name: "model-graded-closedqa", instead: judge},
		{name: "answer-relevance", instead: judge},
		{name: "context-recall", instead: judge},
		{name: "context-relevance", instead: judge},
		{name: "context-faithfulness", instead: judge},
		{name: "conversation-relevance", instead: judge},
		{name: "g-eval", instead: judge},
		{name: "moderation", instead: judge},
		{name: "classifier", instead: judge},
		{name: "pi", instead: judge},
		{name: "is-refusal", instead: "the check refusal finds refusals by its own list"},
		{name: "meteor", instead: overlap},
		{name: "rouge-l", cell: plainCell, instead: overlap},
		{name: "rouge-s", cell: plainCell, instead: overlap},
		{name: "is-xml", instead: markup},
		{name: "contains-xml", instead: markup},
		{name: "is-html", instead: markup},
		{name: "contains-html", instead: markup},
		{name: "is-sql", instead: script},
		{name: "contains-sql", instead: script},
		{name: "is-valid-function-call", instead: agent},
		{name: "is-valid-openai-function-call", instead: agent},
		{name: "is-valid-openai-tools-call", instead: agent},
		{name: "tool-call-f1", instead: agent},
		{name: "skill-used", instead: agent},
		{name: "select-best", cell: plainCell, instead: compare},
		{name: "max-score", cell: plainCell, instead: compare},
		{name: "agent-rubric"},
		{name: "finish-reason"},
		{name: "guardrails"},
		{name: "perplexity"},
		{name: "perplexity-score"},
		{name: "search-rubric"},
		{name: "trace-error-spans"},
		{name: "trace-span-count"},
		{name: "trace-span-duration"},
	}
}

// hint says what to do with an assertion that has no check.
func (w *word) hint() string {
	if w.instead == "" {
		return "docs/coming-from-promptfoo.md has the list"
	}
	return "use " + w.instead
}

// wordOf returns the type with a name; one without a check for an unknown name.
func wordOf(name string) word {
	all := words()
	if i := slices.IndexFunc(all, func(w word) bool { return w.name == name }); i >= 0 {
		return all[i]
	}
	return word{name: name, cell: plainCell}
}

// shorthand is not-, a type, a number in parentheses, and after a colon the value.
var shorthand = regexp.MustCompile(`^(not-)?([a-z][a-z-]*)(?:\(([0-9]+(?:\.[0-9]+)?)\))?(?::((?s).*))?$`)

// trajectory matches the types that have a colon in their name.
var trajectory = regexp.MustCompile(`^(?:not-)?trajectory:[a-z]`)

// ofCell returns the assertion that the text of a cell stands for, as a config has it: a type and a value, or a
// text that equals the output. why is set if it is one that Plumb does not have, or that promptfoo refuses.
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
	if strings.HasPrefix(typed, "file://") || trajectory.MatchString(typed) {
		return assert, notCarried(typed)
	}
	m := shorthand.FindStringSubmatch(typed)
	if m == nil || wordOf(m[2]).cell == plainCell {
		set("equals", typed)
		return assert, ""
	}
	value, valued, number := strings.TrimSpace(m[4]), strings.Contains(typed, ":"), m[3]
	w := wordOf(m[2])
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
