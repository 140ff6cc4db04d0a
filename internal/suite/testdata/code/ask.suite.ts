// The judge and the embedder.
import { assert, type Case } from "plumb";

const suite: Case[] = [
	{
		id: "ask",
		prompt: "Say it politely.",
		async assert(r) {
			await assert.judge(r, "Is it polite?");
			await assert.similar(r, "Please run pnpm test.", { threshold: 0.5 });
			await assert.soft.judge(r, "Is it rude?", { message: "tone" });
			await assert.judge(r, "Is it rude?", { expect: "no", votes: 3, includePrompt: false, output: "Thank you." });
			await assert.soft.similar(r, "Something else entirely", { threshold: 0.99 });
		},
	},
	{
		id: "unavailable",
		prompt: "Say it.",
		async assert(r) {
			await assert.judge(r, "unavailable");
		},
	},
];

export default suite;
