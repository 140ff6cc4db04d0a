package promptfoo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// assertion is an assertion on its way to a check.
type assertion struct {
	kind string
	not  bool
	// value and threshold are nil if it has none.
	value, threshold *doc.Value
	at               doc.Place
	// scored is set if the test has a threshold, so that the score of the check counts.
	scored bool
	// transform is the expression that changes the output for this assertion, or "".
	transform string
	// of is the conversion of a config, and test the test of the assertion. Both are nil for a cell of
	// a data file, whose templates the suite renders.
	of   *conversion
	test *test
	node draft.Node
	// why is the reason why there is no check; "" if there is one.
	why, hint string
}

// Check returns the check that a cell of a column __expected stands for. Its texts may have
// templates, which the suite renders later. scored is set if the row has a threshold for its score.
// why is set if there is no such check.
func Check(cell string, at doc.Place, scored bool) (check doc.Value, why, hint string) {
	node, why := ofCell(cell, at)
	if why != "" {
		return check, why, "write the check as an assertion under defaults"
	}
	a := &assertion{scored: scored}
	w := a.read(draft.Node{Value: &node})
	check = w.check(a)
	return check, a.why, a.hint
}

// convert makes the check of an assertion of a config. weightless is set if it has the weight 0,
// and so always passes.
func (a *assertion) convert(n draft.Node) (check doc.Value, weightless bool) {
	if !n.Is(doc.Map) || !n.Get("type").Is(doc.String) {
		return a.refuse("an assertion must be a mapping with a type", ""), false
	}
	w := a.read(n)
	if w.check == nil {
		return a.refuse("the assertion "+n.Get("type").Text()+" cannot be carried over", w.instead), false
	}
	for _, m := range n.Members {
		if !slices.Contains([]string{"type", "value", "threshold", "weight", "metric", "transform", w.key}, m.Key) {
			return a.refuse(fmt.Sprintf("the key %s of %s cannot be carried over", m.Key, a.kind), "remove it"), false
		}
	}
	weight := n.Get("weight")
	heavy, err := json.Number(weight.Text()).Float64()
	if weight.OK() && (weight.Kind != doc.Number || err != nil || heavy < 0) {
		return a.refuse("a weight that is not a positive number", ""), false
	}
	a.transform = a.test.pushed
	if t := n.Get("transform"); t.OK() {
		expr, why, hint := source(t.Value, &a.test.Vars)
		if why != "" {
			return a.refuse(why, hint), false
		}
		if a.transform = expr; a.test.pushed != "" {
			a.transform = "((output) => " + parenthesized(expr) + ")(" + a.test.pushed + ")"
		}
	}
	check = w.check(a)
	switch {
	case weight.OK() && heavy == 0 && w.key == "assert":
		return a.refuse("an assert-set with weight 0", "remove it, or give it a weight"), false
	case weight.OK() && heavy == 0:
		return doc.Value{}, a.why == ""
	case weight.OK() && weight.Text() != "1":
		check.Set("weight", *weight.Value)
	}
	if metric := n.Get("metric").Text(); metric != "" {
		check.Set("name", doc.NewString(a.literally(metric), a.at))
	}
	return check, false
}

// read reads the type, the value and the threshold.
func (a *assertion) read(n draft.Node) words {
	a.node, a.at = n, n.Place
	a.kind, a.not = strings.CutPrefix(n.Get("type").Text(), "not-")
	if v := n.Get("value"); v.OK() {
		a.value = v.Value
	}
	if v := n.Get("threshold"); v.OK() {
		a.threshold = v.Value
	}
	return wordsWith(a.kind)
}

// refuse says why there is no check. The first reason counts, and a check that is made after it is
// not used.
func (a *assertion) refuse(why, hint string) doc.Value {
	if a.why == "" {
		a.why, a.hint = why, hint
	}
	return doc.Value{}
}

// no is refuse where a text is needed.
func (a *assertion) no(why, hint string) string {
	a.refuse(why, hint)
	return ""
}

// check makes a check of Plumb with texts as its values.
func (a *assertion) check(kind string, texts ...string) doc.Value {
	v := draft.Check(a.at, kind, texts...)
	if a.not {
		v.Set("not", doc.NewBool(true, a.at))
	}
	return v
}

