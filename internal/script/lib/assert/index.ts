// node:assert and, as its member strict, node:assert/strict.

import util from "node:util";
import { deepEqual as compare } from "../util/compare";
import { AssertionError, described, invalidType, nodeError } from "./error";
import { callOf } from "./source";

const { inspect } = util;

type Message = string | Error | undefined;
type Fn = (...args: any[]) => any;

function fail(o: {
	actual: unknown; expected: unknown; message: unknown; operator: string; stackStartFn: Function;
}): never {
	if (o.message instanceof Error) throw o.message;
	throw new AssertionError(o);
}

function needTwo(args: ArrayLike<unknown>): void {
	if (args.length < 2) {
		throw nodeError("ERR_MISSING_ARGS", 'The "actual" and "expected" arguments must be specified');
	}
}

function truthy(fn: Function, args: unknown[]): void {
	if (args[0]) return;
	let message = args[1];
	let generated = false;
	if (args.length === 0) {
		generated = true;
		message = "No value argument passed to `assert.ok()`";
	} else if (message === undefined || message === null) {
		generated = true;
		const call = callOf(fn);
		message = call === ""
			? "The expression evaluated to a falsy value"
			: `The expression evaluated to a falsy value:\n\n  ${call}\n`;
	} else if (message instanceof Error) {
		throw message;
	}
	const e = new AssertionError({ actual: args[0], expected: true, message, operator: "==", stackStartFn: fn });
	e.generatedMessage = generated;
	throw e;
}

const assert: any = function ok(...args: unknown[]): void {
	truthy(assert, args);
};
assert.AssertionError = AssertionError;
assert.ok = function ok(...args: unknown[]): void {
	truthy(assert.ok, args);
};

assert.fail = function fail(actual?: unknown, expected?: unknown, message?: Message, operator?: string): never {
	const args = arguments.length;
	let generated = false;
	if ((actual === undefined || actual === null) && args <= 1) {
		generated = true;
		message = "Failed";
	} else if (args === 1) {
		message = actual as Message;
		actual = undefined;
	} else if (args === 2) {
		operator = "!=";
	}
	if (message instanceof Error) throw message;
	const e = new AssertionError({
		actual, expected, operator: operator ?? "fail", stackStartFn: assert.fail,
		...(message === undefined ? {} : { message }),
	});
	if (generated) e.generatedMessage = true;
	throw e;
};

/** Defines a method that compares two values: it fails unless holds. */
function comparing(name: string, operator: string, holds: (a: any, b: any) => boolean): Fn {
	const method: Fn = {
		[name](actual: unknown, expected: unknown, message?: Message): void {
			needTwo(arguments);
			if (!holds(actual, expected)) fail({ actual, expected, message, operator, stackStartFn: method });
		},
	}[name];
	assert[name] = method;
	return method;
}

// eslint-disable-next-line eqeqeq -- loosely equal is what it means
const looselyEqual = (a: any, b: any) => a == b || (a !== a && b !== b);
comparing("equal", "==", looselyEqual);
comparing("notEqual", "!=", (a, b) => !looselyEqual(a, b));
comparing("deepEqual", "deepEqual", (a, b) => compare(a, b, "loose"));
comparing("notDeepEqual", "notDeepEqual", (a, b) => !compare(a, b, "loose"));
comparing("deepStrictEqual", "deepStrictEqual", (a, b) => compare(a, b, "strict"));
comparing("notDeepStrictEqual", "notDeepStrictEqual", (a, b) => !compare(a, b, "strict"));
comparing("strictEqual", "strictEqual", Object.is);
comparing("notStrictEqual", "notStrictEqual", (a, b) => !Object.is(a, b));
comparing("partialDeepStrictEqual", "partialDeepStrictEqual", (a, b) => compare(a, b, "partial"));

function matching(name: string, wanted: boolean): void {
	assert[name] = {
		[name](text: unknown, pattern: RegExp, message?: Message): void {
			if (!(pattern instanceof RegExp)) throw invalidType("regexp", "an instance of RegExp", pattern);
			if (typeof text === "string" && (RegExp.prototype.exec.call(pattern, text) !== null) === wanted) return;
			if (message instanceof Error) throw message;
			const generated = !message;
			const e = new AssertionError({
				actual: text, expected: pattern, operator: name, stackStartFn: assert[name],
				message: message || (typeof text !== "string"
					? `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`
					: `The input ${wanted ? "did not match" : "was expected to not match"} the regular expression ` +
						`${inspect(pattern)}. Input:\n\n${inspect(text)}\n`),
			});
			e.generatedMessage = generated;
			throw e;
		},
	}[name];
}
matching("match", true);
matching("doesNotMatch", false);

