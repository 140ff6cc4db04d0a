// The groups for the answer, the workspace, the usage, and the permission denials.

import type { AssertionOptions, FileChange, FileChangeOptions, Matcher, SessionReport, UsageMetric } from "plumb";
import { begin, fail, observedList } from "./fail";
import { incomplete, runOf } from "./runs";
import { changesOf, lacks } from "./seen";
import { describeText, isText, kindOf, matchesText } from "./text";

declare const require: (name: string) => any;

function textOf(check: string, matcher: unknown): Matcher {
	if (!isText(matcher)) throw new TypeError(`assert.${check}: the matcher must be a string or a RegExp, not ${kindOf(matcher)}`);
	return matcher;
}

const answer = (report: SessionReport) => report.finalOutput ?? "";
const observedAnswer = (report: SessionReport) => `Observed final output: ${answer(report)}`;

/** Throws if a check needs the whole answer and the report has only its beginning. */
function wholeAnswer(report: SessionReport): void {
	if (lacks(report, "finalOutput")) throw incomplete("the final output was cut off in the report, and what is missing might match");
}

export const output = {
	includes: function includes(report: SessionReport, matcher: Matcher, o?: AssertionOptions): void {
		begin("output.includes", report);
		if (matchesText(textOf("output.includes", matcher), answer(report))) return;
		wholeAnswer(report);
		fail("output.includes", report, {
			detail: `Expected final output to include ${describeText(matcher)}.`, observed: observedAnswer(report),
			context: { expected: matcher, observed: answer(report) }, question: undefined,
		}, o, includes);
	},
	notIncludes: function notIncludes(report: SessionReport, matcher: Matcher, o?: AssertionOptions): void {
		begin("output.notIncludes", report);
		if (!matchesText(textOf("output.notIncludes", matcher), answer(report))) return wholeAnswer(report);
		fail("output.notIncludes", report, {
			detail: `Expected final output not to include ${describeText(matcher)}.`, observed: observedAnswer(report),
			context: { expected: matcher, observed: answer(report) }, question: undefined,
		}, o, notIncludes);
	},
	notEmpty: function notEmpty(report: SessionReport, o?: AssertionOptions): void {
		begin("output.notEmpty", report);
		if (answer(report).length > 0) return;
		fail("output.notEmpty", report, {
			detail: "Expected final output not to be empty.", observed: "Observed final output: (empty)",
			context: { expected: "non-empty output", actual: answer(report), observed: answer(report) }, question: undefined,
		}, o, notEmpty);
	},
};

/** Throws if the workspace could not be compared: agents do not report files that commands change. */
function allChanges(report: SessionReport): void {
	if (lacks(report, "fileChange")) throw incomplete("the workspace was not compared before and after the session, so that not all changes are known");
}

/** The directory of the session. */
function workspaceOf(check: string, report: SessionReport): string {
	const dir = runOf(report)?.workspace;
	if (dir === undefined || dir === "") {
		throw incomplete(`assert.${check}: the session has no workspace to look into`);
	}
	if (!require("node:fs").existsSync(dir)) throw incomplete(`assert.${check}: the workspace ${dir} is gone`);
	return dir;
}

function pathOf(check: string, path: unknown): string {
	if (typeof path !== "string" || path === "") {
		throw new TypeError(`assert.${check}: expected a path, as seen from the workspace, not ${path === "" ? "an empty string" : kindOf(path)}`);
	}
	return path;
}

interface Place {
	/** The absolute path. */
	at: string;
	/** The kind of the file; undefined if it does not exist. */
	kind: "a file" | "a directory" | undefined;
	/** In bytes. */
	size: number;
}

/** The largest file whose content is read, in bytes; the same as in suites without code. */
const largest = 16 << 20;

/** Inspects a path of the workspace. A path that leads out of it, such as an agent's symbolic link, is an error of the check. */
function look(check: string, report: SessionReport, path: unknown): Place {
	const [fs, p] = [require("node:fs"), require("node:path")];
	const dir = workspaceOf(check, report);
	const at: string = p.resolve(dir, pathOf(check, path));
	const inside = (root: string, file: string) => {
		const way: string = p.relative(root, file);
		return way !== ".." && !way.startsWith(`..${p.sep}`) && !p.isAbsolute(way);
	};
	if (!inside(dir, at)) throw new TypeError(`assert.${check}: the path ${JSON.stringify(path)} must lie within the workspace`);
	const stat = fs.statSync(at, { throwIfNoEntry: false });
	if (stat === undefined) return { at, kind: undefined, size: 0 };
	if (!inside(fs.realpathSync(dir), fs.realpathSync(at))) {
		throw new Error(`assert.${check}: ${JSON.stringify(path)} is a link that leads out of the workspace`);
	}
	return { at, kind: stat.isDirectory() ? "a directory" : "a file", size: stat.size };
}

