// The checks that lists of commands, file reads and tool results share.

import type { AssertionOptions, SessionReport } from "plumb";
import { begin, fail, observedList, wholeNumber } from "./fail";
import { incomplete } from "./runs";
import { hasGaps, lacks } from "./seen";

/** A list of a session's actions, and how to search it. V is an action, M a user's matcher. */
export interface Kind<V, M> {
	/** The name of the group: "commands". */
	group: string;
	/** The name of the list in failures: "file reads". */
	label: string;
	/** The type of the events with the values, if a report can lack some of them or of their texts. */
	type?: Parameters<typeof hasGaps>[1];
	values(report: SessionReport): readonly V[];
	/** Values that may have happened: no check concludes from them. */
	unproven?(report: SessionReport): readonly V[];
	/** All texts in one, separated by NUL, to search them at once. */
	joined?(report: SessionReport): string;
	/** Prepares the matcher; throws a TypeError for other values. */
	prepare(matcher: M, check: string): Prepared<V>;
	/** The text of a value in a list of observed values. */
	show(v: V): string;
	/** The text of an unexpected value, and for sizes. */
	plain(v: V): string;
	/** The value for callbacks of explain. */
	expose(v: V): unknown;
}

export interface Prepared<V> {
	matches(v: V): boolean;
	/** A text that a value must contain to match; no other condition exists. */
	needle?: string;
	/** Whether a truncated value that does not match could match as a whole; the default is true. */
	might?(v: V): boolean;
	describe(): string;
}

export type Options = AssertionOptions;

const times = (n: number) => `${n} ${n === 1 ? "match" : "matches"}`;

