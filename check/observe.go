package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// observed describes the observations of a kind, such as the commands of a session.
type observed struct {
	// list returns all of them, in order.
	list func(*seenMatcher, *plumb.Evidence) []observation
	// event is the type of their events, some of which a report may lack; "" if a report always has
	// all of them.
	event plumb.SessionEventType
}

// observation is one thing that an agent did.
type observation struct {
	at        int // its index in the events of the session; -1 if it is unknown
	text      string
	tool      string
	args      json.RawMessage
	exit      *int
	truncated bool
	rank      int    // of a skill's confidence
	change    string // of a changed file
	// redacted means that secrets were removed from the session.
	redacted bool
	// unproven means that it may not have happened.
	unproven bool
}

// eventsOf returns a list of the events of a type.
func eventsOf(t plumb.SessionEventType) func(*seenMatcher, *plumb.Evidence) []observation {
	return func(_ *seenMatcher, ev *plumb.Evidence) []observation {
		var all []observation
		for i := range ev.Report.Events {
			e := &ev.Report.Events[i]
			if e.Type != t {
				continue
			}
			o := observation{
				at: i, tool: e.Tool, args: e.Args, exit: e.ExitCode, change: e.Change, truncated: e.Truncated,
			}
			switch t {
			case plumb.SessionCommand:
				o.text = e.Command
			case plumb.SessionToolCall:
				o.text = e.Tool
			case plumb.SessionToolResult:
				o.text = e.Output
			default:
				o.text = e.Path
			}
			all = append(all, o)
		}
		return all
	}
}

// fileReadsOf returns the events of file reads, or the list of reads if it has more than the
// events.
func fileReadsOf(m *seenMatcher, ev *plumb.Evidence) []observation {
	all := eventsOf(plumb.SessionFileRead)(m, ev)
	var unproven []observation
	for _, p := range ev.Report.UnprovenReads {
		unproven = append(unproven, observation{at: -1, text: p, unproven: true})
	}
	if len(all) > 0 && !slices.Contains(ev.Report.Incomplete, string(plumb.SessionFileRead)) {
		return append(all, unproven...)
	}
	all = nil
	for i, p := range ev.Report.Files.ObservedReads {
		at := -1
		if m.orderOfReads {
			at = i
		}
		all = append(all, observation{at: at, text: p})
	}
	return append(all, unproven...)
}

// skillsOf returns the skills, each at the first sign of it: that it was loaded, or that its
// SKILL.md was read.
func skillsOf(_ *seenMatcher, ev *plumb.Evidence) []observation {
	var all []observation
	for _, s := range ev.Report.DetectedSkills {
		at := slices.IndexFunc(ev.Report.Events, func(e plumb.SessionEvent) bool {
			return e.Type == plumb.SessionSkill && e.Skill == s.Skill ||
				e.Type == plumb.SessionFileRead && strings.HasSuffix(slash(e.Path), "/"+s.Skill+"/SKILL.md")
		})
		all = append(all, observation{at: at, text: s.Skill, rank: confidence(s.Confidence)})
	}
	for _, p := range ev.Report.UnprovenReads {
		dir, ok := strings.CutSuffix(slash(p), "/SKILL.md")
		name := dir[strings.LastIndexByte(dir, '/')+1:]
		if ok && !slices.ContainsFunc(all, func(o observation) bool { return o.text == name }) {
			all = append(all, observation{at: -1, text: name, rank: confidence("strong"), unproven: true})
		}
	}
	return all
}

// changedFilesOf returns the changed files with paths relative to the workspace: those that the
// agent reports are absolute.
func changedFilesOf(_ *seenMatcher, ev *plumb.Evidence) []observation {
	var all []observation
	for _, c := range ev.Report.Files.Changed {
		path := relative(c.Path, ev.Workspace)
		at := slices.IndexFunc(ev.Report.Events, func(e plumb.SessionEvent) bool {
			return e.Type == plumb.SessionFileChange && relative(e.Path, ev.Workspace) == path
		})
		all = append(all, observation{at: at, text: path, change: c.Kind})
	}
	return all
}

