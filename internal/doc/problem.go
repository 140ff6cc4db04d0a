package doc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Problem is an error or a warning about a file that a user wrote.
type Problem struct {
	Pos     plumb.Position `json:"pos"`
	Message string         `json:"message"`
	// Hint is what the author can do, without a period. It is optional.
	Hint string `json:"hint,omitempty"`
	// Warning is set if the file can be used nevertheless.
	Warning bool `json:"warning,omitempty"`
}

// String renders the problem as file:line:column: message (hint).
func (p Problem) String() string {
	text := p.Message
	if p.Warning {
		text = "warning: " + text
	}
	if pos := p.Pos.String(); pos != "" {
		text = pos + ": " + text
	}
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Problems are all the problems of one file or directory, in order of position. It is the error of
// a file that cannot be used; errors.As finds it.
type Problems []Problem

// Error lists the first hundred problems, one per line, and the number of the others.
func (p Problems) Error() string {
	const most = 100
	var lines []string
	for _, problem := range p[:min(len(p), most)] {
		lines = append(lines, problem.String())
	}
	if len(p) > most {
		lines = append(lines, fmt.Sprintf("... and %d more", len(p)-most))
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that are not warnings.
func (p Problems) Errors() Problems { return p.filter(false) }

// Warnings returns the problems that are warnings.
func (p Problems) Warnings() Problems { return p.filter(true) }

func (p Problems) filter(warning bool) (found Problems) {
	for _, problem := range p {
		if problem.Warning == warning {
			found = append(found, problem)
		}
	}
	return found
}

// Err returns the problems that are not warnings as an error, or nil if there are none.
func (p Problems) Err() error {
	if errs := p.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Sorted sorts the problems by file, line and column, and keeps the order of problems at one place.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), a.Pos.Line-b.Pos.Line, a.Pos.Column-b.Pos.Column,
		)
	})
	return p
}

// DidYouMean is the hint for an unknown word: the nearest known word, or all of them if none is near
// and the list is short.
func DidYouMean(word string, known []string) string {
	const most = 16
	if near := cmp.Or(plumb.Nearest(strings.ToLower(word), known), plumb.Nearest(word, known)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) > most || len(known) == 0 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}
