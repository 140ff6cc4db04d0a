// Prints each event as it is, functions and errors by what they are.
const hooks = ["onSuiteStart", "onCaseStart", "onRunnerStart", "onRunnerFinish", "onCaseFinish", "onSuiteFinish", "onError"];
const shown = (_: string, v: unknown) => (typeof v === "function" ? "function" : v instanceof Error ? { error: String(v) } : v);
export const reporter = Object.fromEntries(hooks.map((hook) => [hook, (event: unknown) => console.log(JSON.stringify({ hook, event }, shown))]));
