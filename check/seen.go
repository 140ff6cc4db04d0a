package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// Seen is what an agent must have done, for [RanCommand] and its like. Each kind of check looks at some of the fields; a
// zero field says nothing, and the zero Seen is anything of the kind.
type Seen struct {
	// Is, Contains and Pattern (RE2, unanchored) compare the text of what was done: the command, the path that was read or
	// changed, the name of the tool, the output of the result.
	Is, Contains, Pattern string
	// Path compares a path by its last elements, or as a glob (*, ?, [a-z], and ** for any number of elements) from the
	// workspace. For files only.
	Path string
	// Command takes the command apart, and ExitCode is how it must have ended. For commands only.
	Command  CommandLine
	ExitCode *int
	// Tool is the tool's exact name: for tool calls and their results. Args are members that the arguments must have, among others,
	// as a JSON object.
	Tool string
	Args json.RawMessage
	// Skill is the skill's exact name, and MinConfidence "weak", "medium", "strong" or "explicit".
	Skill, MinConfidence string
	// Change is "add", "update" or "delete". For file changes only.
	Change string

	// Exactly, AtLeast and AtMost say how often; without them once is enough.
	Exactly, AtLeast, AtMost *int
	// Only demands that nothing else of the kind was done.
	Only bool
	// Before must have come later: the first of what the check looks for stands before the first of Before. Kind is the type of the
	// other, such as "read_file"; "" is the same.
	Before *Seen
	Kind   string
}

// RanCommand holds when the agent ran a command as wanted.
func RanCommand(want Seen) (*Check, error) { return newSeen(typeRanCommand, want) }

// ReadFile holds when the agent read a file as wanted.
func ReadFile(want Seen) (*Check, error) { return newSeen(typeReadFile, want) }

// UsedSkill holds when the agent used a skill.
func UsedSkill(want Seen) (*Check, error) { return newSeen(typeUsedSkill, want) }

// CalledTool holds when the agent called a tool as wanted.
func CalledTool(want Seen) (*Check, error) { return newSeen(typeCalledTool, want) }

// ToolReturned holds when a tool's result is as wanted.
func ToolReturned(want Seen) (*Check, error) { return newSeen(typeToolReturned, want) }

// ChangedFile holds when the session changed a file as wanted.
func ChangedFile(want Seen) (*Check, error) { return newSeen(typeChangedFile, want) }

// WasDenied holds when the agent was denied something that it wanted to do. Its opposite, Not, is the usual check.
func WasDenied(want Seen) (*Check, error) { return newSeen(typeWasDenied, want) }

func newSeen(kind string, want Seen) (*Check, error) {
	m, err := newSeenMatcher(kind, want)
	if err != nil {
		return nil, err
	}
	return &Check{matcher: m}, nil
}

// seenMatcher looks for what an agent did.
type seenMatcher struct {
	offline
	kind    string
	want    Seen
	pattern *regexp.Regexp
	path    *regexp.Regexp
	args    any
	before  *seenMatcher
	// among says that the order of file reads is asked for, which their list tells too where their events do not.
	among bool
}

func newSeenMatcher(kind string, want Seen) (*seenMatcher, error) {
	m := &seenMatcher{kind: kind, want: want}
	var err error
	if want.Pattern != "" {
		if m.pattern, err = regexp.Compile(want.Pattern); err != nil {
			return nil, err
		}
	}
	if want.Path != "" {
		if m.path, err = pathPattern(want.Path); err != nil {
			return nil, err
		}
	}
	if len(want.Args) > 0 {
		if err := json.Unmarshal(want.Args, &m.args); err != nil {
			return nil, fmt.Errorf("args: %w", err)
		}
		if _, ok := m.args.(map[string]any); !ok {
			return nil, fmt.Errorf("args must be an object")
		}
	}
	if want.MinConfidence != "" && confidence(want.MinConfidence) < 0 {
		return nil, fmt.Errorf("unknown confidence %q: it is weak, medium, strong or explicit", want.MinConfidence)
	}
	if want.Before != nil {
		other := want.Kind
		if other == "" {
			other = kind
		}
		if m.before, err = newSeenMatcher(other, *want.Before); err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
		m.orderReads()
	}
	return m, nil
}

