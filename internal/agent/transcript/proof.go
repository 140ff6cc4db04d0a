package transcript

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// Content is what is known of the content that a file had during a session.
type Content struct {
	// Versions are its contents. A file without one did not exist, as far as it is known.
	Versions []string
	// Sure means that it had no other content at any time.
	Sure bool
}

// claim is a file that the agent asked for.
type claim struct {
	request
	call string
	// tool means that a tool other than a shell was to read it.
	tool bool
	// event is the index of its event, or noEvent.
	event int
	// command is the index of the command that was to read it, or -1; then text is that command.
	command int
	text    string
	// before is the claim of the same call before this one.
	before *claim
	// withdrawn means that it did not happen.
	withdrawn bool
	outputs
}

// noEvent is the event of a file that was asked for after fullEvents.
const noEvent = -1

// outputs is what the results of a call show of a file.
type outputs struct {
	// answered means that there is a result, printed that it has an output, and shortened that the
	// output may lack a part.
	answered, printed, shortened bool
	// part means that it has a part of the file that hardly comes from elsewhere, whole that it has
	// all lines of the file, and shares that it has some text in common with the file.
	part, whole, shares bool
	// exact means that it is the file, and nothing else.
	exact bool
}

// result is an output of a call.
type result struct{ call, output string }

// known is the content of a file, prepared for comparisons.
type known struct {
	versions []flattened
	sure     bool
}

// flattened is a text without the differences that programs make when they show it: in white space.
type flattened struct {
	flat  string
	lines map[string]bool
}

const (
	// noSuchFile is the message of programs about a file that does not exist.
	noSuchFile = "No such file or directory"
	// partLetters is how many letters and digits of a file prove that an output has it.
	partLetters = 12
	// sharedText is how many bytes an output has in common with a file at least, if it can only come
	// from that file.
	sharedText = 3
	// These bound the comparison of one output with one file.
	maxCompared = 20_000 // lines
	maxSearches = 100    // for a part of a line in the whole file
	maxOthers   = 20     // files that the same command asks for
	maxContents = 100    // files that are kept
	// maxWork bounds the lines that are compared in a session, each with one file.
	maxWork = 2_000_000
)

// Output takes an output of a call that its events do not have in full.
func (r *Recorder) Output(o Origin, output string) {
	r.last = result{o.Call, output}
	r.missed(o, output)
	r.compare(r.asked(o.Call), output)
}

// proveLast compares the latest result with the files that its call asked for, if the record of the
// result came first.
func (r *Recorder) proveLast(o Origin) {
	if o.Call != "" && r.last.call == o.Call {
		r.compare(r.asked(o.Call), r.last.output)
	}
}

// compare notes what an output shows of the files that its call asked for.
func (r *Recorder) compare(latest *claim, output string) {
	const recent = 2 * maxReads // if all calls have the same id, the time must not grow with the square
	var claims []*claim
	for c := latest; c != nil && len(claims) < recent; c = c.before {
		claims = append(claims, c)
	}
	if len(claims) == 0 {
		return
	}
	slices.Reverse(claims)
	inner := printed(output)
	own := ownText(inner)
	said := outputs{printed: own != "", shortened: shortened(output)}
	var lines []string
	for _, c := range claims {
		if c.tool {
			c.printed = c.printed || strings.TrimSpace(output) != ""
			continue
		}
		c.answered, c.printed, c.shortened = true, c.printed || said.printed, c.shortened || said.shortened
		if r.Content == nil || c.part {
			continue
		}
		if lines == nil {
			if lines = flatLines(output); inner != output {
				lines = append(lines, flatLines(inner)...)
			}
		}
		var others []*known
		if c.course == perhaps || c.out < shown || c.selects {
			for _, other := range claims {
				if other.path != c.path && !other.tool && len(others) < maxOthers {
					others = append(others, r.content(other.path))
				}
			}
		}
		if r.compared += len(lines) * (1 + len(others)); r.compared > maxWork {
			c.shortened = true
			continue
		}
		for _, version := range r.content(c.path).versions {
			r.match(c, version, lines, others)
			c.exact = c.exact || own != "" && own == version.flat
		}
	}
}

