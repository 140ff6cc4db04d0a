package convert

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
)

// asserts converts the assertions of a test: those of the defaults, of the scenario and its own.
func (p *foo) asserts(c *fooTest, levels []node) {
	dropped := false
	for i, level := range levels {
		if i == 0 && p.option(c.node, levels[1], "disableDefaultAsserts").js() == true {
			continue
		}
		list := level.get("assert")
		if list.ok() && list.kind() != doc.List {
			p.refuse(c.item, list.src.name, list.place(), "assert must be a list", "")
		}
		for _, a := range list.list() {
			check, weightless := p.assert(c, a)
			if weightless {
				dropped = true
				p.tell(a.src.name, a.place(), "an assertion with weight 0 is left out: it always passes", "")
				continue
			}
			if check != nil {
				c.checks = append(c.checks, check)
			}
		}
		if i == 0 {
			c.defaults = len(c.checks)
		}
	}
	if len(c.checks) > 0 {
		return
	}
	if dropped && c.scored {
		p.refuse(c.item, c.file, c.place, "a threshold over assertions that all have weight 0", "give them a weight")
	}
	// Without an assertion, promptfoo passes any answer.
	c.checks = []any{object{{"type", "js"}, {"expr", "true"}, {"name", "any answer"}}}
}

// assertion is one assertion during its conversion.
type assertion struct {
	*foo
	c    *fooTest
	node node
	kind string
	not  bool
	// transform is the expression that changes the output for this assertion, or "".
	transform string
	failed    bool
}

func (a *assertion) refuse(message, hint string) any {
	a.failed = true
	a.foo.refuse(a.c.item, a.node.src.name, a.node.place(), message, hint)
	return nil
}

// assert converts an assertion. weightless is set if it has the weight 0, and so always passes.
func (p *foo) assert(c *fooTest, n node) (check any, weightless bool) {
	a := &assertion{foo: p, c: c, node: n}
	if n.kind() != doc.Map || n.get("type").kind() != doc.String {
		return a.refuse("an assertion must be a mapping with a type", ""), false
	}
	a.kind, a.not = strings.CutPrefix(n.get("type").text(), "not-")
	for i := range n.Members {
		m := &n.Members[i]
		known := []string{"type", "value", "threshold", "weight", "metric", "transform"}
		switch a.kind {
		case "assert-set":
			known = append(known, "assert")
		case "llm-rubric", "similar", "g-eval", "model-graded-closedqa":
			known = append(known, "provider")
		}
		if !slices.Contains(known, m.Key) {
			return a.refuse(fmt.Sprintf("the key %s of %s cannot be carried over", m.Key, a.kind), "remove it"), false
		}
	}
	weight := n.get("weight")
	number, isNumber := weight.js().(json.Number)
	if w, err := number.Float64(); weight.ok() && (!isNumber || err != nil || w < 0) {
		return a.refuse("a weight that is not a positive number", ""), false
	}
	if t := n.get("transform"); t.ok() {
		source, ok := p.expression(c, t, func(message, hint string) { a.refuse(message, hint) })
		if !ok {
			return nil, false
		}
		a.transform = source
	}
	switch {
	case c.pushed != "" && a.transform == "":
		a.transform = c.pushed
	case c.pushed != "":
		a.transform = "((output) => " + parenthesized(a.transform) + ")(" + c.pushed + ")"
	}
	v := a.convert()
	if f, err := number.Float64(); isNumber && err == nil && f == 0 {
		if a.kind == "assert-set" {
			return a.refuse("an assert-set with weight 0", "remove it, or give it a weight"), false
		}
		return nil, !a.failed
	}
	o, ok := v.(object)
	if !ok || a.failed {
		return nil, false
	}
	if isNumber && number != "1" {
		o.set("weight", number)
	}
	if metric := n.get("metric"); metric.ok() && metric.text() != "" {
		o.set("name", literally(metric.text()))
	}
	return o, false
}

// spec makes a check of Plumb.
func (a *assertion) spec(kind string, more ...member) object {
	o := append(object{{"type", kind}}, more...)
	if a.not {
		o.set("not", true)
	}
	return o
}

// js makes a check of an expression that is true or false. The expression sees the output.
func (a *assertion) js(expr string) object {
	if a.not {
		expr = "!(" + expr + ")"
	}
	return object{{"type", "js"}, {"expr", literally(a.on(expr))}}
}

