package cases

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// sources are the suite file and its included files, one after the other. The line of a [doc.Place]
// counts the lines of all earlier files, so that values of several files can be in one case.
type sources struct {
	names  []string
	starts []int32 // the lines before each file
}

func oneSource(name string) *sources { return &sources{names: []string{name}, starts: []int32{0}} }

// add adds a file and returns the number of lines before it. lines is the number of lines of the
// file before it.
func (s *sources) add(name string, lines int) int32 {
	start := s.starts[len(s.starts)-1] + int32(lines)
	s.names, s.starts = append(s.names, name), append(s.starts, start)
	return start
}

// in returns the position of a place.
func (s *sources) in(p doc.Place) plumb.Position {
	i := len(s.starts) - 1
	for i > 0 && p.Line <= s.starts[i] {
		i--
	}
	p.Line -= s.starts[i]
	return p.In(s.names[i])
}
