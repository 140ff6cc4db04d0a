// How the checks of the groups fail.

import assert from "node:assert/strict";
import type { AssertionOptions, ExplainContext, SessionReport } from "plumb";
import { stackOf, userFrame } from "./engine";
import { runOf } from "./runs";
import { kindOf } from "./text";

/** The texts of a failed check. All are whole sentences. */
export interface Failure {
	/** The expectation and the difference: "Expected commands to include "x"." */
	detail: string;
	/** "Observed commands: a | b" */
	observed: string;
	/** For the callbacks of explain. */
	context: Omit<ExplainContext, "report">;
	/** The question for the agent if the user has none; undefined means no question. */
	question: string | undefined;
	/** The values that a reporter compares, if they are not in context. */
	actual?: unknown;
}

const questionsKey = Symbol.for("skillgym.explainQuestions");

/** A question for the agent, as errors store it. */
export interface AttachedQuestion {
	question: string;
	source: { filePath: string; line: string; column: string };
}

export function attachQuestions(e: Error, questions: AttachedQuestion[]): void {
	if (questions.length > 0) Object.defineProperty(e, questionsKey, { value: questions, configurable: true, writable: true });
}

/** The questions on an error, including those of other libraries. */
export function questionsOf(e: unknown): AttachedQuestion[] {
	const found = typeof e === "object" && e !== null ? (e as any)[questionsKey] : undefined;
	return Array.isArray(found) ? found.filter((q) => typeof q?.question === "string" && q.question.trim() !== "") : [];
}

const checkKey = Symbol.for("plumb.check");

/** The name of the group's check that an error comes from. */
export const checkOf = (e: unknown): string | undefined => (e as any)?.[checkKey];

/** Records the check that an error comes from. */
export const named = (e: Error, check: string): Error => Object.defineProperty(e, checkKey, { value: check });

/** Counts a check, and throws if the value is not a session report. */
export function begin(name: string, report: SessionReport): void {
	if (typeof report !== "object" || report === null || !Array.isArray(report.events)) {
		throw new TypeError(`assert.${name}: the first argument must be the session report, not ${kindOf(report)}`);
	}
	const run = runOf(report);
	if (run !== undefined) run.checks++;
}

/** The user's limit, which must be a whole number. */
export function wholeNumber(name: string, n: unknown): number {
	if (typeof n !== "number" || !Number.isInteger(n) || n < 0) {
		throw new TypeError(`assert.${name}: the count must be a whole number, not ${typeof n === "number" ? n : kindOf(n)}`);
	}
	return n;
}

/** An object whose stack is that of the call of fn, for checks that wait. */
export function callerOf(fn: Function): { stack?: string } {
	const caller = {};
	(Error as any).captureStackTrace?.(caller, fn);
	return caller;
}

/** The frames of the result of callerOf, without the header. */
export const framesOf = (caller: { stack?: string }): string => /(?:\n    at .*)*$/.exec(caller.stack ?? "")![0];

/**
 * Throws the AssertionError of a check. start is the function that the user called: the stack begins with its caller. For an
 * asynchronous check it is the result of callerOf before the wait.
 */
export function fail(name: string, report: SessionReport, f: Failure, o: AssertionOptions | undefined, start: Function | { stack?: string }): never {
	const prefix = o?.message === undefined || o.message === "" ? "" : `${o.message}. `;
	const e = new assert.AssertionError({
		message: `${prefix}${f.detail} ${f.observed}`,
		actual: "actual" in f ? f.actual : f.context.actual ?? f.context.observed,
		expected: f.context.expected,
		operator: name,
		...(typeof start === "function" ? { stackStartFn: start as any } : {}),
	});
	if (typeof start === "object") e.stack = `AssertionError [ERR_ASSERTION]: ${e.message}${framesOf(start)}`;
	named(e, name);
	const source = userFrame(stackOf(e));
	const question = source && ask(o, report, f);
	if (source && question !== undefined && question.trim() !== "") {
		const place = { filePath: source.file, line: String(source.line), column: String(source.column) };
		attachQuestions(e, [{ question, source: place }]);
	}
	throw e;
}

function ask(o: AssertionOptions | undefined, report: SessionReport, f: Failure): string | undefined {
	const given = o?.explain?.question;
	const own = typeof given === "function" ? given({ report, ...f.context }) : given;
	return own ?? f.question;
}

const mostObserved = 200;
const longestObserved = 32_000;

/** "Observed commands: a | b" */
export function observedList<T>(label: string, values: readonly T[], show: (v: T) => string): string {
	if (values.length === 0) return `Observed ${label}: (none)`;
	const shown: string[] = [];
	let length = 0;
	for (const v of values) {
		if (shown.length === mostObserved || length > longestObserved) break;
		const text = show(v);
		shown.push(text);
		length += text.length;
	}
	const more = values.length - shown.length;
	return `Observed ${label}: ${shown.join(" | ")}${more > 0 ? ` | … and ${more} more` : ""}`;
}
