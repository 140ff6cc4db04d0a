package suite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed executes a script in a directory and returns what it prints.
func printed(t *testing.T, dir, text string) string {
	t.Helper()
	script := write(t, filepath.Join(dir, "script.ts"), text)
	var out, errs strings.Builder
	code, err := Exec(t.Context(), script, ExecOptions{Stdout: &out, Stderr: &errs, Dir: dir})
	if err != nil || code != 0 {
		t.Fatal(code, err, errs.String())
	}
	return out.String()
}

// TestParseConfig: each documented way to be wrong, with its documented words, and each way to be right.
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
	want := `Invalid config: expected plain object
Invalid config: expected plain object
Invalid config: expected plain object
Invalid config: expected plain object
Invalid config at runners: expected plain object
Invalid config at runners: expected non-empty object
Invalid config at runners: expected plain object
Invalid config at runners.a: expected plain object
Invalid config at runners.a.agent: expected plain object
Unknown config key: foo
Unknown config key: runners.a.extra
Invalid config at run: expected plain object
Unknown config key: run.foo
Invalid config at run.cwd: expected non-empty string
Invalid config at run.outputDir: expected non-empty string
Invalid config at run.reporter: expected non-empty string
Invalid config at run.schedule: expected one of: serial, parallel, isolated-by-runner
Invalid config at run.maxSteps: expected integer >= 1
Invalid config at run.maxParallel: expected integer >= 1
Invalid config at run.repeat: expected integer >= 1
Invalid config at run.repeat: expected integer >= 1
Invalid config at run.repeatFailure: expected integer >= 0
Invalid config at run.retryFailed: expected integer >= 0
Invalid config at run.tags: expected array of non-empty strings
Invalid config at run.tags[1]: expected non-empty string
Invalid config at run.workspace.mode: expected "none", "shared", or "isolated"
Invalid config at run.workspace.mode: expected "none", "shared", or "isolated"
Invalid config at run.workspace.templateDir: expected this key to be omitted when workspace mode is "none"
Invalid config at run.workspace.cwd: expected this key to be omitted when workspace mode is "isolated"
Invalid config at run.workspace.bootstrap.command: expected non-empty string
Invalid config at run.workspace.bootstrap.env.A: expected string
Invalid config at defaults.timeoutMs: expected integer >= 1
Invalid config at defaults: expected plain object
Invalid config at runners.a.agent.type: expected "codex", "claude-code", "opencode", "cursor-agent", "copilot", "gemini", or "qwen"
Invalid config at runners.a.agent.model: expected non-empty string
Invalid config at runners.a.agent.command: expected non-empty string
Invalid config at runners.a.agent.commandArgs[2]: expected non-empty string
Invalid config at runners.a.agent.env.A: expected string
Unknown config key: runners.a.agent.foo
Invalid config at snapshots.tolerance: expected at least one of absolute or percent
Invalid config at snapshots.tolerance: expected at least one of absolute or percent
Invalid config at snapshots.tolerance.percent: expected number >= 0
Invalid config at snapshots.metric: expected one of: totalTokens, inputTokens, outputTokens, reasoningTokens, cacheTokens
Invalid config at run.repeat: expected integer >= 1
Invalid config at run.maxSteps: expected integer >= 1
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
Invalid config at runners: expected non-empty object
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
