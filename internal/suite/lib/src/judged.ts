// Runs a case's assert and describes the result for Go.

import type { AssertionContext, FailureClass, SessionReport } from "plumb";
import { isAssertionError } from "./assert";
import { ranOut, stackOf, userFrame, type Position } from "./engine";
import { checkOf, questionsOf } from "./fail";
import { classOf, perform, Run } from "./runs";
import { commandsOf, toolCallsOf } from "./seen";
import { aggregate } from "./testing";

declare const require: (name: string) => any;

interface Evidence {
	workspace?: string;
}

export interface Failed {
	origin: "assertion" | "assert-hook" | "judge";
	assertion: boolean;
	name: string;
	message: string;
	code?: string;
	operator?: string;
	generatedMessage?: boolean;
	check?: string;
	soft?: true;
	actual?: string;
	expected?: string;
	stack?: string;
	source?: Position;
	class?: FailureClass;
	questions?: { question: string; source: Position }[];
	hint?: string;
}

const longestMessage = 64_000;
const longestValue = 2_000;

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}… (${text.length} characters)` : text);

/** Runs a case's assert on a report and returns the failures. */
export async function judged(hook: unknown, report: SessionReport, evidence: Evidence) {
	const run = new Run(true, evidence.workspace);
	let thrown: { error: unknown } | undefined;
	try {
		await perform(run, report, () => (hook as (...args: unknown[]) => unknown)(report, contextOf(report)));
	} catch (error) {
		if (!isAssertionError(error) && ranOut()) throw error; // Go says so, whatever the error is
		thrown = { error };
	}
	const failures = run.failures.map((f) => failed(f.error, f.class, true));
	if (thrown !== undefined) failures.push(failed(thrown.error, undefined, false));
	return { failures, checks: run.checks, ...documented(run, thrown) };
}

/** The one error of a session in the documented results. */
function documented(run: Run, thrown: { error: unknown } | undefined) {
	const soft = run.failures.map((f) => f.error);
	let error: unknown;
	if (thrown !== undefined && (soft.length === 0 || !isAssertionError(thrown.error))) error = thrown.error;
	else if (soft.length > 0) error = aggregate(thrown === undefined ? soft : [...soft, thrown.error as Error]);
	else return {};
	const { name, message, stack } = described(error);
	return { error: { name, message, stack } };
}

/** Name, message and stack of anything that can be thrown. */
export function described(e: unknown): { name: string; message: string; stack?: string; source?: Position } {
	if (typeof e !== "object" || e === null || !("message" in e)) {
		return { name: "Error", message: typeof e === "object" && e !== null ? require("node:util").inspect(e) : String(e) };
	}
	const stack = stackOf(e);
	return {
		name: String((e as Error).name ?? "Error"),
		message: cut(String((e as Error).message), longestMessage),
		...(stack === "" ? {} : { stack: cut(stack, longestMessage) }),
		...(stack === "" ? {} : { source: userFrame(stack, e) }),
	};
}

function failed(e: unknown, given: FailureClass | undefined, soft: boolean): Failed {
	const assertion = isAssertionError(e);
	const judge = typeof e === "object" && e !== null && (e as any).code === "ERR_JUDGE";
	const f: Failed = { origin: assertion ? "assertion" : judge ? "judge" : "assert-hook", assertion, ...described(e) };
	if (soft) f.soft = true;
	const { code, operator, generatedMessage } = (typeof e === "object" && e !== null ? e : {}) as Record<string, unknown>;
	if (typeof code === "string") f.code = code;
	if (typeof operator === "string") f.operator = operator;
	if (typeof generatedMessage === "boolean") f.generatedMessage = generatedMessage;
	f.check = checkOf(e);
	try {
		f.class = given ?? classOf(e);
	} catch (problem) {
		f.hint = `the failure class on the error is none: ${(problem as Error).message}`;
	}
	const questions = questionsOf(e).map(({ question, source }) => ({
		question,
		source: { file: String(source?.filePath ?? ""), line: Number(source?.line ?? 0), column: Number(source?.column ?? 0) },
	}));
	if (questions.length > 0) f.questions = questions;
	if (assertion) Object.assign(f, compared(e));
	return f;
}

/** What an assertion compared, as short texts. */
function compared(e: object): { actual?: string; expected?: string } {
	const shown: { actual?: string; expected?: string } = {};
	for (const key of ["actual", "expected"] as const) {
		const value = (e as any)[key];
		if (!(key in e) || value === undefined) continue;
		shown[key] = cut(typeof value === "string" ? value
			: require("node:util").inspect(value, { depth: 4, maxArrayLength: 100, maxStringLength: longestValue }), longestValue);
	}
	return shown;
}

/** The second argument of assert: short ways to data of the report. */
function contextOf(report: SessionReport): AssertionContext {
	return {
		getCommands: () => commandsOf(report).map((c) => c.text),
		getToolCalls: (tool) => toolCallsOf(report).filter((call) => tool === undefined || call.tool === tool),
		getFileReads: () => report.files.observedReads,
		detectedSkills: () => report.detectedSkills,
		finalOutput: () => report.finalOutput,
	};
}