func (m *seenMatcher) orderReads() {
	m.among = m.kind == typeReadFile && m.before.kind == typeReadFile
	m.before.among = m.among
}

func confidence(word string) int {
	return slices.Index([]string{"weak", "medium", "strong", "explicit"}, word)
}

func (m *seenMatcher) Type() string { return m.kind }

// observation is one thing of the kind that a check looks at.
type observation struct {
	at   int // its place in the session; -1 where that is not known
	text string
	tool string
	args json.RawMessage
	exit *int
	cut  bool
	rank int // of a skill's confidence
	kind string
	// redacted says that secrets were removed from the session.
	redacted bool
}

// observations returns all of the kind, in order.
func (m *seenMatcher) observations(ev *plumb.Evidence) []observation {
	r := ev.Report
	var all []observation
	from := func(t plumb.SessionEventType, text func(*plumb.SessionEvent) string) {
		for i := range r.Events {
			if e := &r.Events[i]; e.Type == t {
				all = append(all, observation{at: i, text: text(e), tool: e.Tool, args: e.Args, exit: e.ExitCode, kind: e.Change, cut: e.Truncated})
			}
		}
	}
	switch m.kind {
	case typeRanCommand:
		from(plumb.SessionCommand, func(e *plumb.SessionEvent) string { return e.Command })
	case typeReadFile:
		from(plumb.SessionFileRead, func(e *plumb.SessionEvent) string { return e.Path })
		if len(all) == 0 || slices.Contains(r.Incomplete, string(plumb.SessionFileRead)) {
			all = nil // what is listed is all of it
			for i, p := range r.Files.ObservedReads {
				at := -1
				if m.among {
					at = i
				}
				all = append(all, observation{at: at, text: p})
			}
		}
	case typeCalledTool:
		from(plumb.SessionToolCall, func(e *plumb.SessionEvent) string { return e.Tool })
	case typeToolReturned:
		from(plumb.SessionToolResult, func(e *plumb.SessionEvent) string { return e.Output })
	case typeWasDenied:
		for _, d := range r.PermissionDenials {
			all = append(all, observation{at: -1, text: strings.TrimSpace(d.Tool + " " + d.Message), tool: d.Tool})
		}
	case typeUsedSkill:
		for _, s := range r.DetectedSkills {
			all = append(all, observation{at: firstSkill(r, s.Skill), text: s.Skill, rank: confidence(s.Confidence)})
		}
	case typeChangedFile:
		for _, c := range r.Files.Changed {
			// Some are told by the agent, with absolute paths, some are what is different in the workspace.
			path := relative(c.Path, ev.Workspace)
			all = append(all, observation{at: firstChange(r, path, ev.Workspace), text: path, kind: c.Kind})
		}
	}
	return all
}

// firstSkill returns the place of the first sign of a skill: that it was loaded, or that its SKILL.md was read.
func firstSkill(r *plumb.SessionReport, skill string) int {
	return slices.IndexFunc(r.Events, func(e plumb.SessionEvent) bool {
		return e.Type == plumb.SessionSkill && e.Skill == skill ||
			e.Type == plumb.SessionFileRead && strings.HasSuffix(slash(e.Path), "/"+skill+"/SKILL.md")
	})
}

func firstChange(r *plumb.SessionReport, path, workspace string) int {
	return slices.IndexFunc(r.Events, func(e plumb.SessionEvent) bool {
		return e.Type == plumb.SessionFileChange && relative(e.Path, workspace) == path
	})
}