// match notes what the lines of an output show of one version of a file. What the command itself
// says does not count. What one of the other files says is no part that proves a read, because files
// such as skills have lines in common.
func (r *Recorder) match(c *claim, version flattened, lines []string, others []*known) {
	found, searches := map[string]bool{}, 0
	command := c.text
	if c.command >= 0 {
		command = r.Report.Events[c.command].Command
	}
	command = flat(command)
	own := func(part string) bool { return part != "" && !strings.Contains(command, part) }
	unique := func(part string) bool {
		return !slices.ContainsFunc(others, func(k *known) bool {
			return slices.ContainsFunc(k.versions, func(v flattened) bool { return strings.Contains(v.flat, part) })
		})
	}
	for _, line := range lines {
		part := line
		for range 8 { // cat -n, grep -n, diff and the tools put something before a line
			if version.lines[part] {
				break
			}
			i := strings.IndexAny(part, " :|→│-+<>")
			if i < 0 {
				part = ""
				break
			}
			part = strings.TrimSpace(strings.TrimLeft(part[i:], " :|→│-+<>"))
		}
		if !version.lines[part] {
			part = ""
			if searches < maxSearches && len(line) >= sharedText {
				searches++
				if strings.Contains(version.flat, line) {
					part = line
				}
			}
		}
		if own(part) {
			found[part] = unique(part)
		}
	}
	letters := 0
	for part, unique := range found {
		c.shares = c.shares || len(part) >= sharedText
		if !unique {
			continue
		}
		for _, char := range part {
			if unicode.IsLetter(char) || unicode.IsDigit(char) {
				letters++
			}
		}
	}
	has := func(line string) bool {
		unique, ok := found[line]
		return ok && (unique || c.out == shown)
	}
	all := len(version.lines) > 0
	for line := range version.lines {
		all = all && has(line)
	}
	c.part = c.part || letters >= partLetters
	c.whole = c.whole || all || has(version.flat)
}

// content returns what is known of the content of a file.
func (r *Recorder) content(path string) *known {
	if k := r.contents[path]; k != nil {
		return k
	}
	c := r.Content(path)
	k := &known{sure: c.Sure}
	for _, version := range c.Versions {
		t := flattened{flat: flat(version), lines: map[string]bool{}}
		for _, line := range flatLines(version) {
			t.lines[line] = true
		}
		k.versions = append(k.versions, t)
	}
	if len(r.contents) < maxContents {
		r.contents[path] = k
	}
	return k
}

// flat returns a text with one space in place of any white space.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// flatLines returns the lines of a text that are not blank.
func flatLines(s string) []string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = flat(line); line != "" && len(lines) < maxCompared {
			lines = append(lines, line)
		}
	}
	return lines
}

// printed returns what a program printed, if the output is an object that has it, or the output.
func printed(output string) string {
	if trimmed := strings.TrimSpace(output); !strings.HasPrefix(trimmed, "{") || !gjson.Valid(trimmed) {
		return output
	}
	var texts []string
	found := false
	var visit func(v gjson.Result, depth int)
	visit = func(v gjson.Result, depth int) {
		v.ForEach(func(key, value gjson.Result) bool {
			switch {
			case value.Type == gjson.String && slices.Contains([]string{"output", "stdout", "stderr"}, key.Str):
				found = true
				texts = append(texts, value.Str)
			case value.IsObject() && depth < maxNesting:
				visit(value, depth+1)
			}
			return true
		})
	}
	visit(gjson.Parse(output), 0)
	if !found {
		return output
	}
	return strings.Join(texts, "\n")
}

// ownText returns an output without what agents add and without error messages about missing files,
// as a flat text.
func ownText(output string) string {
	if _, after, ok := strings.Cut(output, "Output:"); ok {
		output = after
	}
	var own []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		enclosed := strings.HasPrefix(line, "(") && strings.HasSuffix(line, ")") ||
			strings.HasPrefix(line, "<") && strings.HasSuffix(line, ">") && strings.Contains(line, "exit")
		if line != "" && !enclosed && !strings.Contains(line, noSuchFile) && !statusLine(line) {
			own = append(own, flat(line))
		}
	}
	return strings.Join(own, " ")
}