// js makes a check of an expression that is true or false. The expression sees the output.
func (a *assertion) js(expr string) doc.Value {
	if a.not {
		expr = "!(" + expr + ")"
	}
	return a.script(expr)
}

// script makes a check of an expression that has the verdict.
func (a *assertion) script(expr string) doc.Value {
	return draft.Check(a.at, "js", "expr", a.literally(a.on(expr)))
}

// on returns an expression on the transformed output. Only JavaScript sees a value that is no text.
func (a *assertion) on(expr string) string {
	switch {
	case a.transform == "":
		return expr
	case a.kind == "javascript" || textMethods().MatchString(a.transform):
		return "((output) => " + expr + ")(" + a.transform + ")"
	}
	return "((output) => " + expr + ")(((r) => typeof r === \"string\" ? r : JSON.stringify(r))(" + a.transform + "))"
}

// native reports whether a check of Plumb with the same rules can be used, which sees the output as
// it is.
func (a *assertion) native() bool { return a.transform == "" }

// later reports whether a text has a template that the suite renders, so that its value is not
// known.
func (a *assertion) later(text string) bool { return a.of == nil && template.Is(text) }

// literally returns a text of a check that the suite renders as the given text.
func (a *assertion) literally(text string) string {
	if a.of == nil {
		return text
	}
	return template.Literal(text)
}

// text returns the value as a text without template tags.
func (a *assertion) text() string {
	if a.value == nil || a.value.Kind != doc.String {
		return a.no(a.kind+" needs a text as its value", "put the value in quotes")
	}
	return a.rendered(a.value.Text())
}

// filled is text for an assertion that promptfoo refuses with an empty value.
func (a *assertion) filled() string {
	text := a.text()
	if text == "" {
		a.refuse(a.kind+" with an empty value is an error in promptfoo", "remove the assertion")
	}
	return text
}

// textFile matches the files whose text can be the value of an assertion.
var textFile = pattern(`(?i)\.(txt|json|ya?ml|md)$`)

// rendered returns a text as promptfoo renders it, with the content of the file that it names.
func (a *assertion) rendered(text string) string {
	if a.of == nil {
		return text
	}
	if strings.HasPrefix(text, "file://") {
		name, data, err := a.of.open(text)
		if err != nil || !textFile().MatchString(name) {
			return a.no("the value "+text+" cannot be carried over", "write the value into the assertion")
		}
		if text = strings.TrimSpace(string(data)); template.Is(text) {
			return a.no("a template in "+name+" cannot be carried over", "write what it renders")
		}
		return text
	}
	out, ok := render(text, &a.test.Vars)
	switch names, _ := undefined(text, &a.test.Vars); {
	case !ok && len(names) > 0:
		return a.no("the value of "+a.kind+" uses a variable that is not defined: "+names[0], "define it in vars")
	case !ok:
		return a.no("a template in the value of "+a.kind+" that does more than insert texts", "write what it renders")
	case strings.HasPrefix(out, "file://"):
		return a.no("a file as the value of "+a.kind+" that a variable names", "write the value into the assertion")
	}
	return out
}

// texts returns the texts of contains-any and its relatives.
func (a *assertion) texts() (found []string) {
	var list []doc.Value
	switch {
	case a.value != nil && a.value.Kind == doc.List:
		for _, e := range a.value.List {
			if e.Kind != doc.String {
				a.refuse(a.kind+" with a value that is not a text", "put the value in quotes")
			}
			list = append(list, doc.NewString(a.rendered(e.Text()), a.at))
		}
	case a.value != nil && a.value.Kind == doc.String:
		text := a.text()
		if strings.ContainsAny(text, "\"\n\\") {
			a.refuse(a.kind+" with quotes or line ends in a list with commas", "write the value as a list")
		}
		list = listed(text, a.at).List
	default:
		a.refuse(a.kind+" needs a list of texts", "")
	}
	for i := range list {
		if list[i].Empty() {
			a.refuse(a.kind+" with an empty text, which every output contains", "remove it")
		}
		found = append(found, list[i].Text())
	}
	if len(found) == 0 {
		a.refuse(a.kind+" with an empty list", "remove it")
	}
	return found
}

// number returns the threshold.
func (a *assertion) number() (n doc.Value, given bool) {
	if a.threshold == nil {
		return n, false
	}
	if a.threshold.Kind != doc.Number {
		a.refuse("a threshold that is not a number", "")
	}
	return *a.threshold, true
}

