package cases

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// templates parses templates, each once. It is safe for concurrent use.
type templates struct {
	mu     sync.Mutex
	parsed map[string]parsedTemplate
}

type parsedTemplate struct {
	*template.Template
	err error
}

func (t *templates) parse(text string) (*template.Template, error) {
	const most = 1000 // a suite has a template for each prompt and check, but its cases can have their own
	t.mu.Lock()
	p, ok := t.parsed[text]
	t.mu.Unlock()
	if ok {
		return p.Template, p.err
	}
	p.Template, p.err = template.Parse(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parsed) >= most || t.parsed == nil {
		t.parsed = map[string]parsedTemplate{}
	}
	t.parsed[text] = p
	return p.Template, p.err
}

// slot is a text of a case that may be a template. key names it, and inserts says what it may
// insert.
type slot struct {
	*doc.Value
	key     string
	inserts check.Insertion
}

// slots returns the texts of a case that have the syntax of a template. Templates are rendered
// within these texts, after the case was parsed, so what they insert changes neither the keys of a
// case nor its checks.
func slots(v *doc.Value) (all []slot) {
	add := func(of *doc.Value, key string, inserts check.Insertion) {
		of.Strings(func(s *doc.Value) bool {
			if template.Is(s.Text()) {
				all = append(all, slot{s, key, inserts})
			}
			return true
		})
	}
	var spec func(of *doc.Value, kind string)
	spec = func(of *doc.Value, kind string) {
		for i := range of.List {
			spec(&of.List[i], kind)
		}
		if name := of.Get("type"); name != nil {
			kind = name.Text()
		}
		for i := range of.Members {
			switch m := &of.Members[i]; m.Key {
			case "assertions", "before":
				spec(&m.Value, kind)
			default:
				add(&m.Value, m.Key, check.Inserts(kind, m.Key))
			}
		}
	}
	for i := range v.Members {
		switch m := &v.Members[i]; m.Key {
		case "input":
			if m.Value.Kind == doc.String {
				add(&m.Value, m.Key, check.InsertText)
			}
			for k := range m.Value.List {
				message := &m.Value.List[k]
				for j := range message.Members {
					inserts := check.InsertNothing
					if message.Members[j].Key == "content" {
						inserts = check.InsertText
					}
					add(&message.Members[j].Value, message.Members[j].Key, inserts)
				}
			}
		case "system", "ideal":
			add(&m.Value, m.Key, check.InsertText)
		case "transform":
			add(&m.Value, m.Key, check.InsertNothing)
		case "assertion", "assertions":
			spec(&m.Value, "")
		}
	}
	return all
}

// render returns the text of a slot. An error is a *[template.Problem].
func (t *templates) render(s *slot, scope *template.Scope) (string, error) {
	parsed, err := t.parse(s.Text())
	if s.inserts == check.InsertNothing {
		if err == nil && parsed.Constant() {
			return scope.Render(parsed, nil)
		}
		return "", refused(s.key, parsed)
	}
	if err != nil {
		return "", err
	}
	return scope.Render(parsed, quotes()[s.inserts])
}

// refused is the problem of a template where a value would change what a check means.
func refused(key string, t *template.Template) *template.Problem {
	switch key {
	case "expr", "transform":
		variable := "NAME"
		if t != nil {
			for _, use := range t.Uses() {
				if use.Kind == "variable" && !use.Bound {
					variable = strings.Join(use.Path, ".")
					break
				}
			}
		}
		return &template.Problem{
			Message: key + " is code, and a template in it would make data a part of the code",
			Hint:    fmt.Sprintf("use vars.%s or context.vars.%[1]s, which have the value", variable),
		}
	case "run", "file":
		return &template.Problem{
			Message: key + " names what is started, and a template cannot choose that",
			Hint:    "the code gets the variables as vars; a program reads them from its stdin",
		}
	}
	return &template.Problem{
		Message: key + " decides what is checked, and a template cannot choose that",
		Hint:    "write the value, or use a js check with vars",
	}
}

var (
	plainPath = regexp.MustCompile(`^[^*?\[\]{}\\!]*$`)
	plainName = regexp.MustCompile(`^[\pL\pN_-]*$`)
)

// quotes returns how a value is written where it is not a plain text, so that it stands for itself.
func quotes() map[check.Insertion]template.Quote {
	return map[check.Insertion]template.Quote{
		check.InsertPattern: func(value string) (string, error) { return regexp.QuoteMeta(value), nil },
		check.InsertPath: func(value string) (string, error) {
			if !plainPath.MatchString(value) || strings.Contains(value, "..") {
				return "", errors.New("the value has a character with a meaning in a path, such as * or two points")
			}
			return value, nil
		},
		check.InsertName: func(value string) (string, error) {
			if !plainName.MatchString(value) {
				return "", errors.New("the value has a character with a meaning here: only letters, digits, _ and - can be inserted")
			}
			return value, nil
		},
	}
}
