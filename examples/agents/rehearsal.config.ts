import type { PlumbConfig } from "plumb";

// Actors in place of agents: rehearsal/codex.sh writes what codex would, and no model is asked. One does the work, the other
// only says so. Checks that the second one passes are no checks.
const actor = (part: string) => ({
  agent: {
    type: "codex" as const, model: "none", command: "sh", commandArgs: ["./rehearsal/codex.sh"], env: { PART: part },
    skills: ["./skills/release-notes"],
  },
});

const config: PlumbConfig = {
  suites: ["release.suite.ts", "version.suite.yaml"],
  runners: { worker: actor("worker"), talker: actor("talker") },
};

export default config;
