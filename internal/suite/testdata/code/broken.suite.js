// A suite with everything wrong that can be.
const fine = { id: "fine", prompt: "x", assert() {} };

export const workspace = { mode: "isolated", bootstrap: () => {}, templateDir: undefined };

export default [
	fine,
	fine,
	{ id: "", prompt: " ", assert: "no function" },
	{ prompt: 7, tags: "smoke" },
	{ id: "tags", prompt: "x", tags: ["ok", "", 3], assert() {} },
	{ id: "numbers", prompt: "x", timeoutMs: 0, repeat: 1.5, maxSteps: "3", maxOutputTokens: -1, expectedFail: "yes", assert() {} },
	{ id: "unknown", prompt: "x", asert() {}, timeout: 5, zebra: 1 },
	{ id: "messages", system: 3, messages: [{ role: "robot", content: "x" }, { role: "user" }, "text"], prompt: "x", assert() {} },
	{ id: "last", messages: [{ role: "assistant", content: "x" }], assert() {} },
	{ id: "declared", prompt: "x", assertions: [{ type: "contains", value: /x/ }, { type: "is", value: NaN }], category: 3 },
	null,
	["x"],
];
