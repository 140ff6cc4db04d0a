import { assert, commandMatcher, type Case, type SuiteWorkspaceConfig } from "plumb";

// Each session works in a fresh copy of template/.
export const workspace: SuiteWorkspaceConfig = { mode: "isolated", templateDir: "./template" };

const changes = commandMatcher("sh").arg("changes.sh");

const cases: Case[] = [
  {
    id: "writes-the-notes",
    prompt: "Write the release notes of version 1.3.0.",
    tags: ["skill"],
    maxSteps: 20,
    assert(report, ctx) {
      // A failed hard check stops the case: the checks below it would make no sense.
      assert.skills.has(report, "release-notes");
      assert.commands.succeeded(report, changes, {
        explain: { question: "The skill says to run sh changes.sh. Why did you not run it?" },
      });
      assert.files.changed(report, "CHANGELOG.md");

      // Soft checks are collected, so that one session reports all its failures.
      assert.soft.files.contains(report, "CHANGELOG.md", /^## 1\.3\.0\n[^#]*refund[^#]*million/m);
      assert.soft.files.notContains(report, "CHANGELOG.md", /parser/);
      assert.soft.files.contains(report, "CHANGELOG.md", "- `till count` counts by the hour.");
      assert.soft.files.onlyChanged(report, ["CHANGELOG.md"]);
      assert.soft.permissions.noneDenied(report);
      assert.soft.ok(ctx.finalOutput().length < 2000, "the last message is a report, not an essay");
    },
  },
  {
    id: "looks-and-leaves",
    prompt: "Which version was released last? Only look, change nothing.",
    assert(report) {
      assert.output.includes(report, /\b1\.2\.0\b/);
      assert.fileReads.includes(report, /(CHANGELOG\.md|VERSION)$/);
      assert.files.onlyChanged(report, []);
      assert.skills.notHas(report, "release-notes");
    },
  },
];

export default cases;
