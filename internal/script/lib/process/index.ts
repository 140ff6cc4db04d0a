// The process object.
import EventEmitter from "node:events";

const host = __plumb.host;
const info = JSON.parse(host("process.info"));
const env: Record<string, string> = {};
for (const line of info.env as string[]) {
  const i = line.indexOf("=", 1);
  if (i > 0) env[line.slice(0, i)] = line.slice(i + 1);
}

const stream = (fd: number) => {
  const s: any = new (EventEmitter as any)();
  return Object.assign(s, {
    fd, writable: true, isTTY: false, columns: undefined,
    write(text: any, ...rest: any[]) {
      host("write", fd, typeof text === "string" ? text.toWellFormed() : new TextDecoder().decode(text));
      const callback = rest.pop();
      if (typeof callback === "function") setImmediate(callback);
      return true;
    },
    end(text?: any) { if (text !== undefined) s.write(text); return s; },
    cork() {}, uncork() {}, hasColors: () => false, getColorDepth: () => 1,
  });
};

const process: any = new (EventEmitter as any)();
const ticks = (f: Function, ...args: unknown[]) => {
  if (typeof f !== "function") throw Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${f === null ? "null" : typeof f}`), { code: "ERR_INVALID_ARG_TYPE" });
  queueMicrotask(() => f(...args));
};

const hrtime = (before?: [number, number]) => {
  const now: number = host("now");
  let s = Math.floor(now / 1000), n = Math.round((now % 1000) * 1e6);
  if (before) {
    s -= before[0];
    n -= before[1];
    if (n < 0) (s--, (n += 1e9));
  }
  return [s, n];
};
hrtime.bigint = () => BigInt(Math.round(host("now") * 1e6));

let exitCode: number | undefined;
let exiting = false;

Object.assign(process, {
  title: "plumb", version: info.version, versions: { node: info.version.slice(1), plumb: "1", quickjs: info.engine },
  arch: info.arch, platform: info.platform, pid: info.pid, ppid: info.ppid, argv: info.argv, argv0: info.argv[0], execArgv: [], execPath: info.argv[0],
  env, release: { name: "node" }, features: {}, config: {}, allowedNodeEnvironmentFlags: new Set(),
  cwd: () => host("cwd"), chdir: (dir: string) => host("chdir", String(dir)), umask: () => 0o22,
  nextTick: ticks, hrtime, uptime: () => host("now") / 1000,
  memoryUsage: Object.assign(() => ({ rss: host("memory"), heapTotal: host("memory"), heapUsed: host("memory"), external: 0, arrayBuffers: 0 }), { rss: () => host("memory") }),
  cpuUsage: () => ({ user: 0, system: 0 }), resourceUsage: () => ({}),
  emitWarning(warning: any, options?: any) {
    const name = typeof options === "string" ? options : options?.type ?? warning?.name ?? "Warning";
    host("write", 2, `(plumb) ${name}: ${warning?.message ?? warning}\n`);
  },
  exit(code?: any) {
    if (!info.exec) throw Object.assign(new Error("process.exit is not available to suites: it would end the whole run"), { code: "ERR_NOT_AVAILABLE" });
    process.__exit(code ?? exitCode ?? 0);
    host("exit", exitCode ?? 0);
    for (;;); // wait for the interrupt that exit requested
  },
  abort() { process.exit(134); },
  kill() { throw Object.assign(new Error("process.kill is not available to suites"), { code: "ERR_NOT_AVAILABLE" }); },
  getuid: () => info.uid, geteuid: () => info.uid, getgid: () => info.gid, getegid: () => info.gid,
  binding() { throw new Error("process.binding is not available to suites"); },
});
Object.defineProperty(process, "exitCode", {
  enumerable: true, configurable: true,
  get: () => exitCode,
  set(code) { exitCode = code === undefined ? undefined : Number(code); if (info.exec) host("exitCode", exitCode ?? 0); },
});
/** Runs the listeners of "exit", once. */
Object.defineProperty(process, "__exit", {
  enumerable: false,
  value(code: any) {
    if (!exiting) {
      exiting = true;
      exitCode = Number(code);
      process.emit("exit", exitCode);
    }
    return exitCode;
  },
});
for (const [name, fd] of [["stdout", 1], ["stderr", 2]] as const) {
  let made: any;
  Object.defineProperty(process, name, { enumerable: true, configurable: true, get: () => (made ??= stream(fd)) });
}
Object.defineProperty(process, "stdin", { enumerable: true, configurable: true, get: () => Object.assign(new (EventEmitter as any)(), { fd: 0, isTTY: false, setEncoding() {}, resume() {}, pause() {}, read: () => null }) });
Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

export default process;
