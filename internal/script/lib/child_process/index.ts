// node:child_process: processes that run to their end. Streams to a running process are not
// supported.
declare const Buffer: any;

interface Result { pid: number; stdout: string; stderr: string; status: number | null; signal: string | null; error?: any }

const invalid = (name: string, type: string, value: unknown) =>
  Object.assign(new TypeError(`The "${name}" argument must be of type ${type}. Received ${value === null || value === undefined ? value : typeof value}`), { code: "ERR_INVALID_ARG_TYPE" });

function request(file: string, args: string[], options: any, shell: boolean): string {
  if (typeof file !== "string") throw invalid(shell ? "command" : "file", "string", file);
  const env = options.env ?? __plumb.env();
  const stdio = options.stdio ?? "pipe";
  const at = (i: number) => (typeof stdio === "string" ? stdio : (stdio?.[i] ?? "pipe"));
  const input = options.input;
  return JSON.stringify({
    file: String(file), args: args.map(String),
    shell: options.shell ? (typeof options.shell === "string" ? options.shell : "default") : "",
    cwd: options.cwd === undefined ? "" : typeof options.cwd === "string" ? options.cwd : __plumb.require("url").fileURLToPath(options.cwd),
    env: Object.entries(env).filter(([, v]) => v !== undefined).map(([k, v]) => `${k}=${v}`),
    input: input === undefined || input === null ? "" : (typeof input === "string" ? Buffer.from(input) : Buffer.from(input.buffer, input.byteOffset, input.byteLength)).toString("base64"),
    hasInput: input !== undefined && input !== null,
    stdin: String(at(0)), stdout: String(at(1)), stderr: String(at(2)),
    timeout: Number(options.timeout) || 0, maxBuffer: options.maxBuffer ?? 1 << 20, signal: String(options.killSignal ?? "SIGTERM"),
  });
}

function normal(args: any, options: any): [string[], any] {
  if (Array.isArray(args)) return [args, options ?? {}];
  return [[], args ?? options ?? {}];
}

const output = (base64: string | null, encoding: any) => {
  if (base64 === null) return null;
  const b = Buffer.from(base64, "base64");
  return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
};

function systemError(r: Result, call: string, file: string, args: string[]): any {
  const e: any = new Error(`${call} ${r.error.code}`);
  e.errno = r.error.errno;
  e.code = r.error.code;
  e.syscall = call;
  e.path = file;
  e.spawnargs = args;
  return e;
}

function spawnSync(file: string, a?: any, b?: any): any {
  const [args, options] = normal(a, b);
  const r: Result = JSON.parse(__plumb.host("process.run", request(file, args, options, false)));
  const stdout = output(r.stdout, options.encoding), stderr = output(r.stderr, options.encoding);
  const result: any = { pid: r.pid, output: [null, stdout, stderr], stdout, stderr, status: r.status, signal: r.signal };
  if (r.error) {
    if (r.error.code === "ENOENT" || r.error.code === "EACCES") (result.output = null), (result.stdout = null), (result.stderr = null);
    const e = systemError(r, `spawnSync ${options.shell ? "/bin/sh" : file}`, file, args);
    result.error = e;
  }
  return result;
}

function checked(r: any, options: any, command: string): any {
  if (r.error) throw Object.assign(r.error, { status: r.status, signal: r.signal, output: r.output, pid: r.pid, stdout: r.stdout, stderr: r.stderr });
  if (r.status !== 0) {
    const text = r.stderr && r.stderr.length ? `\n${r.stderr.toString()}` : "";
    throw Object.assign(new Error(`Command failed: ${command}${text}`), { status: r.status, signal: r.signal, output: r.output, pid: r.pid, stdout: r.stdout, stderr: r.stderr });
  }
  return r.stdout;
}

// As in Node, the process's stderr is printed unless stdio says otherwise.
function show(r: any, options: any) {
  if (options.stdio === undefined && r.stderr && r.stderr.length) __plumb.host("write", 2, r.stderr.toString());
}

