package agent_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

// figures of a report, of those that every agent can tell.
func figures(u plumb.Usage) map[string]int64 {
	all := map[string]int64{}
	for name, p := range map[string]*int64{
		"in": u.InputTokens, "out": u.OutputTokens, "reasoning": u.ReasoningTokens, "cache": u.CacheTokens, "cacheWrite": u.CacheWriteTokens, "total": u.TotalTokens,
	} {
		if p != nil {
			all[name] = *p
		}
	}
	return all
}

// compareDeeds compares commands, reads, changes, calls and results with what was asked for.
func (s *session) compareDeeds(report *plumb.SessionReport) {
	s.t.Helper()
	type deed struct {
		Kind, What string
		Exit       string
	}
	var want, got []deed
	calls := 0
	for _, p := range s.played() {
		calls++
		exit := "0"
		if strings.Contains(p.Call.Run, "exit 3") {
			exit = "3"
		}
		if p.Command != "" {
			want = append(want, deed{"command", p.Command, exit})
		}
		switch {
		case p.Call.Read != "", p.Call.Skill != "" && p.Command != "":
			want = append(want, deed{"fileRead", p.Path, ""})
		case p.Call.Write != "":
			want = append(want, deed{"fileChange", "add " + p.Path, ""})
		case p.Call.Edit != "":
			want = append(want, deed{"fileChange", "update " + p.Path, ""})
		}
	}
	results := 0
	byCall := map[string]string{}
	for _, e := range report.Events {
		switch e.Type {
		case plumb.SessionCommand:
			exit := "?"
			if e.ExitCode != nil {
				exit = fmt.Sprint(*e.ExitCode)
			}
			got = append(got, deed{"command", e.Command, exit})
		case plumb.SessionFileRead:
			got = append(got, deed{"fileRead", e.Path, ""})
		case plumb.SessionFileChange:
			got = append(got, deed{"fileChange", e.Change + " " + e.Path, ""})
		case plumb.SessionToolCall:
			calls--
			byCall[e.CallID] = e.Tool
		case plumb.SessionToolResult:
			results++
			if byCall[e.CallID] == "" || byCall[e.CallID] != e.Tool {
				s.t.Errorf("a result of %s, call %q, which is one of %q", e.Tool, e.CallID, byCall[e.CallID])
			}
		default: // is compared elsewhere
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("what was done (-asked +reported):\n%s", diff)
	}
	if calls != 0 || results != len(s.played()) {
		s.t.Errorf("%d calls too few and %d results of %d", calls, results, len(s.played()))
	}
	var reads []string
	for _, d := range want {
		if d.Kind == "fileRead" {
			reads = append(reads, d.What)
		}
	}
	if diff := cmp.Diff(reads, report.Files.ObservedReads); diff != "" {
		s.t.Errorf("observed reads (-asked +reported):\n%s", diff)
	}
}

// compareTexts compares messages and results.
func (s *session) compareTexts(report *plumb.SessionReport) {
	s.t.Helper()
	want := []string{"thinking: The demo skill will tell me.", "commentary: I load the skill.", "thinking: That is all.", "final: The demo is ready."}
	var got, results []string
	for _, e := range report.Events {
		switch e.Type {
		case plumb.SessionMessage:
			if e.Role == plumb.RoleAssistant {
				got = append(got, e.Phase+": "+e.Text)
			}
		case plumb.SessionToolResult:
			results = append(results, e.Output)
		default: // is compared elsewhere
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("messages (-said +reported):\n%s", diff)
	}
	for _, part := range []string{"hello from the tool", "oops"} {
		if !slices.ContainsFunc(results, func(r string) bool {
			return strings.Contains(r, part) || s.agent.only != "" && strings.Contains(r, "Output: (empty)")
		}) {
			s.t.Errorf("no result has %q: %q", part, results)
		}
	}
}

// compareUsage compares tokens with those that the server said.
func (s *session) compareUsage(report *plumb.SessionReport) {
	s.t.Helper()
	want := map[string]int64{"in": 10200, "out": 180, "reasoning": 12, "cache": 8200, "cacheWrite": 200, "total": 10200 + 180 - 8200}
	got := figures(report.Usage)
	for name, w := range want {
		g, told := got[name]
		if !told && s.untold(name) {
			continue
		}
		if name == "cacheWrite" && s.untold(name) && g == 0 {
			continue
		}
		if !told || g != w {
			s.t.Errorf("%s tokens: %d (told: %t), want %d", name, g, told, w)
		}
	}
	steps := map[string]int{"codex": 2, "gemini": 8}[s.agent.name] // messages; calls and texts
	if steps == 0 {
		steps = 7 // requests
	}
	if report.Steps != steps {
		s.t.Errorf("%d steps, want %d", report.Steps, steps)
	}
}

// untold says which figures an agent does not pass on.
func (s *session) untold(name string) bool {
	switch s.agent.name {
	case "opencode", "copilot", "gemini":
		return name == "cacheWrite"
	case "qwen":
		return name == "cacheWrite" || name == "reasoning"
	}
	return false
}
