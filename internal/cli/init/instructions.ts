import { assert, type Case, type SuiteWorkspaceConfig } from "plumb";

// Each session works in a fresh copy of this folder. Name a smaller folder if this one is large.
export const workspace: SuiteWorkspaceConfig = { mode: "isolated", templateDir: "." };

const cases: Case[] = [
  {
    id: "looks-and-leaves",
    prompt: "What does this project say about how to work on it? Answer in one sentence. Only look, change nothing.",
    maxSteps: 20,
    assert(report) {
      assert.output.notEmpty(report);
      // Check what your instructions ask for, such as assert.commands.includes(report, "make test").
      assert.files.onlyChanged(report, []);
    },
  },
];

export default cases;
