// console as in Node: node:util formats, Go prints and maps stacks.
import util from "node:util";

const counts = new Map<string, number>();
const times = new Map<string, number>();
let indent = "";

const now = () => __plumb.host("now") as number;

function text(args: unknown[]): string {
  if (args.length === 1 && typeof args[0] === "string") return args[0];
  for (const arg of args) (__plumb as any).errors.complete(arg);
  return (util as any).format(...args);
}

function print(fd: number, args: unknown[]) {
  let line = text(args);
  if (indent) line = indent + line.replaceAll("\n", "\n" + indent);
  __plumb.host("write", fd, line.toWellFormed() + "\n");
}

function duration(ms: number): string {
  if (ms >= 3_600_000) return `${Math.floor(ms / 3_600_000)}:${String(Math.floor(ms / 60_000) % 60).padStart(2, "0")}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")} (h:mm:ss)`;
  if (ms >= 60_000) return `${Math.floor(ms / 60_000)}:${((ms / 1000) % 60).toFixed(3).padStart(6, "0")} (m:ss.mmm)`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${Number(ms.toFixed(3))}ms`;
}

/** Rows of a table in Node's box. */
function box(head: string[], rows: string[][]): string {
  const width = (s: string) => [...s].length;
  const widths = head.map((h, i) => Math.max(width(h), ...rows.map((r) => width(r[i] ?? ""))) + 2);
  const line = (l: string, m: string, r: string) => l + widths.map((w) => "─".repeat(w)).join(m) + r;
  const row = (cells: string[]) => "│" + widths.map((w, i) => (" " + (cells[i] ?? "")).padEnd(w + (cells[i] ?? "").length - width(cells[i] ?? ""))).join("│") + "│";
  return [line("┌", "┬", "┐"), row(head), line("├", "┼", "┤"), ...rows.map(row), line("└", "┴", "┘")].join("\n");
}

const console = {
  log(...args: unknown[]) { print(1, args); },
  info(...args: unknown[]) { print(1, args); },
  debug(...args: unknown[]) { print(1, args); },
  warn(...args: unknown[]) { print(2, args); },
  error(...args: unknown[]) { print(2, args); },
  trace(...args: unknown[]) {
    const e: any = { name: "Trace", message: text(args) };
    (Error as any).captureStackTrace(e, console.trace);
    print(2, [e.stack]);
  },
  dir(value: unknown, options?: object) { print(1, [(util as any).inspect(value, { customInspect: false, ...options })]); },
  dirxml(...args: unknown[]) { print(1, args); },
  group(...args: unknown[]) {
    if (args.length) print(1, args);
    indent += "  ";
  },
  groupCollapsed(...args: unknown[]) { console.group(...args); },
  groupEnd() { indent = indent.slice(2); },
  assert(ok?: unknown, ...args: unknown[]) {
    if (ok) return;
    if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
    else args.unshift("Assertion failed");
    print(2, args);
  },
  count(label: string = "default") {
    const n = (counts.get(`${label}`) ?? 0) + 1;
    counts.set(`${label}`, n);
    print(1, [`${label}: ${n}`]);
  },
  countReset(label: string = "default") { counts.delete(`${label}`); },
  time(label: string = "default") { times.set(`${label}`, now()); },
  timeLog(label: string = "default", ...args: unknown[]) {
    const from = times.get(`${label}`);
    if (from !== undefined) print(1, [`${label}: ${duration(now() - from)}`, ...args]);
  },
  timeEnd(label: string = "default") {
    console.timeLog(label);
    times.delete(`${label}`);
  },
  timeStamp() {},
  profile() {},
  profileEnd() {},
  table(data: any, columns?: string[]) {
    if (data === null || typeof data !== "object") return console.log(data);
    const show = (v: unknown) => (util as any).inspect(v, { depth: v !== null && typeof v === "object" && !Array.isArray(v) && Object.keys(v).length > 2 ? -1 : 0, maxArrayLength: 3, breakLength: Infinity });
    const entries: [string, any][] =
      data instanceof Map ? [...data].map(([k, v], i) => [String(i), { Key: k, Values: v }])
      : data instanceof Set ? [...data].map((v, i) => [String(i), v])
      : Object.entries(data);
    const keys: string[] = [];
    let plain = false;
    for (const [, v] of entries)
      if (v !== null && typeof v === "object") {
        for (const k of Object.keys(v)) if (!keys.includes(k)) keys.push(k);
      } else plain = true;
    const shown = columns ?? keys;
    const index = data instanceof Map || data instanceof Set ? "(iteration index)" : "(index)";
    const head = [index, ...shown, ...(plain ? ["Values"] : [])];
    const rows = entries.map(([k, v]) => {
      const object = v !== null && typeof v === "object";
      return [k, ...shown.map((c) => (object && Object.hasOwn(v, c) ? show(v[c]) : "")), ...(plain ? [object ? "" : show(v)] : [])];
    });
    print(1, [box(head, rows)]);
  },
};

export default Object.assign(console, { Console: function Console() { return console; } });
