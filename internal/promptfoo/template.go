package promptfoo

import (
	"errors"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// render renders a template with the variables of a test. It is false if promptfoo may render
// something else, or nothing useful.
func render(s string, vars *doc.Value) (string, bool) { return renderQuoted(s, vars, nil) }

func renderQuoted(s string, vars *doc.Value, quote template.Quote) (string, bool) {
	if !template.Is(s) {
		return s, true
	}
	t, err := template.Parse(s)
	if names, trouble := undefined(s, vars); err != nil || len(names) > 0 || trouble != "" {
		return "", false
	}
	text, err := template.NewScope(vars).Render(t, quote)
	return text, err == nil
}

// plainCode matches values that are no code beside that of the author, within quotes and without.
var plainCode = pattern(`^[\pL\pN _.:@#%-]*$`)

// renderCode renders a template in JavaScript. It is false if a value could change the code, or if
// the template does more than insert variables.
func renderCode(s string, vars *doc.Value) (string, bool) {
	t, err := template.Parse(s)
	if err != nil || slices.ContainsFunc(t.Uses(), func(u template.Use) bool { return !u.Inserted }) {
		return "", false
	}
	return renderQuoted(s, vars, func(value string) (string, error) {
		if !plainCode().MatchString(value) {
			return "", errors.New("the value may be code")
		}
		return value, nil
	})
}

// lookup returns the value of a variable, or of a member of it; nil if there is none.
func lookup(vars *doc.Value, path []string) *doc.Value {
	v := vars
	for _, key := range path {
		if v = v.Get(key); v == nil {
			break
		}
	}
	return v
}

// undefined returns the names that a template uses and that are not defined, and what in it cannot
// be carried over: "" if nothing.
func undefined(s string, vars *doc.Value) (names []string, trouble string) {
	if !template.Is(s) {
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
		known := vars.Get(name) != nil
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

// inserted returns the variables that a template does nothing with but insert them, and how often
// each is used at all.
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
