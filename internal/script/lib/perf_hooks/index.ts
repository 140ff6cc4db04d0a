// node:perf_hooks: a clock and marks.
const host = __plumb.host;
const marks = new Map<string, number>();
let entries: any[] = [];
const origin = Date.now() - host("now");

const performance = {
  now: (): number => host("now"),
  timeOrigin: origin,
  mark(name: string, options: any = {}) {
    const e = { name, entryType: "mark", startTime: options.startTime ?? host("now"), duration: 0, detail: options.detail ?? null };
    marks.set(name, e.startTime);
    entries.push(e);
    return e;
  },
  measure(name: string, from?: any, to?: any) {
    const at = (m: any, other: number) => (m === undefined ? other : typeof m === "number" ? m : marks.get(m) ?? other);
    const o = from !== null && typeof from === "object" ? from : { start: from, end: to };
    const startTime = at(o.start, 0), end = at(o.end, host("now"));
    const e = { name, entryType: "measure", startTime, duration: o.duration ?? end - startTime, detail: o.detail ?? null };
    entries.push(e);
    return e;
  },
  clearMarks(name?: string) { if (name === undefined) marks.clear(); else marks.delete(name); entries = entries.filter((e) => e.entryType !== "mark" || (name !== undefined && e.name !== name)); },
  clearMeasures(name?: string) { entries = entries.filter((e) => e.entryType !== "measure" || (name !== undefined && e.name !== name)); },
  getEntries: () => [...entries],
  getEntriesByName: (name: string, type?: string) => entries.filter((e) => e.name === name && (!type || e.entryType === type)),
  getEntriesByType: (type: string) => entries.filter((e) => e.entryType === type),
  timerify: (f: unknown) => f,
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  toJSON: () => ({ timeOrigin: origin }),
};
class PerformanceObserver {
  observe() {}
  disconnect() {}
}
export default { performance, PerformanceObserver, constants: {}, monitorEventLoopDelay: () => ({ enable() {}, disable() {}, min: 0, max: 0, mean: 0 }) };
