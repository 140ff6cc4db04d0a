package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Seen describes what an agent did, for [RanCommand] and the other checks of this kind. Each check
// looks at some of the fields. A zero field matches anything, and the zero Seen matches everything
// of the kind.
type Seen struct {
	// Is, Contains and Pattern (RE2, not anchored) match the text: the command, the path that was
	// read or changed, the name of the tool or skill, the output of a tool.
	Is, Contains, Pattern string
	// Path matches the last elements of a path, or is a glob (*, ?, [a-z], and ** for any number of
	// elements) relative to the workspace. For files only.
	Path string
	// Command matches the parts of a command, and ExitCode its exit code. For commands only.
	Command  CommandLine
	ExitCode *int
	// Tool is the exact name of the tool, for tool calls and their results. Args is a JSON object:
	// the arguments must have its members, and may have others.
	Tool string
	Args json.RawMessage
	// Skill is the exact name of the skill, and MinConfidence "weak", "medium", "strong" or
	// "explicit".
	Skill, MinConfidence string
	// Change is "add", "update" or "delete". For file changes only.
	Change string

	// Exactly, AtLeast and AtMost are how often it must match; without them at least once.
	Exactly, AtLeast, AtMost *int
	// Only allows nothing else of the kind.
	Only bool
	// Before must match later: the first match of the check must come before the first match of
	// Before. Kind is the type of Before, such as "read_file"; "" is the type of the check.
	Before *Seen
	Kind   string
}

// RanCommand passes if the agent ran a command that matches.
func RanCommand(want Seen) (*Check, error) { return newSeen("ran_command", want) }

// ReadFile passes if the agent read a file that matches.
func ReadFile(want Seen) (*Check, error) { return newSeen("read_file", want) }

// UsedSkill passes if the agent used a skill that matches.
func UsedSkill(want Seen) (*Check, error) { return newSeen("used_skill", want) }

// CalledTool passes if the agent called a tool and the call matches.
func CalledTool(want Seen) (*Check, error) { return newSeen("called_tool", want) }

// ToolReturned passes if the result of a tool matches.
func ToolReturned(want Seen) (*Check, error) { return newSeen("tool_returned", want) }

// ChangedFile passes if the session changed a file that matches.
func ChangedFile(want Seen) (*Check, error) { return newSeen("changed_file", want) }

// WasDenied passes if the agent was denied a permission and the denial matches. It is mostly used
// with [Check.Not].
func WasDenied(want Seen) (*Check, error) { return newSeen("was_denied", want) }

func newSeen(kind string, want Seen) (*Check, error) {
	m, err := newSeenMatcher(kind, want)
	return tryCheck(kind, m, err)
}

// SeenKeys returns the keys of all kinds that look for what an agent did.
func SeenKeys() []Key {
	return []Key{
		{Name: "equals", Type: "string", NotEmpty: true, Doc: "the text equals this"},
		{Name: "contains", Type: "string", NotEmpty: true, Doc: "the text contains this"},
		{
			Name: "pattern", Type: "string", NotEmpty: true,
			Doc: "this regular expression (RE2) matches somewhere in the text",
		},
		{Name: "count", Type: "integer", Min: new(0.0), Doc: "the exact number of matches"},
		{Name: "at_least", Type: "integer", Min: new(0.0), Default: "1", Doc: "the smallest number of matches"},
		{Name: "at_most", Type: "integer", Min: new(0.0), Doc: "the largest number of matches"},
		{
			Name: "only", Type: "boolean", Default: "`false`",
			Doc: "everything of the kind matches; without a count, nothing at all passes too",
		},
		{
			Name: "before", Type: "assertion",
			Doc: "the first match comes before the first match of this check, whose `type` is the same by default",
		},
	}
}