// The result of a call: it returned or threw, possibly undefined.
type Thrown = { value: unknown } | undefined;

function call(fn: unknown): Thrown {
	if (typeof fn !== "function") throw invalidType("fn", "of type function", fn);
	try {
		fn();
	} catch (value) {
		return { value };
	}
	return undefined;
}

/** An object whose stack is that of the call of fn. */
function callerOf(fn: Function): { stack?: string } {
	const caller = {};
	(Error as any).captureStackTrace?.(caller, fn);
	return caller;
}

/** Calls check, after a wait, for which an error of its own has the stack of the call that waited. */
function from(caller: { stack?: string }, check: () => void): void {
	try {
		check();
	} catch (e) {
		if (e instanceof AssertionError) {
			const define = (property: PropertyDescriptor) =>
				Object.defineProperty(e, "stack", { ...property, configurable: true, enumerable: false });
			const header = `AssertionError [ERR_ASSERTION]: ${e.message}`;
			define({
				get: () => header + /(?:\n    at .*)*$/.exec(caller.stack ?? "")![0],
				set: (value: unknown) => void define({ value, writable: true }),
			});
		}
		throw e;
	}
}

const isPromise = (v: any) =>
	v instanceof Promise || (typeof v === "object" && v !== null && typeof v.then === "function" && typeof v.catch === "function");

async function settle(promise: unknown): Promise<Thrown> {
	if (typeof promise === "function") {
		const result = promise();
		if (!isPromise(result)) {
			throw nodeError("ERR_INVALID_RETURN_VALUE",
				`Expected instance of Promise to be returned from the "promiseFn" function but got${described(result)}.`);
		}
		promise = result;
	} else if (!isPromise(promise)) {
		throw invalidType("promiseFn", "of type function or an instance of Promise", promise);
	}
	try {
		await promise;
	} catch (value) {
		return { value };
	}
	return undefined;
}

function wantThrow(fn: Fn, thrown: Thrown, args: unknown[]): void {
	let [expected, message] = args as [any, Message];
	if (typeof expected === "string") {
		if (args.length === 2) {
			throw invalidType("error", "of type function or an instance of Error, RegExp, or Object", expected);
		}
		if (thrown && typeof thrown.value === "object" && thrown.value !== null) {
			if ((thrown.value as Error).message === expected) {
				throw nodeError("ERR_AMBIGUOUS_ARGUMENT",
					`The "error/message" argument is ambiguous. The error message "${expected}" is identical to the message.`);
			}
		} else if (thrown && thrown.value === expected) {
			throw nodeError("ERR_AMBIGUOUS_ARGUMENT",
				`The "error/message" argument is ambiguous. The error "${expected}" is identical to the message.`);
		}
		message = expected;
		expected = undefined;
	} else if (expected !== undefined && expected !== null && typeof expected !== "object" && typeof expected !== "function") {
		throw invalidType("error", "of type function or an instance of Error, RegExp, or Object", expected);
	}
	if (!thrown) {
		const kind = fn === assert.rejects ? "rejection" : "exception";
		const name = expected?.name ? ` (${expected.name})` : "";
		fail({
			actual: undefined, expected, operator: fn.name, stackStartFn: fn,
			message: `Missing expected ${kind}${name}${message ? `: ${message}` : "."}`,
		});
	}
	if (expected) wantError(thrown.value, expected, message, fn);
}

/** Fails unless what was thrown is as expected: a pattern, a class, an object with some of its members, or a function that looks at it. */
function wantError(actual: any, expected: any, message: Message, fn: Fn): void {
	let found: string;
	if (typeof expected !== "function") {
		if (expected instanceof RegExp) {
			const text = String(actual);
			if (RegExp.prototype.exec.call(expected, text) !== null) return;
			found = `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`;
		} else {
			return wantMembers(actual, expected, message, fn);
		}
	} else if (expected.prototype !== undefined && actual instanceof expected) {
		return;
	} else if (Object.prototype.isPrototypeOf.call(Error, expected)) {
		found = `The error is expected to be an instance of "${expected.name}". Received ` + (actual instanceof Error
			? `"${actual.name}"\n\nError message:\n\n${actual.message}`
			: `"${inspect(actual, { depth: -1 })}"`);
	} else {
		const result = Reflect.apply(expected, {}, [actual]);
		if (result === true) return;
		const name = expected.name ? `"${expected.name}" ` : "";
		found = `The ${name}validation function is expected to return "true". Received ${inspect(result)}`;
		if (actual instanceof Error) found += `\n\nCaught error:\n\n${actual}`;
	}
	const e = new AssertionError({ actual, expected, message: message || found, operator: fn.name, stackStartFn: fn });
	e.generatedMessage = !message;
	throw e;
}

