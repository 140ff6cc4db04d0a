import { assert, type Case } from "skillgym";
import { helper } from "./helper";

enum Colour { Red = "red" }

const cases: Case[] = [
  {
    id: "says-red",
    prompt: "Name a colour.",
    tags: ["smoke"],
    timeoutMs: 60_000,
    assert(report) {
      helper(report, Colour.Red);
    },
  },
  {
    id: "equal",
    prompt: "Add 1 and 1.",
    async assert(report) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      assert.equal(report.finalOutput, "2");
    },
  },
];

export const workspace = { mode: "isolated" };
export default cases;
