// node:events, written from Node's documentation.
import util from "node:util";
import { invalidType, outOfRange } from "../internal/errors";

type Listener = ((...args: any[]) => any) & { listener?: Listener };
type Name = string | symbol;

const errorMonitor = Symbol("events.errorMonitor");
const rejection = Symbol.for("nodejs.rejection");
const capture = Symbol("kCapture");
const shape = Symbol("shapeMode");

function checked(listener: unknown): Listener {
  if (typeof listener !== "function") throw invalidType("listener", "of type function", listener);
  return listener as Listener;
}

function count(name: string, value: unknown): number {
  if (typeof value !== "number") throw invalidType(name, "of type number", value);
  if (!(value >= 0)) throw outOfRange(name, ">= 0", value);
  return value;
}

let defaultMaxListeners = 10;

// A function and not a class: constructors from before classes call it with their own this.
function EventEmitter(this: any, options?: { captureRejections?: boolean }) {
  EventEmitter.init.call(this, options);
}

EventEmitter.init = function (this: any, options?: { captureRejections?: boolean }) {
  // A prototype that is itself an emitter must not share its listeners.
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
  }
  this._maxListeners ||= undefined;
  this[shape] ??= false;
  if (options?.captureRejections !== undefined) this[capture] = Boolean(options.captureRejections);
  else this[capture] = EventEmitter.prototype[capture];
};

/** The listeners of an event, or undefined; never to be changed in place, because an emit may walk them. */
const listenersOf = (emitter: any, name: Name): Listener[] | undefined => {
  const found = emitter._events?.[name];
  return typeof found === "function" ? [found] : found;
};

// As in Node, one listener is stored as itself and several as a list; packages look at _events.
function store(emitter: any, name: Name, list: Listener[]): void {
  const had = emitter._events[name] !== undefined;
  if (list.length > 0) emitter._events[name] = list.length === 1 ? list[0] : list;
  else if (emitter._eventsCount === 1 && had) emitter._events = Object.create(null);
  else delete emitter._events[name];
  emitter._eventsCount += Number(list.length > 0) - Number(had);
}

function add(emitter: any, name: Name, value: unknown, first: boolean, wrap = (listener: Listener) => listener): any {
  const original = checked(value);
  const listener = wrap(original);
  if (emitter._events === undefined) {
    emitter._events = Object.create(null);
    emitter._eventsCount = 0;
  }
  if (emitter._events.newListener !== undefined) emitter.emit("newListener", name, original);
  const before = listenersOf(emitter, name) ?? [];
  const list = first ? [listener, ...before] : [...before, listener];
  store(emitter, name, list);
  const most = emitter.getMaxListeners?.() ?? defaultMaxListeners;
  const stored = emitter._events[name];
  if (most > 0 && list.length > most && !(before as any).warned) {
    stored.warned = true;
    const message = `Possible EventEmitter memory leak detected. ${list.length} ${String(name)} listeners added to ${
      util.inspect(emitter, { depth: -1 })}. MaxListeners is ${most}. Use emitter.setMaxListeners() to increase limit`;
    console.error(`(plumb) MaxListenersExceededWarning: ${message}`);
  } else if ((before as any).warned) {
    stored.warned = true;
  }
  return emitter;
}

/** A listener that removes itself before its first call. */
const once = (emitter: any, name: Name) => (listener: Listener): Listener => {
  let fired = false;
  const wrapper: Listener = function (this: any, ...args) {
    if (fired) return undefined;
    fired = true;
    emitter.removeListener(name, wrapper);
    return listener.apply(emitter, args);
  };
  wrapper.listener = listener;
  return wrapper;
};

// What a listener's promise came to, of an emitter that captures rejections.
function captured(emitter: any, result: any, name: Name, args: unknown[]): void {
  if (typeof result?.then !== "function") return;
  result.then(undefined, (error: unknown) => {
    setTimeout(() => {
      if (typeof emitter[rejection] === "function") return emitter[rejection](error, name, ...args);
      const before = emitter[capture];
      emitter[capture] = false; // an error listener that rejects, too, must not come here again
      try {
        emitter.emit("error", error);
      } finally {
        emitter[capture] = before;
      }
    }, 0);
  });
}