// on returns an expression on the transformed output. Only JavaScript sees a value that is no text.
func (a *assertion) on(expr string) string {
	switch {
	case a.transform == "":
		return expr
	case a.kind == "javascript" || isText(a.transform):
		return "((output) => " + expr + ")(" + a.transform + ")"
	}
	return "((output) => " + expr + ")(((r) => typeof r === \"string\" ? r : JSON.stringify(r))(" + a.transform + "))"
}

// native reports whether a check of Plumb with the same rules can be used, which sees the output as
// it is.
func (a *assertion) native() bool { return a.transform == "" }

// literal returns the value as a text without template tags.
func (a *assertion) literal() (string, bool) {
	v := a.node.get("value")
	text, ok := v.js().(string)
	if !ok {
		a.refuse(a.kind+" needs a text as its value", "put the value in quotes")
		return "", false
	}
	return a.rendered(text)
}

func (a *assertion) rendered(text string) (string, bool) {
	if strings.HasPrefix(text, "file://") {
		name, data, err := a.open(text)
		if err != nil || !regexp.MustCompile(`(?i)\.(txt|json|ya?ml|md)$`).MatchString(name) {
			a.refuse("the value "+text+" cannot be carried over", "write the value into the assertion")
			return "", false
		}
		text = strings.TrimSpace(string(data))
		if isTemplate(text) {
			a.refuse("a template in "+name+" cannot be carried over", "write what it renders")
			return "", false
		}
		return text, true
	}
	out, ok := render(text, a.c.vars)
	if !ok {
		if names, _ := undefined(text, a.c.vars); len(names) > 0 {
			a.refuse("the value of "+a.kind+" uses a variable that is not defined: "+names[0], "define it in vars")
			return "", false
		}
		a.refuse("a template in the value of "+a.kind+" that does more than insert texts", "write what it renders")
		return "", false
	}
	if strings.HasPrefix(out, "file://") {
		a.refuse("a file as the value of "+a.kind+" that a variable names", "write the value into the assertion")
		return "", false
	}
	return out, true
}

// words returns the texts of contains-any and its relatives.
func (a *assertion) words() (words []any, ok bool) {
	v := a.node.get("value")
	switch value := v.js().(type) {
	case string:
		text, ok := a.rendered(value)
		if !ok {
			return nil, false
		}
		if strings.ContainsAny(text, "\"\n\\") {
			a.refuse(a.kind+" with quotes or line ends in a list with commas", "write the value as a list")
			return nil, false
		}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				words = append(words, part)
			}
		}
	case []any:
		for _, e := range value {
			text, is := e.(string)
			if !is {
				a.refuse(a.kind+" with a value that is not a text", "put the value in quotes")
				return nil, false
			}
			if text, ok = a.rendered(text); !ok {
				return nil, false
			}
			words = append(words, text)
		}
	default:
		a.refuse(a.kind+" needs a list of texts", "")
		return nil, false
	}
	if len(words) == 0 {
		a.refuse(a.kind+" with an empty list", "remove the assertion")
		return nil, false
	}
	return words, true
}

// threshold returns the threshold of the assertion.
func (a *assertion) threshold() (json.Number, bool) {
	n := a.node.get("threshold")
	if !n.ok() {
		return "", false
	}
	v, ok := n.js().(json.Number)
	if !ok {
		a.refuse("a threshold that is not a number", "")
	}
	return v, ok
}

// convert returns the check of the assertion, without its weight and name.
func (a *assertion) convert() any {
	switch a.kind {
	case "equals":
		return a.equals()
	case "contains", "icontains":
		return a.contains()
	case "contains-any", "icontains-any", "contains-all", "icontains-all":
		return a.containsSeveral()
	case "starts-with":
		if text, ok := a.literal(); ok {
			if text == "" {
				return a.refuse("starts-with with an empty value is an error in promptfoo", "remove the assertion")
			}
			if a.native() {
				return a.spec("starts_with", member{"ideal", literally(text)}, member{"trim", false})
			}
			return a.js("output.startsWith(" + quoteJSON(text) + ")")
		}
	case "regex":
		return a.regex()
	case "is-json":
		return a.isJSON()
	case "contains-json":
		if a.node.get("value").ok() {
			return a.refuse("contains-json with a schema", "use is_json or json_schema, which read one JSON value")
		}
		return a.js(promptfoo.ContainsJSON)
	case "javascript":
		return a.javascript()
	case "levenshtein":
		return a.levenshtein()
	case "word-count":
		return a.wordCount()
	case "rouge-n", "bleu", "gleu":
		return a.overlap()
	case "latency", "cost":
		limit, ok := a.threshold()
		if !ok || !a.native() {
			return a.refuse(a.kind+" without a threshold, or with a transform", "")
		}
		return a.spec(map[string]string{"latency": "max_latency_ms", "cost": "max_cost_usd"}[a.kind], member{"max", limit})
	case "assert-set":
		return a.set()
	case "llm-rubric":
		return a.rubric()
	case "similar":
		return a.similar()
	default:
		return a.refuse("the assertion "+a.node.get("type").text()+" cannot be carried over", instead(a.kind))
	}
	return nil
}

