// The groups for commands, file reads, tool calls and skills.

import type {
	AssertionOptions, CommandMatcher, Matcher, SessionReport, SkillAssertionOptions, SkillConfidence, SkillDetection, ToolCallMatcher,
	ToolResultMatcher,
} from "plumb";
import { describeStructured, structured, structuredTest } from "./commands";
import { begin, fail, observedList, wholeNumber } from "./fail";
import { incomplete } from "./runs";
import { commandsOf, commandTextOf, fileReadsOf, fileReadTextOf, toolCallsOf, toolResultsOf, unprovenReadsOf, type Command, type ToolCall, type ToolResult } from "./seen";
import { listChecks, listOf, type Kind, type Prepared } from "./sequence";
import { describeText, isText, kindOf, matchesText, textTest } from "./text";

function textMatcher(matcher: unknown, check: string, what: string): Matcher {
	if (!isText(matcher)) throw new TypeError(`assert.${check}: the matcher must be ${what}, not ${kindOf(matcher)}`);
	return matcher;
}

const needleOf = (m: Matcher) => (typeof m === "string" ? { needle: m } : {});

/** A test of a command's text, with as few calls as possible. */
function commandTest(m: Matcher): (v: Command) => boolean {
	if (typeof m === "string") return (v) => v.text.includes(m);
	const test = textTest(m);
	return (v) => test(v.text);
}

const commandKind: Kind<Command, CommandMatcher> = {
	group: "commands",
	label: "commands",
	type: "command",
	values: commandsOf,
	prepare(matcher, check) {
		if (typeof matcher === "object" && matcher !== null && !(matcher instanceof RegExp) && !Array.isArray(matcher)) {
			const m = structured(matcher);
			const test = structuredTest(m);
			return { matches: (v) => test(v.parsed), describe: () => describeStructured(m) };
		}
		const text = textMatcher(matcher, check, "a string, a RegExp or a command matcher");
		return { matches: commandTest(text), describe: () => describeText(text), ...needleOf(text) };
	},
	joined: commandTextOf,
	show: (v) => v.describe(),
	plain: (v) => v.text,
	expose: (v) => v.text,
};

const commandList = listChecks(commandKind);

/** succeeded or failed: a matching command ended so. Without exit codes the check is an error. */
function ending(name: "succeeded" | "failed", expected: string, holds: (exitCode: number) => boolean) {
	const method = `commands.${name}`;
	return function check(report: SessionReport, matcher: CommandMatcher, options?: AssertionOptions): void {
		begin(method, report);
		const [m, values] = [commandKind.prepare(matcher, method), commandsOf(report)];
		const found = values.filter((v) => m.matches(v));
		if (found.some((v) => v.exitCode !== undefined && holds(v.exitCode))) return;
		const unknown = found.find((v) => v.exitCode === undefined);
		if (unknown !== undefined) {
			throw incomplete(`assert.${method}: the session does not tell how ${JSON.stringify(unknown.text)} ended`);
		}
		commandList.complete(report, values, m);
		const expectation = `Expected a command that matches ${m.describe()} to ${expected}`;
		const codes = found.map((v) => v.exitCode).join(", ");
		fail(method, report, {
			detail: found.length === 0 ? `${expectation}, but none was run.` : `${expectation}, but the exit code was ${codes}.`,
			observed: observedList("commands", values, (v) =>
				`${v.describe()}${v.exitCode === undefined ? "" : ` exit code ${v.exitCode}`}`),
			context: { expected: matcher, observed: values.map((v) => v.text) },
			question: `${expectation}. Why was that not so?`,
		}, options, check);
	};
}

export const commands = {
	...commandList.checks,
	succeeded: ending("succeeded", "succeed", (code) => code === 0),
	failed: ending("failed", "fail", (code) => code !== 0),
};

export const { checks: fileReads } = listChecks<string, Matcher>({
	group: "fileReads",
	label: "file reads",
	values: fileReadsOf,
	unproven: unprovenReadsOf,
	prepare(matcher, check) {
		textMatcher(matcher, check, "a string or a RegExp");
		return { matches: textTest(matcher), describe: () => describeText(matcher), ...needleOf(matcher) };
	},
	joined: fileReadTextOf,
	show: (v) => v,
	plain: (v) => v,
	expose: (v) => v,
});

