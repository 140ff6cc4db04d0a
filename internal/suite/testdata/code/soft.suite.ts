// Soft assertions, failure classes, and questions for the agent.
import { assert, type Case, type SessionReport } from "skillgym";

declare function setTimeout(callback: () => void, ms: number): unknown;
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const helper = (r: SessionReport) => {
	assert.commands.includes(r, "git push");
};

const suite: Case[] = [
	{
		id: "soft",
		prompt: "Fail softly.",
		async assert(r) {
			assert.soft(false, "first");
			assert.soft.equal(1, 2);
			await sleep(5);
			assert.soft.commands.includes(r, "git push");
			assert.soft.ok(r.finalOutput.length > 1000);
			await assert.soft.rejects(Promise.resolve(1), "no rejection");
			assert.soft.strict.deepEqual([1], [2]);
			assert.soft.fail("sixth");
			// Nobody awaits this one, and it counts.
			void assert.soft.doesNotReject(sleep(5).then(() => { throw new Error("late"); }));
		},
	},
	{
		id: "soft-then-hard",
		prompt: "Fail softly, then for good.",
		assert(r) {
			assert.soft.output.includes(r, "nothing of the kind");
			assert.equal(1, 2, "hard");
		},
	},
	{
		id: "soft-then-crash",
		prompt: "Fail softly, then crash.",
		assert() {
			assert.soft.ok(0, "soft");
			(undefined as unknown as { crash(): void }).crash();
		},
	},
	{
		id: "classes",
		prompt: "Fail with classes.",
		async assert() {
			assert.classify({ id: "outer", label: "Outer" }, () => {
				assert.classify("inner", () => assert.soft.ok(0, "nested"));
				assert.soft.ok(0, "outer");
			});
			await assert.classify("later", async () => {
				await sleep(3);
				assert.soft.ok(0, "after an await");
			});
			assert.soft.ok(0, "none");
			await assert.classify("async", async () => {
				await sleep(1);
				assert.fail("rejected");
			});
		},
	},
	{
		id: "class-of-crash",
		prompt: "Crash with a class.",
		assert() {
			assert.classify("outer", () => assert.classify({ id: "crash" }, () => {
				throw new RangeError("boom");
			}));
		},
	},
	{
		id: "own-class",
		prompt: "Fail with a class that a library attached.",
		assert() {
			throw Object.assign(new Error("mine"), {
				code: "ERR_ASSERTION",
				[Symbol.for("skillgym.failureClass")]: { id: "library" },
				[Symbol.for("skillgym.explainQuestions")]: [
					{ question: "Why?", source: { filePath: "/lib.ts", line: "3", column: "7" } },
				],
			});
		},
	},
	{
		id: "questions",
		prompt: "Ask.",
		assert(r) {
			assert.soft.commands.count(r, "pnpm", 7);
			assert.soft.skills.has(r, "deploy", { explain: { question: "Did you see the skill deploy?" } });
			assert.soft.commands.includes(r, "x", { explain: { question: (ctx) => `Why ${ctx.expected} and not ${String((ctx.observed as string[])[0])}?` } });
			assert.soft.commands.includes(r, "x", { explain: { question: () => undefined } });
			assert.soft.commands.includes(r, "x", { explain: { question: " " } });
			assert.soft.output.includes(r, "x");
			assert.soft.output.includes(r, "x", { explain: { question: "Where is x?" } });
			helper(r);
		},
	},
	{
		id: "question-throws",
		prompt: "Ask badly.",
		assert(r) {
			assert.commands.includes(r, "x", { explain: { question() { throw new TypeError("no question"); } } });
		},
	},
];

export default suite;
