// AsyncLocalStorage and AsyncResource. The engine has no hook for the reaction of a promise, so
// then, timers and microtasks carry the context. In a bundle that imports this module, async
// functions are rewritten to call then.
type Context = Map<object, unknown> | undefined;
let current: Context;

const bind = <F extends (...args: any[]) => any>(f: F): F => {
  if (typeof f !== "function") return f;
  const context = current;
  return function (this: any, ...args: any[]) {
    const before = current;
    current = context;
    try {
      return f.apply(this, args);
    } finally {
      current = before;
    }
  } as F;
};

const then = Promise.prototype.then;
Object.defineProperty(Promise.prototype, "then", {
  value: function (this: Promise<any>, ok: any, bad: any) { return then.call(this, bind(ok), bind(bad)); },
  writable: true, configurable: true, enumerable: false,
});
for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"] as const) {
  const original: any = (globalThis as any)[name];
  const wrapped = { [name]: (f: any, ...rest: any[]) => original(typeof f === "function" ? bind(f) : f, ...rest) }[name];
  Object.defineProperty(globalThis, name, { value: wrapped, writable: true, configurable: true, enumerable: false });
  (__plumb as any).timers[name] = wrapped;
}

class AsyncLocalStorage {
  #default: unknown;
  name: string;
  constructor(options: any = {}) {
    this.#default = options?.defaultValue;
    this.name = options?.name ?? "";
  }
  run(store: unknown, f: (...args: any[]) => any, ...args: any[]) {
    const before = current;
    current = new Map(current ?? []).set(this, store);
    try {
      return f(...args);
    } finally {
      current = before;
    }
  }
  exit(f: (...args: any[]) => any, ...args: any[]) { return this.run(undefined, f, ...args); }
  getStore() { return current?.has(this) ? current.get(this) : this.#default; }
  enterWith(store: unknown) { current = new Map(current ?? []).set(this, store); }
  disable() { if (current) (current = new Map(current)).delete(this); }
  static bind(f: any) { return bind(f); }
  static snapshot() { return bind((f: any, ...args: any[]) => f(...args)); }
}

class AsyncResource {
  #run = bind((f: any, self: any, args: any[]) => f.apply(self, args));
  type: string;
  constructor(type: string) { this.type = type; }
  runInAsyncScope(f: any, self?: any, ...args: any[]) { return this.#run(f, self, args); }
  emitDestroy() { return this; }
  asyncId() { return 1; }
  triggerAsyncId() { return 0; }
  bind(f: any, self?: any) { return (...args: any[]) => this.#run(f, self, args); }
  static bind(f: any) { return bind(f); }
}

const hook = { enable: () => hook, disable: () => hook };
export default { AsyncLocalStorage, AsyncResource, createHook: () => hook, executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}) };
