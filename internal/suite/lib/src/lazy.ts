// The events of a report are fetched from Go when somebody looks at them: a session may have very many, and most checks need
// those of one type only.

import type { SessionEvent, SessionReport } from "plumb";
import { host } from "./engine";

export type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;

const traps = ["get", "set", "has", "deleteProperty", "ownKeys", "getOwnPropertyDescriptor", "defineProperty", "preventExtensions",
	"isExtensible", "setPrototypeOf"] as const;

/** The handler of a proxy for an array of which the elements are not there yet. It must not refer to the proxy; see `lend`. */
class Absent {
	constructor(readonly run: string) {}

	/** Calls fn with each event of a type, "" being all. They come in portions, since all of them may be too much for one text. */
	each(type: string, fn: (e: SessionEvent) => void): void {
		for (let from = 0; from >= 0; ) {
			const { events, next } = host("events", this.run, type, String(from)) as unknown as { events: SessionEvent[]; next: number };
			for (const e of events) fn(e);
			from = next;
		}
	}

	/** Fetches all. From then on the proxy is the array itself for all that a script can see. */
	fill(target: SessionEvent[]): void {
		this.each("", (e) => target.push(e));
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

/** Calls fn with each event of a type. */
export function eachEvent<T extends SessionEvent["type"]>(report: SessionReport, type: T, fn: (e: EventOf<T>) => void): void {
	const handler = absent(report.events);
	if (handler !== undefined) return handler.each(type, fn as (e: SessionEvent) => void);
	for (const e of report.events) if (e.type === type) fn(e as EventOf<T>);
}

/** The events of a type. */
export function eventsOf<T extends SessionEvent["type"]>(report: SessionReport, type: T): EventOf<T>[] {
	const found: EventOf<T>[] = [];
	eachEvent(report, type, (e) => found.push(e));
	return found;
}
