// node:path, for POSIX and Windows.
const invalid = (name: string, value: unknown) =>
  Object.assign(new TypeError(`The "${name}" argument must be of type string. Received ${value === null || value === undefined ? value : typeof value === "object" ? `an instance of ${(value as any).constructor?.name ?? "Object"}` : typeof value === "function" ? `function ${value.name}` : `type ${typeof value} (${String(value)})`}`), { code: "ERR_INVALID_ARG_TYPE" });

function check(value: unknown, name = "path"): asserts value is string {
  if (typeof value !== "string") throw invalid(name, value);
}

/** Resolves . and .. in the part of a path after its root. */
function clean(path: string, sep: string, absolute: boolean, split: RegExp): string {
  const out: string[] = [];
  for (const part of path.split(split)) {
    if (part === "" || part === ".") continue;
    if (part !== "..") out.push(part);
    else if (out.length && out[out.length - 1] !== "..") out.pop();
    else if (!absolute) out.push("..");
  }
  return out.join(sep);
}

function make(windows: boolean): any {
  const sep = windows ? "\\" : "/", delimiter = windows ? ";" : ":";
  const split = windows ? /[\\/]/ : /\//;
  const isSep = (c: string | undefined) => c === "/" || (windows && c === "\\");

  /** The root: device and slash, as they stand in the path. */
  function rootOf(path: string): { device: string; slash: boolean; length: number } {
    if (!windows) return { device: "", slash: path[0] === "/", length: path[0] === "/" ? 1 : 0 };
    const unc = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
    if (unc) return { device: `\\\\${unc[1]}\\${unc[2]}`, slash: true, length: unc[0].length + (isSep(path[unc[0].length]) ? 1 : 0) };
    const drive = /^[A-Za-z]:/.exec(path)?.[0] ?? "";
    const slash = isSep(path[drive.length]);
    return { device: drive, slash, length: drive.length + (slash ? 1 : 0) };
  }

  function normalize(path: string): string {
    check(path);
    if (path === "") return ".";
    const root = rootOf(path);
    let tail = clean(path.slice(root.length), sep, root.slash, split);
    if (tail === "" && !root.slash) tail = ".";
    if (tail !== "" && isSep(path[path.length - 1]) && path.length > root.length) tail += sep;
    return root.device + (root.slash ? sep : "") + tail;
  }

  const isAbsolute = (path: string) => (check(path), rootOf(path).slash);

  function join(...parts: string[]): string {
    for (const p of parts) check(p);
    const joined = parts.filter((p) => p !== "").join(sep);
    if (joined === "") return ".";
    return normalize(windows && !/^[\\/]{2}[^\\/]/.test(parts.find((p) => p !== "")!) ? joined.replace(/^[\\/]{2,}/, "\\") : joined);
  }

  function resolve(...parts: string[]): string {
    let device = "", tail = "", absolute = false;
    for (let i = parts.length - 1; i >= -1 && !(absolute && (!windows || device)); i--) {
      const path = i >= 0 ? parts[i] : __plumb.host("cwd");
      check(path, i >= 0 ? `paths[${i}]` : "path");
      if (path === "") continue;
      const root = rootOf(path);
      if (root.device) {
        if (device && root.device.toLowerCase() !== device.toLowerCase()) continue;
        device ||= root.device;
      }
      if (!absolute) {
        tail = `${path.slice(root.length)}${sep}${tail}`;
        absolute = root.slash;
      }
    }
    tail = clean(tail, sep, absolute, split);
    return device + (absolute ? sep : "") + tail || ".";
  }

  function dirname(path: string): string {
    check(path);
    if (path === "") return ".";
    const root = rootOf(path);
    let end = path.length;
    while (end > root.length && isSep(path[end - 1])) end--;
    while (end > root.length && !isSep(path[end - 1])) end--;
    if (end > root.length) end--;
    if (!windows && end === root.length && /^\/\/[^/]/.test(path)) return "//"; // POSIX treats it as a root of its own
    return end > 0 ? (end <= root.length ? path.slice(0, root.length) : path.slice(0, end)) : root.length ? path.slice(0, root.length) : ".";
  }

  function basename(path: string, suffix?: string): string {
    if (suffix !== undefined) check(suffix, "suffix");
    check(path);
    let from = windows && /^[A-Za-z]:/.test(path) ? 2 : 0, end = path.length;
    while (end > from && isSep(path[end - 1])) end--;
    for (let i = end - 1; i >= from; i--)
      if (isSep(path[i])) {
        from = i + 1;
        break;
      }
    const base = path.slice(from, end);
    return suffix !== undefined && suffix !== base && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base;
  }

  function extname(path: string): string {
    check(path);
    const base = basename(path), dot = base.lastIndexOf(".");
    return dot <= 0 || base === ".." ? "" : base.slice(dot);
  }

  function relative(from: string, to: string): string {
    check(from, "from");
    check(to, "to");
    if (from === to) return "";
    from = resolve(from);
    to = resolve(to);
    const fold = (s: string) => (windows ? s.toLowerCase() : s);
    if (fold(from) === fold(to)) return "";
    const a = from.split(split).filter(Boolean), b = to.split(split).filter(Boolean);
    if (windows && fold(rootOf(from).device) !== fold(rootOf(to).device)) return to;
    let i = 0;
    while (i < a.length && i < b.length && fold(a[i]) === fold(b[i])) i++;
    return [...a.slice(i).map(() => ".."), ...b.slice(i)].join(sep);
  }

  function parse(path: string) {
    check(path);
    const root = rootOf(path), base = path.length > root.length ? basename(path.slice(root.length)) : "", ext = extname(base);
    let end = path.length;
    while (end > root.length && isSep(path[end - 1])) end--;
    const at = end - base.length;
    return { root: path.slice(0, root.length), dir: path.slice(0, at > root.length ? at - 1 : root.length), base, ext, name: ext ? base.slice(0, -ext.length) : base };
  }

  function format(o: any): string {
    if (o === null || typeof o !== "object") throw Object.assign(new TypeError(`The "pathObject" argument must be of type object. Received ${o === null ? "null" : `type ${typeof o} (${o})`}`), { code: "ERR_INVALID_ARG_TYPE" });
    const dir = o.dir || o.root;
    const base = o.base || `${o.name || ""}${o.ext ? (o.ext[0] === "." ? "" : ".") + o.ext : ""}`;
    if (!dir) return base;
    return dir === o.root ? `${dir}${base}` : `${dir}${sep}${base}`;
  }

  /** Glob of Node 22: *, **, ?, [..] and {a,b}. */
  function matchesGlob(path: string, pattern: string): boolean {
    check(path);
    check(pattern, "pattern");
    let re = "", i = 0, braces = 0;
    const any = windows ? "[^\\\\/]" : "[^/]", slash = windows ? "[\\\\/]" : "/";
    while (i < pattern.length) {
      const c = pattern[i++];
      if (c === "*") {
        if (pattern[i] === "*") {
          i++;
          if (isSep(pattern[i])) (i++, (re += `(?:.*${slash})?`));
          else re += ".*";
        } else re += `${any}*`;
      } else if (c === "?") re += any;
      else if (c === "[") {
        const end = pattern.indexOf("]", i + 1);
        if (end < 0) re += "\\[";
        else {
          re += `[${pattern.slice(i, end).replace(/^!/, "^").replaceAll("\\", "\\\\")}]`;
          i = end + 1;
        }
      } else if (c === "{") (braces++, (re += "(?:"));
      else if (c === "}" && braces) (braces--, (re += ")"));
      else if (c === "," && braces) re += "|";
      else if (isSep(c)) re += slash;
      else re += c.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    }
    return new RegExp(`^${re}$`, "s").test(path);
  }

  const toNamespacedPath = (path: string) => {
    if (!windows || typeof path !== "string" || path === "") return path;
    const full = resolve(path);
    return full.startsWith("\\\\") && !full.startsWith("\\\\?\\") ? `\\\\?\\UNC\\${full.slice(2)}` : /^[A-Za-z]:\\/.test(full) ? `\\\\?\\${full}` : path;
  };
  return { resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format, parse, matchesGlob, sep, delimiter, posix: null, win32: null };
}

const posix = make(false), win32 = make(true);
posix.posix = win32.posix = posix;
posix.win32 = win32.win32 = win32;
export default __plumb.host("os.platform") === "win32" ? win32 : posix;