// seenKinds describes the kinds that look for what an agent did.
func seenKinds() []Kind {
	path := Key{
		Name: "path", Type: "string", NotEmpty: true,
		Doc: "the last elements of the path, or a glob relative to the workspace",
	}
	tool := Key{Name: "tool", Type: "string", NotEmpty: true, Doc: "the exact name of the tool"}
	all := []Kind{
		{
			Name: "ran_command", Doc: "the agent ran a command that matches", Reads: "commands",
			observed: &observed{list: eventsOf(plumb.SessionCommand)},
			Keys: []Key{
				{Name: "executable", Type: "string", Doc: "the program of the command"},
				{Name: "positionals", Type: "strings", Doc: "arguments in this order, with others between them"},
				{
					Name: "options", Type: "object",
					Doc: "options by name, with dashes: a value, a list of values, or `true` for none",
				},
				{Name: "end_of_options", Type: "boolean", Doc: "whether the command has a `--`"},
				{Name: "strict", Type: "boolean", Default: "`false`", Doc: "the command has nothing else"},
				{Name: "exit_code", Type: "integer", Doc: "the exit code of the command, if the agent reports it"},
			},
		},
		{
			Name: "read_file", Doc: "the agent read a file that matches", Reads: "file reads",
			observed: &observed{list: fileReadsOf}, Keys: []Key{path},
		},
		{
			Name: "used_skill", Doc: "the agent used a skill that matches", Reads: "skills",
			observed: &observed{list: skillsOf},
			Keys: []Key{
				{Name: "skill", Type: "string", NotEmpty: true, Doc: "the exact name of the skill"},
				{
					Name: "min_confidence", Type: "string", Enum: confidences(),
					Doc: "how sure Plumb must be that the skill was used",
				},
			},
		},
		{
			Name: "called_tool", Doc: "the agent called a tool and the call matches", Reads: "tool calls",
			observed: &observed{list: eventsOf(plumb.SessionToolCall), event: plumb.SessionToolCall},
			Keys: []Key{
				tool, {Name: "args", Type: "object", Doc: "members that the arguments of the call have, among others"},
			},
		},
		{
			Name: "tool_returned", Doc: "a tool returned an output that matches", Reads: "tool results",
			observed: &observed{list: eventsOf(plumb.SessionToolResult), event: plumb.SessionToolResult},
			Keys:     []Key{tool},
		},
		{
			Name: "changed_file", Doc: "a file that matches is different after the session", Reads: "changed files",
			observed: &observed{list: changedFilesOf, event: plumb.SessionFileChange},
			Keys: []Key{
				path,
				{
					Name: "change", Type: "string", Enum: []string{"add", "update", "delete"},
					Doc: "what happened to the file",
				},
			},
		},
		{
			Name: "was_denied", Doc: "the agent was denied a permission; mostly used with `not`",
			Reads: "permission denials", observed: &observed{list: denialsOf}, Keys: []Key{tool},
		},
	}
	for i := range all {
		k := &all[i]
		k.Keys = append(k.Keys, SeenKeys()...)
		k.Details, k.parse = "`matched`, `observed`: how many", (*spec).seenMatcher
	}
	return all
}

func confidences() []string { return []string{"weak", "medium", "strong", "explicit"} }

func confidence(word string) int { return slices.Index(confidences(), word) }

// seenMatcher looks for what an agent did.
type seenMatcher struct {
	offline
	kind    *Kind
	want    Seen
	pattern *pattern
	path    *regexp.Regexp
	args    any
	before  *seenMatcher
	// orderOfReads means that the order of two file reads matters. The list of reads has it even if
	// the events do not.
	orderOfReads bool
}

func newSeenMatcher(kind string, want Seen) (*seenMatcher, error) {
	m := &seenMatcher{kind: kindOf(kind), want: want}
	if m.kind == nil || m.kind.observed == nil {
		return nil, fmt.Errorf("%q does not look for what an agent did", kind)
	}
	var err error
	if want.Pattern != "" {
		if m.pattern, err = compilePattern(want.Pattern); err != nil {
			return nil, err
		}
	}
	if want.Path != "" {
		if m.path, err = pathPattern(want.Path); err != nil {
			return nil, err
		}
	}
	if len(want.Args) > 0 {
		if m.want.Args, err = canonicalJSON(want.Args); err != nil {
			return nil, fmt.Errorf("args: %w", err)
		}
		if m.args, err = decode(string(m.want.Args)); err != nil {
			return nil, fmt.Errorf("args: %w", err)
		}
		if _, ok := m.args.(map[string]any); !ok {
			return nil, errors.New("args must be an object")
		}
	}
	if want.MinConfidence != "" && confidence(want.MinConfidence) < 0 {
		return nil, fmt.Errorf("unknown confidence %q: want %s", want.MinConfidence, oneOf(confidences()))
	}
	if want.Before != nil {
		later := want.Kind
		if later == "" {
			later = kind
		}
		before, err := newSeenMatcher(later, *want.Before)
		if err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
		m.setBefore(before)
	}
	return m, nil
}

