// Package convert turns the test files of other tools into suites and configs of Plumb. All
// knowledge of foreign formats is here.
//
// The rule: a converted case gets the same verdict from Plumb as the original from its own tool, or
// it is left out and the result names the feature with its place. Nothing changes in silence.
package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Result is a converted file.
type Result struct {
	// Format is the name of the foreign format.
	Format string
	// Suite and Config are the texts of suite.yaml and plumb.yaml. Suite is nil if the file has no
	// test that could be carried over; Config is nil if the format has no runners.
	Suite, Config []byte
	// Cases counts the written cases. LeftOut are the ids of the tests that could not be carried over.
	Cases   int
	LeftOut []string
	// Lost are the features that could not be carried over. Warnings among them are differences
	// that change no verdict.
	Lost doc.Problems
	// Reads are the paths of the files that the conversion read.
	Reads []string
}

// Options are what a conversion needs besides the file. The zero value works.
type Options struct {
	// Host runs configs in JavaScript and TypeScript.
	Host lib.Host
	// Check validates a suite as Plumb will read it, and returns the problems of its cases. With nil,
	// nothing is validated.
	Check func(suite []byte) []Rejected
}

// Rejected is a case that Plumb does not accept.
type Rejected struct{ ID, Message string }

// File converts a file. path is the name of the file in messages and on disk. The error is
// [doc.Problems] if the file cannot be read as its format.
func File(ctx context.Context, path string, o Options) (*Result, error) {
	data, err := doc.Read(path, doc.SuiteBytes)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", path, doc.Cause(err))
	}
	format := Detect(path, data)
	if format == nil || format.convert == nil {
		err := errors.New("it is in no format that plumb convert knows")
		if format != nil {
			return nil, plumb.WithHint(fmt.Errorf("convert %s: it is %s", path, format.Name), format.Do)
		}
		return nil, plumb.WithHint(fmt.Errorf("convert %s: %w", path, err), "known are "+known())
	}
	w := &work{ctx: ctx, Options: o, file: path, dir: filepath.Dir(path), format: format}
	if err := format.convert(w, data); err != nil {
		return nil, err
	}
	if len(w.twice) > 0 {
		return nil, w.twice
	}
	r := w.result()
	r.Reads = append(slices.Clone(w.reads), path)
	return r, nil
}

// work is one conversion.
type work struct {
	Options
	ctx       context.Context
	file, dir string
	format    *Format
	lost      doc.Problems
	// reads are the paths of the files that were read, except that of the conversion itself.
	reads []string
	// twice are the duplicate keys of files with tests. promptfoo reads none of them.
	twice doc.Problems

	// comment are lines at the top of the suite.
	comment  []string
	prompts  []prompt
	cases    []*item
	runners  object
	judge    any
	embedder any
	run      object
	configs  bool
	// allRefused is set if no case can be carried over, because of a feature of the whole file.
	// unread are the ids of the rows that no case was made of.
	unread      []string
	defaultVars object
}

// item is a test that becomes a case. Its keys are those of a case.
type item struct {
	id    string
	place doc.Place
	file  string
	keys  object
	// vars and checks become the keys vars and assertions.
	vars   object
	checks []any
	// defaults is the number of leading checks that come from the defaults of the file.
	defaults int
	// only is the label of the prompt if the others of the file are lost; "" otherwise.
	only string
	// lost are the reasons why the case is left out.
	lost []string
}

// read reads a file that the converted file names.
func (w *work) read(name string) ([]byte, error) {
	w.reads = append(w.reads, name)
	return doc.Read(name, doc.YAMLBytes)
}

// lose notes a feature that cannot be carried over.
func (w *work) lose(file string, at doc.Place, message, hint string) {
	w.note(doc.Problem{Pos: at.In(file), Message: message, Hint: hint})
}

// tell notes a difference that changes no verdict.
func (w *work) tell(file string, at doc.Place, message, hint string) {
	w.note(doc.Problem{Pos: at.In(file), Message: message, Hint: hint, Warning: true})
}

// note adds a problem once.
func (w *work) note(p doc.Problem) {
	if !slices.Contains(w.lost, p) {
		w.lost = append(w.lost, p)
	}
}

// refuse leaves a case out because of a feature.
func (w *work) refuse(i *item, file string, at doc.Place, message, hint string) {
	i.lost = append(i.lost, message)
	w.lose(file, at, message, hint)
}

// result renders what was collected.
func (w *work) result() *Result {
	suite := w.suite()
	if w.Check != nil && suite != nil {
		for _, r := range w.Check(suite) {
			for _, i := range w.cases {
				if i.writtenID() == r.ID || r.ID == "" {
					w.refuse(i, i.file, i.place, "Plumb does not accept the converted case: "+r.Message,
						"change the test, and convert again")
				}
			}
		}
		suite = w.suite()
	}
	r := &Result{Format: w.format.Name, Suite: suite, Lost: w.lost.Sorted(), LeftOut: w.unread}
	for _, i := range w.cases {
		if len(i.lost) > 0 {
			r.LeftOut = append(r.LeftOut, i.id)
		} else {
			r.Cases++
		}
	}
	if w.configs {
		r.Config = w.config()
	}
	return r
}
