import { basename } from "node:path";
export const reporter = { onSuiteFinish({ context }) { console.log(basename(context.suitePath)); } };