func (m *seenMatcher) setBefore(later *seenMatcher) {
	m.before = later
	m.orderOfReads = m.kind == later.kind && m.kind.Name == "read_file"
	later.orderOfReads = m.orderOfReads
}

// seenMatcher reads what an agent must have done.
func (s *spec) seenMatcher() matcher {
	w := Seen{
		Is: s.textOr("equals"), Contains: s.textOr("contains"), Pattern: s.textOr("pattern"), Path: s.textOr("path"),
		Tool: s.textOr("tool"), Args: s.raw("args"),
		Skill: s.textOr("skill"), MinConfidence: s.textOr("min_confidence"), Change: s.textOr("change"),
		Exactly: s.integer("count"), AtLeast: s.integer("at_least"), AtMost: s.integer("at_most"), Only: s.flag("only"),
		Command: s.commandLine(), ExitCode: s.integer("exit_code"),
	}
	switch {
	case w.Exactly != nil && (w.AtLeast != nil || w.AtMost != nil):
		s.bad("count", `give either "count" or "at_least" and "at_most"`)
	case w.AtLeast != nil && w.AtMost != nil && *w.AtLeast > *w.AtMost:
		s.bad("at_most", `at_most is less than at_least`)
	}
	m, err := newSeenMatcher(s.kind.Name, w)
	if err != nil {
		s.bad("pattern", "%s", err)
		return nil
	}
	if s.Get("before") != nil {
		if later := s.before(); later != nil {
			m.setBefore(later)
		}
	}
	return m
}

// before reads what must come later. Its type is that of the check by default.
func (s *spec) before() *seenMatcher {
	if s.depth >= maxNesting {
		s.bad("before", "before is nested more than %d levels deep", maxNesting)
		return nil
	}
	before := *s.Get("before")
	if before.Get("type") == nil {
		kind := doc.Value{Kind: doc.String}
		kind.SetText(s.kind.Name)
		before.Members = append(slices.Clip(before.Members), doc.Member{Key: "type", Value: kind})
	}
	first := len(s.problems)
	c := s.check(&before, s.pointer("before"), s.depth+1)
	if s.failedSince(first) {
		return nil
	}
	m, ok := c.matcher.(*seenMatcher)
	if !ok || c.not {
		s.bad("before", "before must be something that an agent does, such as ran_command or read_file, without not")
		return nil
	}
	return m
}

// limits returns how often it must match, in numbers and in words.
func (w *Seen) limits() (least, most int, want string) {
	most = math.MaxInt32
	var parts []string
	if w.Exactly != nil {
		least, most = *w.Exactly, *w.Exactly
		parts = append(parts, "exactly "+strconv.Itoa(least))
	}
	if w.AtLeast != nil {
		least = max(least, *w.AtLeast)
		parts = append(parts, "at least "+strconv.Itoa(*w.AtLeast))
	}
	if w.AtMost != nil {
		most = min(most, *w.AtMost)
		parts = append(parts, "at most "+strconv.Itoa(*w.AtMost))
	}
	switch {
	case len(parts) > 0:
		return least, most, strings.Join(parts, " and ")
	case w.Only: // nothing at all passes too, as in the assert library
		return 0, most, "no others"
	default:
		return 1, most, "at least 1"
	}
}

func (m *seenMatcher) describe(o options) {
	w := &m.want
	for key, text := range map[string]string{
		"equals": w.Is, "contains": w.Contains, "pattern": w.Pattern, "path": w.Path, "tool": w.Tool,
		"skill": w.Skill, "min_confidence": w.MinConfidence, "change": w.Change,
	} {
		if text != "" {
			o[key] = text
		}
	}
	for key, number := range map[string]*int{
		"exit_code": w.ExitCode, "count": w.Exactly, "at_least": w.AtLeast, "at_most": w.AtMost,
	} {
		if number != nil {
			o[key] = *number
		}
	}
	if w.Only {
		o["only"] = true
	}
	if m.args != nil {
		o["args"] = w.Args
	}
	w.Command.describe(o)
	if m.before != nil {
		before := options{"type": m.before.kind.Name}
		m.before.describe(before)
		o["before"] = before.text()
	}
}
