package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/text"
)

// secrets returns the redactor of this command: that of its job or its project, and before one is
// open that of the environment.
func (a *app) secrets() *redact.Redactor {
	if a.known.Load() == nil {
		a.known.CompareAndSwap(nil, a.env().Redactor())
	}
	return a.known.Load()
}

// know sets the redactor of this command.
func (a *app) know(r *redact.Redactor) { a.known.Store(r) }

// clean makes foreign text fit to be printed: it removes terminal control codes and secrets.
func (a *app) clean(s string) string { return a.secrets().String(text.Clean(s)) }

// data returns standard output for what can be data, such as the output of a script: unless it is a
// terminal, only secrets are removed from it. It is for commands that print nothing else.
func (a *app) data() io.Writer {
	if m, ok := a.Stdout.(*masked); ok {
		_, _, terminal := a.Size()
		m.to.data = !terminal
	}
	return a.Stdout
}

// name is clean on one line: a name from elsewhere cannot add lines to a list.
func (a *app) name(s string) string { return strings.Join(strings.Fields(a.clean(s)), " ") }

// line is clean on one line of at most width cells. It never cuts a secret in two.
func (a *app) line(s string, width int) string { return text.Line(a.clean(s), width) }

// indent is clean with all lines but the first indented by n spaces.
func (a *app) indent(s string, n int) string { return text.Indent(a.clean(s), n) }

// complain prints an error and what the user can do about it.
func (a *app) complain(err error) {
	if problems, ok := errors.AsType[doc.Problems](err); ok {
		a.problems(problems)
		return
	}
	fmt.Fprintf(a.Stderr, "plumb: %s\n", a.clean(err.Error()))
	if hint := plumb.Hint(err); hint != "" {
		fmt.Fprintf(a.Stderr, "  try: %s\n", a.indent(hint, 7))
	}
}

// problems prints the problems of a file. Each line begins with its place.
func (a *app) problems(found doc.Problems) {
	var b bytes.Buffer
	fmt.Fprintln(&b, a.clean(doc.Problems(a.env().ShownIn(found)).Error()))
	fmt.Fprintf(&b, "plumb: %s; nothing was run\n", text.Plural(len(found.Errors()), "problem"))
	_, _ = a.Stderr.Write(b.Bytes()) // an error of standard error has no place to go
}

// listProblems prints the problems of one file, up to a bound.
func (a *app) listProblems(problems []doc.Problem) {
	for i, problem := range problems {
		const most = 1000
		if i == most {
			fmt.Fprintf(a.Stderr, "... and %d more\n", len(problems)-most)
			break
		}
		fmt.Fprintln(a.Stderr, a.clean(problem.String()))
	}
}

// columns returns columns that fit the terminal, and its width; 0 without a terminal.
func (a *app) columns() (*text.Columns, int) {
	w := text.NewColumns(a.Stdout)
	if a.Size != nil {
		if width, _, ok := a.Size(); ok {
			w.Width = max(20, width-1)
		}
	}
	return w, w.Width
}

// print writes v as indented JSON.
func (a *app) print(v any) error {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	v, _ = redact.Clean(a.secrets(), v)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.rawStdout.Write(text.EscapeJSON(redact.MaskKeys(doc.Bytes())))
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func dollars(usd *float64) string {
	if usd == nil {
		return "unknown"
	}
	return text.Money(*usd)
}

// hashDigits is how many digits of a hash identify a suite for a reader.
const hashDigits = 12
