package promptfoo

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Rubric returns the question to a judge that asks for a requirement.
func Rubric(requirement string) string {
	return "Does the answer meet this requirement? " + requirement
}

// ParsesJSON is an expression of JavaScript: the output is JSON, and nothing else.
const ParsesJSON = "(() => { try { JSON.parse(output); return true } catch { return false } })()"

// CountWords is an expression of JavaScript: the number of words of the output.
const CountWords = `output.trim().split(/\s+/).filter(Boolean).length`

// ContainsJSON counts braces as promptfoo does, also within texts, and closes those that the output
// leaves open. promptfoo reads YAML between them. An object in JSON or of words is certain, and so are
// braces or quotes without their partners; the rest is an error, because only a YAML parser can decide it.
const ContainsJSON = `(() => {
  let unsure = false;
  for (let from = output.indexOf("{"); from >= 0; from = output.indexOf("{", from + 1)) {
    let depth = 0, to = from;
    for (; to < output.length; to++) {
      if (output[to] === "{") depth++;
      if (output[to] === "}" && --depth === 0) break;
    }
    const text = output.slice(from, to + 1) + "}".repeat(depth);
    if (depth > 0 && output.slice(from + 1).trim() === "") continue;
    if (/^\{[\w .]*\}$/.test(text)) return true;
    try { JSON.parse(text); return true } catch {}
    const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
    unsure ||= !bare.includes('"') && bare.split("{").length === bare.split("}").length;
  }
  if (unsure) throw new Error("promptfoo may read these braces as YAML, and so accept or refuse them");
  return false;
})()`

// samePattern matches patterns that mean the same in JavaScript and in RE2.
var samePattern = regexp.MustCompile(`^(?:[A-Za-z0-9 ,:;'"<>=!@#%&_~-]|\\[dwb.?*+()\[\]{}|^$/\\-]|\[[A-Za-z0-9 _.,:;-]+\]|\((?:\?:)?|[)|*+?^$]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})*$`)

