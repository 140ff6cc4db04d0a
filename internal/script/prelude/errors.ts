// Errors as in V8: stack starts with a header and is mapped to the user's files, captureStackTrace
// exists, prepareStackTrace and stackTraceLimit work. QuickJS gives each error its own property
// stack at creation, so the constructors become proxies that replace it. Errors of the engine
// itself keep the raw stack; stack() maps any error.
import { host } from "./host";

const RawError = Error;
const define = Object.defineProperty;

interface Trace {
  header: string;
  raw: string;
  start?: string;
  limit: number;
  text?: unknown;
}
const traces = new WeakMap<object, Trace>();

function header(e: any): string {
  let name = "Error", message = "";
  try {
    if (e.name !== undefined) name = String(e.name);
    if (e.message !== undefined) message = String(e.message);
  } catch {}
  return name === "" ? message : message === "" ? name : `${name}: ${message}`;
}

function render(e: object, t: Trace): unknown {
  if (t.text === undefined) {
    const prepare = (globalThis.Error as any).prepareStackTrace;
    if (typeof prepare === "function") {
      const sites = JSON.parse(host("frames", t.raw, t.start ?? "", t.limit)).map((f: any) => new CallSite(f));
      t.text = ""; // a prepareStackTrace that reads stack must not recurse
      t.text = prepare.call(globalThis.Error, e, sites);
    } else t.text = t.header + host("trace", t.raw, t.start ?? "", t.limit);
  }
  return t.text;
}

