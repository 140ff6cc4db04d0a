// DOMException, Event, EventTarget, AbortController and AbortSignal.
const codes: Record<string, number> = {
  IndexSizeError: 1, HierarchyRequestError: 3, InvalidCharacterError: 5, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11,
  SyntaxError: 12, InvalidAccessError: 15, TimeoutError: 23, AbortError: 20, DataCloneError: 25, NetworkError: 19, QuotaExceededError: 22,
};

class DOMException extends Error {
  #name: string;
  constructor(message: unknown = "", options: any = "Error") {
    super(String(message));
    if (options !== null && typeof options === "object") {
      this.#name = options.name === undefined ? "Error" : String(options.name);
      if ("cause" in options) Object.defineProperty(this, "cause", { value: options.cause, configurable: true, writable: true, enumerable: false });
    } else this.#name = String(options);
    Error.captureStackTrace(this, DOMException);
  }
  get name() { return this.#name; }
  get code() { return codes[this.#name] ?? 0; }
}
Object.defineProperty(DOMException.prototype, Symbol.toStringTag, { value: "DOMException", configurable: true });

class Event {
  type: string;
  bubbles: boolean;
  cancelable: boolean;
  composed: boolean;
  defaultPrevented = false;
  target: any = null;
  currentTarget: any = null;
  timeStamp = __plumb.host("now");
  isTrusted = false;
  stopped = false;
  constructor(type: string, options: any = {}) {
    if (arguments.length === 0) throw Object.assign(new TypeError('The "type" argument must be specified'), { code: "ERR_MISSING_ARGS" });
    this.type = `${type}`;
    this.bubbles = !!options?.bubbles;
    this.cancelable = !!options?.cancelable;
    this.composed = !!options?.composed;
    Object.defineProperty(this, "stopped", { enumerable: false, writable: true, value: false });
  }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { this.stopped = true; }
  composedPath() { return this.target ? [this.target] : []; }
  get returnValue() { return !this.defaultPrevented; }
  get srcElement() { return this.target; }
  get eventPhase() { return this.currentTarget ? 2 : 0; }
}

class CustomEvent extends Event {
  detail: unknown;
  constructor(type: string, options: any = {}) {
    super(type, options);
    this.detail = options?.detail ?? null;
  }
}

interface Listener { callback: any; once: boolean; capture: boolean; }

class EventTarget {
  #listeners = new Map<string, Listener[]>();
  addEventListener(type: string, callback: any, options: any = {}) {
    if (!callback) return;
    const o = typeof options === "boolean" ? { capture: options } : options ?? {};
    if (o.signal?.aborted) return;
    const list = this.#listeners.get(`${type}`) ?? [];
    if (list.some((l) => l.callback === callback && l.capture === !!o.capture)) return;
    list.push({ callback, once: !!o.once, capture: !!o.capture });
    this.#listeners.set(`${type}`, list);
    o.signal?.addEventListener("abort", () => this.removeEventListener(type, callback, o), { once: true });
  }
  removeEventListener(type: string, callback: any, options: any = {}) {
    const capture = typeof options === "boolean" ? options : !!options?.capture;
    const list = this.#listeners.get(`${type}`);
    if (list) this.#listeners.set(`${type}`, list.filter((l) => l.callback !== callback || l.capture !== capture));
  }
  dispatchEvent(event: any) {
    if (!(event instanceof Event)) throw Object.assign(new TypeError('The "event" argument must be an instance of Event.'), { code: "ERR_INVALID_ARG_TYPE" });
    event.target = event.currentTarget = this;
    const handler = (this as any)[`on${event.type}`];
    const list = [...(this.#listeners.get(event.type) ?? [])];
    if (typeof handler === "function") list.push({ callback: handler, once: false, capture: false });
    for (const l of list) {
      if (event.stopped) break;
      if (l.once) this.removeEventListener(event.type, l.callback, l.capture);
      try {
        if (typeof l.callback === "function") l.callback.call(this, event);
        else l.callback.handleEvent(event);
      } catch (error) {
        __plumb.fail(error);
      }
    }
    event.currentTarget = null;
    return !event.defaultPrevented;
  }
}

const make = Symbol();

class AbortSignal extends EventTarget {
  #aborted = false;
  #reason: unknown;
  onabort: any = null;
  constructor(key?: symbol) {
    if (key !== make) throw Object.assign(new TypeError("Illegal constructor"), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
    super();
    Object.defineProperty(this, "onabort", { enumerable: false, writable: true, value: null });
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  static abort(reason?: unknown) {
    const s = new AbortSignal(make);
    AbortSignal.end(s, reason, arguments.length > 0);
    return s;
  }
  static timeout(ms: number) {
    const s = new AbortSignal(make);
    setTimeout(() => AbortSignal.end(s, new DOMException("The operation was aborted due to timeout", "TimeoutError"), true), ms).unref();
    return s;
  }
  static any(signals: Iterable<AbortSignal>) {
    const s = new AbortSignal(make);
    for (const one of signals) {
      if (one.aborted) {
        AbortSignal.end(s, one.reason, true);
        break;
      }
      one.addEventListener("abort", () => AbortSignal.end(s, one.reason, true), { once: true });
    }
    return s;
  }
  static end(s: AbortSignal, reason: unknown, given: boolean) {
    if (s.#aborted) return;
    s.#aborted = true;
    s.#reason = given && reason !== undefined ? reason : new DOMException("This operation was aborted", "AbortError");
    s.dispatchEvent(new Event("abort"));
  }
}
const end = AbortSignal.end;
delete (AbortSignal as any).end;
Object.defineProperty(AbortSignal, "end", { value: end, enumerable: false, configurable: true });

class AbortController {
  #signal = new AbortSignal(make);
  get signal() { return this.#signal; }
  abort(reason?: unknown) { end(this.#signal, reason, arguments.length > 0); }
}
for (const c of [Event, EventTarget, AbortSignal, AbortController, CustomEvent]) Object.defineProperty(c.prototype, Symbol.toStringTag, { value: c.name, configurable: true });

export default { DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController };
