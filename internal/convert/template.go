package convert

import (
	"regexp"
	"slices"
	"strings"
)

var (
	tag      = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}`)
	simple   = regexp.MustCompile(`^\{\{-?\s*([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\s*-?\}\}$`)
	word     = regexp.MustCompile(`[A-Za-z_$][\w$]*`)
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	pipe     = regexp.MustCompile(`\|\s*([A-Za-z_]\w*)`)
	binds    = regexp.MustCompile(`^\{%-?\s*(?:for\s+([\w\s,]+?)\s+in\b|set\s+([\w\s,]+?)\s*(?:=|-?%\}))`)
	rawBlock = regexp.MustCompile(`(?s)\{%-?\s*(?:raw|verbatim)\s*-?%\}.*?\{%-?\s*end(?:raw|verbatim)\s*-?%\}`)
)

// isTemplate reports whether a text has template tags.
func isTemplate(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}

// literally returns a template that renders as the given text.
func literally(s string) string {
	if !isTemplate(s) {
		return s
	}
	return "{% raw %}" + s + "{% endraw %}"
}

// render renders a template that only inserts variables. It is false if the template does more, or
// if a variable is not there or has no useful text.
func render(s string, vars object) (string, bool) {
	if !isTemplate(s) {
		return s, true
	}
	ok := true
	out := tag.ReplaceAllStringFunc(s, func(t string) string {
		m := simple.FindStringSubmatch(t)
		if m == nil || strings.Contains(t, "-}}") || strings.Contains(t, "{{-") {
			ok = false
			return ""
		}
		v, found := lookup(vars, strings.Split(m[1], "."))
		text, useful := printed(v)
		ok = ok && found && useful
		return text
	})
	return out, ok && strings.Count(tag.ReplaceAllString(s, ""), "{{") == 0 &&
		!strings.Contains(tag.ReplaceAllString(s, ""), "{%")
}

func lookup(vars object, path []string) (any, bool) {
	v, ok := vars.get(path[0])
	for _, key := range path[1:] {
		o, is := v.(object)
		if !is {
			return nil, false
		}
		v, ok = o.get(key)
	}
	return v, ok
}

// filters returns the filters that Nunjucks itself has and that depend on nothing but their input.
func filters() []string {
	return []string{
		"abs", "batch", "capitalize", "center", "default", "d", "dictsort", "dump", "first", "float", "groupby", "indent",
		"int", "join", "last", "length", "list", "lower", "nl2br", "reject", "rejectattr", "replace", "reverse", "round",
		"safe", "select", "selectattr", "slice", "sort", "string", "striptags", "sum", "title", "trim", "truncate",
		"upper", "urlencode", "wordcount",
	}
}

// undefined returns the names that a template uses and that are not defined, and what in it cannot
// be carried over: "" if nothing.
func undefined(s string, vars object) (names []string, trouble string) {
	if !isTemplate(s) {
		return nil, ""
	}
	s = rawBlock.ReplaceAllString(s, "")
	if rest := tag.ReplaceAllString(s, ""); isTemplate(rest) {
		return nil, "a template that does not compile"
	}
	bound := []string{"loop"}
	for _, t := range tag.FindAllString(s, -1) {
		if strings.HasPrefix(t, "{#") {
			continue
		}
		for _, m := range [][]string{binds.FindStringSubmatch(t)} {
			if m != nil {
				bound = append(bound, word.FindAllString(m[1]+" "+m[2], -1)...)
			}
		}
		for _, f := range pipe.FindAllStringSubmatch(quoted.ReplaceAllString(t, "''"), -1) {
			if !slices.Contains(filters(), f[1]) {
				return nil, "the template filter " + f[1]
			}
		}
		body := strings.Trim(t, "{}%- \n\t")
		head := word.FindString(body)
		if strings.HasPrefix(t, "{%") {
			switch head {
			case "if", "elif", "elseif", "else", "endif", "for", "endfor", "set", "endset":
			default:
				return nil, "the template tag " + head
			}
		}
		for _, name := range rootNames(t) {
			if name == "env" {
				return nil, "env in a template"
			}
			if _, ok := vars.get(name); !ok && !slices.Contains(bound, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, ""
}

// rootNames returns the variables that a tag uses.
func rootNames(t string) (names []string) {
	body := quoted.ReplaceAllString(t, "''")
	body = pipe.ReplaceAllString(body, "|")
	keywords := []string{
		"if", "elif", "elseif", "else", "endif", "for", "endfor", "set", "endset", "in", "not", "and", "or", "is",
		"true", "false", "none", "null", "defined", "undefined", "range",
	}
	for _, at := range word.FindAllStringIndex(body, -1) {
		name := body[at[0]:at[1]]
		before := strings.TrimRight(body[:at[0]], " ")
		after := strings.TrimLeft(body[at[1]:], " ")
		if strings.HasSuffix(before, ".") || slices.Contains(keywords, name) ||
			at[0] > 0 && body[at[0]-1] >= '0' && body[at[0]-1] <= '9' ||
			strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") && !strings.HasPrefix(t, "{%") {
			continue
		}
		names = append(names, name)
	}
	return names
}
