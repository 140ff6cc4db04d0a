// Package examples_test keeps the examples working.
package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// TestExamples loads each example as plumb run does, and lints it as plumb suite lint does.
func TestExamples(t *testing.T) {
	configs, err := filepath.Glob("*/plumb.yaml")
	if err != nil || len(configs) != 4 {
		t.Fatalf("configs are %v, %v", configs, err)
	}
	for _, file := range configs {
		c, err := config.Read(t.Context(), file, lib.Host{})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(c.Warnings) > 0 || len(c.Runners) == 0 || len(c.Suites) == 0 {
			t.Errorf("%s: %+v", file, c)
		}
		for _, ref := range c.Suites {
			made := read(t, c.Dir, ref)
			for _, f := range suite.Lint(t.Context(), made) {
				t.Error(f)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "README.md")); err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T, dir, ref string) *plumb.Suite {
	t.Helper()
	b, err := suite.Read(t.Context(), ref, suite.ReadOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	suite, problems, err := b.Suite(t.Context(), lib.Host{})
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: %v, %v", ref, err, problems)
	}
	return suite
}

// TestQuickstart judges right and wrong answers with the cases of the quickstart.
func TestQuickstart(t *testing.T) {
	answers := map[string]struct{ right, wrong []string }{
		"factual-001":   {[]string{"Jupiter", "**jupiter**."}, []string{"Saturn", ""}},
		"reasoning-001": {[]string{"17", "It takes **17** minutes."}, []string{"24", "17 or 18"}},
		"instruction_following-001": {
			[]string{`{"first": "alder", "letters": 20}`, "```json\n{\"letters\": 20, \"first\": \"alder\"}\n```"},
			[]string{`{"first": "alder", "letters": 21}`, `alder, 20`},
		},
		"coding-001": {
			[]string{
				"grep -c TODO notes.txt", "`grep -cw 'TODO' notes.txt`", "```sh\ngrep TODO notes.txt | wc -l\n```",
				`grep --count "\bTODO\b" notes.txt`,
			},
			[]string{"wc -l notes.txt", "grep TODO notes.txt", "grep -c TODO", "You can use grep -c TODO notes.txt."},
		},
		"creative-001": {
			[]string{"Come after midnight, when one lamp still burns and every shelf whispers a different way home."},
			[]string{
				"Come after midnight, when one lamp still burns in the silence between the shelves of books.",
				"A lamp burns.",
			},
		},
	}
	for _, c := range read(t, "quickstart", "suite.jsonl").Cases {
		a := answers[c.ID]
		if len(a.right) == 0 {
			t.Errorf("%s has no answer here", c.ID)
		}
		for _, output := range a.right {
			if !passes(t, &c, output) {
				t.Errorf("%s fails with %q", c.ID, output)
			}
		}
		for _, output := range a.wrong {
			if passes(t, &c, output) {
				t.Errorf("%s passes with %q", c.ID, output)
			}
		}
	}
}

// TestCommandRunner calls the script as the command runner does.
func TestCommandRunner(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	ask := func(prompt string) (output, failure string) {
		t.Helper()
		stdin, err := json.Marshal(map[string]any{
			"caseId": "x", "messages": []plumb.Message{{Role: plumb.RoleUser, Content: prompt}}, "prompt": prompt,
			"repetition": 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), sh, "answer.sh")
		cmd.Dir, cmd.Stdin = "command-runner", bytes.NewReader(append(stdin, '\n'))
		stdout, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Output, Error, Model string
			Usage                plumb.Usage
			CostUSD              float64 `json:"costUsd"`
		}
		d := json.NewDecoder(bytes.NewReader(stdout))
		d.DisallowUnknownFields()
		if err := d.Decode(&answer); err != nil {
			t.Fatalf("%s: %v", stdout, err)
		}
		return answer.Output, answer.Error
	}
	for _, c := range read(t, "command-runner", "suite.jsonl").Cases {
		output, failure := ask(c.Prompt())
		if failure != "" || passes(t, &c, output) == c.ExpectedFail {
			t.Errorf("%s: the answer is %q, %q", c.ID, output, failure)
		}
	}
	if output, failure := ask("Sing!"); output != "" || failure == "" {
		t.Errorf("the answer to something else is %q, %q", output, failure)
	}
}

// passes reports whether the output passes all checks of c that need no model.
func passes(t *testing.T, c *plumb.Case, output string) bool {
	t.Helper()
	for _, a := range c.Assertions {
		if judge, embedder := a.(*check.Check).Needs(); judge || embedder {
			continue
		}
		verdicts, err := a.Assert(t.Context(), plumb.Evidence{Report: &plumb.SessionReport{FinalOutput: output}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verdicts {
			if v.Error != nil {
				t.Fatal(v.Error)
			}
			if !v.Pass {
				return false
			}
		}
	}
	return true
}
