package agentcli

import (
	"strings"

	"github.com/plumb-eval/plumb"
)

// noSuchFile is what programs say of a file that is not there.
const noSuchFile = "No such file or directory"

// withoutMissing takes back the reads that a command was to make of files that were not there, as far as its output says
// so: a name in a command is no proof that there was something to read.
func withoutMissing(events []plumb.SessionEvent) []plumb.SessionEvent {
	missing := map[string][]string{} // what is said of missing files, by call
	for i := range events {
		if e := &events[i]; e.Type == plumb.SessionToolResult && e.CallID != "" && strings.Contains(e.Output, noSuchFile) {
			missing[e.CallID] = append(missing[e.CallID], missingIn(e.Output)...)
		}
	}
	if len(missing) == 0 {
		return events
	}
	ran := map[string]bool{}
	for i := range events {
		if events[i].Type == plumb.SessionCommand {
			ran[events[i].CallID] = true
		}
	}
	kept := events[:0]
	for _, e := range events {
		if e.Type == plumb.SessionFileRead && ran[e.CallID] && named(missing[e.CallID], e.Path) {
			continue
		}
		kept = append(kept, e)
	}
	clear(events[len(kept):])
	return kept
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
			if word == path || baseName(word) == baseName(path) && strings.HasSuffix(path, "/"+word) {
				return true
			}
		}
	}
	return false
}
