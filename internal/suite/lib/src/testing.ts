// The module plumb/testing, for tests of a suite's helpers.

import strict from "node:assert/strict";
import { isAssertionError } from "./assert";
import { attachQuestions, questionsOf } from "./fail";
import { perform, Run } from "./runs";

/** The error for all failures of soft assertions and the error thrown after them. */
export function aggregate(errors: readonly Error[]): Error {
	const lines = errors.map((e, i) => `${i + 1}. ${e.message}`);
	const e = new strict.AssertionError({
		message: [`${errors.length} assertion ${errors.length === 1 ? "failure" : "failures"} collected during case execution:`, ...lines].join("\n"),
		actual: errors.length, expected: 0, operator: "softAssertions",
	});
	const header = `${e.name}: ${e.message}`;
	e.stack = [header, ...errors.map((one, i) => `${i + 1}. ${one.stack}`)].join("\n\n");
	attachQuestions(e, errors.flatMap(questionsOf));
	return e;
}

/** Calls callback like a case's assert: at the end it throws the failures of its soft assertions as one error. */
export async function runWithSoftAssertions<T>(callback: () => T): Promise<Awaited<T>> {
	const run = new Run(false, undefined);
	let result: unknown;
	let thrown: { error: unknown } | undefined;
	try {
		await perform(run, undefined, async () => {
			result = await callback();
		});
	} catch (error) {
		thrown = { error };
	}
	const errors = run.failures.map((f) => f.error);
	if (thrown !== undefined && (errors.length === 0 || !isAssertionError(thrown.error))) throw thrown.error;
	if (thrown !== undefined) errors.push(thrown.error as Error);
	if (errors.length > 0) throw aggregate(errors);
	return result as Awaited<T>;
}

export { parseCommand } from "./commands";
