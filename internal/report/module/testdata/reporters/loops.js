export default { onCaseStart() { for (;;) {} }, onSuiteFinish() { console.log("unreachable"); } };