// SamePattern reports whether a regular expression means the same in JavaScript, the dialect of
// promptfoo, and in a regex check.
func SamePattern(pattern string) bool {
	if !samePattern.MatchString(pattern) {
		return false
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil
}

var modifier = regexp.MustCompile(`\(\?[a-zA-Z-]`)

// BadPattern returns why promptfoo fails a regular expression, or "".
func BadPattern(pattern string) (why, hint string) {
	switch {
	case pattern == "":
		return "regex with an empty pattern is an error in promptfoo", ""
	case modifier.MatchString(pattern):
		return "a modifier such as (?i) in a regular expression, which promptfoo fails", "use [Aa], or icontains"
	}
	return "", ""
}

// RegExp returns an expression of JavaScript: the output matches a pattern.
func RegExp(pattern string) string { return "new RegExp(" + Quote(pattern) + ").test(output)" }

// Quote returns a value as JSON, which is also an expression of JavaScript.
func Quote(v any) string {
	text, _ := json.Marshal(v) //nolint:errchkjson // texts and lists of texts always have a form
	return string(text)
}

var comparison = regexp.MustCompile(`^!?[\w.]+(\((?:"[^"]*"|'[^']*'|/[^/]+/\w*)?\))*(\.\w+(\((?:"[^"]*"|'[^']*')?\))?)*\s*([<>]=?|[!=]==?)\s*[\w.'" ]+$|^!?output\.(includes|startsWith|endsWith)\((?:"[^"]*"|'[^']*')\)$`)

// decides matches expressions that are probably true or false, not a number that may be NaN.
var decides = regexp.MustCompile(`[=!]==?|[<>]=?|\.(?:includes|startsWith|endsWith|test|some|every)\(`)

// Decides reports whether an expression is certainly true or false. scored is set if the score of the
// check counts.
func Decides(source string, scored bool) bool {
	return comparison.MatchString(source) || !scored && decides.MatchString(source) &&
		!strings.ContainsAny(source, "{/*%?") && !strings.Contains(source, "JSON.parse")
}

// Script returns the expression of a js check with the verdict that promptfoo has for the value of an
// expression: true, a number, or an object with pass, score and reason. threshold is "" if there is none.
func Script(source string, not bool, threshold string, scored bool) string {
	pass := "r > 0"
	if threshold != "" {
		pass = "r >= " + threshold
	}
	negate, score := "", "Number(r)"
	if not {
		negate, score = "!", "Number(!r)"
	}
	bounded := "Math.max(0, Math.min(1, r)) || 0"
	if scored { // promptfoo does not bound it
		bounded = "(() => { if (r >= 0 && r <= 1) return r; throw new Error(\"a score must be from 0 to 1\") })()"
	}
	return "((r) => {\n" +
		"  if (typeof r === \"boolean\") return { pass: " + negate + "r, score: " + score + ", reason: \"\" };\n" +
		"  if (typeof r === \"number\") return { pass: " + negate + "(" + pass + "), score: " + bounded + ", reason: String(r) };\n" +
		"  if (typeof r?.pass === \"boolean\" && typeof r.score === \"number\" && typeof r.reason === \"string\")\n" +
		"    return { pass: " + negate + "r.pass, score: r.score, reason: r.reason };\n" +
		"  throw new Error(\"it must be a boolean, a number, or an object with pass, score and reason\");\n" +
		"})(" + source + ")"
}

var statement = regexp.MustCompile(`^(let|const|var|return|if|for|while|throw|function|switch|try)\b`)

// Expression returns JavaScript of promptfoo as an expression: one line is an expression, and several
// lines are the body of a function.
func Expression(text string) (source, why, hint string) {
	text = strings.TrimSpace(text)
	body := strings.Contains(text, "\n")
	switch {
	case body && !strings.Contains(text, "return"):
		return "", "JavaScript of several lines without return, which promptfoo fails", "add return"
	case body:
		return "(() => {\n" + text + "\n})()", "", ""
	case statement.MatchString(text) || strings.HasPrefix(text, "//") || text == "":
		return "", "a JavaScript statement on one line, which promptfoo fails", "write an expression"
	}
	return strings.TrimSpace(strings.TrimSuffix(text, ";")), "", ""
}

// StrictSchema returns why promptfoo may judge a JSON Schema differently, or "". It refuses unknown
// keywords, and its patterns are those of JavaScript.
func StrictSchema(schema *doc.Value) string {
	known := []string{
		"$schema", "$id", "title", "description", "default", "examples", "type", "properties", "required", "items", "enum",
		"const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
		"maxItems", "uniqueItems", "additionalProperties", "anyOf", "allOf", "oneOf", "not", "pattern", "format",
		"minProperties", "maxProperties", "multipleOf",
	}
	formats := []string{"date", "email", "date-time", "uuid", "ipv4"}
	for i := range schema.Members {
		key, v := schema.Members[i].Key, &schema.Members[i].Value
		var within []*doc.Value
		switch {
		case !slices.Contains(known, key):
			return "the keyword " + key + " of a schema"
		case key == "pattern" && (v.Kind != doc.String || !samePattern.MatchString(v.Text())):
			return "a pattern in a schema that may mean something else in Plumb"
		case key == "format" && (v.Kind != doc.String || !slices.Contains(formats, v.Text())):
			return "the format " + v.Text() + " of a schema"
		case key == "type" && v.Kind == doc.List:
			return "a list of types in a schema"
		case key == "properties":
			for j := range v.Members {
				within = append(within, &v.Members[j].Value)
			}
		case key == "items", key == "additionalProperties", key == "not":
			within = append(within, v)
		case key == "anyOf", key == "allOf", key == "oneOf":
			for j := range v.List {
				within = append(within, &v.List[j])
			}
		}
		for _, w := range within {
			if why := StrictSchema(w); why != "" {
				return why
			}
		}
	}
	return ""
}

// builder makes checks of Plumb at one place of a file.
type builder struct {
	at  doc.Place
	not bool
}

func (b *builder) text(s string) doc.Value { return doc.NewString(s, b.at) }

// spec makes a check with texts as its values.
func (b *builder) spec(kind string, texts ...string) doc.Value {
	v := doc.Value{Kind: doc.Map, Place: b.at}
	v.Set("type", b.text(kind))
	for i := 0; i+1 < len(texts); i += 2 {
		v.Set(texts[i], b.text(texts[i+1]))
	}
	if b.not {
		v.Set("not", doc.NewBool(true, b.at))
	}
	return v
}

// js makes a check of an expression that is true or false.
func (b *builder) js(expr string) doc.Value {
	if b.not {
		expr = "!(" + expr + ")"
	}
	return (&builder{at: b.at}).spec("js", "expr", expr)
}

// Check returns the check of Plumb for an assertion of a data file. Its texts may have templates,
// which the suite renders later. scored is set if the row has a threshold for its score.
func (a *Assertion) Check(at doc.Place, scored bool) (check doc.Value, why, hint string) {
	b := &builder{at, a.Not}
	templated := strings.Contains(a.Value, "{{") || strings.Contains(a.Value, "{%")
	refuse := func(why, hint string) (doc.Value, string, string) { return doc.Value{}, why, hint }
	number := func(key, text string) (doc.Value, string, string) {
		n, ok := doc.NewNumber(text, at)
		if !ok {
			return refuse(a.Kind+": "+strconv.Quote(text)+" is not a number", "")
		}
		check.Set(key, n)
		return check, "", ""
	}
	switch a.Kind {
	case "equals":
		check = b.spec("exact_match", "ideal", a.Value)
		check.Set("trim", doc.NewBool(false, at))
	case "starts-with":
		if a.Value == "" {
			return refuse("starts-with with an empty value is an error in promptfoo", "remove the assertion")
		}
		check = b.spec("starts_with", "ideal", a.Value)
		check.Set("trim", doc.NewBool(false, at))
	case "contains", "icontains":
		if a.Value == "" {
			return refuse(a.Kind+" with an empty value is an error in promptfoo", "")
		}
		check = b.spec("contains", "ideal", a.Value)
	case "contains-any", "icontains-any", "contains-all", "icontains-all":
		return a.several(b, scored)
	case "regex":
		if why, hint := BadPattern(a.Value); why != "" {
			return refuse(why, hint)
		}
		if !templated && !SamePattern(a.Value) {
			return b.js(RegExp(a.Value)), "", ""
		}
		check = b.spec("regex", "pattern", a.Value)
	case "word-count":
		if _, err := strconv.Atoi(a.Value); err != nil {
			return refuse("word-count with a value that is no number", "")
		}
		return b.js(CountWords + " === " + a.Value), "", ""
	case "is-json":
		return a.isJSON(b, scored, templated)
	case "contains-json":
		if a.Valued {
			return refuse("contains-json with a schema", "use is_json or json_schema, which read one JSON value")
		}
		return b.js(ContainsJSON), "", ""
	case "javascript":
		source, why, hint := Expression(a.Value)
		if why != "" {
			return refuse(why, hint)
		}
		if !a.Not && Decides(source, scored) {
			return b.spec("js", "expr", source), "", ""
		}
		return (&builder{at: at}).spec("js", "expr", Script(source, a.Not, "", scored)), "", ""
	case "latency", "cost":
		check = b.spec(map[string]string{"latency": "max_latency_ms", "cost": "max_cost_usd"}[a.Kind])
		return number("max", a.Threshold)
	case "similar":
		check = b.spec("semantic_similarity", "ideal", a.Value)
		return number("threshold", a.Threshold)
	case "llm-rubric":
		check = b.spec("llm_judge", "judge_prompt", Rubric(a.Value))
	}
	if a.Kind == "icontains" {
		check.Set("case_sensitive", doc.NewBool(false, at))
	}
	return check, "", ""
}

// several makes the check of contains-any and its relatives.
func (a *Assertion) several(b *builder, scored bool) (check doc.Value, why, hint string) {
	insensitive, all := strings.HasPrefix(a.Kind, "i"), strings.HasSuffix(a.Kind, "-all")
	if len(a.Words) == 0 {
		return check, a.Kind + " with an empty list", "remove it"
	}
	if scored && all { // the score of contains_all is a share, and that of promptfoo is 0 or 1
		if strings.Contains(a.Value, "{{") || strings.Contains(a.Value, "{%") {
			return check, a.Kind + " with a template in a row with __threshold", "write the texts"
		}
		lower := ""
		if insensitive {
			lower = ".toLowerCase()"
		}
		return b.js(Quote(a.Words) + ".every((s) => output" + lower + ".includes(s" + lower + "))"), "", ""
	}
	kind := "contains_any"
	if all {
		kind = "contains_all"
	}
	check = b.spec(kind)
	list := doc.Value{Kind: doc.List, Place: b.at}
	for _, w := range a.Words {
		list.List = append(list.List, b.text(w))
	}
	check.Set("ideal", list)
	if insensitive {
		check.Set("case_sensitive", doc.NewBool(false, b.at))
	}
	return check, "", ""
}

// isJSON makes the check of is-json, with a schema in JSON or YAML after the colon.
func (a *Assertion) isJSON(b *builder, scored, templated bool) (check doc.Value, why, hint string) {
	if !a.Valued {
		return b.js(ParsesJSON), "", ""
	}
	schema, problem := doc.ParseYAML("schema.yaml", []byte(a.Value), doc.CaseValues)
	switch {
	case templated:
		return check, "a template in a schema", "write what it renders"
	case problem != nil:
		return check, "a schema that is neither JSON nor YAML", ""
	case schema.Kind != doc.Map:
		return check, "a schema that is no mapping", ""
	case scored:
		return check, "is-json with a schema in a test with a threshold", ""
	}
	if why := StrictSchema(&schema); why != "" {
		return check, why, "use a js check"
	}
	if schema.Get("$schema") == nil {
		schema.Set("$schema", b.text(Draft))
	}
	schema.MoveTo(b.at)
	one := &builder{at: b.at}
	parses, fits := one.spec("js", "expr", ParsesJSON, "name", "is JSON"), one.spec("json_schema")
	fits.Set("schema", schema)
	check = b.spec("all_of")
	check.Set("assertions", doc.Value{Kind: doc.List, Place: b.at, List: []doc.Value{parses, fits}})
	return check, "", ""
}

// Draft is the version of JSON Schema that promptfoo reads.
const Draft = "http://json-schema.org/draft-07/schema#"