/** The names in the directory of a missing path, for the message. */
function neighbours(path: string): string {
	const [fs, p] = [require("node:fs"), require("node:path")];
	const dir = p.dirname(path);
	const names: string[] = fs.existsSync(dir) ? fs.readdirSync(dir).sort() : [];
	return observedList(`files in ${p.basename(dir)}`, names, String);
}

/** A path relative to the workspace, with slashes. */
function relative(report: SessionReport, path: string): string {
	const p = require("node:path");
	const dir = runOf(report)?.workspace;
	const from = dir && p.isAbsolute(path) ? p.relative(dir, path) : path;
	return from.replaceAll("\\", "/").replace(/^\.\//, "");
}

function changeMatcher(check: string, report: SessionReport, matcher: unknown, o: FileChangeOptions | undefined) {
	if (!(matcher instanceof RegExp)) pathOf(check, matcher);
	const wanted = matcher instanceof RegExp ? matcher : relative(report, matcher as string);
	return (c: FileChange) => {
		if (o?.kind !== undefined && c.kind !== o.kind) return false;
		const path = relative(report, c.path);
		return wanted instanceof RegExp ? matchesText(wanted, path) : path === wanted;
	};
}

const observedChanges = (report: SessionReport) =>
	observedList("changed files", changesOf(report), (c) => `${relative(report, c.path)} (${c.kind})`);
const describeKind = (o: FileChangeOptions | undefined) => (o?.kind === undefined ? "" : ` (${o.kind})`);

export const files = {
	exists: function exists(report: SessionReport, path: string, o?: AssertionOptions): void {
		begin("files.exists", report);
		const { at, kind } = look("files.exists", report, path);
		if (kind !== undefined) return;
		const expectation = `Expected ${JSON.stringify(path)} to exist after the session.`;
		fail("files.exists", report, {
			detail: expectation, observed: neighbours(at), actual: undefined,
			context: { expected: path }, question: `${expectation} Why did you not create it?`,
		}, o, exists);
	},
	notExists: function notExists(report: SessionReport, path: string, o?: AssertionOptions): void {
		begin("files.notExists", report);
		const { kind } = look("files.notExists", report, path);
		if (kind === undefined) return;
		const expectation = `Expected ${JSON.stringify(path)} not to exist after the session.`;
		fail("files.notExists", report, {
			detail: expectation, observed: `Observed: ${kind}.`,
			context: { expected: path, actual: kind }, question: `${expectation} Why does it?`,
		}, o, notExists);
	},
	contains: function contains(report: SessionReport, path: string, matcher: Matcher, o?: AssertionOptions): void {
		holdsText("files.contains", true, report, path, matcher, o, contains);
	},
	notContains: function notContains(report: SessionReport, path: string, matcher: Matcher, o?: AssertionOptions): void {
		holdsText("files.notContains", false, report, path, matcher, o, notContains);
	},
	changed: function changed(report: SessionReport, matcher: Matcher, o?: FileChangeOptions): void {
		begin("files.changed", report);
		if (changesOf(report).some(changeMatcher("files.changed", report, matcher, o))) return;
		allChanges(report);
		const expectation = `Expected ${describeText(matcher)} to be among the changed files${describeKind(o)}.`;
		fail("files.changed", report, {
			detail: expectation, observed: observedChanges(report),
			context: { expected: matcher, observed: changesOf(report) }, question: `${expectation} Why did you not change it?`,
		}, o, changed);
	},
	notChanged: function notChanged(report: SessionReport, matcher: Matcher, o?: FileChangeOptions): void {
		begin("files.notChanged", report);
		if (!changesOf(report).some(changeMatcher("files.notChanged", report, matcher, o))) return allChanges(report);
		const expectation = `Expected ${describeText(matcher)} not to be among the changed files${describeKind(o)}.`;
		fail("files.notChanged", report, {
			detail: expectation, observed: observedChanges(report),
			context: { expected: matcher, observed: changesOf(report) }, question: `${expectation} Why did you change it?`,
		}, o, notChanged);
	},
	onlyChanged: function onlyChanged(report: SessionReport, matchers: readonly Matcher[], o?: FileChangeOptions): void {
		begin("files.onlyChanged", report);
		if (!Array.isArray(matchers)) throw new TypeError("assert.files.onlyChanged: expected an array of paths and RegExps");
		const allowed = matchers.map((m) => changeMatcher("files.onlyChanged", report, m, o));
		const unexpected = changesOf(report).filter((c) => !allowed.some((fits) => fits(c)));
		if (unexpected.length === 0) return allChanges(report);
		const names = matchers.length === 0 ? "(none)" : matchers.map(describeText).join(", ");
		const others = unexpected.map((c) => relative(report, c.path)).join(" | ");
		const expectation = `Expected the changed files to be only ${names}${describeKind(o)}.`;
		fail("files.onlyChanged", report, {
			detail: `${expectation} Unexpected: ${others}.`, observed: observedChanges(report),
			context: { expected: matchers, observed: changesOf(report) }, question: `${expectation} Why did you change ${others}?`,
		}, o, onlyChanged);
	},
};

function holdsText(
	check: string, wanted: boolean, report: SessionReport, path: string, matcher: Matcher, o: AssertionOptions | undefined, start: Function,
): void {
	begin(check, report);
	textOf(check, matcher);
	const { at, kind, size } = look(check, report, path);
	const expectation = `Expected ${JSON.stringify(path)} ${wanted ? "" : "not "}to contain ${describeText(matcher)}.`;
	const question = `${expectation} Why was that not so?`;
	if (kind !== "a file") {
		// A missing file contains nothing, but a check of its content expects the file.
		fail(check, report, {
			detail: expectation, observed: kind === undefined ? `There is no such file. ${neighbours(at)}` : "It is a directory.",
			context: { expected: matcher }, question, actual: undefined,
		}, o, start);
	}
	if (size > largest) throw new Error(`assert.${check}: ${JSON.stringify(path)} is too large to look into: ${size} bytes`);
	const text: string = require("node:fs").readFileSync(at, "utf8");
	if (matchesText(matcher, text) === wanted) return;
	const shown = text.length > 2000 ? `${text.slice(0, 2000)}… (${text.length} characters)` : text === "" ? "(empty)" : text;
	fail(check, report, { detail: expectation, observed: `Observed content: ${shown}`, context: { expected: matcher, observed: text }, question }, o, start);
}

interface Figure {
	value: number | undefined;
	unit: string;
}

const metrics: UsageMetric[] = ["totalTokens", "inputTokens", "outputTokens", "reasoningTokens", "cacheTokens", "cacheWriteTokens"];

function figureCheck<O extends AssertionOptions>(name: string, figure: (report: SessionReport, o: O | undefined) => Figure) {
	const method = `usage.${name}`;
	return function check(report: SessionReport, most: number, o?: O): void {
		begin(method, report);
		if (typeof most !== "number" || !(most >= 0)) throw new TypeError(`assert.${method}: the limit must be a number, 0 or more`);
		const { value, unit } = figure(report, o);
		if (value === undefined) throw incomplete(`assert.${method}: the session does not tell its ${unit}`);
		if (value <= most) return;
		const expectation = `Expected at most ${most} ${unit}`;
		fail(method, report, {
			detail: `${expectation}, but the session took ${value}.`, observed: `Observed ${unit}: ${value}`,
			context: { expected: most, actual: value, observed: value }, question: `${expectation}. Why did it take more?`,
		}, o, check);
	};
}

/** The duration of the session; 0 means unknown. */
function duration({ durationMs, startedAt, endedAt }: SessionReport): number | undefined {
	const span = Date.parse(endedAt ?? "") - Date.parse(startedAt ?? "");
	return durationMs ? durationMs : span >= 0 ? span : undefined;
}

const known = (v: unknown): number | undefined => (typeof v === "number" ? v : undefined);

export const usage = {
	tokensAtMost: figureCheck<AssertionOptions & { metric?: UsageMetric }>("tokensAtMost", (report, o) => {
		const metric = o?.metric ?? "totalTokens";
		if (!metrics.includes(metric)) throw new TypeError(`assert.usage.tokensAtMost: metric must be one of ${metrics.join(", ")}`);
		const unit = metric === "totalTokens" ? "tokens" : `${metric.replace("Tokens", "").replace("cacheWrite", "cache write")} tokens`;
		return { value: known(report.usage?.[metric]), unit };
	}),
	costAtMost: figureCheck("costAtMost", (report) => ({ value: known(report.costUsd), unit: "US dollars" })),
	stepsAtMost: figureCheck("stepsAtMost", (report) => ({ value: known(report.steps) ?? (report.runner?.kind === "agent" ? 0 : undefined), unit: "steps" })),
	durationAtMost: figureCheck("durationAtMost", (report) => ({ value: duration(report), unit: "ms" })),
};

export const permissions = {
	noneDenied: function noneDenied(report: SessionReport, o?: AssertionOptions): void {
		begin("permissions.noneDenied", report);
		const denied = report.permissionDenials ?? [];
		if (denied.length === 0) return;
		const expectation = "Expected that nothing was denied to the agent.";
		fail("permissions.noneDenied", report, {
			detail: `${expectation} Denied: ${denied.length}.`,
			observed: observedList("permission denials", denied, (d) => (d.message ? `${d.tool}: ${d.message}` : d.tool)),
			context: { expected: 0, actual: denied.length, observed: denied }, question: `${expectation} What did you need this for?`,
		}, o, noneDenied);
	},
};
