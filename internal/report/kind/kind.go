// Package kind lists the reports by name: how each of them is made of a run and of a comparison, and
// what its files look like.
package kind

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/ci"
	"github.com/plumb-eval/plumb/internal/report/html"
	"github.com/plumb-eval/plumb/internal/report/terminal"
	"github.com/plumb-eval/plumb/internal/results"
)

// The names of the reports.
const (
	Terminal      = "terminal"
	JSON          = "json"
	JSONSummary   = "json-summary"
	JUnit         = "junit"
	GitHubActions = "github-actions"
	Markdown      = "markdown"
	HTML          = "html"
)

// Setup is what a report gets beside its run or its comparison.
type Setup struct {
	report.Source
	terminal.Screen
	// RunDir is the run directory, for reports that are a file in it by default: with RunDir, html
	// is report.html or comparison.html there, and Out gets its path; without RunDir, Out gets the
	// page.
	RunDir string
	// Temp is a directory for temporary files. With it, reporters of a new run prepare their
	// documents during the run; without it, they do all work at the end.
	Temp string
}

// kind is one kind of report.
type kind struct {
	name string
	// mixes is set if the report can share standard output with another one.
	mixes bool
	// form is a regular expression for the files of the report, and comparisonForm one for those of
	// comparisons if they differ.
	form, comparisonForm string
	// document writes the report of a run when the run has ended. Without it, reporter makes a
	// reporter, which receives all events.
	document func(s *Setup, run *plumb.Run) error
	reporter func(s *Setup) plumb.Reporter
	// comparison writes the report of a comparison without secrets. It is nil if there is none.
	comparison func(s *Setup, c *report.Compared) error
}

// kinds is the only list of the reports.
func kinds() []kind {
	return []kind{
		{
			name: Terminal, form: `(?m)^(?:suite|run) {3,}\S`, comparisonForm: `(?m)^ +A  \S.*\n +B  \S`,
			reporter:   func(s *Setup) plumb.Reporter { return terminal.New(s.Screen, &s.Source) },
			comparison: func(s *Setup, c *report.Compared) error { return terminal.WriteComparison(s.Screen, c.Comparison) },
		},
		{
			name: JSON, form: resultsForm, comparisonForm: `(?s)^\{\s*"schema":.*"conclusion":`, reporter: document(results.Full),
			comparison: func(s *Setup, c *report.Compared) error { return report.WriteComparisonJSON(s.Out, c.Comparison) },
		},
		{name: JSONSummary, form: resultsForm, reporter: document(results.Brief)},
		{
			name: JUnit, form: `^(?:<\?xml[^>]*>)?\s*<testsuites?[\s>]`,
			document:   func(s *Setup, run *plumb.Run) error { return ci.WriteJUnit(s.Out, &s.Source, run) },
			comparison: func(s *Setup, c *report.Compared) error { return ci.WriteJUnitComparison(s.Out, c.Comparison) },
		},
		{
			name: GitHubActions, mixes: true, form: `(?m)^::[a-z-]+`,
			document: func(s *Setup, run *plumb.Run) error { return ci.WriteActions(s.Out, s.Getenv, &s.Source, run) },
			comparison: func(s *Setup, c *report.Compared) error {
				return ci.WriteActionsComparison(s.Out, s.Getenv, c.Comparison)
			},
		},
		{
			name: Markdown, form: `^## \S+ Plumb: `,
			document: func(s *Setup, run *plumb.Run) error { return ci.WriteMarkdown(s.Out, &s.Source, run) },
			comparison: func(s *Setup, c *report.Compared) error {
				_, err := io.WriteString(s.Out, ci.MarkdownComparison(c.Comparison))
				return err
			},
		},
		{
			name: HTML, mixes: true, form: `(?s)^<!doctype html>.*Content-Security-Policy.*[Pp]lumb`,
			reporter: func(s *Setup) plumb.Reporter { return html.New(s.Out, s.RunDir, &s.Source) },
			comparison: func(s *Setup, c *report.Compared) error {
				return html.ReportComparison(s.Out, s.RunDir, &s.Source, c)
			},
		},
	}
}

// resultsForm is the form of the documents of results.
const resultsForm = `(?s)^\{\s*"suitePath":.*"cases":`

// find returns the kind with the given name, or nil.
func find(name string) *kind {
	all := kinds()
	if i := slices.IndexFunc(all, func(k kind) bool { return k.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names returns the names of all reports of a run.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// ComparisonNames returns the names of all reports of a comparison.
func ComparisonNames() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return find(name).comparison == nil })
}

// Mixes reports whether a report can share standard output with another one.
func Mixes(name string) bool {
	k := find(name)
	return k != nil && k.mixes
}

// New returns the reporter with the given name. The run-finished event makes it write its report.
// Use [report.Replay] to render a run from its log.
func New(name string, s Setup) (plumb.Reporter, error) {
	if k := find(name); k != nil {
		s.Source, s.Screen = s.Clean(), s.Complete()
		if k.document != nil {
			return s.Guard(&ending{k, &s}), nil
		}
		return s.Guard(k.reporter(&s)), nil
	}
	err := fmt.Errorf("unknown reporter %q", name)
	if near := plumb.Nearest(name, Names()); near != "" {
		err = fmt.Errorf("unknown reporter %q (did you mean %q?)", name, near)
	}
	return nil, plumb.WithHint(err, "reporters: "+strings.Join(Names(), ", "))
}

// Compare writes the report of a comparison with the given name, one of [ComparisonNames].
func Compare(name string, s Setup, c *report.Compared) error {
	k := find(name)
	if k == nil || k.comparison == nil {
		return fmt.Errorf("unknown report %q of a comparison", name)
	}
	clean := *c
	clean.Comparison, s.Screen = report.Without(s.Redact, c.Comparison), s.Complete()
	if err := k.comparison(&s, &clean); err != nil {
		return fmt.Errorf("write %s report: %w", name, err)
	}
	return nil
}

// document makes reporters that write a document of results with the given details.
func document(d results.Detail) func(*Setup) plumb.Reporter {
	return func(s *Setup) plumb.Reporter { return &resultsReport{s.Results(s.Temp, d), s.Out} }
}

// resultsReport writes a document of results to out.
type resultsReport struct {
	*results.Writer
	out io.Writer
}

func (r *resultsReport) Report(ev plumb.Event, run *plumb.Run) error {
	if ev.Type == plumb.EventRunFinished {
		return r.Write(r.out, run)
	}
	return r.Writer.Report(ev, run)
}

// ending is the reporter of a document that is written when the run has ended.
type ending struct {
	*kind
	setup *Setup
}

func (e *ending) Report(ev plumb.Event, run *plumb.Run) error {
	if ev.Type != plumb.EventRunFinished {
		return nil
	}
	if err := e.document(e.setup, run); err != nil {
		return fmt.Errorf("write %s report: %w", e.name, err)
	}
	return nil
}

func (e *ending) Close() error { return nil }
