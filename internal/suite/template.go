package suite

import (
	"context"
	_ "embed" // template.js
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/third_party/nunjucks"
)

//go:embed template.js
var templateScript string

// The limits of the templates of one case.
const (
	templateTime   = 5 * time.Second
	templateMemory = 128 << 20
)

// isTemplate reports whether a text has the syntax of a template. Other texts render as themselves.
func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// templates renders templates in an engine that has no access to files, programs or the environment. It is safe for
// concurrent use; its first template starts the engine.
type templates struct {
	start sync.Once
	vm    *script.VM
	err   error
}

// templateProblem is a mistake in a template. Line and Column count from 1; 0 means unknown.
type templateProblem struct {
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
	Word    string   `json:"word"`
	Known   []string `json:"known"`
	Line    int      `json:"line"`
	Column  int      `json:"column"`
}

// render renders texts with the variables of a case, which are a JSON object. If problem is not nil, it is that of the
// text after the rendered ones. An error means that no text can be rendered.
func (t *templates) render(texts []string, vars json.RawMessage) (rendered []string, problem *templateProblem, _ error) {
	t.start.Do(func() {
		const name = "templates"
		t.vm, t.err = script.Start(context.Background(), script.Load(name), script.Options{
			Modules: map[string]string{name: nunjucks.Source() + "\n" + templateScript}, MemoryLimit: templateMemory,
			Policy: script.Policy{ReadOnly: true, NoExec: true},
		})
	})
	if t.err != nil {
		return nil, nil, fmt.Errorf("start the template engine: %w", t.err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), templateTime)
	defer cancel()
	raw, err := t.vm.Call(ctx, "render", texts, vars)
	switch {
	case errors.Is(err, script.ErrTimeout):
		return nil, &templateProblem{Message: fmt.Sprintf("the templates of the case take longer than %v", templateTime)}, nil
	case err != nil && t.vm.Dead():
		return nil, nil, fmt.Errorf("render templates: %w", err)
	case err != nil:
		return nil, &templateProblem{Message: "the templates of the case need too much memory"}, nil
	case len(raw) > doc.CaseBytes:
		return nil, &templateProblem{Message: "the rendered case has more than " + doc.Size(doc.CaseBytes)}, nil
	}
	var reply struct {
		Rendered []string         `json:"rendered"`
		Problem  *templateProblem `json:"problem"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, nil, fmt.Errorf("render templates: %w", err)
	}
	return reply.Rendered, reply.Problem, nil
}

func (t *templates) close() {
	if t.vm != nil {
		_ = t.vm.Close() // its errors belong to no text
	}
}
