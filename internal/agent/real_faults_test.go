package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/wire"
)

// answerScene answers the prompt with a text, after the fault.
func answerScene(fault fakemodel.Fault, times int) agentscript.Scene {
	return agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{{Text: "The demo is ready.", Fault: string(fault), Times: times}}}
}

func TestRealModelRejected(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		s := prepare(t, agent, options{timeout: time.Minute}, answerScene(fakemodel.FaultNoModel, 0))
		_, err := s.run(t.Context())
		s.failure(err, plumb.OriginModelRejected)
	})
}

func TestRealNotLoggedIn(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		s := prepare(t, agent, options{timeout: 90 * time.Second}, answerScene(fakemodel.FaultUnauthorized, 0))
		_, err := s.run(t.Context())
		if f := s.failure(err, plumb.OriginRunner); f.Class.ID != "authentication" || f.HTTPStatus != 401 {
			t.Errorf("class %q, status %d: %v", f.Class.ID, f.HTTPStatus, f)
		}
	})
}

// TestRealWrongKey has the provider's own answer to a wrong key, which is a 400 at Google.
func TestRealWrongKey(t *testing.T) {
	t.Parallel()
	s := prepare(t, realAgents()[4], options{timeout: 90 * time.Second}, answerScene(fakemodel.FaultWrongKey, 0))
	_, err := s.run(t.Context())
	if f := s.failure(err, plumb.OriginRunner); f.Class.ID != "authentication" {
		t.Errorf("class %q: %v", f.Class.ID, f)
	}
}

func TestRealTriedAgain(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		s := prepare(t, agent, options{timeout: 90 * time.Second}, answerScene(fakemodel.FaultRateSeconds, 1))
		report := s.succeeded(s.run(t.Context()))
		if report.FinalOutput != "The demo is ready." {
			t.Errorf("the final output is %q", report.FinalOutput)
		}
		if agent.name == "opencode" || agent.name == "gemini" { // they say nothing of it
			return
		}
		told := slices.ContainsFunc(report.Notes, func(n string) bool {
			return strings.Contains(n, "429") || strings.Contains(strings.ToLower(n), "again")
		})
		if !told {
			t.Errorf("no note says that a request was made again: %q\n%s", report.Notes, s.output())
		}
	})
}

func TestRealHang(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		limit := 8 * time.Second
		if agent.name == "opencode" || agent.name == "gemini" { // on a busy machine they take as long to begin
			limit = 25 * time.Second
		}
		s := prepare(t, agent, options{timeout: limit}, answerScene(fakemodel.FaultHang, 0))
		report, err := s.run(t.Context())
		s.failure(err, plumb.OriginTimeout)
		if report.Began() {
			t.Errorf("the model has said nothing, and the report says that it began: %+v", report.Events)
		}
		if len(s.server.Requests(s.script)) == 0 {
			t.Error("the time was over before the agent had asked anything")
		}
	})
}

// TestRealKilled ends the session while a tool runs that has a child in a session of its own.
func TestRealKilled(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		command := "(setsid sleep 301 &) ; echo $$ > started.txt; sleep 302"
		s := prepare(t, agent, options{timeout: time.Minute}, agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{
			{Text: "This will take a while.", Calls: []agentscript.Call{{Run: command}}}, {Text: "Not yet."},
		}})
		started := filepath.Join(s.req.Workspace, "started.txt")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		interrupted := errors.New("somebody pressed Ctrl-C")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; i < 600 && !exists(started); i++ {
				time.Sleep(100 * time.Millisecond)
			}
			cancel(interrupted)
		}()
		report, err := s.run(ctx)
		<-done
		if f, ok := errors.AsType[*plumb.Failure](err); !ok || f.Origin != plumb.OriginRunner || !errors.Is(f, interrupted) {
			t.Errorf("the failure does not say why: %v", err)
		}
		if !exists(started) {
			t.Fatalf("the command never began\n%s", s.output())
		}
		if report == nil {
			t.Fatal("what was obtained is lost")
		}
		if agent.name == "opencode" { // it says nothing of a call before it is done
			return
		}
		ran := slices.ContainsFunc(report.Events, func(e plumb.SessionEvent) bool {
			return e.Type == plumb.SessionCommand && e.Command == command && (e.ExitCode == nil || *e.ExitCode != 0)
		})
		if !ran {
			t.Errorf("the command is not in the report: %+v\n%s", report.Events, s.output())
		}
	})
}