func (a *assertion) equals() doc.Value {
	switch v := a.value; {
	case v == nil:
		return a.refuse("equals without a value", "")
	case v.Kind == doc.Number, v.Kind == doc.Bool:
		return a.same(v.Text())
	case v.Kind == doc.String:
		return a.same(a.text())
	case hasDate(v):
		return a.refuse("equals with an unquoted date", "put the date in quotes")
	case template.Is(string(v.JSON())):
		return a.refuse("a template in the value of equals that is no text", "write what it renders")
	case !a.native():
		return a.refuse("a transform of equals with a value that is no text", "")
	default:
		return a.js("((want, same) => { try { return same(JSON.parse(output), want) } catch { return false } })(" +
			string(v.JSON()) + ", " + sameJSON + ")")
	}
}

// same makes a check that the output is a text, with all white space.
func (a *assertion) same(text string) doc.Value {
	return a.untrimmed("exact_match", "output === "+quote(text), text)
}

func (a *assertion) startsWith() doc.Value {
	text := a.filled()
	return a.untrimmed("starts_with", "output.startsWith("+quote(text)+")", text)
}

// untrimmed makes a check of the output with all white space, or of an expression for the same.
func (a *assertion) untrimmed(kind, expr, ideal string) doc.Value {
	if !a.native() {
		return a.js(expr)
	}
	check := a.check(kind, "ideal", a.literally(ideal))
	check.Set("trim", doc.NewBool(false, a.at))
	return check
}

// sameJSON compares two JSON values; the order of keys does not matter.
const sameJSON = "function same(a, b) { return a === b || a !== null && b !== null && typeof a === \"object\" && " +
	"typeof b === \"object\" && Array.isArray(a) === Array.isArray(b) && Object.keys(a).length === Object.keys(b).length && " +
	"Object.keys(a).every((k) => Object.hasOwn(b, k) && same(a[k], b[k])) }"

func (a *assertion) contains() doc.Value {
	if a.value != nil && a.value.Kind == doc.Number && a.kind == "contains" {
		return a.finds("contains", a.value.Text())
	}
	check := a.finds("contains", a.filled())
	if a.why == "" && template.Is(a.value.Text()) && a.native() {
		check.Set("ideal", *a.value) // the suite inserts the variables
	}
	return check
}

func (a *assertion) containsSeveral() doc.Value {
	kind := "contains_any"
	if strings.HasSuffix(a.kind, "-all") {
		kind = "contains_all"
	}
	return a.finds(kind, a.texts()...)
}

// finds makes a check that looks for a text, or for one or all texts of a list.
func (a *assertion) finds(kind string, texts ...string) doc.Value {
	list, raw := doc.Value{Kind: doc.List, Place: a.at}, doc.Value{Kind: doc.List}
	later := false
	for _, text := range texts {
		list.List = append(list.List, doc.NewString(a.literally(text), a.at))
		raw.List = append(raw.List, doc.NewString(text, a.at))
		later = later || a.later(text)
	}
	insensitive := strings.HasPrefix(a.kind, "i")
	share := a.scored && kind == "contains_all" // its score is a share, and that of promptfoo is 0 or 1
	if a.native() && !share {
		check := a.check(kind)
		if kind == "contains" {
			check.Set("ideal", list.List[0])
		} else {
			check.Set("ideal", list)
		}
		if insensitive {
			check.Set("case_sensitive", doc.NewBool(false, a.at))
		}
		return check
	}
	if later {
		return a.refuse(a.kind+" with a template in a row with __threshold", "write the texts")
	}
	lower := ""
	if insensitive {
		lower = ".toLowerCase()"
	}
	if kind == "contains" {
		return a.js("output" + lower + ".includes(" + quote(texts[0]) + lower + ")")
	}
	method := map[string]string{"contains_any": "some", "contains_all": "every"}[kind]
	return a.js(string(raw.JSON()) + "." + method + "((s) => output" + lower + ".includes(s" + lower + "))")
}

func (a *assertion) regex() doc.Value {
	pattern := a.text()
	if why, hint := badPattern(pattern); why != "" {
		return a.refuse(why, hint)
	}
	if a.native() && (a.later(pattern) || isSamePattern(pattern)) {
		return a.check("regex", "pattern", a.literally(pattern))
	}
	if a.of != nil {
		if why := a.of.invalid(pattern); why != "" {
			return a.refuse("an invalid regular expression, which promptfoo fails, also when negated: "+why, "correct the pattern")
		}
	}
	return a.js(regExp(pattern))
}