class CallSite {
  #f: any;
  constructor(f: any) { this.#f = f; }
  getFileName() { return this.#f.file ?? null; }
  getScriptNameOrSourceURL() { return this.#f.file ?? null; }
  getLineNumber() { return this.#f.line ?? null; }
  getColumnNumber() { return this.#f.column ?? null; }
  getFunctionName() { return this.#f.function || null; }
  getMethodName() { return null; }
  getTypeName() { return null; }
  getThis() { return undefined; }
  getFunction() { return undefined; }
  getEvalOrigin() { return undefined; }
  isNative() { return false; }
  isToplevel() { return true; }
  isConstructor() { return false; }
  isEval() { return false; }
  isAsync() { return false; }
  isPromiseAll() { return false; }
  getPromiseIndex() { return null; }
  toString() {
    const f = this.#f, at = `${f.file}:${f.line}:${f.column}`;
    return f.function ? `${f.function} (${at})` : at;
  }
}

/** The trace of an error whose stack nobody replaced. */
function traceOf(e: object): Trace | undefined {
  return Object.getOwnPropertyDescriptor(e, "stack")?.get === accessor.get ? traces.get(e) : undefined;
}

const accessor = {
  configurable: true,
  enumerable: false,
  get(this: any) {
    for (let o = this; o; o = Object.getPrototypeOf(o)) {
      const t = traces.get(o);
      if (t) return render(o, t);
    }
    return undefined;
  },
  set(this: any, value: unknown) {
    define(this, "stack", { value, writable: true, configurable: true, enumerable: false });
  },
};

const limit = () => {
  const n = (globalThis.Error as any).stackTraceLimit;
  return typeof n === "number" ? n : -1;
};

function trace(e: object, raw: string, start?: string) {
  traces.set(e, { header: header(e), raw, start, limit: limit() });
  define(e, "stack", accessor);
}

const handler: ProxyHandler<any> = {
  construct(target, args, self) {
    const e = Reflect.construct(target, args, self);
    const raw = e.stack;
    // As in V8, the constructors of subclasses do not appear as frames.
    if (typeof raw === "string") trace(e, raw, typeof self === "function" && !natives.has(self) ? self.name : undefined);
    return e;
  },
  apply(target, _, args) {
    const e = Reflect.construct(target, args, target);
    const raw = e.stack;
    if (typeof raw === "string") trace(e, raw);
    return e;
  },
};

const wrapped = new Map<unknown, unknown>();
const natives = new Set<unknown>();
for (const name of ["Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError", "AggregateError"]) {
  const native = (globalThis as any)[name];
  const proxy = new Proxy(native, handler);
  wrapped.set(native, proxy);
  natives.add(native).add(proxy);
  if (name !== "Error") Object.setPrototypeOf(native, wrapped.get(RawError) as object);
  define(native.prototype, "constructor", { value: proxy, writable: true, configurable: true, enumerable: false });
  define(globalThis, name, { value: proxy, writable: true, configurable: true, enumerable: false });
}

// The engine's own InternalError ("stack overflow", "out of memory") corresponds to Node's
// RangeError.
{
  const internal = (globalThis as any).InternalError;
  Object.setPrototypeOf(internal.prototype, RangeError.prototype);
  define(internal.prototype, "name", { value: "RangeError", writable: true, configurable: true, enumerable: false });
  define(internal.prototype, "constructor", { value: RangeError, writable: true, configurable: true, enumerable: false });
  delete (globalThis as any).InternalError;
}

define(Error, "stackTraceLimit", { value: 10, writable: true, configurable: true, enumerable: true });
define(Error, "captureStackTrace", {
  value: function captureStackTrace(object: any, start?: Function) {
    if (object === null || (typeof object !== "object" && typeof object !== "function"))
      throw new TypeError(`Invalid argument`);
    trace(object, new RawError().stack!, typeof start === "function" ? start.name : undefined);
  },
  writable: true,
  configurable: true,
  enumerable: true,
});

/** Returns the whole stack of an error, header first, mapped. */
export function stack(e: any): string {
  if (e === null || typeof e !== "object") return "";
  const text = e.stack;
  if (typeof text !== "string") return text === undefined ? header(e) : String(text);
  if (traceOf(e)) return text;
  const mapped: string = host("trace", text, "", -1, property(e));
  return text.startsWith("    at ") || text === "" ? header(e) + mapped : host("map", text);
}

/** Gives an error that the engine threw the stack it would have in Node, for those who print it. */
export function complete(e: any, depth = 0): void {
  if (!isError(e) || depth > 8) return;
  const own = Object.getOwnPropertyDescriptor(e, "stack");
  if (own && typeof own.value === "string" && own.configurable && (own.value === "" || own.value.startsWith("    at ")))
    define(e, "stack", { value: stack(e), writable: true, configurable: true, enumerable: false });
  complete((e as any).cause, depth + 1);
}

/** The property that could not be read or written: the engine points at the object before it, V8 at the property. */
function property(e: any): string {
  return (e instanceof TypeError && /^cannot (?:read|set) property '(.*)' of (?:undefined|null)$/.exec(e.message)?.[1]) || "";
}

/** Returns the raw stack, for Go to find positions in. */
function rawStack(e: any): string {
  if (e === null || typeof e !== "object") return "";
  const t = traceOf(e);
  if (t) return (t.start ? `${t.start}\n` : "\n") + t.raw;
  const text = e.stack;
  return typeof text === "string" ? "\n" + text : "";
}

export function expression(e: unknown): string {
  return host("expression", rawStack(e));
}

const isError = (e: unknown): e is Error => (RawError as any).isError(e) || e instanceof RawError;

/** What JSON can tell of a value: circles and what is nested too deep are cut, errors show name and message. */
function plain(value: any, above: object[]): any {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (value === null || typeof value !== "object") return value;
  if (above.includes(value)) return "[Circular]";
  if (above.length >= 32) return "[...]";
  const below = [...above, value];
  if (Array.isArray(value)) return value.map((v) => plain(v, below) ?? null);
  if (value instanceof Map) return [...value].map((e) => plain(e, below));
  if (value instanceof Set) return [...value].map((v) => plain(v, below) ?? null);
  if (typeof value.toJSON === "function") return plain(value.toJSON(), below);
  const out: any = isError(value) ? { name: value.name, message: value.message } : {};
  for (const key of Object.keys(value)) out[key] = plain(value[key], below);
  return out;
}

/** JSON of a value as far as it goes, "" if it does not. */
function jsonOf(value: unknown): string {
  try {
    const text = JSON.stringify(plain(value, []));
    return text !== undefined && text.length <= 1 << 20 ? text : "";
  } catch {
    return "";
  }
}

/** Describes what was thrown to Go. */
export function describe(e: any, depth = 0): any {
  const out: any = {};
  try {
    if (isError(e)) {
      out.name = String(e.name);
      out.message = String(e.message);
      out.text = stack(e);
      out.raw = rawStack(e);
      if (!traceOf(e)) out.property = property(e);
    } else if (e !== null && typeof e === "object" && typeof e.message === "string") {
      out.name = typeof e.name === "string" ? e.name : "";
      out.message = e.message;
      out.raw = rawStack(e);
      if (typeof e.stack === "string") out.text = stack(e);
    } else {
      out.thrown = true;
      out.message = typeof e === "string" ? e : ((globalThis as any).__plumb.require("util").inspect(e) as string);
    }
    if (e !== null && typeof e === "object") {
      if (typeof e.code === "string" || typeof e.code === "number") out.code = String(e.code);
      out.assertion = e.name === "AssertionError" || e.code === "ERR_ASSERTION";
      const data: string[] = [];
      for (const key of Reflect.ownKeys(e)) {
        const property = Object.getOwnPropertyDescriptor(e, key)!;
        const name = typeof key === "symbol" ? (Symbol.keyFor(key) === undefined ? undefined : `Symbol.for(${Symbol.keyFor(key)})`) : key;
        if (name === undefined || key === "stack" || key === "cause" || (typeof key === "string" && !property.enumerable)) continue;
        const text = jsonOf(e[key]);
        if (text) data.push(`${JSON.stringify(name)}:${text}`);
      }
      if (data.length) out.data = `{${data.join(",")}}`;
      if (!depth && isError(e) && host("exec")) {
        complete(e);
        out.shown = (globalThis as any).__plumb.require("util").inspect(e);
      }
      if (depth < 8 && isError(e.cause)) out.cause = describe(e.cause, depth + 1);
    }
  } catch (error: any) {
    out.message ??= `an error that cannot be shown: ${error?.message}`;
  }
  return depth ? out : JSON.stringify(out);
}

export const errors = { isError, complete };
