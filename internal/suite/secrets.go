package suite

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/cases"
)

// Secrets finds the secrets that r knows in the files of the suite. [Bundle.Write] copies these files
// as they are, because a suite without the secret would be another suite. There is one problem for each
// file, at the first secret. The cases must have been read. A stored bundle has no problems: what is in
// it was copied before.
func (b *Bundle) Secrets(r *redact.Redactor) []doc.Problem {
	if b.opened || !r.Hides() {
		return nil
	}
	var found []doc.Problem
	// lookFrom searches a part of a file after the given number of lines.
	lookFrom := func(file string, lines int, text []byte) bool {
		at, name := r.Planted(text)
		if at >= 0 {
			line := bytes.LastIndexByte(text[:at], '\n') + 1
			found = append(found, doc.Problem{
				Pos: plumb.Position{
					File: file, Line: lines + bytes.Count(text[:at], []byte("\n")) + 1, Column: utf8.RuneCount(text[line:at]) + 1,
				},
				Message: fmt.Sprintf("the file holds the value of the secret %s, and each run would store a copy of it", name),
				Hint:    "remove the value; if it is no secret, rename the variable or unset it",
			})
		}
		return at >= 0
	}
	look := func(file string, text []byte) { lookFrom(file, 0, text) }
	sources := func(p *script.Program) {
		for _, input := range p.Inputs {
			if text, err := doc.Read(input, doc.SourceBytes); err == nil { // a file that is gone was bundled earlier
				look(input, text)
			}
		}
	}
	if b.program != nil {
		sources(b.program)
	} else if stream, err := b.stream(); err == nil { // reading the cases reports an error
		in := &cases.Chunks{Data: b.data}
		if stream != nil {
			defer func() { _ = stream.Close() }()
			in.Stream = stream
		}
		var text []byte
		for lines := 0; err == nil; lines += bytes.Count(text, []byte("\n")) {
			if text, err = in.Next(text); lookFrom(b.Path, lines, text) {
				break
			}
		}
	}
	if b.files != nil {
		for _, name := range slices.Sorted(maps.Keys(b.files.Files)) {
			look((&cases.File{Path: b.Path}).Shown(name), []byte(b.files.Files[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.checks)) {
		if c := b.checks[name]; c.Program != nil {
			sources(c.Program)
		} else {
			look(name, c.Data)
		}
	}
	return found
}