// isJSON makes the check of is-json, with a schema as a mapping, or as a text in JSON or YAML.
func (a *assertion) isJSON() doc.Value {
	schema := a.value
	if schema == nil {
		return a.js(parsesJSON)
	}
	if !a.native() {
		return a.refuse("a transform of is-json with a schema", "use transform of the test")
	}
	if schema.Kind == doc.String && !a.later(schema.Text()) {
		parsed, err := Parse("schema.yaml", []byte(a.text()))
		if err != nil {
			return a.refuse("a schema that is neither JSON nor YAML", "")
		}
		schema = parsed.Value
	}
	switch {
	case template.Is(string(schema.JSON())):
		return a.refuse("a template in a schema", "write what it renders")
	case schema.Kind != doc.Map:
		return a.refuse("a schema that is no mapping", "")
	case a.scored:
		return a.refuse("is-json with a schema in a test with a threshold", "")
	}
	if why := strictSchema(schema); why != "" {
		return a.refuse(why, "use a js check")
	}
	own := schema.Copy()
	if own.Get("$schema") == nil {
		own.Members = append([]doc.Member{{Key: "$schema", Value: doc.NewString(schemaDraft, a.at)}}, own.Members...)
	}
	own.MoveTo(a.at)
	fits := draft.Check(a.at, "json_schema")
	fits.Set("schema", own)
	check := a.check("all_of")
	check.Set("assertions", doc.Value{Kind: doc.List, Place: a.at, List: []doc.Value{
		draft.Check(a.at, "js", "expr", parsesJSON, "name", "is JSON"), fits,
	}})
	return check
}

// schemaDraft is the version of JSON Schema that promptfoo reads.
const schemaDraft = "http://json-schema.org/draft-07/schema#"

func (a *assertion) containsJSON() doc.Value {
	if a.value != nil {
		return a.refuse("contains-json with a schema", "use is_json or json_schema, which read one JSON value")
	}
	return a.js(bracesJSON)
}

func (a *assertion) javascript() doc.Value {
	var expr, why, hint string
	if a.of == nil {
		expr, why, hint = expression(a.value.Text()) // a js check has the variables of its row
	} else {
		expr, why, hint = source(a.value, &a.test.Vars)
	}
	if why != "" {
		return a.refuse(why, hint)
	}
	least, given := a.number()
	if isVerdict(expr, a.scored) && (a.of != nil || !a.not) { // the hashes of cases have this form
		check := a.check("js", "expr", a.literally(a.on(expr)))
		if given {
			check.Set("threshold", least)
		}
		return check
	}
	return a.script(verdictOf(expr, a.not, least.Text(), a.scored))
}

func (a *assertion) levenshtein() doc.Value {
	text := a.text()
	most := "5"
	if n, given := a.number(); given {
		most = n.Text()
	}
	return a.js("((a, b) => {\n  let row = [...Array(b.length + 1).keys()];\n  for (let i = 0; i < a.length; i++) {\n" +
		"    const next = [i + 1];\n    for (let j = 0; j < b.length; j++) {\n" +
		"      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (a[i] === b[j] ? 0 : 1)));\n    }\n    row = next;\n  }\n" +
		"  return row[b.length];\n})(output, " + quote(text) + ") <= " + most)
}

func (a *assertion) wordCount() doc.Value {
	v := a.value
	switch {
	case v != nil && v.Kind == doc.Number:
		return a.js(countWords + " === " + v.Text())
	case v != nil && v.Kind == doc.String:
		text := a.text()
		if _, err := strconv.Atoi(text); err != nil {
			return a.refuse("word-count with a value that is no number", "")
		}
		return a.js(countWords + " === " + text)
	case v != nil && v.Kind == doc.Map:
		var parts []string
		for i := range v.Members {
			m := &v.Members[i]
			sign := map[string]string{"min": ">=", "max": "<="}[m.Key]
			if m.Value.Kind != doc.Number || sign == "" {
				return a.refuse("word-count with "+m.Key, "it has min and max")
			}
			parts = append(parts, "n "+sign+" "+m.Value.Text())
		}
		if len(parts) > 0 {
			return a.js("((n) => " + strings.Join(parts, " && ") + ")(" + countWords + ")")
		}
	}
	return a.refuse("word-count without a number, min or max is an error in promptfoo", "")
}

