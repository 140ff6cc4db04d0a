package suite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// printed executes a script in a directory and returns what it prints.
func printed(t *testing.T, dir, text string) string {
	t.Helper()
	script := write(t, filepath.Join(dir, "script.ts"), text)
	var out, errs strings.Builder
	code, err := Exec(t.Context(), script, nil, lib.Host{Stdout: &out, Stderr: &errs, Dir: dir})
	if err != nil || code != 0 {
		t.Fatal(code, err, errs.String())
	}
	return out.String()
}

// TestParseConfig: each documented way to be wrong is reported with its key, one a line; and each way to be right.
func TestParseConfig(t *testing.T) {
	got := printed(t, t.TempDir(), `import { parseConfig } from "skillgym";
const error = (raw: unknown) => { try { parseConfig(raw); return "fine"; } catch (e) { return (e as Error).message; } };
const agent = { type: "codex", model: "m" };
const runners = { a: { agent } };
const check = (raw: unknown) => console.log(error(raw));
const run = (run: unknown) => check({ runners, run });
const one = (more: object) => check({ runners: { a: { agent: { ...agent, ...more } } } });
check(undefined); check(null); check([]); check("x"); check({}); check({ runners: {} }); check({ runners: [] }); check({ runners: { a: 1 } });
check({ runners: { a: { agent: 1 } } }); check({ runners, foo: 1 }); check({ runners: { a: { agent, extra: 1 } } });
run(1); run({ foo: 1 }); run({ cwd: " " }); run({ outputDir: 1 }); run({ reporter: "" }); run({ schedule: "fast" }); run({ maxSteps: 0 });
run({ maxParallel: 1.5 }); run({ repeat: 0 }); run({ repeat: "2" }); run({ repeatFailure: -1 }); run({ retryFailed: -1 }); run({ tags: 1 }); run({ tags: ["a", ""] });
run({ workspace: { mode: "x" } }); run({ workspace: {} }); run({ workspace: { mode: "none", templateDir: "t" } }); run({ workspace: { mode: "isolated", cwd: "." } });
run({ workspace: { mode: "shared", bootstrap: { args: [] } } }); run({ workspace: { mode: "shared", bootstrap: { command: "x", env: { A: [] } } } });
check({ runners, defaults: { timeoutMs: 0 } }); check({ runners, defaults: [] });
one({ type: "claude" }); one({ model: "" }); one({ command: 1 }); one({ commandArgs: "x y".split(" ").concat("") }); one({ env: { A: null } }); one({ foo: 1 });
check({ runners, snapshots: {} }); check({ runners, snapshots: { tolerance: {} } }); check({ runners, snapshots: { tolerance: { percent: -1 } } });
check({ runners, snapshots: { tolerance: { absolute: 0 }, metric: "tokens" } });
check({ runners, run: { repeat: 0, maxSteps: 0 } });
run({ cwd: "x", tags: [], schedule: "serial", repeatFailure: 0, workspace: { mode: "shared", cwd: ".", bootstrap: { command: "./x", args: [] } } });
one({ commandArgs: [], env: { A: "" }, command: "./x" });
const raw = { runners, run: { cwd: "./x", tags: undefined }, defaults: { timeoutMs: 5 } };
console.log(JSON.stringify(parseConfig(raw)));
`)
	want := `Invalid config: a config must be a mapping, not nothing
Invalid config: a config must be a mapping, not nothing
Invalid config: a config must be a mapping, not a list
Invalid config: a config must be a mapping, not a string
Invalid config at runners: must have a runner
Invalid config at runners: must have a runner
Invalid config at runners: must be a mapping, not a list
Invalid config at runners.a: must be a mapping, not a number
Invalid config at runners.a.agent: must be a mapping, not a number
Unknown config key: foo (known: suites, runners, judge, embedder, prices, run, defaults, snapshots, server)
Unknown config key: runners.a.extra (known: model, command, replay, agent, baseURL, api, apiKeyEnv, headers, env, temperature, ` +
		`seed, topP, maxOutputTokens, reasoningEffort, timeoutMs, maxParallel)
Invalid config at run: must be a mapping, not a number
Unknown config key: run.foo
Invalid config at run.cwd: is empty (leave the key out)
Invalid config at run.outputDir: must be a string, not 1 (put it in quotes)
Invalid config at run.reporter: is empty (leave the key out)
Invalid config at run.schedule: must be one of serial, parallel, isolated-by-runner, not "fast"
Invalid config at run.maxSteps: must be at least 1, not 0
Invalid config at run.maxParallel: must be a whole number, not 1.5
Invalid config at run.repeat: must be at least 1, not 0
Invalid config at run.repeat: must be a number, not a string
Invalid config at run.repeatFailure: must be at least 0, not -1
Invalid config at run.retryFailed: must be at least 0, not -1
Invalid config at run.tags: must be a list of strings, not a number
Invalid config at run.tags[1]: is empty (leave the key out)
Invalid config at run.workspace.mode: must be one of none, shared, isolated, not "x"
Invalid config at run.workspace.mode: is missing (one of none, shared, isolated)
Invalid config at run.workspace.templateDir: must be left out when the workspace mode is "none" ` +
		`(nothing is prepared; shared and isolated may have it)
Invalid config at run.workspace.templateDir: there is no directory "t"
Invalid config at run.workspace.cwd: must be left out when the workspace mode is "isolated" ` +
		`(each session gets a directory of its own; shared may have a cwd)
Invalid config at run.workspace.bootstrap.command: is missing (the program that prepares the workspace; it runs without a shell)
Invalid config at run.workspace.bootstrap.env.A: must be a string, not a list
Invalid config at defaults.timeoutMs: must be at least 1, not 0
Invalid config at defaults: must be a mapping, not a list
Invalid config at runners.a.agent.type: there is no agent "claude" (did you mean "claude-code"?)
Invalid config at runners.a.agent.model: is empty (leave the key out)
Invalid config at runners.a.agent.command: must be a string, not 1 (put it in quotes)
Invalid config at runners.a.agent.commandArgs[2]: is empty (leave the key out)
Invalid config at runners.a.agent.env.A: has no value, expected a string (leave the key out)
Unknown config key: runners.a.agent.foo (known: type, model, command, commandArgs, args, env, version, permissions, skills, ` +
		`mcpServers, inheritConfig, baseURL, apiKeyEnv)
Invalid config at snapshots.tolerance: is missing (such as {percent: 10}, or auto)
Invalid config at snapshots.tolerance: needs one of absolute and percent (such as {percent: 10}, or auto)
Invalid config at snapshots.tolerance.percent: must be at least 0, not -1
Invalid config at snapshots.metric: must be one of totalTokens, inputTokens, outputTokens, reasoningTokens, cacheTokens, costUsd, latencyMs, not "tokens"
Invalid config at run.repeat: must be at least 1, not 0
Invalid config at run.maxSteps: must be at least 1, not 0
fine
fine
{"runners":{"a":{"agent":{"type":"codex","model":"m"}}},"run":{"cwd":"./x"},"defaults":{"timeoutMs":5}}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLoadConfig: a config is found from the suite upwards, checked, and given with the paths that its directory makes.
func TestLoadConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "suites", "x.ts"), "")
	write(t, filepath.Join(dir, "skillgym.config.ts"), `export default {
  run: { cwd: "work", outputDir: "./out", reporter: "./r.ts", workspace: { mode: "shared", cwd: "../w", templateDir: "t", bootstrap: { command: "./b", args: ["x/y", "../z", "--f=./q"] } } },
  runners: { a: { agent: { type: "codex", model: "m", command: "./codex", commandArgs: ["-y", "../bin", "dir/file", "."], env: { P: "./p" } } } },
  snapshots: { path: "snap.json", tolerance: { percent: 1 } },
};`)
	write(t, filepath.Join(dir, "two", "skillgym.config.ts"), "export default {}")
	write(t, filepath.Join(dir, "two", "plumb.yaml"), "")
	write(t, filepath.Join(dir, "bare", "plumb.yaml"), "runners: {}\n")
	write(t, filepath.Join(dir, "std.yaml"), "run: {report: [terminal, ./mine.mjs]}\nrunners: {a: \"openai:x\"}\n")
	got := printed(t, dir, `import { loadConfig } from "skillgym";
const text = (v: unknown) => JSON.stringify(v, null, 1).replaceAll(import.meta.dirname, "DIR").replaceAll('"', "").replaceAll(/[{}\[\],]\n?\s*/g, " ").replaceAll(/\s+/g, " ");
const load = async (o: any) => { try { console.log(text(await loadConfig(o))); } catch (e) { console.log((e as Error).message.replaceAll(import.meta.dirname, "DIR")); } };
await load({ suitePath: import.meta.dirname + "/suites/x.ts" });
await load({ suitePath: "suites/x.ts" });
await load({ suitePath: "/nowhere/x.ts", configPath: "std.yaml" });
await load({ suitePath: "two/x.ts" });
await load({ suitePath: "bare/x.ts" });
await load({ suitePath: "/x.ts" });
await load({ suitePath: "suites/x.ts", configPath: "./missing.ts" });
await load({});
`)
	want := ` filePath: DIR/skillgym.config.ts config: run: cwd: DIR/work outputDir: DIR/out reporter: DIR/r.ts workspace: mode: shared ` +
		`cwd: UP/w templateDir: DIR/t bootstrap: command: DIR/b args: x/y UP/z --f=./q ` +
		`runners: a: agent: type: codex model: m command: DIR/codex commandArgs: -y UP/bin dir/file DIR env: P: ./p ` +
		`snapshots: path: DIR/snap.json tolerance: percent: 1 ` + "\n"
	want = strings.ReplaceAll(want, "UP", filepath.Dir(dir))
	want += want + ` filePath: DIR/std.yaml config: run: report: terminal DIR/mine.mjs runners: a: openai:x ` + `
Multiple config files found in DIR/two: plumb.yaml, skillgym.config.ts
Invalid config at runners: must have a runner
No skillgym config found. Create skillgym.config.ts with a non-empty runners map.
`
	lines := strings.SplitAfter(got, "\n")
	if diff := cmp.Diff(want, strings.Join(lines[:len(lines)-3], "")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if missing := lines[len(lines)-3]; !strings.Contains(missing, "missing.ts") {
		t.Errorf("a config that is not there: %s", missing)
	}
	if nothing := lines[len(lines)-2]; !strings.HasPrefix(nothing, "loadConfig takes") {
		t.Errorf("nothing: %s", nothing)
	}
}

// TestExports: the module has all that is documented of it, under both names, and nothing else.
func TestExports(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.ts"), "export default { onCaseStart() {} };")
	write(t, filepath.Join(dir, "sub", "mine.ts"), "export const reporter = { onCaseStart() {}, onError() {} };")
	write(t, filepath.Join(dir, "empty.ts"), "export default {};")
	got := printed(t, dir, `import * as skillgym from "skillgym";
import * as plumb from "plumb";
import strict from "node:assert/strict";
import { runWithSoftAssertions, parseCommand } from "skillgym/testing";
console.log(Object.keys(skillgym).filter((k) => k !== "default").map((k) => k + ":" + typeof (skillgym as any)[k]).sort().join("\n"));
console.log(Object.keys(plumb).every((k) => (plumb as any)[k] === (skillgym as any)[k]), typeof runWithSoftAssertions, typeof parseCommand);
const { assert, commandMatcher, CommandMatcherBuilder } = skillgym;
const groups = ["soft", "skills", "commands", "fileReads", "toolCalls", "output", "classify"].map((k) => k + ":" + typeof (assert as any)[k]);
console.log(groups.join(), Object.keys(strict).every((k) => k in assert), commandMatcher("git") instanceof CommandMatcherBuilder);
console.log(skillgym.BUILT_IN_REPORTER_NAMES.join());
for (const [name, make] of Object.entries(skillgym).filter(([k]) => k.endsWith("Reporter") && k.startsWith("create"))) console.log(name, Object.keys((make as any)()).join());
let text = "";
const json = skillgym.createJsonReporter({ stdout: { write: (s) => { text += s; } } });
await json.onSuiteFinish!({ context: {} as any, result: { suitePath: "mine", cases: [] } as any });
console.log(JSON.stringify(text));
await skillgym.createHtmlReporter().onSuiteFinish!({} as any).catch((e: Error) => console.log(e.message));
for (const name of [undefined, "json", "./mine.ts", "sub/mine.ts", "none.ts", "empty.ts"]) {
  try {
    console.log(name, Object.keys(await skillgym.loadReporter(name, import.meta.dirname)).length);
  } catch (e) {
    console.log((e as Error).message.split("\n")[0].replace(import.meta.dirname, "DIR"));
  }
}
`)
	want := `BUILT_IN_REPORTER_NAMES:object
CommandMatcherBuilder:function
assert:function
commandMatcher:function
createGitHubActionsReporter:function
createHtmlReporter:function
createJsonReporter:function
createJsonSummaryReporter:function
createStandardReporter:function
loadConfig:function
loadReporter:function
parseConfig:function
true function function
soft:function,skills:object,commands:object,fileReads:object,toolCalls:object,output:object,classify:function true true
standard,json,json-summary,github-actions,html
createGitHubActionsReporter onSuiteFinish
createHtmlReporter onCaseFinish,onSuiteFinish
createJsonReporter onSuiteFinish
createJsonSummaryReporter onSuiteFinish
createStandardReporter onSuiteStart,onCaseStart,onRunnerStart,onRunnerFinish,onCaseFinish,onSuiteFinish,onError
"{\n  \"suitePath\": \"mine\",\n  \"cases\": []\n}\n"
the reporter "html" renders a run, and here is none: choose it with --reporter html
undefined 7
json 1
./mine.ts 1
sub/mine.ts 2
Failed to load reporter module: DIR/none.ts
Reporter module must define at least one reporter hook (onSuiteStart, onCaseStart, onRunnerStart, onRunnerFinish, onCaseFinish, onSuiteFinish, onError): DIR/empty.ts
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
