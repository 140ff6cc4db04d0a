// All fields of a case.
import type { Case, Suite } from "plumb";

const full: Case = {
	id: "full",
	prompt: "And now?",
	system: "You are brief.",
	messages: [
		{ role: "user", content: "Hello" },
		{ role: "assistant", content: "Hi." },
	],
	tags: ["a", "b", "a"],
	timeoutMs: 1,
	expectedFail: false,
	repeat: 3,
	maxOutputTokens: 100,
	maxSteps: 5,
	category: "coding",
	difficulty: "easy",
	assertions: [{ type: "contains", ideal: "x" }, { type: "is_json", not: undefined }],
	assert() {},
	classifyFailure(result) {
		if (result.error?.message === "throw") throw new Error("cannot tell");
		if (result.error?.message === "null") return null as never;
		return result.error?.message.includes("alias") ? { id: "wrong-alias", label: "Wrong alias" } : undefined;
	},
};

export default {
	full,
	declarative: { id: "declarative", prompt: "Say x.", assertions: [{ type: "contains", ideal: "x" }] },
	"a strange key": { id: "late", prompt: "Later.", assert: async () => {}, classifyFailure: async () => "later" },
} satisfies Suite;
