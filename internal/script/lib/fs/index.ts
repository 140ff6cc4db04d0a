// node:fs, as far as suites use it. Every operation is one call to Go, which resolves paths from
// process.cwd(), checks the policy, and returns errors as Node does.
import url from "node:url";

declare const Buffer: any;
const host = __plumb.host;

function pathOf(value: any, name = "path"): string {
  if (typeof value === "string") {
    if (value.includes("\0")) throw Object.assign(new TypeError(`The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${JSON.stringify(value)}`), { code: "ERR_INVALID_ARG_VALUE" });
    return value;
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value && typeof value.href === "string" && typeof value.protocol === "string") return (url as any).fileURLToPath(value);
  throw Object.assign(new TypeError(`The "${name}" argument must be of type string or an instance of Buffer or URL. Received ${value === null ? "null" : value === undefined ? "undefined" : typeof value}`), { code: "ERR_INVALID_ARG_TYPE" });
}

const encodingOf = (o: any): string | undefined => (typeof o === "string" ? o : o?.encoding) ?? undefined;
const modeOf = (m: any): number => (m === undefined || m === null ? -1 : typeof m === "string" ? parseInt(m, 8) : Number(m));

function decode(base64: string, encoding?: string): any {
  const b = Buffer.from(base64, "base64");
  return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
}