/** The checks, and the functions that a group's own checks share with them. */
export function listChecks<V, M>(kind: Kind<V, M>) {
	const { group, label } = kind;
	const observed = (values: readonly V[]) => observedList(label, values, kind.show);
	const exposed = (values: readonly V[]) => values.map(kind.expose);
	const why = (expectation: string) => `${expectation} Why did you not act accordingly?`;
	/** The index of the first match, or -1. */
	const index = (values: readonly V[], m: Prepared<V>) => {
		const { matches } = m;
		for (let i = 0; i < values.length; i++) if (matches(values[i])) return i;
		return -1;
	};

	/** Whether a truncated value that matches nothing could match as a whole. */
	const might = (v: V, ms: readonly Prepared<V>[]) =>
		isCut(v) && !ms.some((m) => m.matches(v)) && ms.some((m) => m.might === undefined || m.might(v));
	/** The unproven values that match one of the matchers, or all without a matcher. */
	const unproven = (report: SessionReport, ms: readonly Prepared<V>[]) =>
		(kind.unproven?.(report) ?? []).filter((v) => ms.length === 0 || ms.some((m) => m.matches(v)));
	/** The number of values without a match that could match if the report were complete. */
	const hidden = (report: SessionReport, values: readonly V[], ...ms: Prepared<V>[]) =>
		unproven(report, ms).length + (kind.type === undefined || !hasGaps(report, kind.type) ? 0
			: lacks(report, kind.type) ? Infinity : values.filter((v) => might(v, ms)).length);
	/** Throws if a conclusion would depend on missing parts of the report. */
	const complete = (report: SessionReport, values: readonly V[], ...ms: Prepared<V>[]) => {
		const [maybe] = unproven(report, ms);
		if (maybe !== undefined) {
			throw incomplete(`the session does not show whether the agent got the content of ${kind.plain(maybe)}, which it asked for`);
		}
		if (hidden(report, values, ...ms) > 0) {
			throw incomplete(`the report does not have all ${label}, or not all of their texts, and what is missing might match`);
		}
	};

	/** Whether some value matches. */
	const some = (report: SessionReport, values: readonly V[], m: Prepared<V>) => {
		const found = kind.joined !== undefined && m.needle !== undefined && !m.needle.includes("\0")
			? values.length > 0 && kind.joined(report).includes(m.needle)
			: index(values, m) >= 0;
		if (!found) complete(report, values, m);
		return found;
	};

	/** A check that counts matches. */
	function counting(name: string, expected: (n: number) => string, holds: (found: number, n: number) => boolean) {
		const method = `${group}.${name}`;
		return function check(report: SessionReport, matcher: M, n: number, options?: Options): void {
			begin(method, report);
			wholeNumber(method, n);
			const [m, values] = [kind.prepare(matcher, method), kind.values(report)];
			let found = 0;
			for (const v of values) if (m.matches(v)) found++;
			const most = found + hidden(report, values, m);
			if ([n, most].some((k) => k > found && k <= most && holds(k, n) !== holds(found, n))) complete(report, values, m);
			if (holds(found, n)) return;
			const expectation = `Expected ${label} to contain ${expected(n)} of ${m.describe()}`;
			fail(method, report, {
				detail: `${expectation}, but found ${found}.`, observed: observed(values),
				context: { expected: n, actual: found, observed: exposed(values) }, question: why(`${expectation}.`),
			}, options, check);
		};
	}

	const count = counting("count", (n) => `exactly ${times(n)}`, (found, n) => found === n);
	const atLeast = counting("atLeast", (n) => `at least ${times(n)}`, (found, n) => found >= n);
	const atMost = counting("atMost", (n) => `at most ${times(n)}`, (found, n) => found <= n);
	const exactly = counting("exactlyOne", (n) => `exactly ${times(n)}`, (found, n) => found === n);

	/** First or last. */
	function edge(name: "first" | "last", at: number) {
		const method = `${group}.${name}`;
		return function check(report: SessionReport, matcher: M, options?: Options): void {
			begin(method, report);
			const [m, values] = [kind.prepare(matcher, method), kind.values(report)];
			const value = values.at(at);
			complete(report, value === undefined ? [] : [value], ...(unproven(report, []).length > 0 ? [] : [m]));
			if (value !== undefined && m.matches(value)) return;
			const expectation = `Expected the ${name} of the ${label} to match ${m.describe()}`;
			fail(method, report, {
				detail: value === undefined ? `${expectation}, but there is none.` : `${expectation}, but it is ${JSON.stringify(kind.plain(value))}.`,
				observed: observed(values),
				context: { expected: matcher, observed: exposed(values) }, question: why(`${expectation}.`),
			}, options, check);
		};
	}

	const checks = {
		includes: function includes(report: SessionReport, matcher: M, options?: Options): void {
			const method = `${group}.includes`;
			begin(method, report);
			const [m, values] = [kind.prepare(matcher, method), kind.values(report)];
			if (some(report, values, m)) return;
			const expectation = `Expected ${label} to include ${m.describe()}.`;
			fail(method, report, {
				detail: expectation, observed: observed(values),
				context: { expected: matcher, observed: exposed(values) }, question: why(expectation),
			}, options, includes);
		},
		notIncludes: function notIncludes(report: SessionReport, matcher: M, options?: Options): void {
			const method = `${group}.notIncludes`;
			begin(method, report);
			const [m, values] = [kind.prepare(matcher, method), kind.values(report)];
			if (!some(report, values, m)) return;
			const expectation = `Expected ${label} not to include ${m.describe()}.`;
			fail(method, report, {
				detail: expectation, observed: observed(values),
				context: { expected: matcher, observed: exposed(values) }, question: `${expectation} Why did you do so nevertheless?`,
			}, options, notIncludes);
		},
		count,
		atLeast,
		atMost,
		exactlyOne: function exactlyOne(report: SessionReport, matcher: M, options?: Options): void {
			exactly(report, matcher, 1, options);
		},
		before: function before(report: SessionReport, first: M, second: M, options?: Options): void {
			const method = `${group}.before`;
			begin(method, report);
			const [a, b] = [kind.prepare(first, method), kind.prepare(second, method)];
			const values = kind.values(report);
			const [i, j] = [index(values, a), index(values, b)];
			complete(report, i < 0 ? values : values.slice(0, i), a);
			complete(report, j < 0 ? values : values.slice(0, j), b);
			if (i >= 0 && j >= 0 && i < j) return;
			const expectation = `Expected ${label} to contain ${a.describe()} before ${b.describe()}.`;
			const found = i < 0 && j < 0 ? "Neither the first nor the second was found."
				: i < 0 ? "The first was not found." : j < 0 ? "The second was not found."
				: `Found first match at index ${i} and second match at index ${j}.`;
			fail(method, report, {
				detail: `${expectation} ${found}`, observed: observed(values),
				context: { expected: [first, second], observed: exposed(values) }, question: why(expectation),
			}, options, before);
		},
		only: function only(report: SessionReport, matchers: readonly M[], options?: Options): void {
			const method = `${group}.only`;
			begin(method, report);
			const allowed = listOf(method, matchers).map((m) => kind.prepare(m, method));
			const values = kind.values(report);
			const unexpected = values.filter((v) => !allowed.some((m) => m.matches(v)) && !might(v, allowed));
			if (unexpected.length === 0) {
				const doubtful = unproven(report, []).some((v) => !allowed.some((m) => m.matches(v)));
				return complete(report, values, ...(doubtful ? [] : allowed));
			}
			const names = allowed.length === 0 ? "(none)" : allowed.map((m) => m.describe()).join(", ");
			fail(method, report, {
				detail: `Expected ${label} to be only ${names}. Unexpected: ${unexpected.map(kind.plain).join(" | ")}.`,
				observed: observed(values),
				context: { expected: matchers, observed: exposed(values) },
				question: why(`Expected ${label} to be only ${names}.`),
			}, options, only);
		},
		size: function size(report: SessionReport, n: number, options?: Options): void {
			const method = `${group}.size`;
			begin(method, report);
			wholeNumber(method, n);
			const values = kind.values(report);
			if (values.length <= n) complete(report, []);
			if (values.length === n) return;
			const expectation = `Expected exactly ${n} ${label}`;
			fail(method, report, {
				detail: `${expectation}, but found ${values.length}.`, observed: observedList(label, values, kind.plain),
				context: { expected: n, actual: values.length, observed: exposed(values) }, question: why(`${expectation}.`),
			}, options, size);
		},
		first: edge("first", 0),
		last: edge("last", -1),
	};
	return { checks, some, complete };
}

/** Whether a text of the value was truncated. */
const isCut = (v: unknown): boolean => typeof v === "object" && (v as { truncated?: boolean }).truncated === true;

export function listOf<M>(method: string, matchers: readonly M[]): readonly M[] {
	if (!Array.isArray(matchers)) throw new TypeError(`assert.${method}: expected an array of matchers`);
	return matchers;
}
