package transcript

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// noSuchFile is the message of programs about a file that does not exist.
const noSuchFile = "No such file or directory"

// withoutMissing removes the events that did not happen: those that were retracted, and the reads
// of a command whose output names the file as missing. A name in a command does not prove that the
// file exists.
func (r *Recorder) withoutMissing() {
	ran := map[string]bool{}
	for _, e := range r.Report.Events {
		if e.Type == plumb.SessionCommand && r.missing[e.CallID] != nil {
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

// missingIn returns the part of each line of an output before the message about a missing file.
func missingIn(output string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if before, _, ok := strings.Cut(line, noSuchFile); ok {
			lines = append(lines, before)
		}
	}
	return lines
}

// named reports whether one of the lines contains the path, or its end after one of its
// directories.
func named(lines []string, path string) bool {
	for _, line := range lines {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" \t:'\"`()‘’", r) }) {
			if word = strings.TrimPrefix(word, "./"); word == path || strings.HasSuffix(path, "/"+word) {
				return true
			}
		}
	}
	return false
}