const shorten = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);
const showResult = (v: ToolResult) => shorten(`${v.tool === undefined ? "" : `${v.tool}: `}${v.isError ? "(error) " : ""}${v.output ?? ""}`);

export const { checks: toolResults } = listChecks<ToolResult, ToolResultMatcher>({
	group: "toolResults",
	label: "tool results",
	type: "toolResult",
	values: toolResultsOf,
	prepare(matcher, check) {
		if (isText(matcher)) {
			return { matches: (v) => matchesText(matcher, v.output ?? ""), describe: () => describeText(matcher) };
		}
		if (typeof matcher !== "object" || matcher === null) textMatcher(matcher, check, "a string, a RegExp or {tool, output, isError}");
		const { tool, output, isError } = matcher;
		const others = (v: ToolResult) =>
			(tool === undefined || matchesText(tool, v.tool ?? "")) && (isError === undefined || isError === (v.isError === true));
		if (tool !== undefined) textMatcher(tool, check, "an object whose tool is a string or a RegExp");
		if (output !== undefined) textMatcher(output, check, "an object whose output is a string or a RegExp");
		return {
			matches: (v) => others(v) && (output === undefined || matchesText(output, v.output ?? "")),
			might: (v) => output !== undefined && others(v),
			describe: () => [
				tool === undefined ? "" : `tool matching ${describeText(tool)}`,
				output === undefined ? "" : `output matching ${describeText(output)}`,
				isError === undefined ? "" : isError ? "an error" : "no error",
			].filter(Boolean).join(" and ") || "<any tool result>",
		};
	},
	show: showResult,
	plain: showResult,
	expose: (v) => v,
});

function callMatcher(matcher: ToolCallMatcher, check: string): Prepared<ToolCall> {
	if (typeof matcher !== "object" || matcher === null || matcher instanceof RegExp) {
		throw new TypeError(`assert.${check}: the matcher must be an object such as {tool: "bash"}, not ${matcher instanceof RegExp ? "a RegExp" : kindOf(matcher)}`);
	}
	const { tool, where } = matcher;
	if (tool !== undefined) textMatcher(tool, check, "an object whose tool is a string or a RegExp");
	if (where !== undefined && typeof where !== "function") throw new TypeError(`assert.${check}: where must be a function`);
	return {
		matches: (v) => (tool === undefined || matchesText(tool, v.tool)) && (where === undefined || Boolean(where(v.args, v))),
		might: (v) => where !== undefined && (tool === undefined || matchesText(tool, v.tool)),
		describe: () => [
			tool === undefined ? "" : `tool matching ${describeText(tool)}`,
			where === undefined ? "" : "custom args predicate",
		].filter(Boolean).join(" and ") || "<any tool call>",
	};
}

function showCall(v: ToolCall): string {
	if (v.args === undefined) return v.tool;
	let args: string;
	try {
		args = JSON.stringify(v.args);
	} catch {
		args = String(v.args);
	}
	return `${v.tool} ${args}`;
}

const callList = listChecks<ToolCall, ToolCallMatcher>({
	group: "toolCalls",
	label: "tool calls",
	type: "toolCall",
	values: toolCallsOf,
	prepare: callMatcher,
	show: showCall,
	plain: showCall,
	expose: (v) => v,
});