function encode(data: any, encoding?: string): string {
  if (typeof data === "string") return Buffer.from(data, encoding ?? "utf8").toString("base64");
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  throw Object.assign(new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${data === null || data === undefined ? data : typeof data}`), { code: "ERR_INVALID_ARG_TYPE" });
}

const types: Record<string, string> = { f: "File", d: "Directory", l: "SymbolicLink", p: "FIFO", s: "Socket", c: "CharacterDevice", b: "BlockDevice" };

class Kind {
  #kind: string;
  constructor(kind: string) { this.#kind = kind; }
  isFile() { return this.#kind === "f"; }
  isDirectory() { return this.#kind === "d"; }
  isSymbolicLink() { return this.#kind === "l"; }
  isFIFO() { return this.#kind === "p"; }
  isSocket() { return this.#kind === "s"; }
  isCharacterDevice() { return this.#kind === "c"; }
  isBlockDevice() { return this.#kind === "b"; }
}
void types;

class Stats extends Kind {
  [key: string]: any;
  constructor(s: any, big: boolean) {
    super(s.kind);
    const n = (v: number) => (big ? BigInt(Math.round(v)) : v);
    for (const key of ["dev", "mode", "nlink", "uid", "gid", "rdev", "blksize", "ino", "size", "blocks"]) this[key] = n(s[key] ?? 0);
    for (const key of ["atime", "mtime", "ctime", "birthtime"]) this[`${key}Ms`] = n(s[`${key}Ms`] ?? s.mtimeMs);
    for (const key of ["atime", "mtime", "ctime", "birthtime"]) this[key] = new Date(Number(this[`${key}Ms`]));
  }
}

class Dirent extends Kind {
  name: string;
  parentPath: string;
  constructor(name: string, kind: string, parent: string) {
    super(kind);
    this.name = name;
    this.parentPath = parent;
    Object.defineProperty(this, "path", { value: parent, enumerable: false });
  }
}

const sync: Record<string, (...args: any[]) => any> = {
  readFile(path: any, options?: any) {
    const encoding = encodingOf(options), flag = options?.flag;
    void flag;
    if (encoding === "utf8" || encoding === "utf-8") return host("fs.readText", typeof path === "number" ? path : pathOf(path));
    return decode(host("fs.read", typeof path === "number" ? path : pathOf(path)), encoding);
  },
  writeFile(path: any, data: any, options?: any) {
    host("fs.write", pathOf(path), encode(data, encodingOf(options)), String(options?.flag ?? "w"), modeOf(options?.mode));
  },
  appendFile(path: any, data: any, options?: any) {
    host("fs.write", pathOf(path), encode(data, encodingOf(options)), String(options?.flag ?? "a"), modeOf(options?.mode));
  },
  access(path: any, mode: number = 0) { host("fs.access", pathOf(path), mode); },
  stat(path: any, options?: any) {
    const s = host("fs.stat", pathOf(path), true, options?.throwIfNoEntry !== false);
    return s === undefined ? undefined : new Stats(JSON.parse(s), !!options?.bigint);
  },
  lstat(path: any, options?: any) {
    const s = host("fs.stat", pathOf(path), false, options?.throwIfNoEntry !== false);
    return s === undefined ? undefined : new Stats(JSON.parse(s), !!options?.bigint);
  },
  readdir(path: any, options?: any) {
    const p = pathOf(path);
    const list: any[] = JSON.parse(host("fs.readdir", p, !!options?.recursive));
    if (options?.withFileTypes) {
      const sep = __plumb.require("path").sep;
      return list.map(({ name, kind }) => {
        const at = name.lastIndexOf(sep);
        return at < 0 ? new Dirent(name, kind, p) : new Dirent(name.slice(at + 1), kind, __plumb.require("path").join(p, name.slice(0, at)));
      });
    }
    return list.map((e) => (encodingOf(options) === "buffer" ? Buffer.from(e.name) : e.name));
  },
  mkdir(path: any, options?: any) {
    return host("fs.mkdir", pathOf(path), !!options?.recursive, modeOf(typeof options === "object" ? options?.mode : options));
  },
  mkdtemp(prefix: any) { return host("fs.mkdtemp", pathOf(prefix, "prefix")); },
  rm(path: any, options?: any) { host("fs.rm", pathOf(path), !!options?.recursive, !!options?.force); },
  rmdir(path: any, options?: any) {
    if (options?.recursive) host("fs.rm", pathOf(path), true, false);
    else host("fs.rmdir", pathOf(path));
  },
  unlink(path: any) { host("fs.unlink", pathOf(path)); },
  rename(from: any, to: any) { host("fs.rename", pathOf(from, "oldPath"), pathOf(to, "newPath")); },
  copyFile(from: any, to: any, mode: number = 0) { host("fs.copyFile", pathOf(from, "src"), pathOf(to, "dest"), mode); },
  cp(from: any, to: any, options: any = {}) {
    host("fs.cp", pathOf(from, "src"), pathOf(to, "dest"), !!options.recursive, options.force !== false, !!options.errorOnExist, !!options.dereference);
  },
  realpath(path: any) { return host("fs.realpath", pathOf(path)); },
  readlink(path: any) { return host("fs.readlink", pathOf(path)); },
  symlink(target: any, path: any) { host("fs.symlink", pathOf(target, "target"), pathOf(path)); },
  link(from: any, to: any) { host("fs.link", pathOf(from), pathOf(to)); },
  chmod(path: any, mode: any) { host("fs.chmod", pathOf(path), modeOf(mode)); },
  utimes(path: any, atime: any, mtime: any) {
    const ms = (t: any) => (t instanceof Date ? t.getTime() : Number(t) * 1000);
    host("fs.utimes", pathOf(path), ms(atime), ms(mtime));
  },
  truncate(path: any, length: number = 0) { host("fs.truncate", pathOf(path), length); },
};

const returning = (f: Function) => (...args: any[]) => new Promise((resolve, reject) => {
  try { resolve(f(...args)); } catch (error) { reject(error); }
});

const fs: any = {
  Stats, Dirent,
  constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFLNK: 40960 },
  existsSync(path: any) {
    try { return host("fs.exists", pathOf(path)); } catch { return false; }
  },
  exists(path: any, callback: (ok: boolean) => void) { setImmediate(() => callback(fs.existsSync(path))); },
};
Object.assign(fs, { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 });

const promises: any = { constants: fs.constants };
for (const [name, f] of Object.entries(sync)) {
  const syncName = `${name}Sync`;
  fs[syncName] = { [syncName]: (...args: any[]) => {
    try {
      return f(...args);
    } catch (error: any) {
      if (error && typeof error === "object") Error.captureStackTrace(error, fs[syncName]);
      throw error;
    }
  } }[syncName];
  promises[name] = returning(f);
  fs[name] = (...args: any[]) => {
    const callback = args.pop();
    if (typeof callback !== "function") throw Object.assign(new TypeError(`The "cb" argument must be of type function. Received ${callback === undefined ? "undefined" : typeof callback}`), { code: "ERR_INVALID_ARG_TYPE" });
    promises[name](...args).then((v: any) => setImmediate(callback, null, ...(v === undefined ? [] : [v])), (e: any) => setImmediate(callback, e));
  };
}
fs.realpathSync.native = fs.realpathSync;
fs.realpath.native = fs.realpath;
fs.promises = promises;
for (const name of ["createReadStream", "createWriteStream", "watch", "watchFile", "open", "openSync", "readSync", "writeSync", "closeSync", "opendir", "opendirSync", "globSync", "glob"])
  fs[name] = () => {
    throw Object.assign(new Error(`fs.${name} is not available to suites; use readFile, writeFile, readdir and the like`), { code: "ERR_NOT_AVAILABLE" });
  };
promises.open = async () => fs.open();
export default fs;