func TestRealExplain(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		work := agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{
			{Calls: []agentscript.Call{{Run: "echo once"}}, Tokens: wire.Tokens{Input: 1000, CacheRead: 200, Output: 50, Reasoning: 10}},
			{Text: "The demo is ready.", Tokens: wire.Tokens{Input: 1200, CacheRead: 1000, Output: 40, Reasoning: 5}},
		}}
		why := agentscript.Scene{Prompt: whyPrompt, Turns: []agentscript.Turn{
			{Text: "Because it was asked for.", Tokens: wire.Tokens{Input: 1500, CacheRead: 1300, Output: 30, Reasoning: 2}},
		}}
		s := prepare(t, agent, options{}, work, why)
		first := s.succeeded(s.run(t.Context()))
		report, err := s.runner.Explain(t.Context(), plumb.SessionRef{
			SessionID: first.SessionID, Workspace: s.req.Workspace, ArtifactDir: s.req.ArtifactDir,
		}, whyPrompt)
		s.aftermath(report)
		s.succeeded(report, err)
		if report.FinalOutput != "Because it was asked for." || report.SessionID != first.SessionID {
			t.Errorf("the answer is %q, of session %q after %q", report.FinalOutput, report.SessionID, first.SessionID)
		}
		for _, e := range report.Events {
			if e.Type == plumb.SessionCommand || e.Text == "The demo is ready." {
				t.Errorf("the report has an event of the first session: %+v", e)
			}
		}
		got := figures(report.Usage)
		for name, want := range map[string]int64{"in": 1500, "cache": 1300, "out": 30, "reasoning": 2, "total": 230} {
			if g, ok := got[name]; !ok || g != want {
				t.Errorf("%s tokens: %d (told: %t), want %d", name, g, ok, want)
			}
		}
		whole := false // the question came with what was said before
		for _, r := range s.server.Requests(s.script) {
			whole = whole || r.Scene == 1 && strings.Contains(string(r.Body), "echo once")
		}
		if !whole {
			t.Error("the question was asked without the session before it")
		}
	})
}

func TestRealMaxSteps(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		scene := agentscript.Scene{Prompt: demoPrompt}
		for i := range 12 {
			name := string(rune('a' + i))
			scene.Turns = append(scene.Turns, agentscript.Turn{Text: "Step " + name + ".", Calls: []agentscript.Call{{Run: "sleep 0.3; echo step " + name}}})
		}
		scene.Turns = append(scene.Turns, agentscript.Turn{Text: "The demo is ready."})
		s := prepare(t, agent, options{timeout: time.Minute}, scene)
		s.req.MaxSteps = 3
		report, err := s.run(t.Context())
		s.failure(err, plumb.OriginMaxSteps)
		if report == nil {
			t.Fatal("what was obtained is lost")
		}
		commands := 0
		for _, e := range report.Events {
			if e.Type == plumb.SessionCommand {
				commands++
			}
		}
		if commands < 2 || commands > 6 || report.Steps <= 3 || report.Steps > 8 {
			t.Errorf("%d commands and %d steps with a limit of 3 steps", commands, report.Steps)
		}
	})
}

// TestRealInherits shows that what the other tests miss in every request is there where it is asked for: that the poison
// works.
func TestRealInherits(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		s := prepare(t, agent, options{timeout: time.Minute, edit: func(c *plumb.AgentConfig) { c.InheritConfig = true }},
			answerScene("", 0))
		report, err := s.runner.Run(t.Context(), s.req)
		s.succeeded(report, err)
		seen := false
		for _, r := range s.server.Requests(s.script) {
			seen = seen || strings.Contains(string(r.Body), poison)
		}
		if !seen {
			t.Error("no request has what the user configured")
		}
		if !slices.ContainsFunc(report.Offered, func(o plumb.Offer) bool { return strings.EqualFold(o.Name, poison) || strings.Contains(o.Path, "home") }) {
			t.Errorf("the report does not say what the session was offered: %+v", report.Offered)
		}
	})
}

// TestRealPermissions leaves the decision to the agent's own rules: whatever it decides, the report says what happened.
func TestRealPermissions(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		command := "echo made > made.txt"
		s := prepare(t, agent, options{timeout: time.Minute, edit: func(c *plumb.AgentConfig) { c.Permissions = "default" }},
			agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{{Calls: []agentscript.Call{{Run: command}}}, {Text: "The demo is ready."}}})
		report, err := s.runner.Run(t.Context(), s.req)
		s.succeeded(report, err)
		if p := s.server.Problems(s.script); len(p) > 0 {
			t.Logf("it does not even offer the tool: %q", p)
			return
		}
		made := false
		if data, err := os.ReadFile(filepath.Join(s.req.Workspace, "made.txt")); err == nil {
			made = string(data) == "made\n"
		}
		ran := slices.ContainsFunc(report.Events, func(e plumb.SessionEvent) bool {
			return e.Type == plumb.SessionCommand && e.Command == command && (e.ExitCode == nil || *e.ExitCode == 0)
		})
		t.Logf("made: %t, denials %+v", made, report.PermissionDenials)
		switch {
		case made && (!ran || len(report.PermissionDenials) > 0):
			t.Errorf("the command ran, and the report says ran: %t, denials: %+v", ran, report.PermissionDenials)
		case !made && len(report.PermissionDenials) == 0:
			t.Errorf("the command did not run, and no denial is reported: %+v\n%s", report.Events, s.output())
		}
	})
}