// instead returns what to use in place of an assertion that cannot be carried over.
func instead(kind string) string {
	for hint, kinds := range map[string][]string{
		"a js check, or llm_judge": {"python", "ruby", "webhook"},
		"llm_judge": {
			"factuality", "model-graded-factuality", "answer-relevance", "context-recall", "context-relevance",
			"context-faithfulness", "g-eval", "model-graded-closedqa", "conversation-relevance", "moderation", "classifier", "pi",
		},
		"the check refusal finds refusals by its own list": {"is-refusal"},
		"the checks rouge, bleu or gleu":                   {"meteor", "rouge-l", "rouge-s"},
		"is_xml, or a regex":                               {"is-xml", "contains-xml", "is-html", "contains-html"},
		"a js check":                                       {"is-sql", "contains-sql"},
		"the checks of what an agent did, such as called_tool": {
			"is-valid-function-call", "is-valid-openai-function-call",
			"is-valid-openai-tools-call", "tool-call-f1", "skill-used",
		},
		"plumb compare compares runs": {"select-best", "max-score"},
	} {
		if slices.Contains(kinds, kind) {
			return "use " + hint
		}
	}
	return "docs/coming-from-promptfoo.md has the list"
}

func (a *assertion) equals() any {
	v := a.node.get("value")
	switch value := v.js().(type) {
	case object, []any:
		if isTemplate(quoteJSON(value)) {
			return a.refuse("a template in the value of equals that is no text", "write what it renders")
		}
		if !a.native() {
			return a.refuse("a transform of equals with a value that is no text", "")
		}
		return a.js("((want, same) => { try { return same(JSON.parse(output), want) } catch { return false } })(" +
			quoteJSON(value) + ", " + sameJSON + ")")
	case string:
		text, ok := a.literal()
		if !ok {
			return nil
		}
		return a.same(text)
	case json.Number, bool:
		text, _ := printed(value)
		return a.same(text)
	}
	return a.refuse("equals without a value", "")
}

// same makes a check that the output is a text, with all white space.
func (a *assertion) same(text string) any {
	if a.native() {
		return a.spec("exact_match", member{"ideal", literally(text)}, member{"trim", false})
	}
	return a.js("output === " + quoteJSON(text))
}

// sameJSON compares two JSON values; the order of keys does not matter.
const sameJSON = "function same(a, b) { return a === b || a !== null && b !== null && typeof a === \"object\" && " +
	"typeof b === \"object\" && Array.isArray(a) === Array.isArray(b) && Object.keys(a).length === Object.keys(b).length && " +
	"Object.keys(a).every((k) => Object.hasOwn(b, k) && same(a[k], b[k])) }"

func (a *assertion) contains() any {
	v := a.node.get("value")
	if number, ok := v.js().(json.Number); ok && a.kind == "contains" {
		return a.textCheck("contains", string(number))
	}
	text, ok := v.js().(string)
	if !ok || text == "" {
		return a.refuse(a.kind+" with an empty value, or one that is no text, is an error in promptfoo", "put the value in quotes")
	}
	value, ok := a.rendered(text)
	if !ok {
		return nil
	}
	if value == "" {
		return a.refuse(a.kind+" with an empty value is an error in promptfoo", "")
	}
	if isTemplate(text) && a.native() {
		return a.textCheckRaw("contains", text) // the suite inserts the variables
	}
	return a.textCheck("contains", value)
}

// textCheck makes a check that looks for a text, or for one or all texts of a list.
func (a *assertion) textCheck(kind string, ideal any) object {
	if list, ok := ideal.([]any); ok {
		raw := make([]any, len(list))
		for i, e := range list {
			raw[i] = literally(asText(e))
		}
		ideal = raw
	} else if text, ok := ideal.(string); ok {
		ideal = literally(text)
	}
	return a.textCheckRaw(kind, ideal)
}

