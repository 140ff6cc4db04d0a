package convert

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

func isTemplate(s string) bool { return template.Is(s) }

// literally returns a template that renders as the given text.
func literally(s string) string { return template.Literal(s) }

// render renders a template with the variables of a test. It is false if promptfoo may render something else, or nothing
// useful.
func render(s string, vars object) (string, bool) { return renderQuoted(s, vars, nil) }

func renderQuoted(s string, vars object, quote template.Quote) (string, bool) {
	if !isTemplate(s) {
		return s, true
	}
	if names, trouble := undefined(s, vars); len(names) > 0 || trouble != "" {
		return "", false
	}
	values, problem := doc.ParseJSON("", []byte(quoteJSON(vars)))
	t, err := template.Parse(s)
	if problem != nil || err != nil {
		return "", false
	}
	text, err := template.NewScope(&values).Render(t, quote)
	return text, err == nil
}

// plainCode matches values that are no code beside that of the author, within quotes and without.
var plainCode = regexp.MustCompile(`^[\pL\pN _.:@#%-]*$`)

// renderCode renders a template in JavaScript. It is false if a value could change the code, or if the template does more
// than insert variables.
func renderCode(s string, vars object) (string, bool) {
	t, err := template.Parse(s)
	if err != nil || slices.ContainsFunc(t.Uses(), func(u template.Use) bool { return !u.Inserted }) {
		return "", false
	}
	return renderQuoted(s, vars, func(value string) (string, error) {
		if !plainCode.MatchString(value) {
			return "", errors.New("the value may be code")
		}
		return value, nil
	})
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

// undefined returns the names that a template uses and that are not defined, and what in it cannot be carried over: "" if
// nothing.
func undefined(s string, vars object) (names []string, trouble string) {
	if !isTemplate(s) {
		return nil, ""
	}
	t, err := template.Parse(s)
	if problem, ok := errors.AsType[*template.Problem](err); ok {
		switch {
		case strings.HasPrefix(problem.Message, "unknown filter"):
			return nil, "the template filter " + problem.Word
		case strings.HasPrefix(problem.Message, "a template cannot"):
			return nil, "a template that reads other files"
		}
		return nil, "a template that does not compile"
	}
	for _, use := range t.Uses() {
		name := use.Path[0]
		_, known := vars.get(name)
		switch {
		// promptfoo has no json, and escapes only once.
		case use.Kind == "filter" && slices.Contains([]string{"json", "e", "escape"}, name):
			return nil, "the template filter " + name
		case use.Kind != "variable" || use.Bound:
		case name == "env":
			return nil, "env in a template"
		case !known && name != "range" && !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names, ""
}

// inserted returns the variables that a template does nothing with but insert them, and how often each is used at all.
func inserted(s string) (variables []template.Use, used map[string]int) {
	used = map[string]int{}
	t, err := template.Parse(s)
	if err != nil {
		return nil, used
	}
	for _, use := range t.Uses() {
		if use.Kind == "variable" && !use.Bound {
			used[use.Path[0]]++
			if use.Inserted {
				variables = append(variables, use)
			}
		}
	}
	return variables, used
}

// environment returns the variable of the environment that a template inserts and nothing else, or "".
func environment(s string) string {
	variables, used := inserted(s)
	if used["env"] != 1 || len(variables) != 1 || len(variables[0].Path) != 2 {
		return ""
	}
	name := variables[0].Path[1]
	if strings.Join(strings.Fields(s), "") != "{{env."+name+"}}" {
		return ""
	}
	return name
}
