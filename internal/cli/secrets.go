package cli

import (
	"errors"
	"iter"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
)

// secrets returns what knows the secrets of this command: those of its project or its run, and those of the environment as
// long as it has none.
func (a *app) secrets() *redact.Redactor {
	if a.redact == nil {
		p := &project{config: &config.Config{}, getenv: a.Getenv, environ: a.Environ}
		a.redact = p.redactor(nil)
	}
	return a.redact
}

// clean makes text from outside fit to be printed: without what a terminal would obey, and without secrets.
func (a *app) clean(s string) string { return a.secrets().String(report.Clean(s)) }

// line is clean on one line of at most width cells. No part of a secret is left by the cut.
func (a *app) line(s string, width int) string { return report.Line(a.clean(s), width) }

// indent is clean with all lines but the first indented by n blanks.
func (a *app) indent(s string, n int) string { return report.Indent(a.clean(s), n) }

// loggedWords yields what the run in path names in what it writes; see [spec.words].
func loggedWords(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		enough := errors.New("enough")
		// What cannot be read is told by whoever reads the run.
		_ = run.Read(path, func(ev plumb.Event) error {
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
				words = append(append(words, ev.Cases[i].ID, ev.Cases[i].Category, ev.Cases[i].Difficulty), ev.Cases[i].Tags...)
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
