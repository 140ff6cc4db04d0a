package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/snapshot"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// skillgymConfig is a config as users of skillgym have it.
const skillgymConfig = `import { join } from "node:path";
import type { SkillgymConfig } from "skillgym";

const config: SkillgymConfig = {
  run: {
    cwd: "./project",
    outputDir: "./out",
    reporter: "standard",
    schedule: "isolated-by-runner",
    maxSteps: 30,
    maxParallel: 4,
    repeat: 2,
    repeatFailure: 1,
    tags: ["smoke"],
    workspace: { mode: "isolated", templateDir: "./fixture", bootstrap: { command: "./setup.sh", args: ["../x", "y/z"], timeoutMs: 1, env: { A: "" } } },
  },
  defaults: { timeoutMs: 1 },
  runners: {
    "codex-main": { agent: { type: "codex", model: "gpt-5", command: "npx", commandArgs: ["-y", "./bin/codex.js", "codex"], env: { HOME: join("/", "tmp") } } },
    "claude": { agent: { type: "claude-code", model: "sonnet", command: "./claude" } },
  },
  snapshots: { metric: "inputTokens", tolerance: { percent: 10 } },
};
export default config;
`

func wantSkillgymConfig(path string) *Config {
	dir := filepath.Dir(path)
	in := func(name string) string { return filepath.Join(dir, name) }
	return &Config{
		Path: path, Dir: dir,
		Runners: []plumb.RunnerConfig{
			{ID: "codex-main", Agent: &plumb.AgentConfig{
				Type: "codex", Model: "gpt-5", Command: "npx", CommandArgs: []string{"-y", in("bin/codex.js"), "codex"}, Env: map[string]string{"HOME": "/tmp"},
			}},
			{ID: "claude", Agent: &plumb.AgentConfig{Type: "claude-code", Model: "sonnet", Command: in("claude")}},
		},
		Snapshots: &snapshot.Settings{Path: in("skillgym.snapshots.json"), Metric: "inputTokens", Percent: new(10.0)},
		Run: Settings{
			Settings: run.Settings{
				Filter: run.Filter{Tags: []string{"smoke"}}, Cwd: in("project"), MaxSteps: 30,
				Schedule: "isolated-by-runner", Parallel: 4, Repeat: 2, Retry: 1, TimeoutMs: 1,
			},
			OutputDir: in("out"), Reports: []string{"terminal"},
			Workspace: &plumb.WorkspaceConfig{
				Mode: plumb.WorkspaceIsolated, TemplateDir: in("fixture"),
				Bootstrap: &plumb.Bootstrap{
					Command: in("setup.sh"), Args: []string{in("../x"), "y/z"}, TimeoutMs: 1, Env: map[string]string{"A": ""},
				},
			},
		},
	}
}

