// node:events: the npm package, with what Node has beyond it.
import EventEmitter from "events";

const E = EventEmitter as any;
E.EventEmitter = E;
E.errorMonitor ??= Symbol("events.errorMonitor");
E.captureRejectionSymbol = Symbol.for("nodejs.rejection");
E.setMaxListeners = (n: number, ...targets: any[]) => { for (const t of targets) t.setMaxListeners?.(n); };
E.getEventListeners = (target: any, name: string) => target.listeners?.(name) ?? [];
E.listenerCount ??= (target: any, name: string) => target.listenerCount(name);
const emit = E.prototype.emit;
E.prototype.emit = function (name: unknown, ...args: unknown[]) {
  if (name === "error" && this.listenerCount(E.errorMonitor) > 0) emit.call(this, E.errorMonitor, ...args);
  return emit.call(this, name, ...args);
};
E.on = function (emitter: any, name: string, options: any = {}) {
  const queue: any[] = [], waiting: any[] = [];
  let error: unknown, failed = false, done = false;
  const push = (...args: unknown[]) => (waiting.length ? waiting.shift().resolve({ value: args, done: false }) : queue.push(args));
  const fail = (e: unknown) => {
    if (waiting.length) waiting.shift().reject(e);
    else (error = e), (failed = true);
  };
  const stop = () => {
    done = true;
    emitter.removeListener(name, push);
    emitter.removeListener("error", fail);
    for (const w of waiting.splice(0)) w.resolve({ value: undefined, done: true });
  };
  emitter.on(name, push);
  if (name !== "error") emitter.on("error", fail);
  for (const close of options.close ?? []) emitter.on(close, stop);
  options.signal?.addEventListener("abort", () => { fail(options.signal.reason); stop(); }, { once: true });
  return {
    next() {
      if (queue.length) return Promise.resolve({ value: queue.shift(), done: false });
      if (failed) { failed = false; stop(); return Promise.reject(error); }
      if (done) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() { stop(); return Promise.resolve({ value: undefined, done: true }); },
    throw(e: unknown) { fail(e); return Promise.resolve({ value: undefined, done: true }); },
    [Symbol.asyncIterator]() { return this; },
  };
};
const once = E.once;
E.once = (emitter: any, name: string, options: any = {}) => {
  if (options.signal?.aborted) return Promise.reject(options.signal.reason);
  const event = once(emitter, name);
  if (!options.signal) return event;
  return Promise.race([event, new Promise((_, reject) => options.signal.addEventListener("abort", () => reject(options.signal.reason), { once: true }))]);
};
export default E;
