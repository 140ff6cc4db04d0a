package promptfoo

import (
	"encoding/json"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// parsesJSON is an expression of JavaScript: the output is JSON, and nothing else.
const parsesJSON = "(() => { try { JSON.parse(output); return true } catch { return false } })()"

// countWords is an expression of JavaScript: the number of words of the output.
const countWords = `output.trim().split(/\s+/).filter(Boolean).length`

// bracesJSON counts braces as promptfoo does, also within texts, and closes those that the output
// leaves open. promptfoo reads YAML between them. An object in JSON or of words is certain, and so
// are braces or quotes without their partners; the rest is an error, because only a YAML parser can
// decide it.
const bracesJSON = `(() => {
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
var samePattern = pattern(`^(?:[A-Za-z0-9 ,:;'"<>=!@#%&_~-]|\\[dwb.?*+()\[\]{}|^$/\\-]|\[[A-Za-z0-9 _.,:;-]+\]|\((?:\?:)?|[)|*+?^$]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})*$`)

// isSamePattern reports whether a regular expression means the same in JavaScript, the dialect of
// promptfoo, and in a regex check.
func isSamePattern(pattern string) bool {
	if !samePattern().MatchString(pattern) {
		return false
	}
	_, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil
}

var modifier = pattern(`\(\?[a-zA-Z-]`)

// badPattern returns why promptfoo fails a regular expression, or "".
func badPattern(pattern string) (why, hint string) {
	switch {
	case pattern == "":
		return "regex with an empty pattern is an error in promptfoo", ""
	case modifier().MatchString(pattern):
		return "a modifier such as (?i) in a regular expression, which promptfoo fails", "use [Aa], or icontains"
	}
	return "", ""
}

// regExp returns an expression of JavaScript: the output matches a pattern. The hashes of cases
// have the escapes of encoding/json for <, > and &.
func regExp(pattern string) string {
	text, _ := json.Marshal(pattern) //nolint:errchkjson // a text always has a form
	return "new RegExp(" + string(text) + ").test(output)"
}

var comparison = pattern(`^!?[\w.]+(\((?:"[^"]*"|'[^']*'|/[^/]+/\w*)?\))*(\.\w+(\((?:"[^"]*"|'[^']*')?\))?)*\s*([<>]=?|[!=]==?)\s*[\w.'" ]+$|^!?output\.(includes|startsWith|endsWith)\((?:"[^"]*"|'[^']*')\)$`)

// decides matches expressions that are probably true or false, not a number that may be NaN.
var decides = pattern(`[=!]==?|[<>]=?|\.(?:includes|startsWith|endsWith|test|some|every)\(`)

// isVerdict reports whether an expression is certainly true or false. scored is set if the score of
// the check counts.
func isVerdict(source string, scored bool) bool {
	return comparison().MatchString(source) || !scored && decides().MatchString(source) &&
		!strings.ContainsAny(source, "{/*%?") && !strings.Contains(source, "JSON.parse")
}

// verdictOf returns the expression of a js check with the verdict that promptfoo has for the value
// of an expression: true, a number, or an object with pass, score and reason. threshold is "" if
// there is none.
func verdictOf(source string, not bool, threshold string, scored bool) string {
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

var statement = pattern(`^(let|const|var|return|if|for|while|throw|function|switch|try)\b`)

// expression returns JavaScript of promptfoo as an expression: one line is an expression, and
// several lines are the body of a function.
func expression(text string) (source, why, hint string) {
	text = strings.TrimSpace(text)
	body := strings.Contains(text, "\n")
	switch {
	case body && !strings.Contains(text, "return"):
		return "", "JavaScript of several lines without return, which promptfoo fails", "add return"
	case body:
		return "(() => {\n" + text + "\n})()", "", ""
	case statement().MatchString(text) || strings.HasPrefix(text, "//") || text == "":
		return "", "a JavaScript statement on one line, which promptfoo fails", "write an expression"
	}
	return strings.TrimSpace(strings.TrimSuffix(text, ";")), "", ""
}

// strictSchema returns why promptfoo may judge a JSON Schema differently, or "". It refuses unknown
// keywords, and its patterns are those of JavaScript.
func strictSchema(schema *doc.Value) string {
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
		case key == "pattern" && (v.Kind != doc.String || !samePattern().MatchString(v.Text())):
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
			if why := strictSchema(w); why != "" {
				return why
			}
		}
	}
	return ""
}

var (
	contextUse = pattern(`\bcontext\b(\.vars\b)?`)
	outside    = pattern(`\b(require|import|process|await|async|fetch|Promise|setTimeout|globalThis|Buffer)\b`)
)

// source returns the JavaScript of a value, as an expression of output. why is set if it cannot be
// carried over.
func source(v *doc.Value, vars *doc.Value) (text, why, hint string) {
	if v == nil || v.Kind != doc.String {
		return "", "JavaScript that is no text", ""
	}
	text = v.Text()
	if strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "package:") {
		return "", "JavaScript from a file: " + text, "write it as a js check with file, or as an expression"
	}
	if template.Is(text) {
		var ok bool
		if text, ok = renderCode(text, vars); !ok || template.Is(text) {
			return "", "a template in JavaScript that does more than insert words and numbers", "use context.vars"
		}
	}
	if use := outside().FindString(text); use != "" {
		return "", "JavaScript that uses " + use, "write a check of your own in a suite in code"
	}
	if text, why, hint = expression(text); why != "" {
		return "", why, hint
	}
	uses := contextUse().FindAllString(text, -1)
	if slices.ContainsFunc(uses, func(use string) bool { return use != "context.vars" }) {
		return "", "JavaScript that uses more of context than context.vars", ""
	}
	if len(uses) > 0 {
		text = "((context) => " + parenthesized(text) + ")({ vars: " + string(vars.JSON()) + " })"
	}
	return text, "", ""
}

func parenthesized(text string) string {
	if strings.HasPrefix(text, "(() =>") {
		return text
	}
	return "(" + text + ")"
}

// textMethods matches expressions whose value is certainly a text.
var textMethods = pattern(`^output(?:\.(?:trim|trimStart|trimEnd|toUpperCase|toLowerCase|replace|replaceAll|` +
	`slice|substring|normalize|repeat)\([^()]*\))*$`)

// needsValue reports whether a list of assertions has one that sees a value that is no text as it
// is.
func needsValue(list draft.Node) bool {
	return slices.ContainsFunc(list.All(), func(a draft.Node) bool {
		return a.Is(doc.Map) && (strings.TrimPrefix(a.Get("type").Text(), "not-") == "javascript" ||
			a.Get("transform").OK() || needsValue(a.Get("assert")))
	})
}
