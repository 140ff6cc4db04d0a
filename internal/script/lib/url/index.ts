// node:url. URL and URLSearchParams are those of core-js, with Node's inspection and errors.
import url from "core-js-pure";
import util from "node:util";

const { URLSearchParams } = url as any;
const invalid = (message: string, code: string, more?: object) => Object.assign(new TypeError(message), { code }, more);

class URL extends (url as any).URL {
  constructor(input: unknown, base?: unknown) {
    if (arguments.length === 0) throw invalid('The "url" argument must be specified', "ERR_MISSING_ARGS");
    const [text, from] = [`${input}`, base === undefined ? undefined : `${base}`];
    try {
      super(text, from);
    } catch {
      throw invalid("Invalid URL", "ERR_INVALID_URL", { input: text, ...(from === undefined ? {} : { base: from }) });
    }
  }

  static canParse(text: string, base?: string): boolean {
    return URL.parse(text, base) !== null;
  }

  static parse(text: string, base?: string): URL | null {
    try {
      return new URL(text, base);
    } catch {
      return null;
    }
  }
}
Object.defineProperty(URL, "name", { value: "URL" }); // whatever name the build gives it

const custom = (util as any).inspect.custom;
const keys = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "searchParams", "hash"];
Object.defineProperty(URL.prototype, custom, {
  configurable: true, enumerable: false, writable: true,
  value(this: any, depth: number, options: any) {
    if (typeof depth === "number" && depth < 0) return this.toString();
    const plain: any = {};
    for (const key of keys) plain[key] = this[key];
    return `URL ${(util as any).inspect(plain, options)}`;
  },
});
Object.defineProperty(URLSearchParams.prototype, custom, {
  configurable: true, enumerable: false, writable: true,
  value(this: any, _depth: number, options: any) {
    const items = [...this].map(([k, v]: any) => `${(util as any).inspect(k, options)} => ${(util as any).inspect(v, options)}`);
    return items.length ? `URLSearchParams { ${items.join(", ")} }` : "URLSearchParams {}";
  },
});
function fileURLToPath(value: any): string {
  const u = typeof value === "string" ? new URL(value) : value;
  if (!u || typeof u.href !== "string") throw invalid(`The "path" argument must be of type string or an instance of URL. Received ${(util as any).inspect(value)}`, "ERR_INVALID_ARG_TYPE");
  if (u.protocol !== "file:") throw invalid("The URL must be of scheme file", "ERR_INVALID_URL_SCHEME");
  const windows = __plumb.host("os.platform") === "win32";
  if (/%2f/i.test(u.pathname) || (windows && /%5c/i.test(u.pathname))) throw invalid("File URL path must not include encoded / characters", "ERR_INVALID_FILE_URL_PATH");
  if (!windows && u.hostname !== "") throw invalid(`File URL host must be "localhost" or empty on ${__plumb.host("os.platform")}`, "ERR_INVALID_FILE_URL_HOST");
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
