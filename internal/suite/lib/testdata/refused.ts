import {
	assert, commandMatcher, type Case, type DeclarativeAssertion, type SessionReport, type SkillGymConfig, type SkillgymConfig, type StructuredCommandMatcher, type SuiteWorkspaceConfig,
} from "plumb";

declare const report: SessionReport;

// @ts-expect-error: no prompt
export const noPrompt: Case = { id: "a", assert() {} };
// @ts-expect-error: no assert
export const noAssert: Case = { id: "a", prompt: "x" };
// @ts-expect-error: a tag is a string
export const badTag: Case = { id: "a", prompt: "x", tags: [1], assert() {} };
// @ts-expect-error: an isolated workspace has no cwd
export const badWorkspace: SuiteWorkspaceConfig = { mode: "isolated", cwd: "." };
// @ts-expect-error: no such agent
export const badAgent: SkillgymConfig = { runners: { a: { agent: { type: "gpt", model: "x" } } } };
// @ts-expect-error: a key that is misspelt
export const badKey: SkillgymConfig = { runners: {}, run: { maxParalel: 2 } };
// @ts-expect-error: no such key
export const badTop: SkillgymConfig = { runners: {}, runner: {} };
// @ts-expect-error: keys of models are none of agents
export const badRunner: SkillgymConfig = { runners: { a: { agent: { type: "codex", model: "x", temperature: 0 } } } };

// What skillgym 0.8 calls it, and all kinds of runners.
export const config: SkillGymConfig = {
	run: { cwd: ".", reporter: "json", tags: ["a"], judge: "openai:x", maxCostUSD: 1, temperature: null },
	runners: {
		a: { agent: { type: "codex", model: "x", env: { A: "b" } }, maxParallel: 1 }, m: { model: "openai:x", temperature: 0, seed: null },
		c: { command: ["./x"], env: { A: "b" } }, r: { replay: "last" }, s: "openai:x",
	},
	judge: { model: "openai:x", votes: 3 }, embedder: { model: "openai:x" }, prices: { x: { input: 1 } },
};
// Lists that are not to be changed are matchers too.
export const matcher: StructuredCommandMatcher = { positionals: ["a"] as const, options: { "-m": ["a", /b/] as const } } as const;

// @ts-expect-error: a number is no matcher
assert.commands.includes(report, 5);
// @ts-expect-error: tool calls are matched by objects
assert.toolCalls.has(report, "bash");
// @ts-expect-error: the count is missing
assert.commands.count(report, "x");
// @ts-expect-error: no such confidence
assert.skills.has(report, "x", { minConfidence: "sure" });
// @ts-expect-error: an option is a text, a pattern or true
commandMatcher("x").option("--y", false);
// @ts-expect-error: no such member
report.nothing;
({ type: "contains", ideal: "x" }) satisfies DeclarativeAssertion;
// @ts-expect-error: contains does not take a pattern
({ type: "contains", pattern: "x" }) satisfies DeclarativeAssertion;
// @ts-expect-error: regex needs a pattern
({ type: "regex" }) satisfies DeclarativeAssertion;
// @ts-expect-error: no such type
({ type: "contain", ideal: "x" }) satisfies DeclarativeAssertion;

// Assertions narrow types.
declare const maybe: string | undefined;
assert.ok(maybe);
export const sure: string = maybe;
declare const anything: unknown;
assert.equal(anything, "x" as const);
export const x: "x" = anything;
// @ts-expect-error: soft assertions do not, since they go on
export const unsure: string = ((v: string | undefined) => { assert.soft.ok(v); return v; })(undefined);
