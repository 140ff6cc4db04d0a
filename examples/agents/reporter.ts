import type { Reporter } from "plumb";

// Prints one line per execution and a total at the end, for a chat message or a log.
let tokens = 0;

const reporter: Reporter = {
  onRunnerFinish({ case: c, runner, result }) {
    tokens += result.report?.usage.totalTokens ?? 0;
    console.log(`${result.outcome}  ${c.id} on ${runner.id}  ${result.failureClass?.label ?? ""}`.trimEnd());
  },
  onSuiteFinish({ result }) {
    const passed = result.cases.filter((c) => c.passed).length;
    console.log(`${passed} of ${result.cases.length} cases are green, ${tokens} tokens`);
  },
};

export default reporter;