// The part of an error that a message shows when one of its members differs. The name is part of
// the message.
class Comparison {
	[key: string]: unknown;

	constructor(from: any, keys: string[], other?: any) {
		for (const key of keys) {
			if (!(key in from)) continue;
			const matches = other !== undefined && typeof other?.[key] === "string" && from[key] instanceof RegExp &&
				RegExp.prototype.exec.call(from[key], other[key]) !== null;
			this[key] = matches ? other[key] : from[key];
		}
	}
}

function wantMembers(actual: any, expected: any, message: Message, fn: Fn): void {
	if (typeof actual !== "object" || actual === null) {
		const e = new AssertionError({ actual, expected, message, operator: "deepStrictEqual", stackStartFn: fn });
		e.operator = fn.name;
		throw e;
	}
	const keys = Object.keys(expected);
	if (expected instanceof Error) {
		keys.push("name", "message");
	} else if (keys.length === 0) {
		throw nodeError("ERR_INVALID_ARG_VALUE", `The argument 'error' may not be an empty object. Received ${inspect(expected)}`);
	}
	for (const key of keys) {
		if (typeof actual[key] === "string" && expected[key] instanceof RegExp &&
			RegExp.prototype.exec.call(expected[key], actual[key]) !== null) {
			continue;
		}
		if (key in actual && compare(actual[key], expected[key], "strict")) continue;
		if (message) fail({ actual, expected, message, operator: fn.name, stackStartFn: fn });
		const e = new AssertionError({
			actual: new Comparison(actual, keys), expected: new Comparison(expected, keys, actual),
			operator: "deepStrictEqual", stackStartFn: fn,
		});
		e.actual = actual;
		e.expected = expected;
		e.operator = fn.name;
		throw e;
	}
}

function wantNoThrow(fn: Fn, thrown: Thrown, expected: any, message: Message): void {
	if (!thrown) return;
	const actual: any = thrown.value;
	if (typeof expected === "string") {
		message = expected;
		expected = undefined;
	}
	if (!expected || isExpected(actual, expected)) {
		const kind = fn === assert.doesNotReject ? "rejection" : "exception";
		fail({
			actual, expected, operator: fn.name, stackStartFn: fn,
			message: `Got unwanted ${kind}${message ? `: ${message}` : "."}\nActual message: "${actual?.message}"`,
		});
	}
	throw actual;
}

function isExpected(actual: any, expected: any): boolean {
	if (typeof expected !== "function") {
		if (expected instanceof RegExp) return RegExp.prototype.exec.call(expected, String(actual)) !== null;
		throw invalidType("expected", "of type function or an instance of RegExp", expected);
	}
	if (expected.prototype !== undefined && actual instanceof expected) return true;
	if (Object.prototype.isPrototypeOf.call(Error, expected)) return false;
	return Reflect.apply(expected, {}, [actual]) === true;
}

assert.throws = function throws(fn: Fn, ...args: unknown[]): void {
	wantThrow(throws, call(fn), args);
};
assert.rejects = async function rejects(promise: unknown, ...args: unknown[]): Promise<void> {
	const caller = callerOf(rejects);
	const thrown = await settle(promise);
	from(caller, () => wantThrow(rejects, thrown, args));
};
assert.doesNotThrow = function doesNotThrow(fn: Fn, expected?: unknown, message?: Message): void {
	wantNoThrow(doesNotThrow, call(fn), expected, message);
};
assert.doesNotReject = async function doesNotReject(promise: unknown, expected?: unknown, message?: Message): Promise<void> {
	const caller = callerOf(doesNotReject);
	const thrown = await settle(promise);
	from(caller, () => wantNoThrow(doesNotReject, thrown, expected, message));
};

assert.ifError = function ifError(value: any): void {
	if (value === null || value === undefined) return;
	let message = "ifError got unwanted exception: ";
	if (typeof value === "object" && typeof value.message === "string") {
		message += value.message.length === 0 && value.constructor ? value.constructor.name : value.message;
	} else {
		message += inspect(value);
	}
	const e = new AssertionError({ actual: value, expected: null, operator: "ifError", message, stackStartFn: ifError });
	e.generatedMessage = false;
	throw e;
};

const strict: any = function strict(...args: unknown[]): void {
	truthy(strict, args);
};
assert.strict = Object.assign(strict, assert, {
	equal: assert.strictEqual,
	deepEqual: assert.deepStrictEqual,
	notEqual: assert.notStrictEqual,
	notDeepEqual: assert.notDeepStrictEqual,
});
strict.strict = strict;

export default assert;
