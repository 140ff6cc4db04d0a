// AssertionError, with the message layout of Node 22.

import util from "node:util";
import { diff } from "./diff";

const { inspect } = util;

const readable: Record<string, string> = {
	deepStrictEqual: "Expected values to be strictly deep-equal:",
	partialDeepStrictEqual: "Expected values to be partially and strictly deep-equal:",
	strictEqual: "Expected values to be strictly equal:",
	strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
	deepEqual: "Expected values to be loosely deep-equal:",
	notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
	notStrictEqual: 'Expected "actual" to be strictly unequal to:',
	notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
	notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
	notDeepEqualUnequal: "Expected values not to be loosely deep-equal:",
	sameStructure: "Values have same structure but are not reference-equal:",
};

const sameLinesShown = 5;
const linesShown = 50;
// Two short values share one line. Longer values that fit a terminal line get a mark at the first
// difference.
const shortEnough = 12;
const terminalWidth = 80;

/** Every value on lines of its own, members sorted, nothing left out: what is to be compared line by line. */
function show(v: unknown): string {
	return inspect(v, {
		compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, showHidden: false,
		showProxy: false, sorted: true, getters: true, breakLength: 80,
	} as any);
}

const isObject = (v: unknown) => typeof v === "object" && v !== null;

function comparison(actual: unknown, expected: unknown, operator: string, custom?: string): string {
	if (operator === "strictEqual" && ((isObject(actual) && isObject(expected)) ||
		(typeof actual === "function" && typeof expected === "function"))) {
		operator = "strictEqualObject";
	}
	const [shownActual, shownExpected] = [show(actual), show(expected)];
	const [a, e] = [shownActual.split("\n"), shownExpected.split("\n")];
	let header = "+ actual - expected";
	let body: string;
	let skipped = false;
	if (a.length === 1 && e.length === 1 && !(isObject(actual) && isObject(expected))) {
		const quotes = (typeof actual === "string" ? 2 : 0) + (typeof expected === "string" ? 2 : 0);
		const length = shownActual.length + shownExpected.length;
		if (length - quotes <= shortEnough && (actual !== 0 || expected !== 0)) {
			header = "";
			body = `${shownActual} !== ${shownExpected}`;
		} else {
			body = `\n+ ${shownActual}\n- ${shownExpected}`;
			let at = 0;
			while (at < shownActual.length && shownActual[at] === shownExpected[at]) at++;
			if (length <= terminalWidth && at > 2 && at < shownActual.length) body += `\n${" ".repeat(at + 2)}^`;
		}
	} else if (shownActual === shownExpected) {
		operator = "sameStructure";
		header = "";
		skipped = a.length > linesShown;
		body = skipped ? `${a.slice(0, linesShown).join("\n")}\n...}` : shownActual;
	} else {
		({ body, skipped } = changes(a, e, isObject(actual)));
	}
	const title = custom || readable[operator];
	return `${title}\n${header}${skipped ? "\n... Skipped lines" : ""}\n${body}\n`;
}

function changes(actual: string[], expected: string[], commas: boolean): { body: string; skipped: boolean } {
	const lines: string[] = [];
	let same: string[] = [];
	let skipped = false;
	for (const { op, line } of diff(actual, expected, commas)) {
		if (op === "same") {
			if (same.length < sameLinesShown) lines.push(`  ${line}`);
			same.push(line);
			continue;
		}
		const hidden = same.slice(sameLinesShown);
		if (hidden.length >= 3) {
			lines.push("...", `  ${hidden[hidden.length - 1]}`);
			skipped = true;
		} else {
			for (const l of hidden) lines.push(`  ${l}`);
		}
		same = [];
		lines.push(`${op === "actual" ? "+" : "-"} ${line}`);
	}
	return { body: `\n${lines.join("\n").trimEnd()}`, skipped };
}

