// node:timers/promises.
const aborted = (signal: any) => Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: signal.reason });

const wait = (start: (f: () => void) => any, stop: (t: any) => void, value: unknown, options: any = {}) =>
  new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted) return reject(aborted(signal));
    const abort = () => {
      stop(timer);
      reject(aborted(signal));
    };
    const timer = start(() => {
      signal?.removeEventListener("abort", abort);
      resolve(value);
    });
    if (options?.ref === false) timer.unref?.();
    signal?.addEventListener("abort", abort, { once: true });
  });

const promises = {
  setTimeout: (ms?: number, value?: unknown, options?: any) => wait((f) => setTimeout(f, ms), clearTimeout, value, options),
  setImmediate: (value?: unknown, options?: any) => wait((f) => setImmediate(f), clearImmediate, value, options),
  async *setInterval(ms?: number, value?: unknown, options: any = {}) {
    for (;;) yield await promises.setTimeout(ms, value, options);
  },
  scheduler: { wait: (ms: number, options?: any) => promises.setTimeout(ms, undefined, options), yield: () => promises.setImmediate() },
};
export default promises;
