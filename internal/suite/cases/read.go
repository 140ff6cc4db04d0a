// Package cases reads suites without code: JSON lines, or YAML with prompts, variables and data. It
// knows the keys of a case, how templates and rows become cases, and what is wrong with a file.
//
// It executes nothing and opens no file: whoever calls it gives the bytes of a suite, and functions
// for the files and the code that the suite names.
//
// The reader is strict: unknown keys are errors. It reports all problems of a file at once, each
// with its place and, if possible, with a hint.
package cases

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
)

// File is a suite file with what it may name. Only Path and Data are needed.
type File struct {
	// Path is the file in messages. By its extension the file is YAML or consists of JSON lines.
	Path string
	// Data is the content of the file. JSON lines that are not in memory come from Stream instead;
	// their cases are only counted.
	Data   []byte
	Stream io.Reader
	// Strict demands the categories and difficulties of the published suites.
	Strict bool
	// CountOnly leaves out the cases of [Content].
	CountOnly bool
	// Hash is the suite hash if it is known. That of JSON lines is not computed again.
	Hash string

	// Sections reads a suite in YAML that is a mapping: the given keys, which make its cases, and
	// its sections. Without it, the sections are not read.
	Sections func(suite doc.Value, keys []setting.Field) doc.Problems
	// Match returns the names of the files that a pattern means, and ReadFile the content of a
	// file. The names are those that the suite uses, which start at its directory. Without them,
	// there are no files.
	Match    func(pattern string) ([]string, error)
	ReadFile func(name string) ([]byte, error)
	// Compile prepares the code of checks. Without it, these checks are errors, and the hash of a
	// case does not cover the files of its code.
	Compile func(context.Context, check.Code) (check.Compiled, error)
}

// Content is the content of a suite file. If a problem is not a warning, the cases are not
// complete.
type Content struct {
	Cases    []plumb.Case
	Problems doc.Problems
	// Summary has only counts.
	Summary Summary
	// Hash is the suite hash: package digest defines it for JSON lines, and a YAML file has the
	// hash of the same cases as JSON lines. It is "" if the file has errors, or if the ids of a
	// stream are not in their order, so that the hash needs the whole text.
	Hash string
}

// Read reads a suite file and finds all of its problems.
func Read(ctx context.Context, f File) Content {
	if IsYAML(f.Path) {
		return f.yaml(ctx)
	}
	return f.lines(ctx)
}

// IsYAML reports whether a suite is read as YAML, judging by its name.
func IsYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// keeps reports whether the cases are kept. Those of a stream are not: its text is overwritten.
func (f *File) keeps() bool { return !f.CountOnly && f.Stream == nil }

// reader returns a reader of the cases of the file.
func (f *File) reader(ctx context.Context, s *sources) caseReader {
	r := caseReader{sources: s, strict: f.Strict, keep: f.keeps()}
	if f.Compile != nil {
		r.compile = func(code check.Code) (check.Compiled, error) { return f.Compile(ctx, code) }
	}
	return r
}

// Shown returns the name of an included file in messages.
func (f *File) Shown(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(f.Path), name)
}

// problem returns a problem of the whole file.
func (f *File) problem(message, hint string) doc.Problem {
	return doc.Problem{Pos: doc.Place{Line: 1, Column: 1}.In(f.Path), Message: message, Hint: hint}
}

func (f *File) noCases() doc.Problem {
	p := f.problem("the suite has no cases", "")
	p.Warning = true
	return p
}

const byteOrderMark = "\xEF\xBB\xBF"

// blank reports whether a line has no case.
func blank(line []byte) bool {
	return len(line) == 0 || line[0] != '{' && len(bytes.TrimLeftFunc(line, isPythonSpace)) == 0
}