func (a *assertion) textCheckRaw(kind string, ideal any) object {
	insensitive := strings.HasPrefix(a.kind, "i")
	share := a.c.scored && kind == "contains_all" // its score is a share, and that of promptfoo is 0 or 1
	if a.native() && !share {
		o := object{{"type", kind}, {"ideal", ideal}}
		if insensitive {
			o.set("case_sensitive", false)
		}
		if a.not {
			o.set("not", true)
		}
		return o
	}
	lower := ""
	if insensitive {
		lower = ".toLowerCase()"
	}
	list, ok := ideal.([]any)
	if !ok {
		return a.js("output" + lower + ".includes(" + quoteJSON(ideal) + lower + ")")
	}
	method := map[string]string{"contains_any": "some", "contains_all": "every"}[kind]
	return a.js(quoteJSON(list) + "." + method + "((s) => output" + lower + ".includes(s" + lower + "))")
}

func (a *assertion) containsSeveral() any {
	words, ok := a.words()
	if !ok {
		return nil
	}
	kind := "contains_any"
	if strings.HasSuffix(a.kind, "-all") {
		kind = "contains_all"
	}
	if slices.Contains(words, any("")) {
		return a.refuse(a.kind+" with an empty text, which every output contains", "remove it")
	}
	return a.textCheck(kind, words)
}

func (a *assertion) regex() any {
	pattern, ok := a.literal()
	if !ok {
		return nil
	}
	if why, hint := promptfoo.BadPattern(pattern); why != "" {
		return a.refuse(why, hint)
	}
	if promptfoo.SamePattern(pattern) && a.native() {
		return a.spec("regex", member{"pattern", literally(pattern)})
	}
	if why := a.invalidRegExp(pattern); why != "" {
		return a.refuse("an invalid regular expression, which promptfoo fails, also when negated: "+why, "correct the pattern")
	}
	return a.js(promptfoo.RegExp(pattern))
}

func (a *assertion) isJSON() any {
	value := a.node.get("value")
	if !value.ok() {
		return a.js(promptfoo.ParsesJSON)
	}
	if !a.native() {
		return a.refuse("a transform of is-json with a schema", "use transform of the test")
	}
	if text, ok := value.js().(string); ok {
		rendered, ok := a.rendered(text)
		if !ok {
			return nil
		}
		parsed, err := parse(value.src.name+".yaml", []byte(rendered))
		if err != nil {
			return a.refuse("a schema that is neither JSON nor YAML", "")
		}
		value = parsed
	}
	o, ok := value.js().(object)
	if !ok {
		return a.refuse("a schema that is no mapping", "")
	}
	if isTemplate(quoteJSON(o)) {
		return a.refuse("a template in a schema", "write what it renders")
	}
	if why := promptfoo.StrictSchema(value.Value); why != "" {
		return a.refuse(why, "use a js check")
	}
	if _, ok := o.get("$schema"); !ok {
		o = append(object{{"$schema", promptfoo.Draft}}, o...)
	}
	if a.c.scored {
		return a.refuse("is-json with a schema in a test with a threshold", "")
	}
	list := []any{
		object{{"type", "js"}, {"expr", promptfoo.ParsesJSON}, {"name", "is JSON"}}, object{{"type", "json_schema"}, {"schema", o}},
	}
	return a.spec("all_of", member{"assertions", list})
}

// asText returns v if it is a text, and "" otherwise.
func asText(v any) string {
	s, _ := v.(string)
	return s
}

func asObject(v any) object {
	o, _ := v.(object)
	return o
}

func (a *assertion) levenshtein() any {
	text, ok := a.literal()
	if !ok {
		return nil
	}
	most, ok := a.threshold()
	if !ok {
		most = "5"
	}
	return a.js("((a, b) => {\n  let row = [...Array(b.length + 1).keys()];\n  for (let i = 0; i < a.length; i++) {\n" +
		"    const next = [i + 1];\n    for (let j = 0; j < b.length; j++) {\n" +
		"      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (a[i] === b[j] ? 0 : 1)));\n    }\n    row = next;\n  }\n" +
		"  return row[b.length];\n})(output, " + quoteJSON(text) + ") <= " + string(most))
}

