package convert

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
)

var (
	contextUse = regexp.MustCompile(`\bcontext\b(\.vars\b)?`)
	outside    = regexp.MustCompile(`\b(require|import|process|await|async|fetch|Promise|setTimeout|globalThis|Buffer)\b`)
)

// source returns the JavaScript of a value, as an expression of output. promptfoo takes one line for
// an expression and several lines for the body of a function.
func (p *foo) source(c *fooTest, n node, refuse func(message, hint string)) (string, bool) {
	text, ok := n.js().(string)
	if !ok || n.kind() != doc.String {
		refuse("JavaScript that is no text", "")
		return "", false
	}
	if strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "package:") {
		refuse("JavaScript from a file: "+text, "write it as a js check with file, or as an expression")
		return "", false
	}
	if isTemplate(text) {
		if text, ok = renderCode(text, c.vars); !ok || isTemplate(text) {
			refuse("a template in JavaScript that does more than insert words and numbers", "use context.vars")
			return "", false
		}
	}
	text = strings.TrimSpace(text)
	if use := outside.FindString(text); use != "" {
		refuse("JavaScript that uses "+use, "write a check of your own in a suite in code")
		return "", false
	}
	text, why, hint := promptfoo.Expression(text)
	if why != "" {
		refuse(why, hint)
		return "", false
	}
	uses := contextUse.FindAllString(text, -1)
	for _, use := range uses {
		if use != "context.vars" {
			refuse("JavaScript that uses more of context than context.vars", "")
			return "", false
		}
	}
	if len(uses) > 0 {
		text = "((context) => " + parenthesized(text) + ")({ vars: " + quoteJSON(c.vars) + " })"
	}
	return text, true
}

func parenthesized(text string) string {
	if strings.HasPrefix(text, "(() =>") {
		return text
	}
	return "(" + text + ")"
}

var textMethods = regexp.MustCompile(`^output(?:\.(?:trim|trimStart|trimEnd|toUpperCase|toLowerCase|replace|replaceAll|` +
	`slice|substring|normalize|repeat)\([^()]*\))*$`)

// isText reports whether the value of an expression is certainly a text.
func isText(source string) bool { return textMethods.MatchString(source) }

// needsValue reports whether a list of assertions has one that sees a value that is no text as it is.
func needsValue(list node) bool {
	return slices.ContainsFunc(list.list(), func(a node) bool {
		return a.kind() == doc.Map && (strings.TrimPrefix(a.get("type").text(), "not-") == "javascript" ||
			a.get("transform").ok() || needsValue(a.get("assert")))
	})
}

// expression reads a transform.
func (p *foo) expression(c *fooTest, n node, refuse func(message, hint string)) (string, bool) {
	source, ok := p.source(c, n, refuse)
	return source, ok
}

// javascript converts an assertion in JavaScript.
func (a *assertion) javascript() any {
	source, ok := a.source(a.c, a.node.get("value"), func(message, hint string) { a.refuse(message, hint) })
	if !ok {
		return nil
	}
	least, given := a.threshold()
	if promptfoo.Decides(source, a.c.scored) {
		check := a.spec("js", member{"expr", literally(a.on(source))})
		if given {
			check.set("threshold", least)
		}
		return check
	}
	expr := promptfoo.Script(source, a.not, string(least), a.c.scored)
	return object{{"type", "js"}, {"expr", literally(a.on(expr))}}
}
