package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
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
	}
	return m, nil
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
			for _, p := range r.Files.ObservedReads {
				all = append(all, observation{at: -1, text: p})
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
			all = append(all, observation{at: firstChange(r, c.Path), text: c.Path, kind: c.Kind})
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

func firstChange(r *plumb.SessionReport, path string) int {
	return slices.IndexFunc(r.Events, func(e plumb.SessionEvent) bool { return e.Type == plumb.SessionFileChange && e.Path == path })
}

// fits reports whether an observation is one that is looked for. sure is false when the session does not tell.
func (m *seenMatcher) fits(o observation, workspace string) (fits, sure bool) {
	w := &m.want
	whole := !o.cut // what was cut off might have fitted
	switch {
	case w.Is != "" && o.text != w.Is,
		w.Contains != "" && !strings.Contains(o.text, w.Contains),
		m.pattern != nil && !m.pattern.MatchString(o.text),
		m.path != nil && !m.path.MatchString(relative(o.text, workspace)) && !m.path.MatchString(slash(o.text)),
		w.Tool != "" && o.tool != w.Tool,
		w.Skill != "" && o.text != w.Skill,
		w.MinConfidence != "" && o.rank < confidence(w.MinConfidence),
		w.Change != "" && o.kind != w.Change,
		!w.Command.isZero() && !w.Command.Matches(ParseCommand(o.text)),
		m.args != nil && !m.argsFit(o.args):
		return false, whole
	}
	if w.ExitCode == nil {
		return true, true
	}
	return o.exit != nil && *o.exit == *w.ExitCode, o.exit != nil
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

// find returns the observations that fit, and whether there may be more that the session does not tell of.
func (m *seenMatcher) find(ev *plumb.Evidence) (found, all []observation, unsure bool) {
	all = m.observations(ev)
	unsure = slices.Contains(ev.Report.Incomplete, string(m.event())) // there were more
	for _, o := range all {
		fits, sure := m.fits(o, ev.Workspace)
		if fits {
			found = append(found, o)
		}
		unsure = unsure || !sure
	}
	return found, all, unsure
}

func (m *seenMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	found, all, unsure := m.find(ev)
	noun := m.noun()
	ok, want := m.counted(len(found))
	reason := fmt.Sprintf("%s as wanted: %d, expected %s.", noun, len(found), want)
	switch {
	case unsure && (!ok || m.want.Exactly != nil || m.want.AtMost != nil || m.want.Only):
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the session does not tell enough of its %s: there were more, or they were cut off, or it is not known how they ended", noun)), nil
	case ok && m.want.Only && len(found) < len(all):
		ok = false
		reason = fmt.Sprintf("%s that are not as wanted: %d.", noun, len(all)-len(found))
	case ok && m.before != nil:
		later, _, _ := m.before.find(ev)
		a, b := first(found), first(later)
		switch {
		case b < 0:
			ok, reason = false, fmt.Sprintf("%s that should come later: none.", m.before.noun())
		case a < 0:
			return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the session does not tell in which order things were done")), nil
		case a >= b:
			ok, reason = false, fmt.Sprintf("the first comes at %d, and should come before %d.", a, b)
		}
	}
	observed := list(all)
	v := decided(ok, reason+" Observed "+noun+": "+observed)
	v.Expected, v.Got = want+" "+m.describeWant(), observed
	var details object
	details.num("matched", float64(len(found)))
	details.num("observed", float64(len(all)))
	v.Details = details.json()
	return v, nil
}

// first returns the place of the first observation in the session, or -1.
func first(all []observation) int {
	for _, o := range all {
		if o.at >= 0 {
			return o.at
		}
	}
	return -1
}

// counted reports whether n is as often as wanted, and how often that is.
func (m *seenMatcher) counted(n int) (ok bool, want string) {
	w := &m.want
	var parts []string
	ok = true
	for _, limit := range []struct {
		n    *int
		word string
		ok   func(int) bool
	}{
		{w.Exactly, "exactly", func(l int) bool { return n == l }},
		{w.AtLeast, "at least", func(l int) bool { return n >= l }},
		{w.AtMost, "at most", func(l int) bool { return n <= l }},
	} {
		if limit.n != nil {
			ok = ok && limit.ok(*limit.n)
			parts = append(parts, limit.word+" "+strconv.Itoa(*limit.n))
		}
	}
	if len(parts) == 0 {
		if w.Only && w.isPlain() {
			return true, "no others"
		}
		return n > 0, "at least 1"
	}
	return ok, strings.Join(parts, " and ")
}

// isPlain is for only: it passes when there is nothing at all, as that of the assert library does.
func (w *Seen) isPlain() bool { return w.Exactly == nil && w.AtLeast == nil && w.AtMost == nil }

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
