// node:url. Go parses URLs by the WHATWG standard; the rest is written from Node's documentation.
import util from "node:util";
import { invalidType } from "../internal/errors";

const failure = (message: string, code: string, more?: object) => Object.assign(new TypeError(message), { code }, more);
const custom = (util as any).inspect.custom;

interface Parts {
  href: string; protocol: string; username: string; password: string; host: string; hostname: string; port: string;
  pathname: string; search: string; hash: string;
}

/** The URL, or undefined if there is none. */
function parts(op: string, ...args: string[]): Parts | undefined {
  try {
    return JSON.parse(__plumb.host(`url.${op}`, ...args.map((arg) => arg.toWellFormed())));
  } catch (error: any) {
    if (error.code !== "ERR_INVALID_URL") throw error;
    return undefined;
  }
}

const parsed = (input: string, base?: string) => (base === undefined ? parts("parse", input) : parts("resolve", input, base));

/** A text without halves of characters. */
const string = (value: unknown): string => `${value}`.toWellFormed();

// What application/x-www-form-urlencoded leaves as it is; a space becomes a plus sign.
const form = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

function unform(text: string): string {
  const plain = text.replaceAll("+", " ");
  if (!plain.includes("%")) return plain;
  const bytes: number[] = [];
  const source = new TextEncoder().encode(plain);
  for (let i = 0; i < source.length; i++) {
    const hex = source[i] === 37 ? /^[0-9a-fA-F]{2}$/.exec(String.fromCharCode(source[i + 1], source[i + 2])) : null;
    bytes.push(hex === null ? source[i] : parseInt(hex[0], 16));
    if (hex !== null) i += 2;
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}

const pairsOf = (text: string): [string, string][] =>
  text.split("&").filter((piece) => piece !== "").map((piece) => {
    const at = piece.indexOf("=");
    return at < 0 ? [unform(piece), ""] : [unform(piece.slice(0, at)), unform(piece.slice(at + 1))];
  });

const words = (name: string) => Object.assign(new TypeError(`The ${name} must be specified`), { code: "ERR_MISSING_ARGS" });
const needs = (count: number, n: number, names: string) => {
  if (count < n) throw words(names);
};

/** The parameters of a URL: a change of them is a change of it. */
let paramsOf: (search: string, changed: (text: string) => void) => URLSearchParams;
/** New parameters of a URL whose search changed. */
let replaceParams: (params: URLSearchParams, search: string) => void;

class URLSearchParams {
  #pairs: [string, string][] = [];
  #changed: (text: string) => void = () => {};

  constructor(init: any = undefined) {
    if (init === undefined || init === null) return;
    if (typeof init !== "object" && typeof init !== "function") {
      this.#pairs = pairsOf(string(init).replace(/^\?/, ""));
      return;
    }
    const iterate = init[Symbol.iterator];
    if (iterate === undefined || iterate === null) {
      for (const key of Reflect.ownKeys(init)) {
        if (typeof key === "string" && Object.getOwnPropertyDescriptor(init, key)!.enumerable) this.#pairs.push([string(key), string(init[key])]);
      }
      return;
    }
    if (typeof iterate !== "function") throw failure("Query pairs must be iterable", "ERR_ARG_NOT_ITERABLE");
    for (const pair of init) {
      if (pair === null || typeof pair !== "object" || typeof pair[Symbol.iterator] !== "function" || [...pair].length !== 2) {
        throw failure("Each query pair must be an iterable [name, value] tuple", "ERR_INVALID_TUPLE");
      }
      const [name, value] = pair;
      this.#pairs.push([string(name), string(value)]);
    }
  }

  static {
    paramsOf = (search, changed) => {
      const params = new URLSearchParams(search);
      params.#changed = changed;
      return params;
    };
    replaceParams = (params, search) => void (params.#pairs = pairsOf(search.replace(/^\?/, "")));
  }

  get size() { return this.#pairs.length; }
  append(name: unknown, value: unknown) {
    needs(arguments.length, 2, '"name" and "value" arguments');
    this.#pairs.push([string(name), string(value)]);
    this.#changed(this.toString());
  }
  delete(name: unknown, value?: unknown) {
    needs(arguments.length, 1, '"name" argument');
    this.#pairs = this.#pairs.filter(([k, v]) => k !== string(name) || (value !== undefined && v !== string(value)));
    this.#changed(this.toString());
  }
  get(name: unknown): string | null {
    needs(arguments.length, 1, '"name" argument');
    return this.#pairs.find(([k]) => k === string(name))?.[1] ?? null;
  }
  getAll(name: unknown): string[] {
    needs(arguments.length, 1, '"name" argument');
    return this.#pairs.filter(([k]) => k === string(name)).map(([, v]) => v);
  }
  has(name: unknown, value?: unknown): boolean {
    needs(arguments.length, 1, '"name" argument');
    return this.#pairs.some(([k, v]) => k === string(name) && (value === undefined || v === string(value)));
  }
  set(name: unknown, value: unknown) {
    needs(arguments.length, 2, '"name" and "value" arguments');
    const at = this.#pairs.findIndex(([k]) => k === string(name));
    const pair: [string, string] = [string(name), string(value)];
    if (at < 0) this.#pairs.push(pair);
    else this.#pairs = this.#pairs.flatMap((old, i): [string, string][] => (i === at ? [pair] : old[0] === pair[0] ? [] : [old]));
    this.#changed(this.toString());
  }
  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed(this.toString());
  }
  forEach(call: any, self?: unknown) {
    if (typeof call !== "function") throw invalidType("callback", "of type function", call);
    for (const [k, v] of this) call.call(self, v, k, this);
  }
  *entries(): IterableIterator<[string, string]> {
    for (let i = 0; i < this.#pairs.length; i++) yield [...this.#pairs[i]];
  }
  *keys() { for (const [k] of this.entries()) yield k; }
  *values() { for (const [, v] of this.entries()) yield v; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map(([k, v]) => `${form(k)}=${form(v)}`).join("&"); }
  get [Symbol.toStringTag]() { return "URLSearchParams"; }
  [custom](depth: number, options: any) {
    if (typeof depth === "number" && depth < 0) return options.stylize("[Object]", "special");
    const show = (text: string) => (util as any).inspect(text, options);
    const items = this.#pairs.map(([k, v]) => `${show(k)} => ${show(v)}`);
    const columns = (util as any).stripVTControlCharacters(items.join(", ")).length;
    if (columns > options.breakLength) return `URLSearchParams {\n  ${items.join(",\n  ")} }`;
    return items.length > 0 ? `URLSearchParams { ${items.join(", ")} }` : "URLSearchParams {}";
  }
}

class URL {
  #parts: Parts;
  #params: URLSearchParams | undefined;

  constructor(input: unknown, base: unknown = undefined) {
    if (arguments.length === 0) throw words('"url" argument');
    const [text, from] = [`${input}`, base === undefined ? undefined : `${base}`];
    const found = parsed(text, from);
    if (found === undefined) throw failure("Invalid URL", "ERR_INVALID_URL", { input: text, ...(from === undefined ? {} : { base: from }) });
    this.#parts = found;
  }

  static canParse(input: unknown, base: unknown = undefined): boolean {
    if (arguments.length === 0) throw words('"url" argument');
    return parsed(`${input}`, base === undefined ? undefined : `${base}`) !== undefined;
  }
  static parse(input: unknown, base: unknown = undefined): URL | null {
    return URL.canParse(input, base) ? new URL(input, base) : null;
  }

  get href() { return this.#parts.href; }
  set href(value: unknown) {
    const found = parsed(`${value}`);
    if (found === undefined) throw failure("Invalid URL", "ERR_INVALID_URL", { input: `${value}` });
    this.#now(found);
  }
  get origin(): string {
    const { protocol, host, pathname } = this.#parts;
    if (["http:", "https:", "ftp:", "ws:", "wss:"].includes(protocol)) return `${protocol}//${host}`;
    if (protocol !== "blob:") return "null";
    const inner = URL.parse(pathname);
    return inner !== null && /^https?:$/.test(inner.protocol) ? inner.origin : "null";
  }
  get searchParams(): URLSearchParams {
    return (this.#params ??= paramsOf(this.#parts.search, (text) => {
      this.#parts = parts("set", this.#parts.href, "search", text) ?? this.#parts;
    }));
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
  get [Symbol.toStringTag]() { return "URL"; }

  #now(found: Parts): void {
    this.#parts = found;
    if (this.#params) replaceParams(this.#params, found.search);
  }
  static {
    for (const name of ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"] as const) {
      Object.defineProperty(URL.prototype, name, {
        configurable: true, enumerable: true,
        get(this: URL) { return this.#parts[name]; },
        set(this: URL, value: unknown) { this.#now(parts("set", this.#parts.href, name, `${value}`) ?? this.#parts); },
      });
    }
    for (const name of ["href", "origin", "searchParams", "toString", "toJSON"]) {
      Object.defineProperty(URL.prototype, name, { ...Object.getOwnPropertyDescriptor(URL.prototype, name), enumerable: true });
    }
  }

  [custom](this: any, depth: number, options: any) {
    if (typeof depth === "number" && depth < 0) return this.toString();
    const plain: any = {};
    for (const key of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "searchParams", "hash"]) {
      plain[key] = this[key];
    }
    return `${this.constructor.name} ${(util as any).inspect(plain, options)}`;
  }
}
for (const [made, name] of [[URL, "URL"], [URLSearchParams, "URLSearchParams"]] as const) {
  Object.defineProperty(made, "name", { value: name }); // whatever name the build gives it
}

function fileURLToPath(value: any): string {
  const u = typeof value === "string" ? new URL(value) : value;
  if (!u || typeof u.href !== "string") throw invalidType("path", "of type string or an instance of URL", value);
  if (u.protocol !== "file:") throw failure("The URL must be of scheme file", "ERR_INVALID_URL_SCHEME");
  const windows = __plumb.host("os.platform") === "win32";
  if (/%2f/i.test(u.pathname) || (windows && /%5c/i.test(u.pathname))) throw failure("File URL path must not include encoded / characters", "ERR_INVALID_FILE_URL_PATH");
  if (!windows && u.hostname !== "") throw failure(`File URL host must be "localhost" or empty on ${__plumb.host("os.platform")}`, "ERR_INVALID_FILE_URL_HOST");
  const path = decodeURIComponent(u.pathname);
  if (!windows) return path;
  return u.hostname ? `\\\\${u.hostname}${path.replaceAll("/", "\\")}` : path.slice(1).replaceAll("/", "\\");
}

function pathToFileURL(path: string): any {
  const full: string = __plumb.require("path").resolve(path) + (/[/\\]$/.test(path) && !/^[/\\]$/.test(path) ? "/" : "");
  const u = new URL("file:///");
  u.pathname = full.replaceAll("%", "%25").replaceAll("\\", __plumb.host("os.platform") === "win32" ? "/" : "%5C").replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll("\t", "%09").replaceAll("?", "%3F").replaceAll("#", "%23");
  return u;
}

/** The old parser, as far as absolute URLs and paths with a query go. */
function parse(text: string, query = false): any {
  const m = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*:))?(?:(\/\/)(?:([^@/?#]*)@)?([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(String(text).trim())!;
  const [, protocol, slashes, auth, host, pathname, search, hash] = m;
  const [, hostname, port] = /^(.*?)(?::(\d*))?$/.exec(host ?? "")!;
  const q = search === undefined ? null : search.slice(1);
  return {
    protocol: protocol?.toLowerCase() ?? null, slashes: slashes ? true : null, auth: auth !== undefined ? decodeURIComponent(auth) : null,
    host: host?.toLowerCase() ?? null, port: port ?? null, hostname: host === undefined ? null : hostname.toLowerCase(), hash: hash ?? null,
    search: search ?? (query ? "" : null), query: query ? __plumb.require("querystring").parse(q ?? "") : q,
    pathname: pathname || (slashes ? "/" : null), path: (pathname || (slashes ? "/" : "")) + (search ?? "") || null,
    href: String(text).trim(),
  };
}

function format(value: any): string {
  if (typeof value === "string") return value;
  if (value instanceof URL) return value.href;
  const host = value.host ?? (value.hostname ? value.hostname + (value.port ? `:${value.port}` : "") : "");
  const search = value.search ?? (value.query && typeof value.query === "object" && Object.keys(value.query).length ? `?${__plumb.require("querystring").stringify(value.query)}` : "");
  const protocol = value.protocol ? (value.protocol.endsWith(":") ? value.protocol : `${value.protocol}:`) : "";
  const slashes = value.slashes || /^(https?|ftp|file|wss?):$/.test(protocol) ? "//" : "";
  return `${protocol}${slashes}${value.auth ? `${encodeURIComponent(value.auth).replace("%3A", ":")}@` : ""}${host}${value.pathname ?? ""}${search && !search.startsWith("?") ? "?" : ""}${search}${value.hash ?? ""}`;
}

export default {
  URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format,
  resolve: (from: string, to: string) => {
    const u = new URL(to, new URL(from, "resolve://"));
    return u.protocol === "resolve:" ? u.pathname + u.search + u.hash : u.toString();
  },
  urlToHttpOptions: (u: any) => ({ protocol: u.protocol, hostname: u.hostname, hash: u.hash, search: u.search, pathname: u.pathname, path: u.pathname + u.search, href: u.href, ...(u.port ? { port: Number(u.port) } : {}) }),
  domainToASCII: (d: string) => { try { return new URL(`http://${d}`).hostname; } catch { return ""; } },
  domainToUnicode: (d: string) => d,
};