function execFileSync(file: string, a?: any, b?: any): any {
  const [args, options] = normal(a, b);
  const r = spawnSync(file, args, options);
  show(r, options);
  return checked(r, options, [file, ...args].join(" "));
}

function execSync(command: string, options: any = {}): any {
  const r = spawnSync(command, [], { ...options, shell: options.shell ?? true });
  show(r, options);
  return checked(r, options, command);
}

function execFile(file: string, ...rest: any[]): any {
  const callback = typeof rest[rest.length - 1] === "function" ? rest.pop() : undefined;
  const [args, options] = normal(rest[0], rest[1]);
  const Emitter = __plumb.require("events");
  const child: any = new Emitter();
  child.pid = undefined;
  child.exitCode = null;
  child.signalCode = null;
  child.killed = false;
  child.spawnfile = file;
  child.spawnargs = [file, ...args];
  const id: number = __plumb.host("process.id");
  child.kill = (signal: any = "SIGTERM") => {
    child.killed = __plumb.host("process.kill", id, String(signal));
    return child.killed;
  };
  child.ref = child.unref = () => {};
  const abort = () => child.kill(options.killSignal);
  options.signal?.addEventListener("abort", abort, { once: true });
  const command = options.shell ? file : [file, ...args].join(" ");
  const done = __plumb.async("process.run", request(file, args, options, false), id).then((text) => {
    const r: Result = JSON.parse(text);
    options.signal?.removeEventListener("abort", abort);
    child.pid = r.pid;
    child.exitCode = r.status;
    child.signalCode = r.signal;
    const encoding = options.encoding === undefined ? "utf8" : options.encoding;
    const stdout = output(r.stdout ?? "", encoding), stderr = output(r.stderr ?? "", encoding);
    let error: any = null;
    if (options.signal?.aborted) error = Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: options.signal.reason });
    else if (r.error && r.error.code === "ENOBUFS") error = Object.assign(new RangeError(`${r.error.stream} maxBuffer length exceeded`), { code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", cmd: command });
    else if (r.error && r.error.code !== "ETIMEDOUT") error = Object.assign(systemError(r, `spawn ${file}`, file, args), { cmd: command });
    else if (r.status !== 0 || r.signal) error = Object.assign(new Error(`Command failed: ${command}\n${stderr}`), { code: r.status, killed: child.killed || r.error?.code === "ETIMEDOUT", signal: r.signal, cmd: command });
    return { error, stdout, stderr };
  });
  done.then(({ error, stdout, stderr }: any) => {
    if (error && (error.syscall ?? "").startsWith("spawn") && child.listenerCount("error")) child.emit("error", error);
    callback?.(error, stdout, stderr);
    child.emit("exit", child.exitCode, child.signalCode);
    child.emit("close", child.exitCode, child.signalCode);
  }).catch((error: unknown) => __plumb.fail(error));
  child.done = done;
  Object.defineProperty(child, "done", { enumerable: false });
  return child;
}

function exec(command: string, ...rest: any[]): any {
  const callback = typeof rest[rest.length - 1] === "function" ? rest.pop() : undefined;
  const options = { ...rest[0] };
  return execFile(command, [], { ...options, shell: options.shell ?? true }, callback);
}

const promised = (f: any) => (...args: any[]) => {
  const child = f(...args);
  const promise: any = child.done.then(({ error, stdout, stderr }: any) => {
    if (error) throw Object.assign(error, { stdout, stderr });
    return { stdout, stderr };
  });
  promise.child = child;
  return promise;
};
for (const f of [exec, execFile]) Object.defineProperty(f, Symbol.for("nodejs.util.promisify.custom"), { value: promised(f), enumerable: false });

const refuse = (name: string) => () => {
  throw Object.assign(new Error(`child_process.${name} is not available to suites: a suite runs processes to their end, with execFile, exec, execFileSync, execSync or spawnSync`), { code: "ERR_NOT_AVAILABLE" });
};

export default { exec, execFile, execFileSync, execSync, spawnSync, spawn: refuse("spawn"), fork: refuse("fork") };
