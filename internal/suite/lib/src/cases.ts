// Reads and checks the exports of a suite module.

import { positionOf, type Position } from "./engine";
import { called, member, nearest, plain, type Problem } from "./plain";

export interface DescribedCase {
	index: number;
	key?: string;
	id: string;
	prompt: string;
	messages: { role: string; content: string }[];
	tags: string[];
	timeoutMs?: number;
	repeat?: number;
	maxOutputTokens?: number;
	maxSteps?: number;
	expectedFail?: true;
	category?: string;
	difficulty?: string;
	assertions?: unknown[];
	hasAssert: boolean;
	hasClassify: boolean;
	/** The author's other fields, for reporters, as far as JSON can represent them. */
	own?: Record<string, unknown>;
	/** The names of all other fields, and their values if these are booleans. */
	others?: Record<string, boolean | null>;
	source?: Position;
}

export interface Description {
	cases: DescribedCase[];
	workspace?: unknown;
	skills?: unknown;
	problems: Problem[];
}

const fields = [
	"id", "prompt", "messages", "system", "tags", "timeoutMs", "expectedFail", "classifyFailure", "assert", "repeat", "maxOutputTokens",
	"maxSteps", "category", "difficulty", "assertions",
];
/** The known field that an unknown one resembles. */
const meant = new Map<string, string | undefined>();
const roles = ["system", "developer", "user", "assistant"];

/** The value of a case. */
export function caseOf(module: any, id: string): any {
	const found: any = exportedCases(module, []).find(([, value]: any) => value?.id === id)?.[1];
	if (found === undefined) throw new RangeError(`the suite no longer has the case ${id}: its cases must be the same each time it loads`);
	return found;
}

/** The suite of a module. */
export function describeSuite(module: any): Description {
	const problems: Problem[] = [];
	const description: Description = { cases: [], problems };
	for (const [key, value] of exportedCases(module, problems)) {
		const index = description.cases.length;
		const described = new CaseReader(index, member("cases", key), value, problems).read();
		if (typeof key === "string") described.key = key;
		description.cases.push(described);
	}
	duplicates(description.cases, problems);
	for (const name of ["workspace", "skills"] as const) {
		if (module?.[name] !== undefined) description[name] = plain(module[name], name, problems);
	}
	return description;
}

function exportedCases(module: any, problems: Problem[]): [string | number, unknown][] {
	const suite = module?.default;
	const bad = (message: string, hint: string) => {
		problems.push({ path: "default", message, hint });
		return [];
	};
	if (suite === undefined) {
		return bad("Suite file does not have a default export", "export default an array of cases");
	}
	if (typeof suite !== "object" || suite === null) {
		return bad(`the default export must be an array of cases or a map of them, not ${called(suite)}`, typeof suite === "function" ? "call it" : "export default [...]");
	}
	if (typeof suite.then === "function") return bad("the default export is a promise", "await it: export default await ...");
	const entries: [string | number, unknown][] = Array.isArray(suite) ? [...suite.entries()] : Object.entries(suite);
	if (!Array.isArray(suite) && typeof suite.id === "string" && typeof suite.prompt === "string") {
		return bad("the default export is a single case", "put it into an array");
	}
	if (entries.length === 0) return bad("the suite has no cases", "export default an array of cases");
	return entries;
}

function duplicates(cases: DescribedCase[], problems: Problem[]): void {
	const first = new Map<string, DescribedCase>();
	for (const c of cases) {
		if (c.id === "") continue;
		const other = first.get(c.id);
		if (other === undefined) {
			first.set(c.id, c);
			continue;
		}
		const at = other.source === undefined ? "" : ` (line ${other.source.line})`;
		problems.push({
			case: c.index, id: c.id, path: `${caseName(c)}.id`, message: `${caseName(other)}${at} has the id ${JSON.stringify(c.id)} too`,
			...(c.source === undefined ? {} : { source: c.source }),
		});
	}
}

const caseName = (c: DescribedCase) => (c.key === undefined ? `cases[${c.index}]` : member("cases", c.key));

/** Reads one case and reports all its problems. */
class CaseReader {
	#source: Position | undefined;

	constructor(
		readonly index: number,
		readonly path: string,
		readonly value: any,
		readonly problems: Problem[],
	) {
		this.#source = positionOf(value?.assert) ?? positionOf(value?.classifyFailure);
	}

	read(): DescribedCase {
		const c: DescribedCase = { index: this.index, id: "", prompt: "", messages: [], tags: [], hasAssert: false, hasClassify: false };
		if (this.#source !== undefined) c.source = this.#source;
		if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) {
			this.#bad("", `expected a case, not ${called(this.value)}`);
			return c;
		}
		c.id = this.#id();
		this.#conversation(c);
		c.tags = this.#tags(c.id);
		for (const name of ["repeat", "maxOutputTokens", "maxSteps"] as const) c[name] = this.#count(name);
		const { timeoutMs, expectedFail, assertions } = this.value;
		if (timeoutMs !== undefined) {
			if (typeof timeoutMs === "number" && timeoutMs > 0 && Number.isFinite(timeoutMs)) c.timeoutMs = timeoutMs;
			else this.#bad("timeoutMs", `expected a number of milliseconds above 0, not ${shown(timeoutMs)}`);
		}
		if (expectedFail === true) c.expectedFail = true;
		else if (expectedFail !== undefined && expectedFail !== false) {
			this.#warn("expectedFail", `only true counts, and this is ${shown(expectedFail)}`);
		}
		for (const name of ["category", "difficulty"] as const) {
			const v = this.value[name];
			if (typeof v === "string" && v !== "") c[name] = v;
			else if (v !== undefined) this.#bad(name, `expected a non-empty string, not ${shown(v)}`);
		}
		if (Array.isArray(assertions)) {
			const copied = plain(assertions, member(this.path, "assertions"), this.problems) as unknown[];
			if (copied.length > 0) c.assertions = copied;
		} else if (assertions !== undefined) {
			this.#bad("assertions", `expected an array, not ${called(assertions)}`);
		}
		c.hasAssert = this.#hook("assert");
		c.hasClassify = this.#hook("classifyFailure");
		if (this.value.assert === undefined && c.assertions === undefined) {
			this.#bad("assert", "the case has no assertions", "give it an assert function, or assertions");
		}
		c.own = this.#own();
		for (const name in this.value) {
			const v = this.value[name];
			if (!fields.includes(name) && v !== undefined) (c.others ??= {})[name] = typeof v === "boolean" ? v : null;
		}
		return c;
	}

