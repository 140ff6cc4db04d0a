let calls = 0;
export default {
  onRunnerStart() {
    calls++;
    throw new TypeError("no " + calls);
  },
  async onSuiteFinish() {
    console.log("finished after " + calls);
    await Promise.reject(new Error("late"));
  },
};