// statusLine reports whether gemini, qwen or claude adds a line to an output.
func statusLine(line string) bool {
	for _, begin := range []string{
		"Error: (none)", "Exit Code: ", "Exit code ", "Signal: ", "Background PIDs: ", "Process Group PGID: ",
	} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// shortened reports whether an agent may have left out a part of an output.
func shortened(output string) bool {
	const long = 8 << 10
	return len(output) > long || strings.Contains(output, cutMark) ||
		containsAny(strings.ToLower(output), "truncated", "omitted", "too large", "[...]", "saved to")
}

// verdict is what the record says about a read.
type verdict uint8

const (
	notRead verdict = iota
	unproven
	wasRead
)

// judge decides whether the record proves that a file was read.
func (r *Recorder) judge(c *claim) verdict {
	if c.tool {
		if c.printed {
			return wasRead
		}
		return unproven
	}
	ended := true // with 0, or nobody knows how
	succeeded := false
	if c.command >= 0 {
		if code := r.Report.Events[c.command].ExitCode; code != nil {
			ended = *code == 0
			succeeded = c.tail && *code == 0
		}
	}
	k := &known{}
	if r.Content != nil {
		k = r.content(c.path)
	}
	course := c.course
	if succeeded {
		course = certain
	}
	switch {
	case c.out == hidden && !c.part && !c.whole:
		return notRead
	case c.out < passed, !c.answered: // what it shows is from another command
		return unproven
	case c.part, c.whole && course >= follows, (c.shares || c.exact) && succeeded && c.alone:
		return wasRead
	case named(r.missing[c.call], c.path):
		return notRead
	case k.sure && len(k.versions) > 0 && (c.shortened || c.shares || c.whole):
		return unproven
	case k.sure && len(k.versions) > 0:
		return notRead
	case c.selects && !c.alone && len(k.versions) > 0 && !c.shares: // another program printed something
		return unproven
	case c.out == shown && !c.elsewhere && c.printed && ended && course >= follows && (succeeded || c.loud):
		return wasRead
	case k.sure:
		return notRead
	}
	return unproven
}

// prove removes the events that did not happen, and the reads that the record does not prove. It
// returns the files that were read and have no event.
func (r *Recorder) prove() (late []string) {
	verdicts := make([]verdict, len(r.Report.Events))
	unread := map[string]bool{} // the unproven ones
	judged := func(c *claim) (v verdict) {
		switch {
		case c.withdrawn:
			return notRead
		case c.event == noEvent:
			return r.judge(c)
		}
		return verdicts[c.event]
	}
	for _, c := range r.claims {
		if c.event != noEvent && !c.withdrawn {
			verdicts[c.event] = max(verdicts[c.event], r.judge(c))
		}
	}
	for _, c := range r.claims {
		switch v := judged(c); {
		case v == unproven:
			unread[c.path] = true
		case v == wasRead && c.event == noEvent:
			late = append(late, c.path)
		}
	}
	for _, c := range r.claims {
		if len(unread) > 0 && judged(c) == wasRead {
			delete(unread, c.path)
		}
	}
	for _, c := range r.claims {
		if unread[c.path] && len(r.Report.UnprovenReads) < maxList {
			delete(unread, c.path) // once
			r.Report.UnprovenReads = append(r.Report.UnprovenReads, c.path)
		}
	}
	kept := r.Report.Events[:0]
	for i := range r.Report.Events {
		if e := &r.Report.Events[i]; e.Type != retracted && (e.Type != plumb.SessionFileRead || verdicts[i] == wasRead) {
			kept = append(kept, *e)
		}
	}
	clear(r.Report.Events[len(kept):])
	r.Report.Events = kept
	if n := len(r.Report.UnprovenReads); n > 0 {
		r.Note(fmt.Sprintf("the record does not show whether the agent read %s, so no check concludes from it",
			someOf(r.Report.UnprovenReads)))
	}
	return late
}

// someOf names the first of some files.
func someOf(paths []string) string {
	const most = 3
	list := strings.Join(paths[:min(most, len(paths))], ", ")
	if more := len(paths) - most; more > 0 {
		list += fmt.Sprintf(" and %d more files", more)
	}
	return list
}

// missed keeps the lines of an output that name missing files.
func (r *Recorder) missed(o Origin, output string) {
	if o.Call == "" || len(r.missing) >= maxList || !strings.Contains(output, noSuchFile) {
		return
	}
	id := r.Name(o.Call)
	for line := range strings.Lines(output) {
		if before, _, ok := strings.Cut(line, noSuchFile); ok {
			r.missing[id] = append(r.missing[id], before)
		}
	}
}

// named reports whether one of the lines contains the path, or its end after one of its
// directories.
func named(lines []string, path string) bool {
	for _, line := range lines {
		separates := func(r rune) bool { return strings.ContainsRune(" \t:'\"`()‘’", r) }
		for word := range strings.FieldsFuncSeq(line, separates) {
			if word = strings.TrimPrefix(word, "./"); word == path || strings.HasSuffix(path, "/"+word) {
				return true
			}
		}
	}
	return false
}
