// What else a check can throw.
import { assert, type Case } from "plumb";

class AssertionError extends Error {
	override name = "AssertionError";
	showDiff = true;
	actual = 1;
	expected = 2;
}

const throwing = (id: string, value: () => unknown): Case => ({
	id, prompt: "Throw.",
	assert() {
		throw value();
	},
});

const suite: Case[] = [
	throwing("chai", () => new AssertionError("expected 1 to equal 2")),
	throwing("jest", () => Object.assign(new Error("expect(received).toBe(expected)"), { matcherResult: { pass: false } })),
	throwing("code", () => Object.assign(new Error("mine"), { code: "ERR_ASSERTION" })),
	throwing("type-error", () => new TypeError("x is not a function")),
	throwing("text", () => "just a text"),
	throwing("undefined", () => undefined),
	throwing("object", () => ({ a: 1 })),
	throwing("bare", () => Object.create(null)),
	throwing("cause", () => new Error("outer", { cause: new Error("inner") })),
	{
		id: "engine-error",
		prompt: "Throw.",
		assert(report) {
			(report as unknown as { nothing: { here: number } }).nothing.here++;
		},
	},
	{
		id: "rejected",
		prompt: "Throw.",
		assert: async () => {
			await Promise.reject(new assert.AssertionError({ message: "rejected" }));
		},
	},
	{
		id: "this",
		prompt: "Look at the case.",
		assert() {
			assert.equal(this.id, "this");
		},
	},
];

export default suite;
