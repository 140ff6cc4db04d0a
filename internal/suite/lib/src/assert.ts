// The object assert: node:assert/strict with the groups added.

import strict from "node:assert/strict";
import type { FailureClass, PlumbAssert } from "plumb";
import { judge, leaksNoSecret, similar } from "./ask";
import { commands, fileReads, skills, toolCalls, toolResults } from "./groups";
import { files, output, permissions, usage } from "./more";
import { classify, softened } from "./runs";

/** Whether an error means that a check failed, for any assertion library. */
export function isAssertionError(e: unknown): e is Error {
	if (typeof e !== "object" || e === null) return false;
	const { code, name, matcherResult } = e as any;
	return e instanceof strict.AssertionError || code === "ERR_ASSERTION" ||
		(typeof name === "string" && /^(?:Jest)?AssertionError(?: \[ERR_ASSERTION\])?$/.test(name)) ||
		// Errors of Jest's expect have the name Error.
		(e instanceof Error && typeof matcherResult === "object" && matcherResult !== null);
}

const groups = { skills, commands, fileReads, toolCalls, toolResults, output, files, usage, permissions };

/** Copies the functions of an object as soft assertions. */
function softly<T extends object>(from: T): T {
	const to: Record<string, unknown> = {};
	for (const [name, value] of Object.entries(from)) to[name] = soften(value);
	return to as T;
}

function soften(value: unknown): unknown {
	return typeof value === "function" ? softened(value as (...args: any[]) => any, isAssertionError) : value;
}

// Classes are called with new and are not assertions.
const classes = new Set(["AssertionError", "Assert", "CallTracker", "strict"]);

const soft: any = softened((...args: unknown[]) => (strict as any)(...args), isAssertionError);
for (const [name, value] of Object.entries(strict)) soft[name] = classes.has(name) ? value : soften(value);
for (const [name, group] of Object.entries(groups)) soft[name] = softly(group);
soft.judge = soften(judge);
soft.similar = soften(similar);
soft.leaksNoSecret = soften(leaksNoSecret);
soft.strict = soft;

export const assert = Object.assign(strict, groups, {
	classify: <T>(failureClass: FailureClass | string, callback: () => T): T => classify(failureClass, callback),
	judge,
	similar,
	leaksNoSecret,
	soft,
}) as unknown as PlumbAssert;

// The singular of a group is a common mistake.
for (const name of Object.keys(groups).filter((name) => name.endsWith("s"))) {
	const singular = name.slice(0, -1);
	Object.defineProperty(assert, singular, {
		configurable: true,
		get(): never {
			throw new TypeError(`assert.${singular} does not exist: did you mean assert.${name}?`);
		},
	});
}