const methods: Record<string, (this: any, ...args: any[]) => any> = {
  emit(name: Name, ...args: any[]): boolean {
    if (name === "error") {
      if (listenersOf(this, errorMonitor)) this.emit(errorMonitor, ...args);
      if (!listenersOf(this, name)) {
        const [error] = args;
        if (error instanceof Error) throw error;
        throw Object.assign(new Error(`Unhandled error. (${typeof error === "string" ? `'${error}'` : util.inspect(error)})`), {
          code: "ERR_UNHANDLED_ERROR", context: error,
        });
      }
    }
    const list = listenersOf(this, name);
    if (!list) return false;
    for (const listener of [...list]) {
      const result = listener.apply(this, args);
      if (this[capture] && result !== undefined && result !== null) captured(this, result, name, args);
    }
    return true;
  },
  addListener(name: Name, listener: unknown) { return add(this, name, listener, false); },
  prependListener(name: Name, listener: unknown) { return add(this, name, listener, true); },
  once(name: Name, listener: unknown) { return add(this, name, listener, false, once(this, name)); },
  prependOnceListener(name: Name, listener: unknown) { return add(this, name, listener, true, once(this, name)); },
  removeListener(name: Name, listener: unknown) {
    checked(listener);
    const list = listenersOf(this, name);
    const at = list?.findLastIndex((l) => l === listener || l.listener === listener) ?? -1;
    if (!list || at < 0) return this;
    store(this, name, list.toSpliced(at, 1));
    if (this._events.removeListener !== undefined) this.emit("removeListener", name, list[at].listener ?? list[at]);
    return this;
  },
  removeAllListeners(...names: Name[]) {
    if (!this._events) return this;
    const watched = this._events.removeListener !== undefined;
    const others = Reflect.ownKeys(this._events).filter((name) => name !== "removeListener");
    for (const name of names.length > 0 ? names : [...others, "removeListener"]) {
      if (!watched) store(this, name, []);
      else for (const listener of (listenersOf(this, name) ?? []).toReversed()) this.removeListener(name, listener);
    }
    return this;
  },
  setMaxListeners(n: unknown) {
    this._maxListeners = count("setMaxListeners", n);
    return this;
  },
  getMaxListeners() { return this._maxListeners ?? defaultMaxListeners; },
  listeners(name: Name) { return (listenersOf(this, name) ?? []).map((l) => l.listener ?? l); },
  rawListeners(name: Name) { return [...(listenersOf(this, name) ?? [])]; },
  listenerCount(name: Name, listener?: unknown) {
    const list = listenersOf(this, name) ?? [];
    return listener == null ? list.length : list.filter((l) => l === listener || l.listener === listener).length;
  },
  eventNames() { return Reflect.ownKeys(this._events ?? {}); },
};
methods.on = methods.addListener;
methods.off = methods.removeListener;
Object.assign(EventEmitter.prototype, { _events: undefined, _eventsCount: 0, _maxListeners: undefined }, methods);
Object.defineProperty(EventEmitter.prototype, capture, { value: false, writable: true });

/** A call of what waits for a signal, and the removal of it. */
function whenAborted(signal: any, call: (reason: any) => void): () => void {
  const aborted = () => call(Object.assign(new Error("The operation was aborted", { cause: signal.reason }), { name: "AbortError", code: "ABORT_ERR" }));
  if (signal === undefined) return () => {};
  if (typeof signal !== "object" || signal === null || !("aborted" in signal)) throw invalidType("options.signal", "an instance of AbortSignal", signal);
  if (signal.aborted) aborted();
  else signal.addEventListener("abort", aborted, { once: true });
  return () => signal.removeEventListener("abort", aborted);
}

