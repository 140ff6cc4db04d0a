package agent_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/wire"
)

// TestRealCodeMode is the demo with a model that calls tools from code, of which Codex writes in another way.
func TestRealCodeMode(t *testing.T) {
	t.Parallel()
	agent := realAgents()[0]
	agent.model = "gpt-6-astra"
	s := prepare(t, agent, options{timeout: time.Minute}, demo())
	report := s.succeeded(s.run(t.Context()))
	s.compareDeeds(report)
	s.compareTexts(report)
	s.compareUsage(report)
	if got := report.DetectedSkills; len(got) != 1 || got[0].Skill != "demo" {
		t.Errorf("skills: %+v", got)
	}
}

// TestRealTogether has calls of one turn, a call of a tool that there is not, and texts that need care.
func TestRealTogether(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		s := prepare(t, agent, options{timeout: time.Minute}, agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{
			{Text: "Both at once.", Calls: []agentscript.Call{{Run: "echo 'one' \"2\" | sed 's/2/zwei/'"}, {Run: "printf 'a\\nb\\n' && false"}}},
			{Calls: []agentscript.Call{{Tool: "no_such_tool", Args: []byte(`{"x":1}`)}}},
			{Calls: []agentscript.Call{{Run: "cat notes.txt | head -n 1 > first.txt && echo ünï ✓"}}},
			{Text: "Line one.\n\n```sh\necho not run\n```\nThe demo is ready: ünï ✓."},
		}})
		report := s.succeeded(s.run(t.Context()))
		var want, got []string
		for _, p := range s.played() {
			if p.Command != "" {
				want = append(want, p.Command)
			}
		}
		for _, e := range report.Events {
			if e.Type == plumb.SessionCommand {
				got = append(got, e.Command)
			}
		}
		slices.Sort(want) // the two may end in any order
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("commands (-asked +reported):\n%s\n%s", diff, s.output())
		}
		if want := "Line one.\n\n```sh\necho not run\n```\nThe demo is ready: ünï ✓."; report.FinalOutput != want {
			t.Errorf("the final output is %q, want %q", report.FinalOutput, want)
		}
		output := ""
		for _, e := range report.Events {
			if e.Type == plumb.SessionToolResult {
				output += e.Output
			}
		}
		for _, part := range []string{"one zwei", "ünï ✓"} {
			if !strings.Contains(output, part) {
				t.Errorf("no result has %q: %q", part, output)
			}
		}
	})
}

// TestRealSubagent keeps what a subagent does apart from the main thread.
func TestRealSubagent(t *testing.T) {
	const part = "SUBTASK: run the command and report."
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		tokens := wire.Tokens{Input: 1000, CacheRead: 100, Output: 50, Reasoning: 5}
		turns := []agentscript.Turn{
			{Text: "Somebody else will do it.", Calls: []agentscript.Call{{Subagent: part}}, Tokens: tokens},
			{Calls: []agentscript.Call{{Run: "echo in the main thread"}}, Tokens: tokens},
			{Text: "The demo is ready.", Tokens: tokens},
		}
		if agent.name == "codex" { // only some of its models have subagents, and those have to wait for them
			agent.model = "gpt-6-astra"
			turns = slices.Insert(turns, 1, agentscript.Turn{Calls: []agentscript.Call{{Tool: "wait_agent"}}, Tokens: tokens})
		}
		s := prepare(t, agent, options{timeout: time.Minute},
			agentscript.Scene{Prompt: demoPrompt, Turns: turns},
			agentscript.Scene{Prompt: part, Turns: []agentscript.Turn{
				{Calls: []agentscript.Call{{Run: "echo in the subagent"}}, Tokens: tokens}, {Text: "The part is done.", Tokens: tokens},
			}})
		report := s.succeeded(s.run(t.Context()))
		if report.FinalOutput != "The demo is ready." {
			t.Errorf("the final output is %q", report.FinalOutput)
		}
		var got []string
		for _, e := range report.Events {
			if e.Type == plumb.SessionCommand {
				got = append(got, fmt.Sprintf("%s (subagent: %t)", e.Command, e.Subagent != ""))
			}
		}
		slices.Sort(got) // Codex keeps a file for each
		want := []string{"echo in the main thread (subagent: false)", "echo in the subagent (subagent: true)"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("commands (-asked +reported):\n%s\n%s", diff, s.output())
		}
		if len(report.Subagents) != 1 {
			t.Errorf("subagents: %+v", report.Subagents)
		}
		u := figures(report.Usage)
		t.Logf("usage %v, subagents %+v", u, report.Subagents)
		if main := int64(1000 * len(turns)); u["in"] != main {
			t.Errorf("%d input tokens in the main thread, want %d", u["in"], main)
		}
	})
}

// TestRealServer offers an MCP server, and has its tool called.
func TestRealServer(t *testing.T) { //nolint:tparallel // each sees to it
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		turns := []agentscript.Turn{{Calls: []agentscript.Call{{Tool: "sound_depth"}}}, {Text: "The demo is ready."}}
		if agent.name == "codex" || agent.name == "claude-code" { // they hold such tools back
			turns = append([]agentscript.Turn{{Calls: []agentscript.Call{{Find: "sound_depth"}}}}, turns...)
		}
		s := prepare(t, agent, options{timeout: time.Minute, edit: func(c *plumb.AgentConfig) {
			c.MCPServers = map[string]plumb.MCPServer{"probe": {Command: program, Env: map[string]string{"FAKE_AGENT": "mcp", "MCP_SAYS": "nine fathoms"}}}
		}}, agentscript.Scene{Prompt: demoPrompt, Turns: turns})
		report := s.succeeded(s.run(t.Context()))
		var called, answered bool
		for _, e := range report.Events {
			called = called || e.Type == plumb.SessionToolCall && strings.HasSuffix(e.Tool, "sound_depth")
			answered = answered || e.Type == plumb.SessionToolResult && strings.Contains(e.Output, "it says nine fathoms") && !e.IsError
		}
		if !called || !answered {
			t.Errorf("called: %t, answered: %t\n%+v\n%s", called, answered, report.Events, s.output())
			for _, r := range s.server.Requests(s.script) {
				t.Logf("tools %q", r.Tools)
			}
		}
		if !slices.ContainsFunc(report.Offered, func(o plumb.Offer) bool { return o.Kind == plumb.OfferMCPServer && o.Name == "probe" && !o.Undeclared }) {
			t.Errorf("the server is not among what was offered: %+v", report.Offered)
		}
	})
}

// TestRealProviders is the demo through every API that OpenCode speaks.
func TestRealProviders(t *testing.T) {
	t.Parallel()
	for _, p := range []struct{ model, path string }{
		{"openai/gpt-5.5", "/v1"}, {"anthropic/claude-sonnet-4-6", "/v1"}, {"google/gemini-2.5-flash", "/v1beta"},
	} {
		t.Run(p.model, func(t *testing.T) {
			t.Parallel()
			agent := realAgents()[2]
			agent.model, agent.path = p.model, p.path
			s := prepare(t, agent, options{timeout: time.Minute}, demo())
			report := s.succeeded(s.run(t.Context()))
			s.compareDeeds(report)
			if report.FinalOutput != "The demo is ready." || len(report.DetectedSkills) != 1 {
				t.Errorf("the final output is %q, the skills %+v", report.FinalOutput, report.DetectedSkills)
			}
			s.compareUsage(report)
		})
	}
}
