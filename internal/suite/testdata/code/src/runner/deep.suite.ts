// Lies where the frames of another tool's own modules would lie.
import { assert, type Case } from "skillgym";

const suite: Case[] = [
	{
		id: "deep",
		prompt: "Fail.",
		assert(report) {
			assert.skills.has(report, "deploy");
		},
	},
];

export default suite;
