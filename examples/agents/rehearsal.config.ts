import type { PlumbConfig } from "plumb";

// Fake agents: rehearsal/codex.sh prints the output of codex, and no model is called. The worker does the
// task; the talker only claims to. A check that the talker passes is useless.
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