func denialsOf(_ *seenMatcher, ev *plumb.Evidence) []observation {
	var all []observation
	for _, d := range ev.Report.PermissionDenials {
		all = append(all, observation{at: -1, text: strings.TrimSpace(d.Tool + " " + d.Message), tool: d.Tool})
	}
	return all
}

// fits reports whether an observation matches. sure is false if the session report does not show
// it.
func (m *seenMatcher) fits(o observation, workspace string) (fits, sure bool) {
	w := &m.want
	switch {
	case w.Tool != "" && o.tool != w.Tool && (!o.redacted || !redact.HasMark(o.tool)),
		w.MinConfidence != "" && o.rank < confidence(w.MinConfidence),
		w.Change != "" && o.change != w.Change:
		return false, true
	case o.redacted && m.dependsOnRemoved(o):
		return false, false
	case w.Skill != "" && o.text != w.Skill,
		!m.textFits(o.text, workspace) && m.kind.Name == "called_tool": // names are never truncated
		return false, true
	case !m.textFits(o.text, workspace),
		m.args != nil && !m.argsFit(o.args):
		return false, !o.truncated // the missing part might match
	}
	if w.ExitCode == nil {
		return true, true
	}
	return o.exit != nil && *o.exit == *w.ExitCode, o.exit != nil
}

// dependsOnRemoved reports whether the match depends on text of o from which a secret was removed.
func (m *seenMatcher) dependsOnRemoved(o observation) bool {
	w := &m.want
	switch {
	case w.Tool != "" && redact.HasMark(o.tool), m.args != nil && redact.HasMark(string(o.args)):
		return true
	case !redact.HasMark(o.text):
		return false
	case w.Is != "" || m.pattern != nil || m.path != nil || w.Skill != "" || !w.Command.isZero():
		return true
	}
	return w.Contains != "" && !slices.ContainsFunc(redact.BetweenMarks(o.text), func(part string) bool {
		return strings.Contains(part, w.Contains)
	})
}

func (m *seenMatcher) textFits(text, workspace string) bool {
	w := &m.want
	return (w.Is == "" || text == w.Is) &&
		strings.Contains(text, w.Contains) &&
		(m.pattern == nil || m.pattern.MatchString(text)) &&
		(m.path == nil || m.path.MatchString(relative(text, workspace)) || m.path.MatchString(slash(text))) &&
		(w.Command.isZero() || w.Command.Matches(ParseCommand(text)))
}

func (m *seenMatcher) argsFit(args json.RawMessage) bool {
	got, err := decode(string(args))
	return err == nil && contained(m.args, got)
}

// contained reports whether got has everything that want has: objects may have more members, other
// values must be equal.
func contained(want, got any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return (&pathMatcher{}).equal(want, got)
	}
	g, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		member, there := g[k]
		if !there || !contained(v, member) {
			return false
		}
	}
	return true
}

// matches is what a check finds in a session.
type matches struct {
	found, all []observation
	// unsure is how many others might match, and missing how many may be missing from the report,
	// unsure ones included.
	unsure, missing int
	// uncertainFrom is the index of the first of those, or noIndex.
	uncertainFrom int
	// removed means that a secret was removed from a text that decides.
	removed bool
	// unproven means that one of the unsure ones may not have happened.
	unproven bool
}

// noIndex is more than any session has of anything.
const noIndex = 1 << 30

func (m *seenMatcher) find(ev *plumb.Evidence) matches {
	s := matches{all: m.kind.observed.list(m, ev), uncertainFrom: noIndex}
	for i := range s.all {
		o := &s.all[i]
		o.redacted = len(ev.Report.Redacted) > 0
		s.removed = s.removed || o.redacted && m.dependsOnRemoved(*o)
		fits, sure := m.fits(*o, ev.Workspace)
		if o.unproven {
			fits, sure = false, sure && !fits && !m.want.Only
			s.unproven = s.unproven || !sure
		}
		if fits {
			s.found = append(s.found, *o)
		}
		if !sure {
			s.unsure++
			s.uncertainFrom = min(s.uncertainFrom, max(o.at, 0))
		}
	}
	s.missing = s.unsure
	if slices.Contains(ev.Report.Incomplete, string(m.kind.observed.event)) {
		s.missing, s.uncertainFrom = noIndex, 0
	}
	return s
}

