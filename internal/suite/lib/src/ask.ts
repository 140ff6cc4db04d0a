// The checks that Go performs: those that ask a judge model or an embedder, and the search for secrets.

import type { JudgeOptions, LeakOptions, SessionReport, SimilarOptions } from "plumb";
import { host, hostAsync } from "./engine";
import { begin, callerOf, fail, framesOf, named } from "./fail";
import { runOf } from "./runs";
import { kindOf } from "./text";

function outputOf(report: SessionReport, o: { output?: string } | undefined): string {
	return o?.output ?? report.finalOutput ?? "";
}

async function ask(op: "judge" | "similar", report: SessionReport, question: object, caller: { stack?: string }): Promise<any> {
	if (!runOf(report)?.session) {
		throw new Error(`assert.${op} needs a judge, which there is only while a suite runs`);
	}
	try {
		return JSON.parse(await hostAsync(op, JSON.stringify(question)));
	} catch (e) {
		if (!(e instanceof Error)) throw e;
		e.stack = `${e.name}: ${e.message}${framesOf(caller)}`;
		throw named(e, op);
	}
}

/** Asks the judge a yes-or-no question about the answer. */
export async function judge(report: SessionReport, question: string, o: JudgeOptions = {}): Promise<void> {
	begin("judge", report);
	const caller = callerOf(judge);
	if (typeof question !== "string" || question.trim() === "") {
		throw new TypeError(`assert.judge: expected a question, not ${question === "" ? "an empty string" : kindOf(question)}`);
	}
	const expect = o.expect ?? "yes";
	if (expect !== "yes" && expect !== "no") throw new TypeError('assert.judge: expect must be "yes" or "no"');
	const { pass, reason } = await ask("judge", report, {
		question, expect, output: outputOf(report, o), votes: o.votes, includePrompt: o.includePrompt,
	}, caller);
	if (pass) return;
	fail("judge", report, {
		detail: `Expected the judge to answer ${expect} to ${JSON.stringify(question)}. ${reason}`,
		observed: `Observed output: ${outputOf(report, o)}`,
		context: { expected: expect, observed: outputOf(report, o) }, question: undefined,
	}, o, caller);
}

/** Asks the embedder whether the answer has a similar meaning as a text. */
export async function similar(report: SessionReport, text: string, o: SimilarOptions = {}): Promise<void> {
	begin("similar", report);
	const caller = callerOf(similar);
	if (typeof text !== "string" || text === "") throw new TypeError(`assert.similar: expected a text, not ${text === "" ? "an empty string" : kindOf(text)}`);
	const threshold = o.threshold ?? 0.8;
	if (typeof threshold !== "number" || !(threshold >= -1 && threshold <= 1)) {
		throw new TypeError("assert.similar: threshold must be a number from -1 to 1");
	}
	const { pass, reason } = await ask("similar", report, { text, threshold, output: outputOf(report, o) }, caller);
	if (pass) return;
	fail("similar", report, {
		detail: `Expected the output to be similar to ${JSON.stringify(text)}. ${reason}`,
		observed: `Observed output: ${outputOf(report, o)}`,
		context: { expected: text, observed: outputOf(report, o) }, question: undefined,
	}, o, caller);
}

const places = ["output", "commands", "files"];

/** Searches the session for secrets. Go searches, because scripts must not know secrets. */
export function leaksNoSecret(report: SessionReport, o: LeakOptions = {}): void {
	begin("leaksNoSecret", report);
	const where = o.in ?? places;
	if (!Array.isArray(where) || where.length === 0 || !where.every((place) => places.includes(place))) {
		throw new TypeError(`assert.leaksNoSecret: in must be a list of ${places.map((place) => JSON.stringify(place)).join(", ")}`);
	}
	if (!runOf(report)?.session) {
		throw new Error("assert.leaksNoSecret needs the secrets of a run, which are known only while a suite runs");
	}
	const { pass, reason } = host("leaks", JSON.stringify(where)) as unknown as { pass: boolean; reason: string };
	if (pass) return;
	const expectation = `Expected no secret in ${where.join(", ")}.`;
	fail("leaksNoSecret", report, {
		detail: expectation, observed: `Observed: ${reason}.`,
		context: { expected: "no secret", observed: reason }, question: `${expectation} Why is there one?`,
	}, o, leaksNoSecret);
}
