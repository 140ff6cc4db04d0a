// The core of the prelude: what every script needs from the start. Everything else is a module in
// lib, loaded when it is first used. It is evaluated as function (module, exports, raw, load):
// raw(op, ...args) calls Go, load(name) returns the factory of a module.
declare const raw: (op: string, ...args: unknown[]) => any;
declare const load: (name: string) => any;

import { describe, errors, expression, stack } from "./errors";
import { host, hostError } from "./host";
import { fire, timers } from "./timers";

const aliases: Record<string, string> = {
  "assert/strict": "assert",
  "util/types": "util",
  "path/posix": "path",
  "path/win32": "path",
  sys: "util",
};

const cache = new Map<string, any>();
const pending = new Map<number, { resolve(v: unknown): void; reject(e: unknown): void }>();
let lastPromise = 0;

function promise(begin: (id: number) => void): Promise<any> {
  return new Promise((resolve, reject) => {
    const id = ++lastPromise;
    pending.set(id, { resolve, reject });
    begin(id);
  });
}

const json = (text: any) => (text === "" ? undefined : JSON.parse(text));
const callHost = (op: string, ...args: unknown[]) => json(host("host", op, JSON.stringify(args)));
const callAsync = (op: string, ...args: unknown[]) =>
  promise((id) => host("hostAsync", id, op, JSON.stringify(args))).then(json);

function require(name: string): any {
  if (name.startsWith("node:")) name = name.slice(5);
  if (cache.has(name)) return cache.get(name).exports;
  const module = { exports: {} as any };
  cache.set(name, module); // stored before it runs, so that modules may import each other
  host("patch", true);
  try {
    const alias = aliases[name];
    if (alias !== undefined) {
      const whole = require(alias);
      module.exports =
        name === "assert/strict" ? whole.strict
        : name === "util/types" ? whole.types
        : name === "path/posix" ? whole.posix
        : name === "path/win32" ? whole.win32
        : whole;
    } else {
      load(name)(module, module.exports, require, plumb, callHost, callAsync, plumb.entry);
      if (module.exports?.__esModule && "default" in module.exports) module.exports = module.exports.default;
    }
  } catch (error) {
    cache.delete(name);
    throw error;
  } finally {
    host("patch", false);
  }
  return module.exports;
}

/**
 * Stands for a built-in module that suites do not have, when a package imports it. What is read of it can be read on, and a
 * class can extend it; the first call throws.
 */
function absent(module: string, name = ""): any {
  const member = (path: string): any => {
    const use = function () {
      throw Object.assign(new Error(`${module && `node:${module}`}${module ? path && ` (${path})` : path} is not available to suites`), { code: "ERR_NOT_AVAILABLE" });
    };
    const known = new Map<string, any>();
    return new Proxy(use, {
      get(target: any, key) {
        if (typeof key === "symbol" || key === "__esModule" || key === "then") return undefined;
        if (key === "prototype") return target.prototype;
        if (!known.has(key)) known.set(key, member(path ? `${path}.${key}` : key));
        return known.get(key);
      },
      construct: use as any,
      ownKeys: () => ["prototype"],
    });
  };
  return member(name);
}

const dynamic = new Map<string, Promise<any>>();
const missing = (name: unknown) => {
  throw Object.assign(new Error(`Cannot find module '${name}': a require whose argument is not a literal finds built-in modules only`), { code: "MODULE_NOT_FOUND" });
};

const plumb = {
  host,
  hostAsync: callAsync,
  require,
  absent,
  /** require of what is not a literal. */
  dynamic: Object.assign((name: unknown) => (host("builtin", String(name)) ? require(String(name)) : missing(name)), { cache: {}, resolve: missing, main: undefined }),
  stack,
  expression,
  entry: Object.create(null),
  env: () => require("process").env,
  async: (op: string, ...args: unknown[]) => promise((id) => host("async", id, op, ...args)),
  fail: (error: unknown) => host("uncaught", describe(error)),
  errors,
  timers,
  version: "",
  /** import(expression): Go bundles what it names relative to the importing file. */
  import(specifier: unknown, file: string): Promise<any> {
    const name = String(specifier);
    return promise((id) => host("import", id, name, file)).then((index) => {
      if (typeof index === "string") {
        const module = require(index);
        return { ...module, default: module };
      }
      let found = dynamic.get(String(index));
      if (!found) dynamic.set(String(index), (found = Promise.resolve(load(`bundle:${index}`))));
      return found.then((r: any) => (typeof r === "function" ? r() : r.m));
    });
  },
  meta: (url: string, file: string, dir: string) => ({
    url,
    filename: file,
    dirname: dir,
    main: false,
    resolve: (s: string) => host("resolve", String(s), file),
  }),
};

const hidden = (object: object, name: PropertyKey, value: unknown) =>
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });

const lazy = (name: string, get: () => unknown) =>
  Object.defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get() {
      const value = get();
      // A module that requests what it is about to define receives undefined; other modules do not.
      if (value !== undefined) hidden(globalThis, name, value);
      return value;
    },
    set(value) {
      hidden(globalThis, name, value);
    },
  });

