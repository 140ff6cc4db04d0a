import { assert } from "plumb";

export default [
  { id: "here", prompt: new URL(".", import.meta.url).pathname.endsWith("/suites-ts/") ? "yes" : "no", assert: (report) => assert.output.notEmpty(report) },
  { id: "Dynamic: imports & more?", prompt: (await import("./project/src/shout.ts")).shout("x"), assert: () => { throw "a string"; } },
];
