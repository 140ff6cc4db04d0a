// The events of a report are fetched from Go when somebody looks at them: a session may have very many, and most checks need
// those of one type only.

import type { SessionEvent, SessionReport } from "plumb";
import { host } from "./engine";

const traps = ["get", "set", "has", "deleteProperty", "ownKeys", "getOwnPropertyDescriptor", "defineProperty", "preventExtensions",
	"isExtensible", "setPrototypeOf"] as const;

/** The handler of a proxy for an array of which the elements are not there yet. It must not refer to the proxy; see `lend`. */
class Absent {
	readonly #fetched: Record<string, SessionEvent[]> = {};

	constructor(readonly run: string) {}

	/** Those of a type, "" being all. */
	fetch(type: string): SessionEvent[] {
		return (this.#fetched[type] ??= host("events", this.run, type) as unknown as SessionEvent[]);
	}

	/** Fetches all. From then on the proxy is the array itself for all that a script can see. */
	fill(target: SessionEvent[]): void {
		const events = this.fetch("");
		for (let i = 0; i < events.length; i++) target[i] = events[i];
		Object.setPrototypeOf(this, null);
	}
}

for (const trap of traps) {
	(Absent.prototype as any)[trap] = function (this: Absent, target: SessionEvent[], ...args: unknown[]) {
		this.fill(target);
		return (Reflect as any)[trap](target, ...args);
	};
}

const handlers = new WeakMap<object, Absent>();

/** The handler of events that were not looked at. */
function absent(events: object): Absent | undefined {
	const handler = handlers.get(events);
	return handler instanceof Absent ? handler : undefined;
}

/**
 * Gives a report events that are fetched when they are looked at. Go has them until the run ends: keep must be called before, which
 * fetches what somebody still refers to then.
 */
export function lend(report: SessionReport, run: string): { keep(): void } {
	const handler = new Absent(run);
	const events = new Proxy<SessionEvent[]>([], handler as ProxyHandler<SessionEvent[]>);
	handlers.set(events, handler);
	report.events = events;
	const ref = new WeakRef(events);
	return { keep: () => void ref.deref()?.length };
}

/** How many events are there; -1 for those that nobody has looked at. */
export const eventCount = (report: SessionReport): number => (absent(report.events) === undefined ? report.events.length : -1);

/** The events of a type. */
export function eventsOf<T extends SessionEvent["type"]>(report: SessionReport, type: T): Extract<SessionEvent, { type: T }>[] {
	const found = absent(report.events)?.fetch(type) ?? report.events.filter((e) => e.type === type);
	return found as Extract<SessionEvent, { type: T }>[];
}