export const toolCalls = {
	...callList.checks,
	has: function has(report: SessionReport, matcher: ToolCallMatcher, options?: AssertionOptions): void {
		begin("toolCalls.has", report);
		const [m, values] = [callMatcher(matcher, "toolCalls.has"), toolCallsOf(report)];
		if (callList.some(report, values, m)) return;
		const expectation = `Expected tool calls to contain ${m.describe()}.`;
		fail("toolCalls.has", report, {
			detail: expectation, observed: observedList("tool calls", values, showCall),
			context: { expected: matcher, observed: values }, question: `${expectation} Why did you not call it?`,
		}, options, has);
	},
	notHas: function notHas(report: SessionReport, matcher: ToolCallMatcher, options?: AssertionOptions): void {
		begin("toolCalls.notHas", report);
		const [m, values] = [callMatcher(matcher, "toolCalls.notHas"), toolCallsOf(report)];
		if (!callList.some(report, values, m)) return;
		const expectation = `Expected tool calls not to contain ${m.describe()}.`;
		fail("toolCalls.notHas", report, {
			detail: expectation, observed: observedList("tool calls", values, showCall),
			context: { expected: matcher, observed: values }, question: `${expectation} Why did you call it nevertheless?`,
		}, options, notHas);
	},
	/** Each matcher matches a call after the previous match. Other calls may be between them. */
	sequence: function sequence(report: SessionReport, matchers: readonly ToolCallMatcher[], options?: AssertionOptions): void {
		begin("toolCalls.sequence", report);
		const wanted = listOf("toolCalls.sequence", matchers).map((m) => callMatcher(m, "toolCalls.sequence"));
		const values = toolCallsOf(report);
		let at = -1;
		for (const m of wanted) {
			const next = values.findIndex((v, i) => i > at && m.matches(v));
			if (next < 0) {
				callList.complete(report, values, m);
				const expectation = `Expected tool calls to contain the sequence ${wanted.map((w) => w.describe()).join(" -> ")}.`;
				fail("toolCalls.sequence", report, {
					detail: `${expectation} No match for ${m.describe()} after index ${at}.`,
					observed: observedList("tool calls", values, showCall),
					context: { expected: matchers, observed: values },
					question: `${expectation} Why did you not make these calls in this order?`,
				}, options, sequence);
			}
			at = next;
		}
	},
};

const ranks: Record<SkillConfidence, number> = { weak: 0, medium: 1, strong: 2, explicit: 3 };

const showSkill = (d: SkillDetection) => `${d.skill} (${d.confidence})`;

/** The detections with enough confidence, and the words for it in failures. */
function detections(report: SessionReport, check: string, o: SkillAssertionOptions | undefined) {
	begin(check, report);
	const least = o?.minConfidence;
	if (least !== undefined && !Object.hasOwn(ranks, least)) {
		throw new TypeError(`assert.${check}: minConfidence must be weak, medium, strong or explicit, not ${JSON.stringify(least)}`);
	}
	const all = report.detectedSkills ?? [];
	const enough = least === undefined ? all : all.filter((d) => (ranks[d.confidence] ?? -1) >= ranks[least]);
	const unproven: string[] = [];
	if (least !== "explicit") {
		for (const path of unprovenReadsOf(report)) {
			const name = /([^/\\]+)[/\\]SKILL\.md$/.exec(path)?.[1];
			if (name !== undefined && !all.some((d) => d.skill === name)) unproven.push(name);
		}
	}
	return {
		all,
		sure: enough,
		/** Throws if a skill that may have been used decides. */
		settled(decides: (d: SkillDetection) => boolean): void {
			const skill = unproven.find((name) => decides({ skill: name, confidence: "weak", evidence: [] }));
			if (skill !== undefined) throw incomplete(`assert.${check}: the session does not show whether the agent got the skill ${skill}, which it asked for`);
		},
		confidence: least === undefined ? "" : ` with minimum confidence ${least}`,
		observed: () => observedList("detectedSkills", all, showSkill),
	};
}

/** A test of the names of skills: a string is the whole name. */
function skillTest(check: string, skill: Matcher): (d: SkillDetection) => boolean {
	const m = textMatcher(skill, check, "the name of a skill or a RegExp");
	return typeof m === "string" ? (d) => d.skill === m : (d) => matchesText(m, d.skill);
}

function skillTests(check: string, skills: readonly Matcher[]): ((d: SkillDetection) => boolean)[] {
	if (!Array.isArray(skills)) throw new TypeError(`assert.${check}: expected an array of skill names`);
	return skills.map((skill) => skillTest(check, skill));
}

const quoted = (list: readonly Matcher[]) => (list.length === 0 ? "(none)" : list.map(describeText).join(", "));