hidden(globalThis, "__plumb", plumb);
hidden(globalThis, "global", globalThis);
for (const name of ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "queueMicrotask"] as const)
  hidden(globalThis, name, timers[name]);
for (const [name, module] of Object.entries({
  Buffer: "buffer", atob: "buffer", btoa: "buffer", Blob: "buffer", File: "buffer",
  URL: "url", URLSearchParams: "url",
  TextEncoder: "internal/encoding", TextDecoder: "internal/encoding",
  AbortController: "internal/abort", AbortSignal: "internal/abort", Event: "internal/abort",
  EventTarget: "internal/abort", CustomEvent: "internal/abort", DOMException: "internal/abort",
  structuredClone: "internal/clone", performance: "perf_hooks",
}))
  lazy(name, () => require(module)[name]);
lazy("console", () => require("console"));
lazy("process", () => require("process"));
lazy("crypto", () => require("crypto").webcrypto);
hidden(globalThis, "fetch", function fetch() {
  return Promise.reject(Object.assign(new TypeError("fetch is not available to suites: a case must not depend on the network; if it must, run a program with node:child_process"), { code: "ERR_NOT_AVAILABLE" }));
});
// Packages test values with instanceof against these; nothing creates them.
for (const name of ["Headers", "Request", "Response", "FormData", "ReadableStream", "WritableStream", "TransformStream"]) lazy(name, () => absent("", name));
{
  const native = (object: any, name: string) => {
    const original = object[name];
    hidden(object, name, {
      [name](this: any, ...args: any[]) {
        host.raw("intl"); // replaces this function
        return (object[name] === this?.[name] && object[name] !== original ? object[name] : original).apply(this, args);
      },
    }[name]);
  };
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) native(Date.prototype, name);
  native(Number.prototype, "toLocaleString");
  native(BigInt.prototype, "toLocaleString");
}
lazy("Intl", () => {
  delete (globalThis as any).Intl;
  host.raw("intl");
  const intl = (globalThis as any).Intl;
  require("internal/intl")(intl);
  return intl;
});
const collate = { localeCompare(this: string, that: unknown, locales?: unknown, options?: unknown): number {
  return require("internal/collate").compare(String(this), String(that), options, locales);
} }.localeCompare;
hidden(String.prototype, "localeCompare", collate);

for (const name of ["dispose", "asyncDispose"] as const)
  if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
if (!("fromAsync" in Array))
  hidden(Array, "fromAsync", async function fromAsync(this: any, items: any, map?: any, self?: any) {
    const list = typeof this === "function" && this !== Array ? new this() : [];
    let i = 0;
    if (items[Symbol.asyncIterator] || items[Symbol.iterator])
      for await (const item of items) { list[i] = map ? await map.call(self, item, i) : item; i++; }
    else
      for (const n = Number(items.length) || 0; i < n; i++) { const item = await items[i]; list[i] = map ? await map.call(self, item, i) : item; }
    list.length = i;
    return list;
  });

// Go tells the time, so that a copy of a module can read the times that the original read.
{
  const now = (): number => host("date");
  hidden(Date, "now", { now }.now);
  const proxy = new Proxy(Date, {
    construct: (target, args, self) => Reflect.construct(target, args.length ? args : [now()], self),
    apply: (target) => new target(now()).toString(),
  });
  hidden(Date.prototype, "constructor", proxy);
  hidden(globalThis, "Date", proxy);
}

// The functions that Go calls.
const settle = (id: number, ok: boolean, value: unknown) => {
  let text: string | undefined;
  if (ok)
    try {
      text = JSON.stringify(value);
    } catch (error) {
      ok = false;
      value = error;
    }
  host("settle", id, ok, ok ? text ?? "null" : describe(value));
};
const watch = (id: number, value: any) => {
  if (value !== null && (typeof value === "object" || typeof value === "function") && typeof value.then === "function")
    Promise.resolve(value).then((v) => settle(id, true, v), (e) => settle(id, false, e));
  else settle(id, true, value);
};
module.exports = {
  start(id: number, run: Promise<{ m: any }>) {
    run.then(
      (r) => {
        hidden(globalThis, "__main", r.m);
        settle(id, true, null);
      },
      (e) => settle(id, false, e),
    );
  },
  call(id: number, name: string, args: string) {
    let result: unknown;
    try {
      const f = plumb.entry[name];
      if (typeof f !== "function") throw new TypeError(`no module registered a function ${name}`);
      result = f(...JSON.parse(args));
    } catch (error) {
      settle(id, false, error);
      return;
    }
    watch(id, result);
  },
  fire,
  resolve(id: number, ok: boolean, value: any) {
    const p = pending.get(id)!;
    pending.delete(id);
    if (ok) p.resolve(value);
    else p.reject(hostError(JSON.parse(value)));
  },
  describe,
  exit(code: number) {
    const process = cache.get("process")?.exports;
    if (!process) return code;
    return process.__exit(code);
  },
};
