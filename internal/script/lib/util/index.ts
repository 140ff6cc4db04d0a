// node:util, written from Node's documentation.

import { invalidType } from "../internal/errors";
import { format, formatWithOptions, inspect, stripVTControlCharacters } from "./inspect";
import { deepEqual } from "./compare";
import types from "./types";

type Fn = (...args: any[]) => any;

const custom: unique symbol = Symbol.for("nodejs.util.promisify.custom") as any;

function promisify(original: Fn & { [custom]?: Fn }): Fn {
	if (typeof original !== "function") throw invalidType("original", "of type function", original);
	const own = original[custom];
	if (own !== undefined) {
		if (typeof own !== "function") throw invalidType("util.promisify.custom", "of type function", own);
		return Object.defineProperty(own, custom, { value: own, enumerable: false, writable: false, configurable: true });
	}
	function promised(this: unknown, ...args: unknown[]): Promise<unknown> {
		return new Promise((resolve, reject) => {
			original.call(this, ...args, (err: unknown, value: unknown) => (err ? reject(err) : resolve(value)));
		});
	}
	Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
	Object.defineProperty(promised, custom, { value: promised, enumerable: false, writable: false, configurable: true });
	return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = custom;

function callbackify(original: Fn): Fn {
	if (typeof original !== "function") throw invalidType("original", "of type function", original);
	return function callbackified(this: unknown, ...args: unknown[]): void {
		const done = args.pop();
		if (typeof done !== "function") throw invalidType("last argument", "of type function", done);
		Reflect.apply(original, this, args).then(
			(value: unknown) => queueMicrotask(() => done.call(this, null, value)),
			(err: unknown) => queueMicrotask(() => done.call(this, err ?? Object.assign(
				new Error("Promise was rejected with falsy value"), { code: "ERR_FALSY_VALUE_REJECTION", reason: err }))),
		);
	};
}

function inherits(constructor: Fn, parent: Fn): void {
	if (typeof constructor !== "function") throw invalidType("ctor", "of type function", constructor);
	if (typeof parent !== "function") throw invalidType("superCtor", "of type function", parent);
	Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
	Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const warned = new Set<string>();

function deprecate<F extends Fn>(fn: F, message: string, code?: string): F {
	let said = false;
	return function deprecated(this: unknown, ...args: unknown[]) {
		if (!said && !(code !== undefined && warned.has(code))) {
			said = true;
			if (code !== undefined) warned.add(code);
			console.error(`${code === undefined ? "" : `[${code}] `}DeprecationWarning: ${message}`);
		}
		return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
	} as unknown as F;
}

/** Debug output for the sections that the environment variable NODE_DEBUG names. */
function debuglog(section: string): Fn & { enabled: boolean } {
	const wanted = (globalThis as any).process?.env?.NODE_DEBUG ?? "";
	const enabled = wanted.split(",").some((name: string) =>
		new RegExp(`^${name.trim().replace(/[|\\{}()[\]^$+?.]/g, "\\$&").replaceAll("*", ".*")}$`, "i").test(section));
	return Object.assign((...args: unknown[]) => {
		if (enabled) console.error(`${section.toUpperCase()}: ${format(...args)}`);
	}, { enabled });
}

interface StyleOptions {
	validateStream?: boolean;
	stream?: { isTTY?: boolean };
}

/** Text in colours, unless it is for a stream that is no terminal, as in Node 22. */
function styleText(styles: string | string[], text: string, options: StyleOptions = {}): string {
	if (typeof text !== "string") throw invalidType("text", "of type string", text);
	let [before, after] = ["", ""];
	for (const style of [styles].flat()) {
		const codes = (inspect as any).colors[style];
		if (codes === undefined) {
			throw Object.assign(new TypeError(`The argument 'format' must be one of: ${
				Object.keys((inspect as any).colors).map((c) => `'${c}'`).join(", ")}. Received ${inspect(style)}`), {
				code: "ERR_INVALID_ARG_VALUE",
			});
		}
		before += `\u001b[${codes[0]}m`;
		after = `\u001b[${codes[1]}m${after}`;
	}
	const stream = options.stream ?? (globalThis as any).process?.stdout;
	return options.validateStream === false || stream?.isTTY ? before + text + after : text;
}

/** A signal as a promise: it is fulfilled when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});
}

/** The lines NAME=value of a .env file. */
function parseEnv(text: string): Record<string, string> {
	const env: Record<string, string> = {};
	const line =
		/^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*("(?:\\[^]|[^"\\])*"|'[^']*'|`[^`]*`|[^#\r\n]*)?.*$/gm;
	for (const [, name, raw = ""] of text.matchAll(line)) {
		const value = raw.trim();
		const quoted = /^(["'`])([^]*)\1$/.exec(value);
		env[name] = quoted === null ? value : quoted[1] === '"' ? quoted[2].replaceAll("\\n", "\n") : quoted[2];
	}
	return env;
}

export default {
	aborted,
	callbackify,
	debug: debuglog,
	debuglog,
	deprecate,
	format,
	formatWithOptions,
	inherits,
	inspect,
	isArray: Array.isArray,
	isDeepStrictEqual: (a: unknown, b: unknown) => deepEqual(a, b, "strict"),
	parseEnv,
	promisify,
	stripVTControlCharacters,
	styleText,
	toUSVString: (text: unknown) => (String(text) as any).toWellFormed(),
	types,
	get TextDecoder() { return globalThis.TextDecoder; },
	get TextEncoder() { return globalThis.TextEncoder; },
};
