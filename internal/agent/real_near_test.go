package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestRealNear has what looks like a deed and is none: a file that is not there, an edit that does not fit, a skill that
// nobody has, names that are only spoken of; and what does not look like one and is: a file written again, a skill read with
// a command.
func TestRealNear(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		skill := ".agents/skills/demo/SKILL.md"
		if agent.name == "claude-code" {
			skill = ".claude/skills/demo/SKILL.md"
		}
		calls := []agentscript.Call{
			{Read: "missing.txt"},
			{Read: "notes.txt"},
			{Edit: "notes.txt", Old: "nowhere", New: "x"},
			{Run: "ls SKILL.md; echo cat other.txt"},
			{Write: "notes.txt", Content: "gamma\n"},
			{Run: "cat " + skill + " notes.txt"},
		}
		if agent.name != "codex" { // it has no tool for skills
			calls = append(calls, agentscript.Call{Skill: "no-such-skill"})
		}
		scene := agentscript.Scene{Prompt: demoPrompt}
		for _, c := range calls {
			scene.Turns = append(scene.Turns, agentscript.Turn{Calls: []agentscript.Call{c}})
		}
		scene.Turns = append(scene.Turns, agentscript.Turn{Text: "I used the skill imaginary, ran `rm -rf /` and read secret.txt."})
		s := prepare(t, agent, options{timeout: time.Minute}, scene)
		report := s.succeeded(s.run(t.Context()))
		notes, file := filepath.Join(s.req.Workspace, "notes.txt"), filepath.Join(s.req.Workspace, filepath.FromSlash(skill))
		if got, want := report.Files.ObservedReads, []string{notes, file}; !slices.Equal(got, want) {
			t.Errorf("reads %q, want %q", got, want)
		}
		if got := report.DetectedSkills; len(got) != 1 || got[0].Skill != "demo" || got[0].Confidence != "strong" {
			t.Errorf("skills: %+v", got)
		}
		var changes []string
		for _, e := range report.Events {
			if e.Type == plumb.SessionFileChange {
				changes = append(changes, e.Change+" "+e.Path)
			}
		}
		want := []string{"update " + notes}
		switch agent.name {
		case "codex": // its patch says that the file is new
			want = []string{"add " + notes}
		case "copilot": // it makes new files only
			want = nil
		}
		if !slices.Equal(changes, want) {
			t.Errorf("changes %q, want %q", changes, want)
		}
		failed := 0
		for _, e := range report.Events {
			if e.Type == plumb.SessionToolResult && e.IsError {
				failed++
			}
		}
		if failed < 2 {
			t.Errorf("%d results are errors", failed)
		}
		if t.Failed() {
			data, _ := json.MarshalIndent(report, "", " ") // for a message only
			t.Logf("%s\n%s", data, s.output())
		}
	})
}

// TestRealTrouble has the troubles with a provider that do not end by themselves.
func TestRealTrouble(t *testing.T) {
	tests := []struct {
		fault  fakemodel.Fault
		class  string
		agents []string // those that give up in seconds
	}{
		{fakemodel.FaultRateSeconds, "rate-limit", []string{"codex", "claude-code", "opencode"}},
		{fakemodel.FaultNoQuota, "quota", []string{"codex", "claude-code", "gemini"}},
		{fakemodel.FaultServer, "runner-crash", []string{"claude-code"}},
	}
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		for _, tt := range tests {
			if !slices.Contains(tt.agents, agent.name) {
				continue
			}
			s := prepare(t, agent, options{timeout: 90 * time.Second}, answerScene(tt.fault, 0))
			_, err := s.run(t.Context())
			if f := s.failure(err, plumb.OriginRunner); f.Class.ID != tt.class {
				t.Errorf("%s: class %q: %v", tt.fault, f.Class.ID, f)
			}
		}
	})
}

// TestRealCut breaks one reply off, and has all agents begin again. Whether one has run the command by then is its affair; the
// report has it as often as it ran. A command that is killed between its start and its echo leaves no trace to count, so one
// session with more commands than traces is repeated.
func TestRealCut(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		for again := range 2 {
			s := prepare(t, agent, options{timeout: 90 * time.Second}, agentscript.Scene{Prompt: demoPrompt, Turns: []agentscript.Turn{
				{Calls: []agentscript.Call{{Run: "echo once | tee -a ran.txt"}}, Fault: string(fakemodel.FaultAborted), Times: 1},
				{Text: "The demo is ready."},
			}})
			report, err := s.run(t.Context())
			if agent.name == "gemini" && err != nil { // it takes half a stream for an answer now and then
				t.Logf("%v", err)
				return
			}
			s.succeeded(report, err)
			commands := 0
			for _, e := range report.Events {
				if e.Type == plumb.SessionCommand {
					commands++
				}
			}
			data, err := os.ReadFile(filepath.Join(s.req.Workspace, "ran.txt"))
			if err != nil {
				t.Fatal(err)
			}
			ran := bytes.Count(data, []byte("\n"))
			if again == 0 && commands > ran && ran > 0 {
				t.Logf("%d commands, of which %d left a trace", commands, ran)
				continue
			}
			if ran == 0 || commands != ran || report.FinalOutput != "The demo is ready." {
				t.Errorf("%d commands, of which %d ran; the final output is %q", commands, ran, report.FinalOutput)
			}
			return
		}
	})
}

// TestRealPrompt has prompts that shells and flags would spoil.
func TestRealPrompt(t *testing.T) {
	each(t, func(r trial) {
		t, agent := r.t, r.agent
		prompts := []string{
			"-p --help \"double\" 'single' $HOME `tick` \\n back\\slash\nsecond line: ünï ✓ %s {x} #y !z",
			"Read this:\n" + strings.Repeat("A long text, longer than an argument may be. ", 4000) + "The end.",
		}
		if agent.name == "opencode" { // it takes all prompts in one way, and its time
			prompts = []string{strings.Join(prompts, "\n")}
		}
		for i, prompt := range prompts {
			s := prepare(t, agent, options{timeout: time.Minute}, agentscript.Scene{Turns: []agentscript.Turn{{Text: "I have read it."}}})
			s.req.Messages[0].Content = prompt
			report := s.succeeded(s.run(t.Context()))
			if report.FinalOutput != "I have read it." || report.Prompt != prompt {
				t.Errorf("prompt %d: the final output is %q", i, report.FinalOutput)
			}
			quoted, err := json.Marshal(prompt)
			if err != nil {
				t.Fatal(err)
			}
			whole := slices.ContainsFunc(s.server.Requests(s.script), func(r agentscript.Request) bool {
				return strings.Contains(string(r.Body), string(quoted[1:len(quoted)-1]))
			})
			if !whole {
				t.Errorf("prompt %d did not reach the model as it was", i)
				for _, r := range s.server.Requests(s.script) {
					if at := strings.Index(string(r.Body), "second line"); at >= 0 {
						t.Logf("it became %s", fmt.Sprint(string(r.Body[max(0, at-200):min(len(r.Body), at+100)])))
					}
				}
			}
		}
	})
}