// fits reports whether an observation is one that is looked for. sure is false when the session does not tell.
func (m *seenMatcher) fits(o observation, workspace string) (fits, sure bool) {
	w := &m.want
	switch {
	case w.Tool != "" && o.tool != w.Tool && !(o.redacted && redact.HasMark(o.tool)),
		w.MinConfidence != "" && o.rank < confidence(w.MinConfidence),
		w.Change != "" && o.kind != w.Change:
		return false, true
	case o.redacted && m.dependsOnRemoved(o):
		return false, false
	case w.Skill != "" && o.text != w.Skill,
		!m.textFits(o.text, workspace) && m.kind == typeCalledTool: // names are never cut off
		return false, true
	case !m.textFits(o.text, workspace),
		m.args != nil && !m.argsFit(o.args):
		return false, !o.cut // what was cut off might have fitted
	}
	if w.ExitCode == nil {
		return true, true
	}
	return o.exit != nil && *o.exit == *w.ExitCode, o.exit != nil
}

// dependsOnRemoved reports whether a secret was removed from what m compares of o, and the rest does not decide.
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
	return w.Contains != "" && !slices.ContainsFunc(redact.BetweenMarks(o.text), func(part string) bool { return strings.Contains(part, w.Contains) })
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
	var got any
	return json.Unmarshal(args, &got) == nil && contained(m.args, got)
}

// contained reports whether got has all that want has: the members of objects among others, all else alike.
func contained(want, got any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		a, errA := json.Marshal(want)
		b, errB := json.Marshal(got)
		return errA == nil && errB == nil && bytes.Equal(a, b)
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

// event returns the type of the events that are looked at, of which a report may not have all.
func (m *seenMatcher) event() plumb.SessionEventType {
	switch m.kind {
	case typeCalledTool:
		return plumb.SessionToolCall
	case typeToolReturned:
		return plumb.SessionToolResult
	case typeChangedFile:
		return plumb.SessionFileChange
	default: // the others are always complete
		return ""
	}
}

// sight is what a check sees in a session.
type sight struct {
	found, all []observation
	// unsure is how many others might be what is looked for, if the session told, and maybe how many more there might be in all.
	unsure, maybe int
	// doubt is the place of the first of those, or never.
	doubt int
	// removed says that what is compared of some had a secret in it, which was removed.
	removed bool
}

// never is a number of things, and a place, that no session gets to.
const never = 1 << 30

func (m *seenMatcher) find(ev *plumb.Evidence) sight {
	s := sight{all: m.observations(ev), doubt: never}
	for i := range s.all {
		o := &s.all[i]
		o.redacted = len(ev.Report.Redacted) > 0
		s.removed = s.removed || o.redacted && m.dependsOnRemoved(*o)
		fits, sure := m.fits(*o, ev.Workspace)
		if fits {
			s.found = append(s.found, *o)
		}
		if !sure {
			s.unsure++
			s.doubt = min(s.doubt, max(o.at, 0))
		}
	}
	s.maybe = s.unsure
	if slices.Contains(ev.Report.Incomplete, string(m.event())) {
		s.maybe, s.doubt = never, 0 // there were more
	}
	return s
}

// places returns the place of the first that is found, and of the first that might be one.
func (s *sight) places() (sure, maybe int) {
	sure, maybe = never, s.doubt
	for _, o := range s.found {
		if o.at < 0 { // who knows where
			maybe = 0
			continue
		}
		sure = min(sure, o.at)
	}
	return sure, min(sure, maybe)
}

func (m *seenMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	s := m.find(ev)
	n, noun := len(s.found), m.noun()
	least, most, want := m.want.limits()
	ok, reason := true, fmt.Sprintf("%s as wanted: %d, expected %s.", noun, n, want)
	others := len(s.all) - n - s.unsure
	switch {
	case n > most || n+s.maybe < least:
		ok = false
	case m.want.Only && others > 0:
		ok, reason = false, fmt.Sprintf("%s that are not as wanted: %d.", noun, others)
	case n < least || n+s.maybe > most || m.want.Only && s.maybe > 0:
		if s.removed {
			return unmeasured(ev.Report.RemovedFailure()), nil
		}
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the session does not tell enough of its %s: there were more, or they were cut off, or it is not known how they ended", noun)), nil
	case m.before != nil:
		later := m.before.find(ev)
		a, maybeA := s.places()
		b, maybeB := later.places()
		switch {
		case maybeA == never:
			ok, reason = false, fmt.Sprintf("%s that should come first: none.", noun)
		case maybeB == never:
			ok, reason = false, fmt.Sprintf("%s that should come later: none.", m.before.noun())
		case maybeA >= b:
			ok, reason = false, fmt.Sprintf("the first comes at %d, and should come before %d.", maybeA, b)
		case a >= maybeB || b == never:
			if s.removed || later.removed {
				return unmeasured(ev.Report.RemovedFailure()), nil
			}
			return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the session does not tell in which order things were done")), nil
		}
	}
	observed := list(s.all)
	v := decided(ok, reason+" Observed "+noun+": "+observed)
	v.Expected, v.Got = want+" "+m.describeWant(), observed
	var details object
	details.num("matched", float64(n))
	details.num("observed", float64(len(s.all)))
	v.Details = details.json()
	return v, nil
}

// limits returns how often is wanted, in numbers and in words.
func (w *Seen) limits() (least, most int, want string) {
	var parts []string
	limit := func(n *int, word string) bool {
		if n != nil {
			parts = append(parts, word+" "+strconv.Itoa(*n))
		}
		return n != nil
	}
	most = math.MaxInt32
	if limit(w.Exactly, "exactly") {
		least, most = *w.Exactly, *w.Exactly
	}
	if limit(w.AtLeast, "at least") {
		least = max(least, *w.AtLeast)
	}
	if limit(w.AtMost, "at most") {
		most = min(most, *w.AtMost)
	}
	switch {
	case len(parts) > 0:
		return least, most, strings.Join(parts, " and ")
	case w.Only: // passes when there is nothing at all, as that of the assert library does
		return 0, most, "no others"
	default:
		return 1, most, "at least 1"
	}
}

func (m *seenMatcher) noun() string {
	switch m.kind {
	case typeRanCommand:
		return "commands"
	case typeReadFile:
		return "file reads"
	case typeUsedSkill:
		return "skills"
	case typeCalledTool:
		return "tool calls"
	case typeToolReturned:
		return "tool results"
	case typeChangedFile:
		return "changed files"
	default:
		return "permission denials"
	}
}

// list shows observations in one line, not too long a one.
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
	var o object
	m.describe(&o)
	return string(o.sorted())
}

