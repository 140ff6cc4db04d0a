package project

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/submit"
)

// Redactor returns a redactor with the secrets of the environment and of .env in the working
// directory, for use before a project is open.
func (e Env) Redactor() *redact.Redactor {
	dotenv, _ := config.DotEnv(e.Dir, e.Getenv) // who opens the project reports a damaged file
	e = e.with(dotenv)
	p := &Project{Config: &config.Config{}, Getenv: e.Getenv, Environ: e.Environ}
	return p.RedactorWith(nil)
}

// Redactor returns a redactor with the secrets of the environment and the project.
func (p *Project) Redactor() *redact.Redactor { return p.redact }

// RedactorFor is [Project.Redactor] for printing the cases of a suite: it never hides their names.
func (p *Project) RedactorFor(suite *plumb.Suite) *redact.Redactor {
	return p.RedactorWith((&Spec{}).Words(suite))
}

// RedactorOf is [Project.Redactor] for printing the run at path: it never hides the names of its
// cases and runners.
func (p *Project) RedactorOf(path string) *redact.Redactor { return p.RedactorWith(loggedWords(path)) }

// RedactorWith returns a redactor with the secrets of the environment, the project, and settings.
// words are names that a command prints, such as the ids of cases; it never hides them.
func (p *Project) RedactorWith(words iter.Seq[string], settings ...any) *redact.Redactor {
	secrets := runner.Secrets(p.Getenv, append([]any{p.Config}, settings...)...)
	own := vocabulary()
	secrets = append(secrets, redact.Secret{Name: submit.TokenEnv, Value: p.Getenv(submit.TokenEnv)})
	for _, provider := range modelapi.Providers() {
		own = append(own, provider.Name)
		for _, name := range provider.KeyEnv {
			secrets = append(secrets, redact.Secret{Name: name, Value: p.Getenv(name)})
		}
	}
	for _, pair := range p.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if runner.SecretName(name) || slices.Contains(p.Config.Run.Redact, name) {
			secrets = append(secrets, redact.Secret{Name: name, Value: value})
		}
	}
	if words != nil {
		for word := range words { // few of a million cases resemble a secret, so most are dropped here
			if slices.ContainsFunc(secrets, isIn(word)) {
				own = append(own, word)
			}
		}
	}
	return redact.New(secrets, own...)
}

// isIn returns a function that reports whether word contains a secret, ignoring case.
func isIn(word string) func(redact.Secret) bool {
	return func(s redact.Secret) bool {
		return s.Value != "" && len(s.Value) <= len(word) &&
			strings.Contains(strings.ToLower(word), strings.ToLower(s.Value))
	}
}

// loggedWords yields the names that the run at path writes; see [Spec.Words].
func loggedWords(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		enough := errors.New("enough")
		// The caller reads the same log and reports what is wrong with it.
		_ = runlog.At(path).Read(func(ev plumb.Event) error {
			if ev.Info == nil && ev.Cases == nil {
				return enough
			}
			var words []string
			if i := ev.Info; i != nil {
				words = append(words, i.SuiteName, i.SuiteVersion, i.Tier, i.Judge, i.Embedder)
				for _, r := range i.Runners {
					words = append(words, r.ID, r.Agent.Type, r.Agent.Model)
				}
			}
			for i := range ev.Cases {
				c := &ev.Cases[i]
				words = append(append(words, c.ID, c.Item, c.Prompt, c.Category, c.Difficulty), c.Tags...)
			}
			for _, word := range words {
				if !yield(word) {
					return enough
				}
			}
			return nil
		})
	}
}

// printf writes a line about the job or the project to the standard error of the environment.
func printf(w io.Writer, r *redact.Redactor, format string, args ...any) {
	fmt.Fprintf(w, "plumb: %s\n", r.String(fmt.Sprintf(format, args...)))
}

// redactingWriter is a writer for many goroutines that removes secrets.
type redactingWriter struct {
	mu sync.Mutex
	w  io.WriteCloser
}

func newRedactingWriter(r *redact.Redactor, w io.Writer) *redactingWriter {
	return &redactingWriter{w: r.Writer(w)}
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// Close writes the text that was held back because it could have been the beginning of a secret.
func (w *redactingWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Close()
}
