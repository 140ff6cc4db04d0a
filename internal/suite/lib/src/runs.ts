// The executions whose checks run now: their reports, and their failures of soft assertions.

import type { FailureClass, SessionReport } from "plumb";

export interface Collected {
	error: Error;
	class?: FailureClass;
}

/** One run of a case's assert, or of a callback of runWithSoftAssertions. */
export class Run {
	readonly failures: Collected[] = [];
	/** Soft assertions that have not settled, including those without await. */
	readonly pending = new Set<Promise<unknown>>();
	/** The number of checks of the groups so far. */
	checks = 0;
	ended = false;

	constructor(
		/** Whether a session is judged, so that Go answers questions about it. */
		readonly session: boolean,
		readonly workspace: string | undefined,
	) {}

	/** Waits for the pending soft assertions, and for those that they start. */
	async settle(): Promise<void> {
		while (this.pending.size > 0) await Promise.allSettled([...this.pending]);
		this.ended = true;
	}
}

/** The context of code: its run, and the outermost assert.classify around it. */
interface Place {
	run: Run | undefined;
	class: FailureClass | undefined;
}

interface Storage {
	run<T>(place: Place, fn: () => T): T;
	getStore(): Place | undefined;
}

declare const require: (name: string) => any;

let storage: Storage | undefined;
const active = new Set<Run>();
const byReport = new WeakMap<object, Run>();

function place(): Place | undefined {
	return storage?.getStore();
}

function within<T>(p: Place, fn: () => T): T {
	storage ??= new (require("node:async_hooks").AsyncLocalStorage)() as Storage;
	return storage.run(p, fn);
}

/** The run of a report, or else the calling run: by its async context, or because it is the only one. */
export function runOf(report?: object): Run | undefined {
	return (report && byReport.get(report)) ?? place()?.run ?? (active.size === 1 ? [...active][0] : undefined);
}

/** Calls fn as run, and waits for it and for the run's soft assertions. */
export async function perform(run: Run, report: SessionReport | undefined, fn: () => unknown): Promise<void> {
	if (report !== undefined) byReport.set(report, run);
	active.add(run);
	try {
		await within({ run, class: undefined }, fn);
	} finally {
		await run.settle();
		active.delete(run);
	}
}

const classKey = Symbol.for("skillgym.failureClass");

/** The error of a check that lacks a part of the session: nothing is wrong with the suite. */
export const incomplete = (message: string): Error =>
	Object.defineProperty(new Error(message), classKey, { value: { id: "incomplete", label: "Incomplete evidence" } });

/** The class of an error. */
export function classOf(e: unknown): FailureClass | undefined {
	const found = typeof e === "object" && e !== null ? (e as any)[classKey] : undefined;
	return found === undefined || found === null ? undefined : failureClass(found);
}

/** The user's class; throws a TypeError for other values. */
export function failureClass(given: unknown): FailureClass {
	const { id, label } = typeof given === "string" ? { id: given, label: undefined } : ((given ?? {}) as FailureClass);
	if (typeof id !== "string" || id.trim() === "") {
		throw new TypeError('a failure class is a non-empty string, or an object such as {id: "wrong-flag", label: "Wrong flag"}');
	}
	if (label !== undefined && typeof label !== "string") throw new TypeError("the label of a failure class must be a string");
	return label === undefined ? { id } : { id, label };
}

/** Calls fn and adds the class to its error. The outermost of several classes wins. */
export function classify<T>(given: FailureClass | string, fn: () => T): T {
	const own = failureClass(given);
	const mark = (e: unknown): never => {
		if (e instanceof Error) Object.defineProperty(e, classKey, { value: own, configurable: true, writable: true });
		throw e;
	};
	const outer = place();
	let result: T;
	try {
		result = within({ run: outer?.run ?? runOf(), class: outer?.class ?? own }, fn);
	} catch (e) {
		return mark(e);
	}
	return typeof (result as any)?.then === "function" ? (Promise.resolve(result).catch(mark) as T) : result;
}

/** Keeps the failure of a soft assertion for the end of the run; throws it outside of a run. */
function collect(e: unknown, isAssertion: (e: unknown) => e is Error, report: object | undefined): void {
	const run = runOf(report);
	if (!isAssertion(e) || run === undefined || run.ended) throw e;
	run.failures.push({ error: e, class: place()?.class ?? classOf(e) });
}

/** Makes an assertion soft. */
export function softened<F extends (...args: any[]) => any>(fn: F, isAssertion: (e: unknown) => e is Error): F {
	return function (this: unknown, ...args: unknown[]) {
		const report = typeof args[0] === "object" && args[0] !== null ? args[0] : undefined;
		let result: unknown;
		try {
			result = Reflect.apply(fn, undefined, args);
		} catch (e) {
			collect(e, isAssertion, report);
			return undefined;
		}
		if (typeof (result as any)?.then !== "function") return result;
		const run = runOf(report);
		const settled = (result as Promise<unknown>).then((v) => v, (e) => collect(e, isAssertion, report));
		if (run !== undefined && !run.ended) {
			run.pending.add(settled);
			const done = () => void run.pending.delete(settled);
			settled.then(done, done);
		}
		return settled;
	} as F;
}
