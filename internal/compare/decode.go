package compare

import (
	"math"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// decode reads one JSON value of a file into v. text begins at the given line of the file, from 1.
// An error names the place.
func decode(file string, line int, text []byte, v any) error {
	return doc.Decode(file, line, text, v, doc.Foreign()...)
}

// problem returns the error of a text of a file, which begins at a line.
func problem(file string, line int, text []byte, message string) error {
	pos := doc.Position(file, text, 0)
	pos.Line += line - 1
	return doc.Problems{{Pos: pos, Message: message}}
}

// inFile returns the error of a file whose message names the key.
func inFile(file, message string) error {
	return doc.Problems{{Pos: plumb.Position{File: file}, Message: message}}
}

// figure returns a figure of a file. One that is missing, negative or not finite is NaN.
func figure(p *float64) float64 {
	if p == nil || !(*p >= 0) || math.IsInf(*p, 0) {
		return math.NaN()
	}
	return *p
}

// share returns a figure from 0 to 1, and NaN for anything else.
func share(p *float64) float64 {
	if v := figure(p); v <= 1 {
		return v
	}
	return math.NaN()
}