func (a *assertion) wordCount() any {
	switch value := a.node.get("value").js().(type) {
	case json.Number:
		return a.js(promptfoo.CountWords + " === " + string(value))
	case string:
		text, ok := a.rendered(value)
		if _, err := strconv.Atoi(text); !ok || err != nil {
			return a.refuse("word-count with a value that is no number", "")
		}
		return a.js(promptfoo.CountWords + " === " + text)
	case object:
		var parts []string
		for _, m := range value {
			n, ok := m.value.(json.Number)
			sign := map[string]string{"min": ">=", "max": "<="}[m.key]
			if !ok || sign == "" {
				return a.refuse("word-count with "+m.key, "it has min and max")
			}
			parts = append(parts, "n "+sign+" "+string(n))
		}
		if len(parts) > 0 {
			return a.js("((n) => " + strings.Join(parts, " && ") + ")(" + promptfoo.CountWords + ")")
		}
	}
	return a.refuse("word-count without a number, min or max is an error in promptfoo", "")
}

// overlap converts a check of the words that the output shares with a text. The checks of Plumb have the
// scores of promptfoo.
func (a *assertion) overlap() any {
	text, ok := a.literal()
	if !ok {
		return nil
	}
	if !a.native() || a.c.scored && a.not {
		return a.refuse(a.kind+" with a transform, or negated in a test with a threshold", "")
	}
	o := a.spec(map[string]string{"rouge-n": "rouge", "bleu": "bleu", "gleu": "gleu"}[a.kind], member{"ideal", literally(text)})
	if least, ok := a.threshold(); ok {
		o.set("threshold", least)
	}
	return o
}

// set converts an assert-set.
func (a *assertion) set() any {
	if a.not {
		return a.refuse("not-assert-set is an error in promptfoo", "")
	}
	if a.transform != "" {
		return a.refuse("a transform of an assert-set", "set it on the assertions")
	}
	var checks []any
	dropped := false
	for _, n := range a.node.get("assert").list() {
		check, weightless := a.assert(a.c, n)
		dropped = dropped || weightless
		if check != nil {
			checks = append(checks, check)
		}
	}
	if a.failed || len(checks) == 0 || dropped {
		return a.refuse("an assert-set that is empty, or with assertions of weight 0", "")
	}
	o := object{{"type", "all_of"}, {"assertions", checks}}
	if least, ok := a.threshold(); ok {
		o.set("min_score", least)
	}
	return o
}

// rubric converts a question to a judge.
func (a *assertion) rubric() any {
	text, ok := a.node.get("value").js().(string)
	if !ok || text == "" || !a.native() || a.node.get("threshold").ok() || strings.HasPrefix(text, "file://") {
		return a.refuse("llm-rubric with a threshold, a transform, or a value that is no text", "use llm_judge")
	}
	if names, trouble := undefined(text, a.c.vars); trouble != "" || len(names) > 0 {
		return a.refuse("a template in a rubric that cannot be carried over", "write what it renders")
	}
	a.model(&a.judge, "judge")
	return a.spec("llm_judge", member{"judge_prompt", promptfoo.Rubric(text)})
}

func (a *assertion) similar() any {
	value := a.node.get("value").js()
	if a.native() && a.node.get("value").ok() {
		if list, ok := value.([]any); ok || value != nil {
			_, text := value.(string)
			if text || len(list) > 0 {
				least, ok := a.threshold()
				if !ok {
					least = "0.75"
				}
				if isTemplate(quoteJSON(value)) {
					if names, trouble := undefined(quoteJSON(value), a.c.vars); trouble != "" || len(names) > 0 {
						return a.refuse("a template of similar that cannot be carried over", "write what it renders")
					}
				}
				a.model(&a.embedder, "embedder")
				return a.spec("semantic_similarity", member{"ideal", value}, member{"threshold", least})
			}
		}
	}
	return a.refuse("similar without a text, or with a transform", "")
}

// model reads the provider of an assertion, which becomes that of the whole config.
func (a *assertion) model(to *any, key string) {
	n := a.node.get("provider")
	if !n.ok() {
		return
	}
	runner, why := a.provider(n)
	if why != "" {
		a.refuse("the provider of an assertion: "+why, "set "+key+" in plumb.yaml")
		return
	}
	if *to != nil && quoteJSON(*to) != quoteJSON(runner) {
		a.refuse("assertions with different providers", "a config has one "+key)
		return
	}
	*to = runner
}
