// Package convert turns the test files of other tools into suites and configs of Plumb. It knows
// the formats of all of them but promptfoo.
//
// The rule: a converted case gets the same verdict from Plumb as the original from its own tool, or
// it is left out and the result names the feature with its place. Nothing changes in silence.
package convert

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/convert/draft"
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

// Tools are what a conversion needs besides the file. The zero value works.
type Tools struct {
	// Host runs configs in JavaScript and TypeScript.
	Host lib.Host
	// Check validates a suite as Plumb will read it, and returns the problems of its cases. With nil,
	// nothing is validated.
	Check func(ctx context.Context, suite []byte) []Rejected
}

// Rejected is a case that Plumb does not accept.
type Rejected struct{ ID, Message string }

// File converts a file. path is the name of the file in messages and on disk. The error is
// [doc.Problems] if the file cannot be read as its format.
func File(ctx context.Context, path string, o Tools) (*Result, error) {
	data, err := doc.Read(path, doc.SuiteBytes)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", path, doc.Cause(err))
	}
	format := detect(path, data)
	switch {
	case format == nil:
		return nil, plumb.WithHint(fmt.Errorf("convert %s: it is in no format that plumb convert knows", path), known)
	case format.convert == nil:
		return nil, plumb.WithHint(fmt.Errorf("convert %s: it is %s", path, format.name), format.do)
	}
	w := &work{Draft: draft.Draft{File: path, Dir: filepath.Dir(path)}, ctx: ctx, host: o.Host}
	if err := format.convert(w, data); err != nil {
		return nil, err
	}
	r := w.result(o.Check)
	r.Format = format.name
	return r, nil
}

// work is one conversion.
type work struct {
	draft.Draft
	ctx  context.Context
	host lib.Host
}

// result renders what was collected.
func (w *work) result(check func(ctx context.Context, suite []byte) []Rejected) *Result {
	suite := w.Suite()
	if check != nil && suite != nil {
		for _, r := range check(w.ctx, suite) {
			for _, c := range w.Cases {
				if c.IDInSuite() == r.ID || r.ID == "" {
					w.Refuse(c, c.At, "Plumb does not accept the converted case: "+r.Message, "change the test, and convert again")
				}
			}
		}
		suite = w.Suite()
	}
	r := &Result{Suite: suite, Config: w.Config(), Lost: w.Lost.Sorted(), Reads: append(w.Reads, w.File)}
	for _, c := range w.Cases {
		if len(c.Lost) > 0 {
			r.LeftOut = append(r.LeftOut, c.ID)
		} else {
			r.Cases++
		}
	}
	return r
}