function negation(actual: unknown, operator: string): string {
	const lines = show(actual).split("\n");
	const title = operator === "notStrictEqual" && (isObject(actual) || typeof actual === "function")
		? readable.notStrictEqualObject
		: readable[operator];
	if (lines.length > linesShown) lines.splice(46, lines.length, "...");
	return lines.length === 1
		? `${title}${lines[0].length > 5 ? "\n\n" : " "}${lines[0]}`
		: `${title}\n\n${lines.join("\n")}\n`;
}

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 3)}...` : text);

function sentence(actual: unknown, expected: unknown, operator: string): string {
	let [a, e] = [show(actual), show(expected)];
	const title = readable[operator];
	if (operator === "notDeepEqual" && a === e) return cut(`${title}\n\n${a}`, 1024);
	a = cut(a, 512);
	e = cut(e, 512);
	if (operator === "deepEqual") return `${title}\n\n${a}\n\nshould loosely deep-equal\n\n${e}`;
	if (operator === "notDeepEqual") {
		return `${readable.notDeepEqualUnequal}\n\n${a}\n\nshould not loosely deep-equal\n\n${e}`;
	}
	return `${a} ${operator} ${e}`;
}

/** An error without its stack, so that two of them differ in what they say only. */
function withoutStack<T>(v: T): T {
	if (!(v instanceof Error)) return v;
	const copy = Object.assign(Object.create(Object.getPrototypeOf(v)), v);
	Object.defineProperty(copy, "message", { value: v.message });
	if (Object.hasOwn(v, "cause")) Object.defineProperty(copy, "cause", { value: withoutStack(v.cause) });
	return copy;
}

export interface AssertionErrorOptions {
	message?: unknown;
	actual?: unknown;
	expected?: unknown;
	operator?: string;
	stackStartFn?: Function;
}

function text(o: AssertionErrorOptions): string {
	const { message, operator } = o;
	let { actual, expected } = o;
	const compares = operator === "deepStrictEqual" || operator === "strictEqual" || operator === "partialDeepStrictEqual";
	if (actual instanceof Error && expected instanceof Error) {
		[actual, expected] = [withoutStack(actual), withoutStack(expected)];
	}
	if (message !== undefined && message !== null) {
		return compares ? comparison(actual, expected, operator, String(message)) : String(message);
	}
	if (compares) return comparison(actual, expected, operator);
	if (operator === "notDeepStrictEqual" || operator === "notStrictEqual") return negation(actual, operator);
	return sentence(actual, expected, String(operator));
}

export class AssertionError extends Error {
	generatedMessage: boolean;
	code: string;
	actual: unknown;
	expected: unknown;
	operator: string | undefined;

	constructor(options: AssertionErrorOptions) {
		if (typeof options !== "object" || options === null) {
			throw invalidType("options", "of type object", options);
		}
		super(text(options));
		this.generatedMessage = !options.message;
		// As in Node, the stack starts with the long name.
		Object.defineProperty(this, "name", {
			value: "AssertionError [ERR_ASSERTION]", enumerable: false, writable: true, configurable: true,
		});
		this.code = "ERR_ASSERTION";
		this.actual = options.actual;
		this.expected = options.expected;
		this.operator = options.operator;
		(Error as any).captureStackTrace?.(this, options.stackStartFn ?? AssertionError);
		this.name = "AssertionError";
	}

	override toString(): string {
		return `${this.name} [${this.code}]: ${this.message}`;
	}

	[Symbol.for("nodejs.util.inspect.custom")](_depth: number, options: object): string {
		// The compared values may be huge, and the message already shows them.
		return inspect(this, { ...options, customInspect: false, depth: 0 });
	}
}

/** What Node calls a value that it did not expect, after a space. */
export function described(v: unknown): string {
	if (v === undefined || v === null) return ` ${v}`;
	if (typeof v === "function") return ` function ${v.name}`;
	if (typeof v === "object") {
		const name = v.constructor?.name;
		return name ? ` an instance of ${name}` : ` ${inspect(v, { depth: -1 })}`;
	}
	return ` type ${typeof v} (${cutShown(inspect(v, { colors: false }))})`;
}

const cutShown = (shown: string) => (shown.length > 28 ? `${shown.slice(0, 25)}...` : shown);

/** A TypeError that looks like those of Node: the code stands in its stack, and in what toString gives. */
export function nodeError(code: string, message: string): TypeError {
	const e = new TypeError(message);
	Object.defineProperty(e, "code", { value: code, enumerable: true, writable: true, configurable: true });
	Object.defineProperty(e, "toString", {
		value() { return `${this.name} [${code}]: ${this.message}`; },
		enumerable: false, writable: true, configurable: true,
	});
	return e;
}

export function invalidType(name: string, expected: string, v: unknown): TypeError {
	return nodeError("ERR_INVALID_ARG_TYPE", `The "${name}" argument must be ${expected}. Received${described(v)}`);
}
