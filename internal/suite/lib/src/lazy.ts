// Fetches the events of a report from Go on first use: a session can have very many, and most checks need only one type.

import type { SessionEvent, SessionReport } from "plumb";
import { host } from "./engine";

export type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;

const traps = ["get", "set", "has", "deleteProperty", "ownKeys", "getOwnPropertyDescriptor", "defineProperty", "preventExtensions",
	"isExtensible", "setPrototypeOf"] as const;

/** The handler of a proxy for an array whose elements are not loaded yet. */
class Absent {
	/** Calls fn with each event of a type; "" means all. They come in portions, because one text for all could be too long. */
	each(type: string, fn: (e: SessionEvent) => void): void {
		for (let from = 0; from >= 0; ) {
			const { events, next } = host("events", type, String(from)) as unknown as { events: SessionEvent[]; next: number };
			for (const e of events) fn(e);
			from = next;
		}
	}

	/** Fetches all events. From then on the proxy behaves like the array. */
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

/** The handler of events that were not used yet. */
function absent(events: object): Absent | undefined {
	const handler = handlers.get(events);
	return handler instanceof Absent ? handler : undefined;
}

/** Adds events to a report that are fetched on first use. */
export function lend(report: SessionReport): void {
	const handler = new Absent();
	report.events = new Proxy<SessionEvent[]>([], handler as ProxyHandler<SessionEvent[]>);
	handlers.set(report.events, handler);
}

/** The number of events; -1 if they were not used yet. */
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