	#id(): string {
		const { id } = this.value;
		if (typeof id !== "string") this.#bad("id", `expected a non-empty string, not ${shown(id)}`);
		else if (id.trim() === "") this.#bad("id", "expected a non-empty string");
		else return id;
		return "";
	}

	#conversation(c: DescribedCase): void {
		const { prompt, system, messages } = this.value;
		if (system !== undefined) {
			if (typeof system !== "string" || system === "") this.#bad("system", `expected a non-empty string, not ${shown(system)}`);
			else c.messages.push({ role: "system", content: system });
		}
		if (messages !== undefined && !Array.isArray(messages)) this.#bad("messages", `expected an array, not ${called(messages)}`);
		for (const [i, m] of (Array.isArray(messages) ? messages : []).entries()) {
			const path = member("messages", i);
			if (typeof m !== "object" || m === null) this.#bad(path, `expected {role, content}, not ${called(m)}`);
			else if (!roles.includes(m.role)) this.#bad(`${path}.role`, `expected one of ${roles.join(", ")}, not ${shown(m.role)}`);
			else if (typeof m.content !== "string") this.#bad(`${path}.content`, `expected a string, not ${shown(m.content)}`);
			else c.messages.push({ role: m.role, content: m.content });
		}
		if (prompt === undefined && Array.isArray(messages) && messages.length > 0) {
			if (messages.at(-1)?.role !== "user") this.#bad("messages", "the last message must be the user's, unless there is a prompt");
			c.prompt = c.messages.at(-1)?.content ?? "";
			return;
		}
		if (typeof prompt !== "string") this.#bad("prompt", `expected a non-empty string, not ${shown(prompt)}`);
		else if (prompt.trim() === "") this.#bad("prompt", "expected a non-empty string");
		else {
			c.prompt = prompt;
			c.messages.push({ role: "user", content: prompt });
		}
	}

	#tags(id: string): string[] {
		const { tags } = this.value;
		if (tags === undefined) return [];
		if (!Array.isArray(tags)) {
			this.#bad("tags", `Invalid tags for case ${id}: expected array of non-empty strings`);
			return [];
		}
		const found = new Set<string>();
		for (const [i, tag] of tags.entries()) {
			if (typeof tag !== "string" || tag.trim() === "") {
				this.#bad(member("tags", i), `Invalid tag for case ${id} at index ${i}: expected non-empty string`);
			} else {
				found.add(tag);
			}
		}
		return [...found];
	}

	#count(name: string): number | undefined {
		const n = this.value[name];
		if (n === undefined) return undefined;
		if (typeof n === "number" && Number.isSafeInteger(n) && n >= 1) return n;
		this.#bad(name, `expected integer >= 1, not ${shown(n)}`);
		return undefined;
	}

	#hook(name: string): boolean {
		const hook = this.value[name];
		if (hook !== undefined && typeof hook !== "function") this.#bad(name, `expected a function, not ${called(hook)}`);
		return typeof hook === "function";
	}

	/** The fields that do not affect the measurement. A field that resembles one that does is a problem. */
	#own(): Record<string, unknown> | undefined {
		const own: Record<string, unknown> = {};
		for (const key of Object.keys(this.value)) {
			if (fields.includes(key)) continue;
			if (!meant.has(key)) meant.set(key, nearest(key, fields)); // which takes time, and cases are many
			const near = meant.get(key);
			if (near !== undefined && near !== key) this.#warn(key, "this field is not known, and only reporters see it", `did you mean "${near}"?`);
			own[key] = this.value[key];
		}
		const copied = plain(own, this.path, []) as Record<string, unknown>; // what is no data is not for reporters
		return Object.keys(copied).length === 0 ? undefined : copied;
	}

	#bad(field: string, message: string, hint?: string): void {
		this.problems.push(this.#problem(field, message, hint));
	}

	#warn(field: string, message: string, hint?: string): void {
		this.problems.push({ ...this.#problem(field, message, hint), warning: true });
	}

	#problem(field: string, message: string, hint: string | undefined): Problem {
		const id = this.value?.id;
		return {
			case: this.index,
			...(typeof id === "string" && id !== "" ? { id } : {}),
			path: field === "" ? this.path : field.includes("[") ? `${this.path}.${field}` : member(this.path, field),
			message,
			...(hint === undefined ? {} : { hint }),
			...(this.#source === undefined ? {} : { source: this.#source }),
		};
	}
}

/** A wrong value in a message: the value if it is short and simple, else its kind. */
function shown(v: unknown): string {
	if (typeof v === "string") return JSON.stringify(v.length > 40 ? `${v.slice(0, 40)}…` : v);
	return typeof v === "number" || typeof v === "boolean" ? String(v) : called(v);
}
