// Node's own assertions, and the second argument of assert.
import { assert, type Case } from "skillgym";
import nodeAssert from "node:assert";
import strict from "node:assert/strict";

const suite: Case[] = [
	{
		id: "passes",
		prompt: "Which tool runs the tests?",
		tags: ["smoke", "auth", "smoke"],
		assert(report, ctx) {
			assert.ok(ctx.getCommands().length > 0);
			assert.match(ctx.finalOutput(), /pnpm/);
			assert.strictEqual(ctx.getFileReads(), report.files.observedReads);
			assert.deepEqual(ctx.detectedSkills().map((s) => s.skill), ["release-notes", "house-style"]);
			assert.equal(ctx.getToolCalls("bash").length, 2);
			assert.equal(ctx.getToolCalls("bas").length, 0);
			assert.equal(ctx.getToolCalls().length, 3);
			// All these are one function, and one class of errors.
			assert.ok((assert as unknown) === strict);
			assert.ok(assert.AssertionError === nodeAssert.AssertionError);
			assert.throws(() => assert.commands.includes(report, "nothing of the kind"), assert.AssertionError);
		},
	},
	{
		id: "equal",
		prompt: "Fail.",
		assert() {
			assert.equal("actual", "expected");
		},
	},
	{
		id: "expression",
		prompt: "Fail.",
		assert(report) {
			assert.ok(report.events.length === 1 && "(");
		},
	},
	{
		id: "deep",
		prompt: "Fail.",
		timeoutMs: 5000,
		async assert(report) {
			await Promise.resolve();
			assert.deepEqual(report.files, { observedReads: [], observedSkillReads: [] });
		},
	},
	{
		id: "known-gap",
		prompt: "Fail, as expected.",
		expectedFail: true,
		assert(_report, ctx) {
			assert.match(ctx.finalOutput(), /a poem/, "no poem in the answer");
		},
	},
];

export default suite;
