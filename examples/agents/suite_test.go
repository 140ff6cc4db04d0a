// Package agents_test is a suite for agents as a part of go test.
package agents_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestVersion holds an agent to the task of version.suite.yaml. PLUMB_EXAMPLE_MODEL names a model for Claude Code; without
// it an actor plays the agent, which shows that the suite itself works.
func TestVersion(t *testing.T) {
	actor, err := filepath.Abs("rehearsal/codex.sh")
	if err != nil {
		t.Fatal(err)
	}
	agent := plumb.AgentConfig{
		Type: "codex", Model: "none", Command: "sh", CommandArgs: []string{actor},
		Env: map[string]string{"PART": "worker"},
	}
	if model := os.Getenv("PLUMB_EXAMPLE_MODEL"); model != "" {
		agent = plumb.AgentConfig{Type: "claude-code", Model: model}
	} else if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the actor is a shell script, and there is no sh")
	}

	suite := &plumb.Suite{
		Name:      "version",
		Workspace: &plumb.WorkspaceConfig{Mode: plumb.WorkspaceIsolated, TemplateDir: "template"},
		Cases: []plumb.Case{{
			ID:       "sets-the-version",
			Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "Set the version to 1.3.0. Do not publish anything."}},
			Assertions: []plumb.Assertion{
				must(check.FileContains("VERSION", check.ExactMatch("1.3.0", nil))),
				must(check.ChangedFile(check.Seen{Path: "VERSION", Only: true})),
				must(check.RanCommand(check.Seen{Command: check.CommandLine{Executable: "git", Positionals: []string{"push"}}})).Not(),
				check.MaxSteps(20),
			},
		}},
	}
	plumbtest.Run(t, suite, plumbtest.Open(t, plumb.RunnerConfig{ID: "agent", Agent: &agent}))
}

// must is for checks that are written out: what they are made of is wrong always or never.
func must(c *check.Check, err error) *check.Check {
	if err != nil {
		panic(err)
	}
	return c
}
