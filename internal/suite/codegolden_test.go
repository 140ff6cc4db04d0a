package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// sampleSession is a session of an agent that read a skill and ran two commands.
func sampleSession() *plumb.SessionReport {
	r := &plumb.SessionReport{
		Runner:      plumb.RunnerInfo{ID: "codex", PathKey: "codex", Kind: plumb.RunnerAgent, Agent: plumb.AgentInfo{Type: "codex", Model: "gpt-5"}},
		SessionID:   "s-1",
		Prompt:      "Release a new version.",
		FinalOutput: "I released version 1.2.",
		Files: plumb.Files{
			ObservedReads:      []string{"/w/skills/release-notes/SKILL.md", "/w/package.json"},
			ObservedSkillReads: []string{"/w/skills/release-notes/SKILL.md"},
		},
		DetectedSkills: []plumb.SkillDetection{{Skill: "release-notes", Confidence: "strong", Evidence: []string{"read SKILL.md"}}},
		Events: []plumb.SessionEvent{
			{Type: plumb.SessionMessage, Role: "assistant", Phase: "commentary", Text: "I look at the skill."},
			{Type: plumb.SessionFileRead, Path: "/w/skills/release-notes/SKILL.md"},
			{Type: plumb.SessionToolCall, Tool: "bash", Args: json.RawMessage(`{"command":"pnpm build"}`), CallID: "c1"},
			{Type: plumb.SessionCommand, Command: "bash -lc 'pnpm build'", CallID: "c1", ExitCode: new(0)},
			{Type: plumb.SessionCommand, Command: "pnpm publish --tag next", CallID: "c2", ExitCode: new(1)},
			{Type: plumb.SessionMessage, Role: "assistant", Phase: "final", Text: "I released version 1.2."},
		},
	}
	r.Usage.Total()
	return r
}

// TestCodeSuites loads the suites of testdata/suites-ts, judges one session with each case, and compares what comes out.
func TestCodeSuites(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.suite.*", "*/*.suite.ts"} {
		found, err := filepath.Glob(filepath.Join("testdata", "suites-ts", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	root, err := filepath.Abs(filepath.Join("testdata", "suites-ts"))
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		tested++
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := Read(t.Context(), file, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			got := strings.NewReplacer(root, "ROOT", filepath.Join("testdata", "suites-ts"), "DIR").Replace(told(t, b))
			golden.Equal(t, file+".golden", filepath.ToSlash(got))
		})
	}
	if tested < 10 {
		t.Errorf("only %d suites", tested)
	}
}

// told is all that there is to say of a suite.
func told(t *testing.T, b *Bundle) string {
	t.Helper()
	var out strings.Builder
	suite, problems, err := b.Suite(t.Context(), lib.Host{Environ: os.Environ})
	if found, ok := errors.AsType[doc.Problems](err); ok {
		problems = append(problems, found...)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		fmt.Fprintln(&out, p)
	}
	if suite == nil {
		return out.String()
	}
	if suite.Workspace != nil || suite.Skills != nil {
		text, err := json.Marshal([]any{suite.Workspace, suite.Skills})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", text)
	}
	for i := range suite.Cases {
		c := &suite.Cases[i]
		fmt.Fprintf(&out, "\n%s: %q at %v\n", c.ID, c.Prompt(), c.Source)
		if c.Timeout != 0 || c.Repeat != 0 || c.MaxSteps != 0 || c.ExpectedFail || len(c.Tags) > 0 || c.Classify != nil {
			fmt.Fprintf(&out, "  timeout %v repeat %d steps %d expected fail %v tags %q classifies %v\n",
				c.Timeout, c.Repeat, c.MaxSteps, c.ExpectedFail, c.Tags, c.Classify != nil)
		}
		ev := plumb.Evidence{Case: c, Report: sampleSession(), Workspace: "/w"}
		for _, a := range c.Assertions {
			verdicts, err := a.Assert(t.Context(), ev)
			if err != nil {
				fmt.Fprintf(&out, "  error %v\n", err)
			}
			for _, v := range verdicts {
				tell(&out, &v)
			}
		}
	}
	return out.String()
}

func tell(out *strings.Builder, v *plumb.Verdict) {
	word := "holds"
	switch {
	case v.Error != nil:
		word = fmt.Sprintf("error (%s, %s)", v.Error.Origin, v.Error.Name)
	case !v.Pass:
		word = "fails"
	}
	indent := strings.NewReplacer("\n", "\n    ").Replace
	fmt.Fprintf(out, "  %s %s: %s\n", v.Name, word, indent(v.Reason))
	if v.Source != nil {
		fmt.Fprintf(out, "    at %v\n", v.Source)
	}
	if v.Class != nil {
		fmt.Fprintf(out, "    class %s %q\n", v.Class.ID, v.Class.Label)
	}
	for _, q := range v.Questions {
		fmt.Fprintf(out, "    asks %q at %v\n", q.Question, q.Source)
	}
	if len(v.Details) > 0 {
		fmt.Fprintf(out, "    %s\n", v.Details)
	}
}