func (m *seenMatcher) describe(o *object) {
	w := &m.want
	str := func(key, v string) {
		if v != "" {
			o.str(key, v)
		}
	}
	num := func(key string, v *int) {
		if v != nil {
			o.num(key, float64(*v))
		}
	}
	str("equals", w.Is)
	str("contains", w.Contains)
	str("pattern", w.Pattern)
	str("path", w.Path)
	str("tool", w.Tool)
	str("skill", w.Skill)
	str("min_confidence", w.MinConfidence)
	str("change", w.Change)
	num("exit_code", w.ExitCode)
	num("count", w.Exactly)
	num("at_least", w.AtLeast)
	num("at_most", w.AtMost)
	if w.Only {
		o.boolean("only", true)
	}
	if m.args != nil {
		if data, err := canonicalJSON(w.Args); err == nil {
			o.raw("args", data)
		}
	}
	w.Command.describe(o)
	if m.before != nil {
		var inner object
		inner.str("type", m.before.kind)
		m.before.describe(&inner)
		o.raw("before", inner.sorted())
	}
}

func (l *CommandLine) describe(o *object) {
	if l.Executable != "" {
		o.str("executable", l.Executable)
	}
	if len(l.Positionals) > 0 {
		o.strs("positionals", l.Positionals)
	}
	if len(l.Options) > 0 {
		var inner object
		for name, values := range l.Options {
			inner.strs(name, values)
		}
		o.raw("options", inner.sorted())
	}
	if l.EndOfOptions != nil {
		o.boolean("end_of_options", *l.EndOfOptions)
	}
	if l.Strict {
		o.boolean("strict", true)
	}
}
