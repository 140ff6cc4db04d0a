// Timers: Go keeps the times, this module keeps the callbacks.
import { describe } from "./errors";
import { host } from "./host";

const callbacks = new Map<number, { f: Function; args: unknown[]; timer?: Timeout | Immediate; repeat: boolean }>();
let last = 0;

class Timeout {
  #id: number;
  #f: Function;
  #args: unknown[];
  #ms: number;
  #repeat: boolean;
  #ref = true;
  constructor(id: number, f: Function, args: unknown[], ms: number, repeat: boolean) {
    this.#id = id;
    this.#f = f;
    this.#args = args;
    this.#ms = ms;
    this.#repeat = repeat;
  }
  ref() {
    this.#ref = true;
    host("timer.ref", this.#id, true);
    return this;
  }
  unref() {
    this.#ref = false;
    host("timer.ref", this.#id, false);
    return this;
  }
  hasRef() { return this.#ref; }
  refresh() {
    host("timer.clear", this.#id);
    callbacks.set(this.#id, { f: this.#f, args: this.#args, timer: this, repeat: this.#repeat });
    host("timer.set", this.#id, this.#ms, this.#repeat);
    if (!this.#ref) host("timer.ref", this.#id, false);
    return this;
  }
  close() { clear(this); return this; }
  [Symbol.toPrimitive]() { return this.#id; }
  get id() { return this.#id; }
}
Object.defineProperty(Timeout.prototype, "id", { enumerable: false });

class Immediate {
  #id: number;
  constructor(id: number) { this.#id = id; }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
  get id() { return this.#id; }
}
for (const c of [Timeout, Immediate])
  Object.defineProperty(c.prototype, (Symbol as any).dispose ?? Symbol.for("dispose"), { value(this: any) { clear(this); }, configurable: true });

function check(f: unknown): asserts f is Function {
  if (typeof f !== "function")
    throw Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${f === null ? "null" : typeof f}`), { code: "ERR_INVALID_ARG_TYPE" });
}

function start(f: unknown, ms: unknown, repeat: boolean, args: unknown[]): Timeout {
  check(f);
  const id = ++last;
  const delay = Number(ms);
  const t = new Timeout(id, f, args, delay > 0 ? Math.trunc(delay) : 1, repeat);
  callbacks.set(id, { f, args, timer: t, repeat });
  host("timer.set", id, delay > 0 ? Math.trunc(delay) : 1, repeat);
  return t;
}

function clear(t: any): void {
  if (t === undefined || t === null) return;
  const id = typeof t === "object" ? t.id : Number(t);
  if (typeof id === "number" && callbacks.delete(id)) host("timer.clear", id);
}

export const timers = {
  setTimeout: (f: unknown, ms?: unknown, ...args: unknown[]) => start(f, ms, false, args),
  setInterval: (f: unknown, ms?: unknown, ...args: unknown[]) => start(f, ms, true, args),
  setImmediate: (f: unknown, ...args: unknown[]) => {
    check(f);
    const id = ++last;
    const timer = new Immediate(id);
    callbacks.set(id, { f, args, timer, repeat: false });
    host("immediate", id);
    return timer;
  },
  clearTimeout: (t?: unknown) => clear(t),
  clearInterval: (t?: unknown) => clear(t),
  clearImmediate: (t?: unknown) => clear(t),
  queueMicrotask: (f: unknown) => {
    check(f);
    Promise.resolve().then(() => {
      try {
        f();
      } catch (error) {
        host("uncaught", describe(error));
      }
    });
  },
};

/** Go calls it when a timer is due. */
export function fire(id: number): void {
  const c = callbacks.get(id);
  if (!c) return;
  if (!c.repeat) callbacks.delete(id);
  try {
    c.f.apply(c.timer, c.args);
  } catch (error) {
    host("uncaught", describe(error));
  }
}
