// node:diagnostics_channel.
type Listener = (message: unknown, name: string | symbol) => void;
const channels = new Map<string | symbol, Channel>();

class Channel {
  #listeners = new Set<Listener>();
  name: string | symbol;
  constructor(name: string | symbol) { this.name = name; }
  get hasSubscribers() { return this.#listeners.size > 0; }
  subscribe(f: Listener) { this.#listeners.add(f); }
  unsubscribe(f: Listener) { return this.#listeners.delete(f); }
  publish(message: unknown) { for (const f of [...this.#listeners]) f(message, this.name); }
  bindStore() {}
  unbindStore() {}
  runStores(_: unknown, f: Function, self?: unknown, ...args: unknown[]) { return f.apply(self, args); }
}

const channel = (name: string | symbol) => channels.get(name) ?? channels.set(name, new Channel(name)).get(name)!;
const tracing = (names: any) => {
  const parts = ["start", "end", "asyncStart", "asyncEnd", "error"];
  const all: any = {};
  for (const p of parts) all[p] = typeof names === "string" ? channel(`tracing:${names}:${p}`) : names[p];
  return Object.assign(all, {
    subscribe: (h: any) => { for (const p of parts) if (h[p]) all[p].subscribe(h[p]); },
    unsubscribe: (h: any) => { for (const p of parts) if (h[p]) all[p].unsubscribe(h[p]); },
    traceSync: (f: Function, _c?: unknown, self?: unknown, ...args: unknown[]) => f.apply(self, args),
    tracePromise: async (f: Function, _c?: unknown, self?: unknown, ...args: unknown[]) => f.apply(self, args),
    traceCallback: (f: Function, _p?: unknown, _c?: unknown, self?: unknown, ...args: unknown[]) => f.apply(self, args),
  });
};

export default {
  Channel, channel, tracingChannel: tracing,
  hasSubscribers: (name: string | symbol) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name: string | symbol, f: Listener) => channel(name).subscribe(f),
  unsubscribe: (name: string | symbol, f: Listener) => channel(name).unsubscribe(f),
};
