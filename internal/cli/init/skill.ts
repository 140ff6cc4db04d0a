import { assert, type Case, type SuiteWorkspaceConfig } from "plumb";

// Each session works in an empty directory of its own, with these skills.
export const workspace: SuiteWorkspaceConfig = { mode: "isolated" };
export const skills = [SKILLS];

const cases: Case[] = [CASES];

export default cases;