/** Listens on an emitter or an EventTarget; the result ends that. */
function listen(target: any, name: Name, listener: Listener): () => void {
  if (typeof target?.on === "function") {
    target.on(name, listener);
    return () => target.removeListener(name, listener);
  }
  if (typeof target?.addEventListener !== "function") throw invalidType("emitter", "an instance of EventEmitter", target);
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
}

/** Arguments of the next event. An error event before it rejects. */
function onceOf(target: any, name: Name, options: any = {}): Promise<any[]> {
  return new Promise((resolve, reject) => {
    const ends: (() => void)[] = [];
    const end = (settle: () => void) => {
      for (const stop of ends) stop();
      settle();
    };
    let aborted = false;
    const forget = whenAborted(options?.signal, (reason) => {
      aborted = true;
      end(() => reject(reason));
    });
    if (aborted) return;
    ends.push(forget, listen(target, name, (...args) => end(() => resolve(args))));
    if (name !== "error" && typeof target.on === "function") ends.push(listen(target, "error", (error) => end(() => reject(error))));
  });
}

/** An iterator over the events of an emitter. */
function on(target: any, name: Name, options: any = {}): any {
  const queue: any[][] = [];
  const waiting: { resolve(v: any): void; reject(e: unknown): void }[] = [];
  const ends: (() => void)[] = [];
  let failure: { error: unknown } | undefined;
  let done = false;
  const fail = (error: unknown) => {
    const next = waiting.shift();
    if (next) next.reject(error);
    else failure = { error };
    stop();
  };
  const stop = () => {
    done = true;
    for (const end of ends.splice(0)) end();
    for (const next of waiting.splice(0)) next.resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  let aborted: { reason: unknown } | undefined;
  const forget = whenAborted(options?.signal, (reason) => {
    aborted = { reason };
    fail(reason);
  });
  if (aborted) throw (aborted as { reason: unknown }).reason;
  ends.push(forget, listen(target, name, (...args) => {
    const next = waiting.shift();
    if (next) next.resolve({ value: args, done: false });
    else queue.push(args);
  }));
  if (name !== "error" && typeof target.on === "function") ends.push(listen(target, "error", fail));
  for (const close of options?.close ?? []) ends.push(listen(target, close, () => void stop()));
  return {
    next() {
      if (queue.length > 0) return Promise.resolve({ value: queue.shift(), done: false });
      if (failure) {
        const { error } = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (done) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return: stop,
    throw(error: unknown) {
      if (!(error instanceof Error)) throw invalidType("EventEmitter.AsyncIterator", "an instance of Error", error);
      fail(error);
    },
    [Symbol.asyncIterator]() { return this; },
  };
}

Object.assign(EventEmitter, {
  EventEmitter,
  errorMonitor,
  captureRejectionSymbol: rejection,
  on,
  once: onceOf,
  usingDomains: false,
  getEventListeners: (target: any, name: Name) => (typeof target?.listeners === "function" ? target.listeners(name) : []),
  getMaxListeners: (target: any) => target?.getMaxListeners?.() ?? defaultMaxListeners,
  setMaxListeners(n: number = defaultMaxListeners, ...targets: any[]) {
    count("setMaxListeners", n);
    if (targets.length === 0) defaultMaxListeners = n;
    for (const target of targets) target.setMaxListeners?.(n);
  },
  listenerCount: (target: any, name: Name) => target.listenerCount(name),
  addAbortListener(signal: any, listener: Listener) {
    const stop = whenAborted(signal, () => listener(new Event("abort")));
    return { [Symbol.dispose]: stop };
  },
});
Object.defineProperties(EventEmitter, {
  defaultMaxListeners: {
    enumerable: true,
    get: () => defaultMaxListeners,
    set(n: unknown) { defaultMaxListeners = count("defaultMaxListeners", n); },
  },
  captureRejections: {
    enumerable: true,
    get: () => (EventEmitter.prototype as any)[capture],
    set(value: boolean) { (EventEmitter.prototype as any)[capture] = value; },
  },
});

export default EventEmitter as any;
