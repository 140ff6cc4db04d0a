import { assert, type SessionReport } from "skillgym";

export function helper(report: SessionReport, colour: string): void {
  assert.output.includes(report, colour);
}
