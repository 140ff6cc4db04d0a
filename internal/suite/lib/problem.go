package lib

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
)

// Places names files as the user did.
type Places struct {
	// Origin is the absolute path of the file that the user named, and Named is what they wrote.
	Origin, Named string
}

// file returns an absolute path as the user would write it: relative to where they named the file
// from.
func (p Places) file(abs string) string {
	if abs == "" || p.Named == "" || !filepath.IsAbs(abs) {
		return abs
	}
	rel, err := filepath.Rel(filepath.Dir(p.Origin), abs)
	if err != nil {
		return abs
	}
	return filepath.Join(filepath.Dir(p.Named), rel)
}

// Position returns a place of the engine as the user knows it; without one it is the file.
func (p Places) Position(s *script.Position) plumb.Position {
	if s == nil || s.File == "" {
		return plumb.Position{File: p.Named}
	}
	return plumb.Position{File: p.file(s.File), Line: s.Line, Column: s.Column}
}

// Source is [Places.Position] for a verdict: nil without a place.
func (p Places) Source(s *script.Position) *plumb.Position {
	if s == nil || s.File == "" {
		return nil
	}
	return new(p.Position(s))
}

// Problems says why a file could not be loaded.
func (p Places) Problems(err error) doc.Problems {
	if found := p.Thrown(err); found != nil {
		return found
	}
	if problems, ok := errors.AsType[doc.Problems](err); ok {
		return problems
	}
	return doc.Problems{{Pos: plumb.Position{File: p.Named}, Message: err.Error(), Hint: plumb.Hint(err)}}
}

// Thrown returns the problems of a source that does not compile, or the error that the source
// threw, with its place. It returns nil for other errors.
func (p Places) Thrown(err error) doc.Problems {
	if e, ok := errors.AsType[*script.BuildError](err); ok {
		var problems doc.Problems
		for _, m := range e.Messages {
			problems = append(problems, doc.Problem{Pos: p.Position(&m.Position), Message: m.Text, Hint: m.Hint})
		}
		return problems
	}
	if e, ok := errors.AsType[*script.Error](err); ok {
		problem := doc.Problem{Pos: plumb.Position{File: p.Named}, Message: e.Error()}
		if len(e.Frames) > 0 {
			problem.Pos = p.Position(&e.Frames[0])
		}
		return doc.Problems{problem}
	}
	return nil
}

// Problem is a problem that the module plumb found in a suite or a config; see PROTOCOL.md.
type Problem struct {
	Case    *int             `json:"case"`
	ID      string           `json:"id"`
	Path    string           `json:"path"`
	Message string           `json:"message"`
	Hint    string           `json:"hint"`
	Warning bool             `json:"warning"`
	Source  *script.Position `json:"source"`
}

// In returns the problem with its place. The message begins with the case or the export that it is
// about, unless it names that already.
func (p Problem) In(at Places) doc.Problem {
	message, path := p.Message, p.Path
	if p.Case != nil {
		if field := caseField.FindStringSubmatch(path); field != nil {
			message = field[1] + ": " + message
		}
		if p.ID == "" || !strings.Contains(p.Message, "case "+p.ID) {
			message = CaseName(p.ID, "", *p.Case) + ": " + message
		} else {
			message = p.Message
		}
	} else if path != "" && path != "default" {
		message = path + ": " + message
	}
	return doc.Problem{Pos: at.Position(p.Source), Message: message, Hint: p.Hint, Warning: p.Warning}
}

// caseField finds the field of a case in a path such as cases[2].tags[0] or cases.key.id.
var caseField = regexp.MustCompile(`^cases(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\]|\.\w+)\.(.+)$`)

// CaseName is the name by which the author of a case knows it: its id, else its key, else its
// index.
func CaseName(id, key string, index int) string {
	switch {
	case id != "":
		return "case " + id
	case key != "":
		return "case " + key
	default:
		return fmt.Sprintf("cases[%d]", index)
	}
}