function countSkill(method: string, report: SessionReport, skill: Matcher, n: number, o: SkillAssertionOptions | undefined, start: Function): void {
	const d = detections(report, method, o);
	const fits = skillTest(method, skill);
	wholeNumber(method, n);
	const found = d.sure.filter(fits).length;
	if (found <= n) d.settled(fits);
	if (found === n) return;
	const expectation = `Expected exactly ${n} ${n === 1 ? "detection" : "detections"} of skill ${describeText(skill)}${d.confidence}`;
	fail(method, report, {
		detail: `${expectation}, but found ${found}.`, observed: d.observed(),
		context: { expected: n, actual: found, observed: d.all }, question: `${expectation}. Why was that not so?`,
	}, o, start);
}

export const skills = {
	has: function has(report: SessionReport, skill: Matcher, o?: SkillAssertionOptions): void {
		const d = detections(report, "skills.has", o);
		if (d.sure.some(skillTest("skills.has", skill))) return;
		d.settled(skillTest("skills.has", skill));
		const expectation = `Expected detectedSkills to include skill ${describeText(skill)}${d.confidence}.`;
		fail("skills.has", report, {
			detail: expectation, observed: d.observed(), actual: d.all,
			context: { expected: skill, actual: 0, observed: d.all }, question: `${expectation} Why did you not use this skill?`,
		}, o, has);
	},
	notHas: function notHas(report: SessionReport, skill: Matcher, o?: SkillAssertionOptions): void {
		const d = detections(report, "skills.notHas", o);
		const found = d.sure.filter(skillTest("skills.notHas", skill)).length;
		if (found === 0) return d.settled(skillTest("skills.notHas", skill));
		const expectation = `Expected detectedSkills not to include skill ${describeText(skill)}${d.confidence}.`;
		fail("skills.notHas", report, {
			detail: expectation, observed: d.observed(),
			context: { expected: 0, actual: found, observed: d.all }, question: `${expectation} Why did you use this skill nevertheless?`,
		}, o, notHas);
	},
	includes: function includes(report: SessionReport, wanted: readonly Matcher[], o?: SkillAssertionOptions): void {
		const d = detections(report, "skills.includes", o);
		const tests = skillTests("skills.includes", wanted);
		const missing = wanted.filter((_, i) => !d.sure.some(tests[i]));
		if (missing.length === 0) return;
		const doubts = skillTests("skills.includes", missing);
		d.settled((s) => doubts.some((fits) => fits(s)));
		const expectation = `Expected detectedSkills to include ${quoted(wanted)}${d.confidence}.`;
		fail("skills.includes", report, {
			detail: `${expectation} Missing: ${quoted(missing)}.`, observed: d.observed(), actual: d.sure.map((s) => s.skill),
			context: { expected: wanted, actual: missing, observed: d.all }, question: `${expectation} Why did you not use ${quoted(missing)}?`,
		}, o, includes);
	},
	count: function count(report: SessionReport, skill: Matcher, n: number, o?: SkillAssertionOptions): void {
		countSkill("skills.count", report, skill, n, o, count);
	},
	exactlyOne: function exactlyOne(report: SessionReport, skill: Matcher, o?: SkillAssertionOptions): void {
		countSkill("skills.exactlyOne", report, skill, 1, o, exactlyOne);
	},
	only: function only(report: SessionReport, allowed: readonly Matcher[], o?: SkillAssertionOptions): void {
		const d = detections(report, "skills.only", o);
		const tests = skillTests("skills.only", allowed);
		const unexpected = d.sure.filter((s) => !tests.some((fits) => fits(s)));
		if (unexpected.length === 0) return d.settled((s) => !tests.some((fits) => fits(s)));
		const names = unexpected.map((s) => s.skill);
		const expectation = `Expected detectedSkills to be only ${quoted(allowed)}${d.confidence}.`;
		fail("skills.only", report, {
			detail: `${expectation} Unexpected: ${unexpected.map(showSkill).join(" | ")}.`, observed: d.observed(),
			context: { expected: allowed, actual: names, observed: d.all },
			question: `${expectation} Why did you use ${quoted(names)}?`,
		}, o, only);
	},
};
