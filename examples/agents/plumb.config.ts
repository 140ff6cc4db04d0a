import type { PlumbConfig } from "plumb";

const skills = ["./skills/release-notes"]; // copied to where each agent looks for skills

const config: PlumbConfig = {
  suites: ["release.suite.ts", "version.suite.yaml"],
  runners: {
    codex: { agent: { type: "codex", model: "gpt-5.5", skills } },
    claude: { agent: { type: "claude-code", model: "claude-sonnet-4-6", skills } },
  },
  run: { timeoutMs: "5m", maxCostUSD: 2 },
};

export default config;
