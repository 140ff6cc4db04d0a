package transcript

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// noSuchFile is what programs say of a file that is not there.
const noSuchFile = "No such file or directory"

// withoutMissing removes the events that did not happen: those that were retracted, and the reads of a command whose output
// says that the file does not exist. A name in a command does not prove that there was something to read.
func (r *Recorder) withoutMissing() {
	ran := map[string]bool{}
	for i := range r.Report.Events {
		if e := &r.Report.Events[i]; e.Type == plumb.SessionCommand && r.missing[e.CallID] != nil {
			ran[e.CallID] = true
		}
	}
	r.late = slices.DeleteFunc(r.late, func(l lateRead) bool {
		return l.path == "" || ran[l.call] && named(r.missing[l.call], l.path)
	})
	r.Report.Events = slices.DeleteFunc(r.Report.Events, func(e plumb.SessionEvent) bool {
		return e.Type == retracted || e.Type == plumb.SessionFileRead && ran[e.CallID] && named(r.missing[e.CallID], e.Path)
	})
}

// missingIn returns what an output says of missing files, line by line.
func missingIn(output string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if before, _, ok := strings.Cut(line, noSuchFile); ok {
			lines = append(lines, before)
		}
	}
	return lines
}

// named reports whether one of the lines has the path in it, whole or from one of its directories on.
func named(lines []string, path string) bool {
	for _, line := range lines {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" \t:'\"`()‘’", r) }) {
			word = strings.TrimPrefix(word, "./")
			if word == path || BaseName(word) == BaseName(path) && strings.HasSuffix(path, "/"+word) {
				return true
			}
		}
	}
	return false
}
