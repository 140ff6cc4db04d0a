// The entries that Go calls; see PROTOCOL.md. Every VM loads this module, so it loads what a config does not need on demand.

import { caseOf, describeSuite } from "./cases";
import { called, plain, type Problem } from "./plain";

declare const require: (name: string) => any;
declare const __entry: Record<string, (...args: any[]) => unknown>;

const internal = () => require("plumb")[Symbol.for("plumb.internal")];
const main = () => (globalThis as any).__main;

const describe = () => JSON.stringify(describeSuite(main()));

async function assert(id: string, report: any, evidence: any): Promise<string> {
	const value = caseOf(main(), id);
	const { judged, lend } = internal();
	if (evidence.lazy === true) lend(report);
	// The function is called as a method of its case, so `this` is the case.
	return JSON.stringify(await judged((...args: unknown[]) => value.assert(...args), report, evidence));
}

async function classify(id: string, result: string): Promise<string> {
	const value = caseOf(main(), id);
	const { described, failureClass } = internal();
	try {
		const given = await value.classifyFailure(JSON.parse(result));
		return JSON.stringify(given === undefined ? {} : { class: failureClass(given) });
	} catch (e) {
		return JSON.stringify({ problem: described(e) });
	}
}

function readConfig(): string {
	const module = main();
	const problems: Problem[] = [];
	const exported = module?.default ?? module;
	if (typeof exported !== "object" || exported === null || Array.isArray(exported)) {
		problems.push({
			path: "default", message: `expected the config to be an object, not ${called(exported)}`,
			...(typeof exported === "function" ? { hint: "call it: a config is data" } : {}),
		});
		return JSON.stringify({ config: null, problems });
	}
	return JSON.stringify({ config: plain(exported, "", problems), problems });
}

let custom: any;

function reporter(): string {
	const { reporterOf, reporterHooks } = internal();
	const found = reporterOf(main());
	if (typeof found === "string") return JSON.stringify({ problem: found });
	custom = found;
	return JSON.stringify({ hooks: reporterHooks.filter((hook: string) => typeof custom[hook] === "function") });
}

/** The documented report of a session without a report. */
function skeleton(runner: unknown) {
	return {
		runner, prompt: "", usage: { inputChars: 0, outputChars: 0, reasoningChars: 0, source: { input: "chars", output: "chars", reasoning: "chars" } },
		files: { observedReads: [], observedSkillReads: [] }, detectedSkills: [], events: [], finalOutput: "", rawArtifacts: {},
	};
}

/** Adds the report to all parts of a result. The text contains each report once, at the outermost part. */
function complete(result: any): void {
	result.report ??= skeleton(result.runner);
	for (const repetition of result.repetitions ?? []) {
		repetition.runner ??= result.runner;
		repetition.report ??= result.report;
		const { sessions, retryCount, repetition: _, ...lone } = repetition;
		repetition.sessions = (sessions ?? (result.repeatTarget === 1 ? result.sessions : undefined) ?? [lone]).map((session: any, i: number, all: any[]) => ({
			...session,
			runner: session.runner ?? result.runner,
			report: session.report ?? result.sessions?.[i]?.report ?? (i === all.length - 1 ? repetition.report : skeleton(result.runner)),
		}));
	}
	if (result.repeatTarget === 1 && result.repetitions?.length === 1) result.sessions = result.repetitions[0].sessions;
}

async function report(hook: string, event: string): Promise<string> {
	const parsed = JSON.parse(event);
	const { result } = parsed;
	const results = hook === "onRunnerFinish" ? [result] : (result?.cases ?? [result]).flatMap((c: any) => c?.runnerResults ?? []);
	for (const each of results) if (each !== undefined) complete(each);
	if (hook === "onError") {
		const { name, message, stack } = parsed.error ?? {};
		const error = new Error(message);
		if (name !== undefined) error.name = name;
		if (stack !== undefined) error.stack = stack;
		parsed.error = error;
	}
	try {
		await custom[hook](parsed);
		return "{}";
	} catch (e) {
		return JSON.stringify({ error: internal().described(e) });
	}
}

const entries = { describe, assert, classify, readConfig, reporter, report };
Object.assign(__entry, entries);
