// A config without a default export.
import type { SkillgymConfig } from "plumb";

export const runners: SkillgymConfig["runners"] = { main: { agent: { type: "gemini", model: "pro" } } };
export const run = { repeat: await Promise.resolve(4) };
