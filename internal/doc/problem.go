package doc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Problem is one thing that is wrong, or looks wrong, in a file that a person wrote.
type Problem struct {
	Pos     plumb.Position `json:"pos"`
	Message string         `json:"message"`
	// Hint is what the author can do about it, without a full stop; String puts it in brackets.
	// Optional.
	Hint string `json:"hint,omitempty"`
	// Warning says that the file can be used all the same.
	Warning bool `json:"warning,omitempty"`
}

// String renders the problem as file:line:column: message (hint).
func (p Problem) String() string {
	var b strings.Builder
	if pos := p.Pos.String(); pos != "" {
		b.WriteString(pos)
		b.WriteString(": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (")
		b.WriteString(p.Hint)
		b.WriteString(")")
	}
	return b.String()
}

// Problems are all the problems of one file or directory, in order of position. It is the error of
// a file that cannot be used; errors.As finds it.
type Problems []Problem

// problemsShown is how many problems an error text lists; the rest is counted.
const problemsShown = 100

// Error lists the problems, one a line: the first hundred, and how many there are beyond them.
func (p Problems) Error() string {
	var b strings.Builder
	for i, problem := range p {
		if i == problemsShown {
			fmt.Fprintf(&b, "\n... and %d more", len(p)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(problem.String())
	}
	return b.String()
}

// Errors returns the problems that are not warnings.
func (p Problems) Errors() Problems {
	var errs Problems
	for _, problem := range p {
		if !problem.Warning {
			errs = append(errs, problem)
		}
	}
	return errs
}

// Err returns the problems that are not warnings as an error, or nil when there are none.
func (p Problems) Err() error {
	if errs := p.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Sorted puts the problems in order of file, line and column; those of one place keep their order.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
	return p
}

// maxKnownShown is how many known words a hint lists.
const maxKnownShown = 16

// DidYouMean is the hint for an unknown word: the nearest known one, or the whole list when none is
// near and the list is short.
func DidYouMean(word string, known []string) string {
	if near := plumb.Nearest(strings.ToLower(word), known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if near := plumb.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) > maxKnownShown {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}

// Warnings returns the problems that are warnings.
func (p Problems) Warnings() Problems {
	return slices.DeleteFunc(slices.Clone(p), func(q Problem) bool { return !q.Warning })
}