func TestConfigInCode(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "skillgym.config.ts"), skillgymConfig)
	found, err := Find(filepath.Dir(path))
	if err != nil || found != path {
		t.Fatalf("found %q, %v", found, err)
	}
	c, err := Read(t.Context(), path, lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantSkillgymConfig(path), c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConfigSaysTheSame: the same keys mean the same in all kinds of files, under the names of either tool.
func TestConfigSaysTheSame(t *testing.T) {
	const yaml = `run:
  cwd: ./project
  outputDir: ./out
  report: terminal
  schedule: isolated-by-runner
  maxSteps: 30
  parallel: 4
  repeat: 2
  retry: 1
  tag: smoke
  timeoutMs: 1
  workspace: {mode: isolated, templateDir: fixture, bootstrap: {command: ./setup.sh, args: [../x, y/z], timeoutMs: 1, env: {A: ""}}}
runners:
  codex-main: {agent: {type: codex, model: gpt-5, command: npx, commandArgs: [-y, ./bin/codex.js, codex], env: {HOME: /tmp}}}
  claude: {agent: {type: claude-code, model: sonnet, command: ./claude}}
snapshots: {path: ./skillgym.snapshots.json, metric: inputTokens, tolerance: {percent: 10}}
`
	path := write(t, filepath.Join(t.TempDir(), "plumb.yaml"), yaml)
	c, err := Read(t.Context(), path, lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantSkillgymConfig(path), c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfigExports(t *testing.T) {
	for _, test := range []struct{ name, text string }{
		{"plumb.config.ts", `export default { runners: { a: "openai:x" } }`},
		{"plumb.config.mts", `export const runners = { a: "openai:x" };`},
		{"plumb.config.js", `module.exports = { runners: { a: "openai:x" } };`},
		{"plumb.config.cjs", `module.exports = { runners: { a: "openai:x" } };`},
		{"plumb.config.mjs", `const a = await Promise.resolve("openai:x"); export default { runners: { a } }`},
		{"skillgym.config.cts", `enum M { X = "openai:x" } export = { runners: { a: M.X } };`},
	} {
		path := write(t, filepath.Join(t.TempDir(), test.name), test.text)
		c, err := Read(t.Context(), path, lib.Host{})
		if err != nil || len(c.Runners) != 1 || c.Runners[0].Model != "openai:x" {
			t.Errorf("%s: got %+v, %v", test.name, c, err)
		}
	}
}

// TestConfigInCodeEnvironment: a config sees the environment, and the .env file beside it where that says nothing.
func TestConfigInCodeEnvironment(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "plumb.config.ts"), `const { A, B, C } = process.env; export default { run: { tag: [A, B, C ?? "none"] } };`)
	write(t, filepath.Join(dir, ".env"), "A=file\nB=file\n")
	c, err := Read(t.Context(), path, lib.Host{Environ: func() []string { return []string{"A=shell"} }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"shell", "file", "none"}, c.Run.Filter.Tags); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfigInCodeProblems(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"keys", `export default { run: { maxParalell: 2, repeat: 0, tags: [""] }, runner: {} }`, strings.Join([]string{
			`plumb.config.ts: unknown key "runner" (did you mean "runners"?)`,
			`plumb.config.ts: unknown key "run.maxParalell" (did you mean "maxParallel"?)`,
			`plumb.config.ts: run.tags[0] is empty (leave the key out)`,
			`plumb.config.ts: run.repeat must be at least 1, not 0`,
		}, "\n")},
		{"list", `export default []`, `plumb.config.ts: expected the config to be an object, not an array`},
		{"syntax", "export default {\n  a b\n}", `plumb.config.ts:2:5: Expected "}" but found "b"`},
		{"throw", "\nthrow new TypeError('no key');", "TypeError: no key"},
		{"never", "await new Promise(() => {});", "it waits at the top level for a promise that nothing will settle"},
		{"agent", `export default { runners: { a: { type: "codex" }, b: { agent: { type: "claude" } } } }`, strings.Join([]string{
			`plumb.config.ts: unknown key "runners.a.type" (it belongs in agent)`,
			`plumb.config.ts: runners.b.agent.type: there is no agent "claude" (did you mean "claude-code"?)`,
			`plumb.config.ts: runners.b.agent.model is missing (the agent's own name for it)`,
		}, "\n")},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Read(t.Context(), write(t, filepath.Join(dir, "plumb.config.ts"), test.text), lib.Host{})
			var problems doc.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			got := strings.ReplaceAll(problems.Error(), dir+string(filepath.Separator), "")
			if got != test.want && (strings.Contains(test.want, "\n") || !strings.Contains(got, test.want)) {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestFindConfigNames(t *testing.T) {
	for _, name := range Names() {
		dir := t.TempDir()
		want := write(t, filepath.Join(dir, name), "")
		if got, err := Find(dir); err != nil || got != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "skillgym.config.ts"), "")
	write(t, filepath.Join(dir, "plumb.yaml"), "")
	write(t, filepath.Join(dir, "plumb.config.mjs"), "")
	if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "plumb.yaml, plumb.config.mjs and skillgym.config.ts") {
		t.Errorf("three configs: %v", err)
	}

	linked := t.TempDir()
	target := write(t, filepath.Join(t.TempDir(), "shared.ts"), "")
	if err := os.Symlink(target, filepath.Join(linked, "plumb.config.ts")); err != nil {
		t.Skip(err)
	}
	if got, err := Find(linked); err != nil || got != filepath.Join(linked, "plumb.config.ts") {
		t.Errorf("a link: got %q, %v", got, err)
	}
}

// TestFindConfigOf: the config is looked for from the suite upwards, and then from the working directory.
func TestFindFor(t *testing.T) {
	root := t.TempDir()
	here := filepath.Join(root, "here")
	mine := write(t, filepath.Join(here, "plumb.yaml"), "")
	theirs := write(t, filepath.Join(root, "there", "skillgym.config.ts"), "")
	write(t, filepath.Join(root, "there", "suites", "a.ts"), "")
	write(t, filepath.Join(root, "bare", "a.ts"), "")
	write(t, filepath.Join(here, "sub", "a.ts"), "")
	for _, test := range []struct{ suite, want string }{
		{"", mine},
		{"sub/a.ts", mine},
		{"../there/suites/a.ts", theirs},
		{"../there/suites", theirs},
		{filepath.Join(root, "there", "suites", "a.ts"), theirs},
		{"../bare/a.ts", mine},
		{"v1.0/cheap", mine},
		{"missing.ts", mine},
	} {
		if got, err := FindFor(test.suite, here); err != nil || got != test.want {
			t.Errorf("%q: got %q, %v, want %q", test.suite, got, err, test.want)
		}
	}
}

// In a config of skillgym a command starts codex by its name, whatever it is; in one of plumb it is codex.
func TestCodexCommand(t *testing.T) {
	for _, tt := range []struct {
		file, agent string
		command     string
		args        []string
	}{
		{"skillgym.config.ts", `command: "run-codex"`, "run-codex", []string{"codex"}},
		{"skillgym.config.ts", `command: "run-codex", commandArgs: ["-p", "@openai/codex"]`, "run-codex", []string{"-p", "@openai/codex", "codex"}},
		{"skillgym.config.ts", `command: "env", commandArgs: ["A=1", "codex"]`, "env", []string{"A=1", "codex"}},
		{"skillgym.config.ts", `command: "/opt/bin/codex"`, "/opt/bin/codex", nil},
		{"skillgym.config.ts", `commandArgs: ["-y"]`, "", []string{"-y"}},
		{"plumb.config.ts", `command: "run-codex"`, "run-codex", nil},
	} {
		path := write(t, filepath.Join(t.TempDir(), tt.file), `export default {runners: {c: {agent: {type: "codex", model: "m", `+tt.agent+`}}}}`)
		c, err := Read(t.Context(), path, lib.Host{})
		if err != nil {
			t.Errorf("%s: %v", tt.agent, err)
			continue
		}
		if a := c.Runners[0].Agent; a.Command != tt.command || !slices.Equal(a.CommandArgs, tt.args) {
			t.Errorf("%s in %s: %q %q", tt.agent, tt.file, a.Command, a.CommandArgs)
		}
	}
}
