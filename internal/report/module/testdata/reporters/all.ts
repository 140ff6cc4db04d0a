// Prints what each hook gets.
type Hook = (event: any) => void | Promise<void>;

const seen = (name: string, pick: (event: any) => unknown): Hook => async (event) => {
  await Promise.resolve();
  console.log(name + " " + JSON.stringify(pick(event)));
};

const reporter: Record<string, Hook> = {
  onSuiteStart: seen("onSuiteStart", (e) => [e.context, e.cases, e.runners.map((r: any) => r.id), e.startedAt]),
  onCaseStart: seen("onCaseStart", (e) => [e.case, e.caseIndex, e.totalCases]),
  onRunnerStart: seen("onRunnerStart", (e) => [e.case.id, e.runner.id, e.caseIndex, e.totalCases]),
  onRunnerFinish: seen("onRunnerFinish", (e) => [e.case.id, e.runner.id, e.result.status, e.result.report?.finalOutput, e.result.repetitions?.length]),
  onCaseFinish: seen("onCaseFinish", (e) => [e.case.id, e.result.caseId, e.result.passed, e.result.runnerResults.map((r: any) => r.status)]),
  onSuiteFinish: seen("onSuiteFinish", (e) => [Object.keys(e.result).slice(0, 9), e.result.cases.length, e.result.runners.map((r: any) => r.successRate)]),
  onError: seen("onError", (e) => [String(e.error)]),
};

export default reporter;
