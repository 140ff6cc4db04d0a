// Imports from plumb, as the documentation shows, types and values.
import type { Reporter } from "plumb";
import { assert } from "plumb";
import { ok } from "node:assert/strict";

class Counter implements Reporter {
  private finished = 0;
  onRunnerFinish() {
    this.finished++;
  }
  onSuiteFinish() {
    ok(typeof assert.commands.includes === "function");
    console.log(this.finished + " finished");
  }
}

export const reporter = new Counter();
