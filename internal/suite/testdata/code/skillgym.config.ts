import type { SkillgymConfig } from "skillgym";

enum Tolerance { Percent = 10 }

const config: SkillgymConfig = {
	run: { schedule: "parallel", repeat: 2, tags: ["smoke"], workspace: { mode: "none", cwd: "." } },
	defaults: { timeoutMs: 60_000 },
	runners: {
		main: { agent: { type: "codex", model: "gpt-5", command: undefined, commandArgs: ["codex"] } },
		cheap: { model: "openai:gpt-5-mini", temperature: 0 },
	},
	snapshots: { tolerance: { percent: Tolerance.Percent } },
};

export default config;