// overlap makes a check of the words that the output shares with a text. The checks of Plumb have
// the scores of promptfoo.
func (a *assertion) overlap() doc.Value {
	text := a.text()
	if !a.native() || a.scored && a.not {
		return a.refuse(a.kind+" with a transform, or negated in a test with a threshold", "")
	}
	check := a.check(strings.TrimSuffix(a.kind, "-n"), "ideal", a.literally(text))
	if least, ok := a.number(); ok {
		check.Set("threshold", least)
	}
	return check
}

// limit makes the check of latency and cost.
func (a *assertion) limit() doc.Value {
	most, ok := a.number()
	if !ok || !a.native() {
		return a.refuse(a.kind+" without a threshold, or with a transform", "")
	}
	check := a.check(map[string]string{"latency": "max_latency_ms", "cost": "max_cost_usd"}[a.kind])
	check.Set("max", most)
	return check
}

// set makes the check of an assert-set.
func (a *assertion) set() doc.Value {
	if a.not {
		return a.refuse("not-assert-set is an error in promptfoo", "")
	}
	if a.transform != "" {
		return a.refuse("a transform of an assert-set", "set it on the assertions")
	}
	checks := doc.Value{Kind: doc.List, Place: a.at}
	dropped := false
	for _, n := range a.node.Get("assert").All() {
		check, weightless := a.of.assert(a.test, n)
		dropped = dropped || weightless
		if check.Kind == doc.Map {
			checks.List = append(checks.List, check)
		}
	}
	if len(checks.List) == 0 || dropped {
		return a.refuse("an assert-set that is empty, or with assertions of weight 0", "")
	}
	check := a.check("all_of")
	check.Set("assertions", checks)
	if least, ok := a.number(); ok {
		check.Set("min_score", least)
	}
	return check
}

// rubric makes the check of a question to a judge.
func (a *assertion) rubric() doc.Value {
	if a.value == nil || a.value.Kind != doc.String || !a.native() || a.threshold != nil ||
		a.of != nil && (a.value.Empty() || strings.HasPrefix(a.value.Text(), "file://")) {
		return a.refuse("llm-rubric with a threshold, a transform, or a value that is no text", "use llm_judge")
	}
	if !a.carried(a.value) {
		return a.refuse("a template in a rubric that cannot be carried over", "write what it renders")
	}
	a.model("judge")
	return a.check("llm_judge", "judge_prompt", "Does the answer meet this requirement? "+a.value.Text())
}

func (a *assertion) similar() doc.Value {
	v := a.value
	if v == nil || !a.native() || v.Kind != doc.String && (v.Kind != doc.List || len(v.List) == 0) {
		return a.refuse("similar without a text, or with a transform", "")
	}
	if !a.carried(v) {
		return a.refuse("a template of similar that cannot be carried over", "write what it renders")
	}
	a.model("embedder")
	check := a.check("semantic_similarity")
	check.Set("ideal", *v)
	least, ok := a.number()
	if !ok {
		least = jsNumber("0.75", a.at)
	}
	check.Set("threshold", least)
	return check
}

// model makes the provider of the assertion that of the whole config, which has one judge and one
// embedder.
func (a *assertion) model(role string) {
	n := a.node.Get("provider")
	if !n.OK() || a.of == nil {
		return
	}
	runner, why := a.of.provider(n)
	to := map[string]*doc.Value{"judge": &a.of.Judge, "embedder": &a.of.Embedder}[role]
	switch {
	case why != "":
		a.refuse("the provider of an assertion: "+why, "set "+role+" in plumb.yaml")
	case to.Kind != doc.Null && string(to.JSON()) != string(runner.JSON()):
		a.refuse("assertions with different providers", "a config has one "+role)
	default:
		*to = runner
	}
}

// carried reports whether the suite renders the templates of a value as promptfoo does.
func (a *assertion) carried(v *doc.Value) bool {
	if a.of == nil {
		return true
	}
	names, trouble := undefined(string(v.JSON()), &a.test.Vars)
	return trouble == "" && len(names) == 0
}
