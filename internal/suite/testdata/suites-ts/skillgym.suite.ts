// A suite as users of skillgym write it: nothing in it is for Plumb.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { assert, commandMatcher, type AssertionContext, type Case, type SessionReport, type SuiteWorkspaceConfig } from "skillgym";

export const workspace: SuiteWorkspaceConfig = {
  mode: "isolated",
  templateDir: "./project/data",
  bootstrap: { command: "node", args: ["./setup.mjs"], timeoutMs: 5_000 },
};

function ranTests(report: SessionReport): void {
  assert.commands.includes(report, commandMatcher("pnpm").arg("test").flag("--watch"));
}

const cases: Case[] = [
  {
    id: "reads-the-skill",
    prompt: "Release a new version.",
    tags: ["smoke", "skills"],
    assert(report: SessionReport, ctx: AssertionContext) {
      assert.skills.has(report, "release-notes", { minConfidence: "strong" });
      assert.fileReads.includes(report, /SKILL\.md$/);
      assert.ok(ctx.getCommands().length > 0);
      assert.deepEqual(ctx.getFileReads(), report.files.observedReads);
    },
  },
  {
    id: "runs-the-tests",
    prompt: "Run the tests.",
    timeoutMs: 90_000,
    expectedFail: true,
    assert(report) {
      ranTests(report);
    },
  },
  {
    id: "counts",
    prompt: "Count.",
    classifyFailure: (result) => (result.failureOrigin === "assertion" ? { id: "counted", label: "Counted wrongly" } : undefined),
    async assert(report) {
      await Promise.resolve();
      assert.soft.commands.count(report, "pnpm", 7);
      assert.soft.output.includes(report, "nothing like this", { message: "The answer is off" });
      assert.classify("tools", () => assert.toolCalls.has(report, { tool: "web_search" }));
    },
  },
  {
    id: "node-modules",
    prompt: "Use Node.",
    assert() {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), "plumb-suite-"));
      fs.writeFileSync(path.join(dir, "a.txt"), "hello");
      assert.equal(fs.readFileSync(path.join(dir, "a.txt"), "utf8"), "hello");
      fs.rmSync(dir, { recursive: true });
    },
  },
  {
    id: "crashes",
    prompt: "Crash.",
    assert(report) {
      const events = (report as unknown as { missing: { length: number } }).missing;
      assert.equal(events.length, 0);
    },
  },
];

export default cases;
