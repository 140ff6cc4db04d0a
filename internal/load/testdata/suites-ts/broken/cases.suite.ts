export const workspace = { mode: "shared", templateDir: "./missing", dir: "x" };
export const skills = ["./nowhere"];
export default [
  { prompt: "p", assert() {} },
  { id: "", prompt: "p", assert() {} },
  { id: "a/b", prompt: "p", assert() {} },
  { id: "..", prompt: "p", assert() {} },
  { id: "no-prompt", assert() {} },
  { id: "no-assert", prompt: "p" },
  { id: "same", prompt: "p", assert() {} },
  { id: "same", prompt: "q", assert() {} },
  { id: "Same", prompt: "q", assert() {} },
  { id: "tags", prompt: "p", tags: "smoke", assert() {} },
  { id: "tag", prompt: "p", tags: ["a", " ", 7], assert() {} },
  { id: "time", prompt: "p", timeoutMs: -5, repeat: 0, assert() {} },
  { id: "key", prompt: "p", asert() {}, timeout: 5, assert() {} },
  { id: "kinds", prompt: 7, expectedFail: "yes", classifyFailure: "x", assert: "y" },
  { id: "category", prompt: "p", category: "cooking", difficulty: "hrd", assert() {} },
  { id: "declared", prompt: "p", assertions: [{ type: "contain" }, { type: "regex", pattern: "(" }] },
  "just a word",
  null,
];