// first returns the index of the first match, and of the first that might be one.
func (s *matches) first() (sure, maybe int) {
	sure, maybe = noIndex, s.uncertainFrom
	for _, o := range s.found {
		if o.at < 0 { // it may be anywhere
			maybe = 0
			continue
		}
		sure = min(sure, o.at)
	}
	return sure, min(sure, maybe)
}

// tooLarge returns a failure if the search of what the agent did could take too long.
func (m *seenMatcher) tooLarge(ev *plumb.Evidence) *plumb.Failure {
	if m.pattern == nil {
		return nil
	}
	bytes := 0
	for _, o := range m.kind.observed.list(m, ev) {
		bytes += len(o.text)
	}
	return m.pattern.tooLarge(bytes)
}

func (m *seenMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	for searched := m; searched != nil; searched = searched.before {
		if f := searched.tooLarge(ev); f != nil {
			return unmeasured(f)
		}
	}
	s := m.find(ev)
	n := len(s.found)
	least, most, want := m.want.limits()
	ok, reason := true, "matched "+m.count(n)+", want "+want
	others := len(s.all) - n - s.unsure
	unclear := ""
	switch {
	case n > most || n+s.missing < least:
		ok = false
	case m.want.Only && others > 0:
		ok, reason = false, "found "+m.count(others)+" that did not match, want no others"
	case n < least || n+s.missing > most || m.want.Only && s.missing > 0:
		unclear = "the session report lacks " + m.kind.Reads + ", or the end of a text, or an exit code"
		if s.unproven {
			unclear = "the session does not show whether the agent got the content of a file that it asked for"
		}
	case m.before != nil:
		later := m.before.find(ev)
		s.removed = s.removed || later.removed
		first, maybeFirst := s.first()
		next, maybeNext := later.first()
		switch {
		case maybeFirst == noIndex:
			ok, reason = false, "no "+m.one()+" matched that must come first"
		case maybeNext == noIndex:
			ok, reason = false, "no "+m.before.one()+" matched that must come later"
		case maybeFirst >= next:
			ok, reason = false, fmt.Sprintf("the first match is event %d, want it before event %d", maybeFirst, next)
		case first >= maybeNext || next == noIndex:
			unclear = "the session report does not show in which order things happened"
		}
	}
	switch {
	case unclear != "" && s.removed:
		return unmeasured(ev.Report.RemovedFailure())
	case unclear != "":
		return unmeasured(incomplete(errors.New(unclear)))
	}
	seen := list(s.all)
	v := decided(ok, reason+"; observed "+m.kind.Reads+": "+seen)
	v.Expected, v.Got = want+" "+m.describeWant(), seen
	v.Details = details("matched", n, "observed", len(s.all))
	return v
}

// one names one thing that the check looks at, such as "command".
func (m *seenMatcher) one() string { return strings.TrimSuffix(m.kind.Reads, "s") }

// count is a number of such things, such as "1 command".
func (m *seenMatcher) count(n int) string {
	if n == 1 {
		return "1 " + m.one()
	}
	return strconv.Itoa(n) + " " + m.kind.Reads
}

// list shows the first observations in one line.
func list(all []observation) string {
	const most, longest = 12, 160
	if len(all) == 0 {
		return "(none)"
	}
	var parts []string
	for _, o := range all[:min(len(all), most)] {
		text := strings.Join(strings.Fields(o.text), " ")
		if r := []rune(text); len(r) > longest {
			text = string(r[:longest]) + "…"
		}
		if o.unproven {
			text += " (not proven)"
		}
		if o.exit != nil && *o.exit != 0 {
			text += fmt.Sprintf(" (exit %d)", *o.exit)
		}
		parts = append(parts, text)
	}
	if more := len(all) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, " | ")
}

func (m *seenMatcher) describeWant() string {
	o := options{}
	m.describe(o)
	return string(o.text())
}
