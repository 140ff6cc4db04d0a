// util.inspect and util.format, written from Node's documentation and from what Node 22 prints; util_test.go compares both.

import types from "./types";

const custom: unique symbol = Symbol.for("nodejs.util.inspect.custom") as any;

const defaults = {
	showHidden: false,
	depth: 2 as number | null,
	colors: false,
	customInspect: true,
	showProxy: false,
	maxArrayLength: 100 as number | null,
	maxStringLength: 10000 as number | null,
	breakLength: 80,
	compact: 3 as number | boolean,
	sorted: false as boolean | ((a: string, b: string) => number),
	getters: false as boolean | "get" | "set",
	numericSeparator: false,
};
type Options = typeof defaults;

type Style = "special" | "number" | "bigint" | "boolean" | "undefined" | "null" | "string" | "symbol" | "date" | "regexp" | "module" | "name";
type Stylize = (text: string, style: Style) => string;

interface Context extends Options {
	/** What the caller gave, which custom functions get, too. */
	given: any;
	stylize: Stylize;
	/** The objects around the value that is shown now. */
	seen: unknown[];
	/** The objects that occur within themselves, with their numbers. */
	circular: Map<unknown, number>;
	/** How many columns the value is indented by. */
	indent: number;
	/** The level of the object that was begun last. */
	level: number;
}

const sgr = (on: number, off: number): [number, number] => [on, off];
const colors: Record<string, [number, number]> = Object.assign(Object.create(null), {
	reset: sgr(0, 0), bold: sgr(1, 22), dim: sgr(2, 22), italic: sgr(3, 23), underline: sgr(4, 24), blink: sgr(5, 25),
	inverse: sgr(7, 27), hidden: sgr(8, 28), strikethrough: sgr(9, 29), doubleunderline: sgr(21, 24),
	black: sgr(30, 39), red: sgr(31, 39), green: sgr(32, 39), yellow: sgr(33, 39), blue: sgr(34, 39), magenta: sgr(35, 39),
	cyan: sgr(36, 39), white: sgr(37, 39), bgBlack: sgr(40, 49), bgRed: sgr(41, 49), bgGreen: sgr(42, 49),
	bgYellow: sgr(43, 49), bgBlue: sgr(44, 49), bgMagenta: sgr(45, 49), bgCyan: sgr(46, 49), bgWhite: sgr(47, 49),
	framed: sgr(51, 54), overlined: sgr(53, 55), gray: sgr(90, 39), redBright: sgr(91, 39), greenBright: sgr(92, 39),
	yellowBright: sgr(93, 39), blueBright: sgr(94, 39), magentaBright: sgr(95, 39), cyanBright: sgr(96, 39),
	whiteBright: sgr(97, 39), bgGray: sgr(100, 49), bgRedBright: sgr(101, 49), bgGreenBright: sgr(102, 49),
	bgYellowBright: sgr(103, 49), bgBlueBright: sgr(104, 49), bgMagentaBright: sgr(105, 49), bgCyanBright: sgr(106, 49),
	bgWhiteBright: sgr(107, 49),
});
for (const [alias, name] of Object.entries({
	grey: "gray", blackBright: "gray", bgGrey: "bgGray", bgBlackBright: "bgGray", faint: "dim", crossedout: "strikethrough",
	strikeThrough: "strikethrough", crossedOut: "strikethrough", conceal: "hidden", swapColors: "inverse", swapcolors: "inverse",
	doubleUnderline: "doubleunderline",
})) {
	Object.defineProperty(colors, alias, { get: () => colors[name], set: (v) => void (colors[name] = v), configurable: true, enumerable: false });
}

const styles: Record<string, string> = Object.assign(Object.create(null), {
	special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold", string: "green",
	symbol: "green", date: "magenta", regexp: "red", module: "underline",
});

const plain: Stylize = (text) => text;
const colored: Stylize = (text, style) => {
	const code = colors[styles[style]];
	return code === undefined ? text : `\u001b[${code[0]}m${text}\u001b[${code[1]}m`;
};

const ansi = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\\|\u009c)|(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g;
const stripVTControlCharacters = (text: unknown): string => String(text).replace(ansi, "");

const wide = /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const narrow = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

/** The columns of a text in a terminal. */
function width(text: string): number {
	if (/^[\x20-\x7e]*$/.test(text)) return text.length;
	let columns = 0;
	for (const c of stripVTControlCharacters(text).normalize("NFC")) columns += narrow.test(c) ? 0 : wide.test(c) ? 2 : 1;
	return columns;
}

// Texts

const escapes: Record<string, string> = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
const hex = (n: number, digits: number) => n.toString(16).toUpperCase().padStart(digits, "0");

function quoted(text: string): string {
	let quote = "'";
	if (text.includes("'")) {
		if (!text.includes('"')) quote = '"';
		else if (!text.includes("`") && !text.includes("${")) quote = "`";
	}
	const body = text.replace(/[\x00-\x1f'\\\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (c) => {
		if (c === "'") return quote === "'" ? "\\'" : c;
		const code = c.charCodeAt(0);
		return escapes[c] ?? (code > 255 ? `\\u${code.toString(16)}` : `\\x${hex(code, 2)}`);
	});
	return quote + body + quote;
}

const grouped = (digits: string): string => digits.replace(/\B(?=(?:\d{3})+$)/g, "_");

function number(ctx: Options, n: number): string {
	const text = String(n);
	if (!ctx.numericSeparator) return Object.is(n, -0) ? "-0" : text;
	if (!/^-?\d+(?:\.\d+)?$/.test(text)) return text;
	const [whole, fraction] = text.split(".");
	return grouped(whole) + (fraction === undefined ? "" : `.${fraction.replace(/(\d{3})(?=\d)/g, "$1_")}`);
}

const bigint = (ctx: Options, n: bigint): string => `${ctx.numericSeparator ? grouped(String(n)) : n}n`;

function primitive(ctx: Context, stylize: Stylize, value: unknown): string {
	switch (typeof value) {
		case "string": {
			const most = ctx.maxStringLength ?? Infinity;
			const more = value.length - most;
			const trailer = more > 0 ? `... ${more} more character${more > 1 ? "s" : ""}` : "";
			const text = more > 0 ? value.slice(0, Math.max(most, 0)) : value;
			if (ctx.compact !== true && text.length > 16 && text.length > ctx.breakLength - ctx.indent - 4) {
				const lines = text.split(/(?<=\n)/).map((line) => stylize(quoted(line), "string"));
				return lines.join(` +\n${" ".repeat(ctx.indent + 2)}`) + trailer;
			}
			return stylize(quoted(text), "string") + trailer;
		}
		case "number": return stylize(number(ctx, value), "number");
		case "bigint": return stylize(bigint(ctx, value), "bigint");
		case "symbol": return stylize(symbol(value), "symbol");
		case "undefined": return stylize("undefined", "undefined");
	}
	return stylize(String(value), value === null ? "null" : "boolean");
}

const symbol = (value: symbol): string => Symbol.prototype.toString.call(value);

// Names

/** Whether a constructor's function made a value, which a wrong instanceof must not break. */
function madeBy(value: any, constructor: any): boolean {
	try {
		return value instanceof constructor;
	} catch {
		return false;
	}
}

/** The name of a value's constructor; null if its prototype is null. proto gets the prototypes' own keys. */
function constructorName(ctx: Context, value: any, inherited?: string[]): string | null {
	let first: unknown;
	for (let at = value; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
		const constructor = Object.getOwnPropertyDescriptor(at, "constructor");
		if (constructor && typeof constructor.value === "function" && constructor.value.name !== "" && madeBy(value, constructor.value)) {
			if (inherited && (at !== value || !(constructor.value.name in globalThis))) prototypeKeys(ctx, value, at, inherited);
			return String(constructor.value.name);
		}
		if (first === undefined) first = Object.getPrototypeOf(at);
	}
	if (first === null) return null;
	const inner: Context = { ...ctx, customInspect: false, depth: -1 };
	return `${typeName(value)} <${format(inner, first, 0)}>`;
}

/** The keys that showHidden lists from the prototypes of classes of users. */
function prototypeKeys(ctx: Context, value: any, from: any, keys: string[]): void {
	let depth = 0;
	for (let at = from === value ? Object.getPrototypeOf(value) : from; at && depth < 3; at = Object.getPrototypeOf(at), depth++) {
		const constructor = Object.getOwnPropertyDescriptor(at, "constructor")?.value;
		if (typeof constructor === "function" && constructor.name in globalThis && (globalThis as any)[constructor.name] === constructor) break;
		for (const key of Reflect.ownKeys(at) as any[]) {
			if (key === "constructor" || Object.hasOwn(value, key) || keys.includes(key)) continue;
			const own = Object.getOwnPropertyDescriptor(at, key)!;
			if (typeof own.value !== "function") keys.push(key);
		}
	}
}

const typeName = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

/** For example "Dictionary(1) [Map] ". */
function prefix(constructor: string | null, tag: string, fallback: string, size = ""): string {
	if (constructor === null) {
		const name = tag !== "" && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
		return name;
	}
	return tag !== "" && constructor !== tag ? `${constructor}${size} [${tag}] ` : `${constructor}${size} `;
}

function functionBase(value: any, constructor: string | null, tag: string): string {
	let source = "";
	try {
		source = Function.prototype.toString.call(value);
	} catch {
		// a proxy
	}
	if (source.startsWith("class") && source.endsWith("}")) {
		const name = Object.hasOwn(value, "name") && typeof value.name === "string" && value.name !== "" ? value.name : "(anonymous)";
		let text = `class ${name}`;
		if (constructor !== "Function" && constructor !== null) text += ` [${constructor}]`;
		if (tag !== "" && constructor !== tag) text += ` [${tag}]`;
		if (constructor === null) text += " extends [null prototype]";
		else {
			const parent = Object.getPrototypeOf(value)?.name;
			if (parent) text += ` extends ${parent}`;
		}
		return `[${text}]`;
	}
	const kind = `${types.isAsyncFunction(value) ? "Async" : ""}${types.isGeneratorFunction(value) ? "Generator" : ""}Function`;
	let text = `[${kind}${constructor === null ? " (null prototype)" : ""}${value.name === "" || typeof value.name !== "string" ? " (anonymous)" : `: ${value.name}`}]`;
	if (constructor !== kind && constructor !== null) text += ` ${constructor}`;
	if (tag !== "" && constructor !== tag) text += ` [${tag}]`;
	return text;
}

// Values

const builtin = new Set<unknown>(Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z]/.test(name) && !["URL", "URLSearchParams"].includes(name)));

function format(ctx: Context, value: any, level: number): string {
	if (value === null || (typeof value !== "object" && typeof value !== "function")) return primitive(ctx, ctx.stylize, value);
	if (ctx.customInspect) {
		const own = value[custom];
		if (typeof own === "function" && own !== inspect && !(value.constructor?.prototype === value)) {
			const depth = ctx.depth === null ? null : ctx.depth - level;
			const shown = own.call(value, depth, { ...pick(ctx), ...ctx.given, stylize: ctx.stylize, depth }, inspect);
			if (shown !== value) {
				if (typeof shown === "function" || (typeof shown === "object" && shown !== null)) return format(ctx, shown, level);
				return (typeof shown === "symbol" ? symbol(shown) : `${shown}`).replaceAll("\n", `\n${" ".repeat(ctx.indent)}`);
			}
		}
	}
	if (ctx.seen.includes(value)) {
		if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
		return ctx.stylize(`[Circular *${ctx.circular.get(value)}]`, "special");
	}
	return object(ctx, value, level);
}

const pick = (ctx: Options): Options => Object.fromEntries(Object.keys(defaults).map((key) => [key, (ctx as any)[key]])) as Options;

/** The own keys that are shown. */
function keysOf(ctx: Context, value: any): (string | symbol)[] {
	if (ctx.showHidden) return Reflect.ownKeys(value);
	let names: (string | symbol)[];
	try {
		names = Object.keys(value);
	} catch {
		names = Object.getOwnPropertyNames(value); // a module whose bindings are not all there yet
	}
	return [...names, ...Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))];
}

const isIndex = (key: string | symbol): boolean => typeof key === "string" && /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
const withoutIndices = (keys: (string | symbol)[]) => keys.filter((key) => !isIndex(key));

/** How the inside of an object is written. */
interface Shape {
	keys: (string | symbol)[];
	open: string;
	close: string;
	/** What stands before the brace, such as the name of a function. */
	base?: string;
	/** The values that are no properties. */
	items?: (level: number) => string[];
	/** Properties are written as in a list. */
	list?: boolean;
	/** No brace at all if there are no properties. */
	bare?: string;
}

function object(ctx: Context, value: any, level: number): string {
	const inherited: string[] | undefined = ctx.showHidden ? [] : undefined;
	const constructor = constructorName(ctx, value, inherited);
	let tag: unknown = value[Symbol.toStringTag];
	const ownTag = ctx.showHidden ? Object.hasOwn : (of: any, key: symbol) => Object.prototype.propertyIsEnumerable.call(of, key);
	if (typeof tag !== "string" || (tag !== "" && ownTag(value, Symbol.toStringTag))) tag = "";
	const shape = shapeOf(ctx, value, constructor, tag as string, level);
	if (inherited) shape.keys.push(...inherited);
	if (shape.bare !== undefined && shape.keys.length === 0) return shape.bare;
	if (ctx.depth !== null && level > ctx.depth) {
		const name = prefix(constructor, tag as string, Array.isArray(value) ? "Array" : "Object").slice(0, -1);
		return ctx.stylize(constructor === null ? name : `[${name}]`, "special");
	}
	ctx.seen.push(value);
	ctx.level = level;
	let output: string[];
	try {
		output = shape.items?.(level + 1) ?? [];
		for (const key of shape.keys) {
			output.push(property(ctx, value, level + 1, key, shape.list ? "list" : "object", inherited?.includes(key as string) ? value : undefined));
		}
	} catch (error) {
		if (!(error instanceof RangeError) || !/stack/.test(error.message)) throw error;
		const name = prefix(constructor, tag as string, "Object").slice(0, -1);
		return ctx.stylize(`[${name}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, "special");
	} finally {
		ctx.seen.pop();
	}
	let base = shape.base ?? "";
	let open = shape.open;
	const reference = ctx.circular.get(value);
	if (reference !== undefined) {
		const mark = ctx.stylize(`<ref *${reference}>`, "special");
		if (ctx.compact !== true) base = base === "" ? mark : `${mark} ${base}`;
		else open = `${mark} ${open}`;
	}
	if (ctx.sorted) {
		const order = ctx.sorted === true ? undefined : ctx.sorted;
		if (!shape.list) output.sort(order);
		else if (shape.keys.length > 1) output.push(...output.splice(output.length - shape.keys.length).sort(order));
	}
	return joined(ctx, output, base, open, shape.close, Boolean(shape.list), level, value);
}

function shapeOf(ctx: Context, value: any, constructor: string | null, tag: string, level: number): Shape {
	const keys = () => keysOf(ctx, value);
	if (typeof value === "function") {
		const base = functionBase(value, constructor, tag);
		const shape = { keys: keys().filter((key) => !ctx.showHidden || key !== "prototype" || !base.startsWith("[class")), open: "{", close: "}", base };
		return { ...shape, bare: ctx.stylize(base, "special") };
	}
	if (Array.isArray(value)) {
		const name = constructor !== "Array" || tag !== "" ? prefix(constructor, tag, "Array", `(${value.length})`) : "";
		const own = withoutIndices(keys());
		return { keys: own, open: `${name}[`, close: "]", list: true, items: (l) => items(ctx, value, l), ...(value.length === 0 ? { bare: `${name}[]` } : {}) };
	}
	if (types.isSet(value)) {
		const size = getSize(Set, value);
		const name = prefix(constructor, tag, "Set", `(${size})`);
		return { keys: keys(), open: `${name}{`, close: "}", items: (l) => setItems(ctx, value, l), ...(size === 0 ? { bare: `${name}{}` } : {}) };
	}
	if (types.isMap(value)) {
		const size = getSize(Map, value);
		const name = prefix(constructor, tag, "Map", `(${size})`);
		return { keys: keys(), open: `${name}{`, close: "}", items: (l) => mapItems(ctx, value, l), ...(size === 0 ? { bare: `${name}{}` } : {}) };
	}
	if (types.isTypedArray(value)) {
		const fallback = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, value) as string;
		const name = prefix(constructor, tag, fallback, `(${value.length})`);
		const own = withoutIndices(keys());
		const shape = { keys: own, open: `${name}[`, close: "]", list: true, items: (l: number) => typedItems(ctx, value, l) };
		return value.length === 0 && !ctx.showHidden ? { ...shape, bare: `${name}[]` } : shape;
	}
	for (const kind of ["Map", "Set"] as const) {
		if (!(kind === "Map" ? types.isMapIterator(value) : types.isSetIterator(value))) continue;
		// The engine does not tell what an iterator has left, and asking for it would use it up.
		const name = prefix(constructor, tag, `${kind} Iterator`);
		return { keys: keys(), open: `[${tag}] {`, close: "}", bare: `${name}{}` };
	}
	if (types.isArgumentsObject(value)) return { keys: keys(), open: "[Arguments] {", close: "}", bare: "[Arguments] {}" };
	if (types.isRegExp(value)) {
		const name = prefix(constructor, tag, "RegExp");
		const base = (name === "RegExp " ? "" : name) + RegExp.prototype.toString.call(value);
		const text = ctx.stylize(base, "regexp");
		const own = keys();
		return { keys: own, open: "{", close: "}", base, bare: text, ...(ctx.depth !== null && level > ctx.depth ? { keys: [] } : {}) };
	}
	if (types.isDate(value)) {
		const name = prefix(constructor, tag, "Date");
		const time = Date.prototype.getTime.call(value);
		const base = (name === "Date " ? "" : name) + (Number.isNaN(time) ? Date.prototype.toString.call(value) : Date.prototype.toISOString.call(value));
		return { keys: keys(), open: "{", close: "}", base, bare: ctx.stylize(base, "date") };
	}
	if (types.isNativeError(value) || value instanceof Error) {
		const own = keys();
		const base = error(ctx, value, constructor, tag, own);
		return { keys: own, open: "{", close: "}", base, bare: base };
	}
	if (types.isAnyArrayBuffer(value)) {
		const name = prefix(constructor, tag, types.isArrayBuffer(value) ? "ArrayBuffer" : "SharedArrayBuffer");
		return { keys: ["byteLength", ...keys()], open: `${name}{`, close: "}", items: () => [contents(ctx, value)] };
	}
	if (types.isDataView(value)) {
		return { keys: ["byteLength", "byteOffset", "buffer", ...keys()], open: `${prefix(constructor, tag, "DataView")}{`, close: "}" };
	}
	if (types.isPromise(value)) {
		const pending = ctx.stylize("<pending>", "special"); // the engine does not tell what it came to
		return { keys: keys(), open: `${prefix(constructor, tag, "Promise")}{`, close: "}", items: () => [pending] };
	}
	for (const kind of ["WeakSet", "WeakMap"] as const) {
		if (!types[`is${kind}`](value)) continue;
		const unknown = ctx.stylize("<items unknown>", "special");
		return { keys: keys(), open: `${prefix(constructor, tag, kind)}{`, close: "}", items: () => [unknown] };
	}
	if (types.isModuleNamespaceObject(value)) {
		return { keys: keys(), open: `${prefix(constructor, tag, "Module")}{`.replace(/ \[Module\]/, ""), close: "}" };
	}
	if (types.isBoxedPrimitive(value)) return boxed(ctx, value, constructor, tag);
	const name = constructor === "Object" && tag === "" ? "" : prefix(constructor, tag, "Object");
	return { keys: keys(), open: `${name}{`, close: "}", bare: `${name}{}` };
}

const getSize = (of: any, value: unknown): number => Object.getOwnPropertyDescriptor(of.prototype, "size")!.get!.call(value);

function boxed(ctx: Context, value: any, constructor: string | null, tag: string): Shape {
	let own = keysOf(ctx, value);
	let inner: unknown;
	let type: string;
	if (types.isNumberObject(value)) [inner, type] = [Number.prototype.valueOf.call(value), "Number"];
	else if (types.isStringObject(value)) {
		[inner, type] = [String.prototype.valueOf.call(value), "String"];
		own = withoutIndices(own);
	} else if (types.isBooleanObject(value)) [inner, type] = [Boolean.prototype.valueOf.call(value), "Boolean"];
	else if (types.isBigIntObject(value)) [inner, type] = [BigInt.prototype.valueOf.call(value), "BigInt"];
	else [inner, type] = [Symbol.prototype.valueOf.call(value), "Symbol"];
	let base = `[${type}`;
	if (type !== constructor) base += constructor === null ? " (null prototype)" : ` (${constructor})`;
	base += `: ${primitive({ ...ctx, indent: 0 }, plain, inner)}]`;
	if (tag !== "" && tag !== constructor) base += ` [${tag}]`;
	return { keys: own, open: "{", close: "}", base, bare: ctx.stylize(base, type.toLowerCase() as Style) };
}

const moreItems = (n: number): string => `... ${n} more item${n > 1 ? "s" : ""}`;

function items(ctx: Context, list: any[], level: number): string[] {
	const most = Math.max(0, ctx.maxArrayLength ?? Infinity);
	const output: string[] = [];
	let at = 0;
	while (at < list.length && output.length < most) {
		if (Object.hasOwn(list, at)) {
			output.push(property(ctx, list, level, String(at++), "item"));
			continue;
		}
		let next = at + 1;
		if (list.length - at > 10000) {
			const following = Object.keys(list).find((key) => isIndex(key) && Number(key) > at);
			next = following === undefined ? list.length : Number(following);
		} else {
			while (next < list.length && !Object.hasOwn(list, next)) next++;
		}
		output.push(ctx.stylize(`<${next - at} empty item${next - at > 1 ? "s" : ""}>`, "undefined"));
		at = next;
	}
	if (at < list.length) output.push(moreItems(list.length - at));
	return output;
}

function typedItems(ctx: Context, list: any, level: number): string[] {
	const shown = Math.min(Math.max(0, ctx.maxArrayLength ?? Infinity), list.length);
	const output: string[] = [];
	for (let i = 0; i < shown; i++) {
		output.push(ctx.stylize(typeof list[i] === "bigint" ? bigint(ctx, list[i]) : number(ctx, list[i]), typeof list[i] as Style));
	}
	if (list.length > shown) output.push(moreItems(list.length - shown));
	if (ctx.showHidden) {
		ctx.indent += 2;
		for (const key of ["BYTES_PER_ELEMENT", "length", "byteLength", "byteOffset", "buffer"]) output.push(`[${key}]: ${format(ctx, list[key], level)}`);
		ctx.indent -= 2;
	}
	return output;
}

function setItems(ctx: Context, set: Set<unknown>, level: number): string[] {
	const most = Math.max(0, ctx.maxArrayLength ?? Infinity);
	const output: string[] = [];
	ctx.indent += 2;
	for (const item of Set.prototype.values.call(set)) {
		if (output.length >= most) break;
		output.push(format(ctx, item, level));
	}
	ctx.indent -= 2;
	const more = getSize(Set, set) - output.length;
	if (more > 0) output.push(moreItems(more));
	return output;
}

function mapItems(ctx: Context, map: Map<unknown, unknown>, level: number): string[] {
	const most = Math.max(0, ctx.maxArrayLength ?? Infinity);
	const output: string[] = [];
	ctx.indent += 2;
	for (const [key, item] of Map.prototype.entries.call(map)) {
		if (output.length >= most) break;
		output.push(`${format(ctx, key, level)} => ${format(ctx, item, level)}`);
	}
	ctx.indent -= 2;
	const more = getSize(Map, map) - output.length;
	if (more > 0) output.push(moreItems(more));
	return output;
}

function contents(ctx: Context, buffer: ArrayBuffer): string {
	const bytes = new Uint8Array(buffer);
	const most = Math.min(Math.max(0, ctx.maxArrayLength ?? Infinity), bytes.length);
	let text = Array.from(bytes.subarray(0, most), (b) => b.toString(16).padStart(2, "0")).join(" ");
	const more = bytes.length - most;
	if (more > 0) text += ` ... ${more} more byte${more > 1 ? "s" : ""}`;
	return `${ctx.stylize("[Uint8Contents]", "special")}: <${text}>`;
}

/** The stack of an error, with the name of its class. It removes the keys that the stack shows, and adds its cause. */
function error(ctx: Context, value: any, constructor: string | null, tag: string, keys: (string | symbol)[]): string {
	const name = value.name != null ? String(value.name) : "Error";
	let stack = value.stack ? String(value.stack) : Error.prototype.toString.call(value);
	if (!ctx.showHidden && keys.length > 0) {
		for (const key of ["name", "message", "stack"]) {
			const at = keys.indexOf(key);
			if (at >= 0 && (typeof value[key] !== "string" || stack.includes(value[key]))) keys.splice(at, 1);
		}
	}
	if ("cause" in value && !keys.includes("cause") && (keys.length === 0 || !keys.includes("cause"))) keys.push("cause");
	if (Array.isArray(value.errors) && Object.hasOwn(value, "errors") && !keys.includes("errors")) keys.push("errors");
	stack = namedStack(stack, constructor, name, tag);
	// A message may have lines, and only what follows is a stack.
	const message = value.message ? stack.indexOf(String(value.message)) : -1;
	let start = stack.indexOf("\n    at", message < 0 ? 0 : message + String(value.message).length);
	if (start < 0) {
		stack = `[${stack}]`;
	} else if (ctx.colors) {
		start++;
	}
	return ctx.indent === 0 ? stack : stack.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`);
}

/** A stack whose first line names the class of the error, too: a class that sets no name has that of its parent there. */
function namedStack(stack: string, constructor: string | null, name: string, tag: string): string {
	let shown = name;
	if (constructor === null) {
		shown = /^([A-Z][\w[\]() -]+)(?::|\n\s+at)/.exec(stack)?.[1] ?? /^[\w-]*Error$/.exec(stack)?.[0] ?? "";
	} else if (!name.endsWith("Error") || !stack.startsWith(name) || !/^(?:[:\n]|$)/.test(stack.slice(name.length))) {
		return stack;
	}
	const class_ = prefix(constructor, tag, shown || "Error").slice(0, -1);
	const rest = stack.slice(shown.length);
	if (class_ === name) return stack;
	if (!class_.includes(name)) return `${class_} [${name}]${rest}`;
	return shown === "" ? `${class_}: ${stack}` : class_ + rest;
}

// Properties

function property(ctx: Context, value: any, level: number, key: string | symbol, kind: "object" | "list" | "item", original = value): string {
	let from = value;
	let found = Object.getOwnPropertyDescriptor(from, key);
	while (found === undefined && (from = Object.getPrototypeOf(from)) !== null) found = Object.getOwnPropertyDescriptor(from, key);
	let label: string | undefined;
	const own: PropertyDescriptor = found ?? { value: value[key], enumerable: true };
	if (found?.get && (["byteLength", "byteOffset", "buffer"].includes(key as string) && from !== value)) {
		Object.assign(own, { value: value[key], get: undefined, set: undefined });
		label = ctx.stylize(`[${key as string}]`, "string");
	}
	let text: string;
	let extra = " ";
	if (own.get === undefined && own.set === undefined) {
		const by = ctx.compact !== true || kind !== "object" ? 2 : 3;
		ctx.indent += by;
		text = format(ctx, own.value, level);
		if (by === 3 && ctx.breakLength < width(text)) extra = `\n${" ".repeat(ctx.indent)}`;
		ctx.indent -= by;
	} else if (own.get !== undefined) {
		text = getter(ctx, own, original, level);
	} else {
		text = ctx.stylize("[Setter]", "special");
	}
	if (kind === "item") return text;
	let name: string;
	if (label !== undefined) name = label;
	else if (typeof key === "symbol") name = `[${ctx.stylize(symbol(key).replace(/[\x00-\x1f'\\\x7f-\x9f]/g, (c) => escapes[c] ?? `\\x${hex(c.charCodeAt(0), 2)}`), "symbol")}]`;
	else if (key === "__proto__") name = "['__proto__']";
	else if (own.enumerable === false) name = `[${key}]`;
	else if (/^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key)) name = ctx.stylize(key, "name");
	else name = ctx.stylize(quoted(key), "string");
	return `${name}:${extra}${text}`;
}

function getter(ctx: Context, own: PropertyDescriptor, value: any, level: number): string {
	const label = own.set === undefined ? "Getter" : "Getter/Setter";
	const wanted = ctx.getters === true || (ctx.getters === "get" && own.set === undefined) || (ctx.getters === "set" && own.set !== undefined);
	if (!wanted) return ctx.stylize(`[${label}]`, "special");
	try {
		const got = own.get!.call(value);
		ctx.indent += 2;
		try {
			const shown = format(ctx, got, level);
			return got === null || typeof got !== "object" ? `${ctx.stylize(`[${label}:`, "special")} ${shown}${ctx.stylize("]", "special")}` : `${ctx.stylize(`[${label}]`, "special")} ${shown}`;
		} finally {
			ctx.indent -= 2;
		}
	} catch (error: any) {
		return `${ctx.stylize(`[${label}: <Inspection threw (${error?.message})>`, "special")}${ctx.stylize("]", "special")}`;
	}
}

// Lines

/** Puts the parts of an object on one line, in columns, or on a line each. */
function joined(ctx: Context, output: string[], base: string, open: string, close: string, list: boolean, level: number, value: unknown): string {
	const indentation = `\n${" ".repeat(ctx.indent)}`;
	const before = base === "" ? "" : `${base} `;
	if (ctx.compact === true) {
		if (fits(ctx, output, 0, base)) return `${open}${base === "" ? "" : ` ${base}`} ${output.join(", ")} ${close}`;
		const first = base === "" && open.length === 1 ? " " : `${base === "" ? "" : ` ${base}`}\n${indentation.slice(1)}  `;
		return `${open}${first}${output.join(`,${indentation}  `)} ${close}`;
	}
	if (typeof ctx.compact === "number" && ctx.compact >= 1) {
		const count = output.length;
		if (list && count > 6) output = columns(ctx, output, value);
		if (ctx.level - level < ctx.compact && count === output.length) {
			const start = output.length + ctx.indent + open.length + base.length + 10;
			if (fits(ctx, output, start, base)) {
				const line = output.join(", ");
				if (!line.includes("\n")) return `${before}${open} ${line} ${close}`;
			}
		}
	}
	return `${before}${open}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${close}`;
}

function fits(ctx: Context, output: string[], start: number, base: string): boolean {
	let total = output.length + start;
	if (total + output.length > ctx.breakLength) return false;
	for (const text of output) {
		total += ctx.colors ? stripVTControlCharacters(text).length : text.length;
		if (total > ctx.breakLength) return false;
	}
	return !base.includes("\n");
}

/** Short items of a list, several on a line, in columns. */
function columns(ctx: Context, output: string[], value: unknown): string[] {
	const more = ctx.maxArrayLength !== null && ctx.maxArrayLength < output.length ? 1 : 0; // the last one says how many there are
	const count = output.length - more;
	const widths = output.slice(0, count).map((text) => width(ctx.colors ? stripVTControlCharacters(text) : text));
	const total = widths.reduce((sum, n) => sum + n + 2, 0);
	const widest = Math.max(...widths) + 2;
	if (!(widest * 3 + ctx.indent < ctx.breakLength) || !(total / widest > 5 || widest <= 8)) return output;
	const biased = Math.max(widest - 3 - Math.sqrt(widest - total / output.length), 1); // long items count less than their width
	const perLine = Math.min(
		Math.round(Math.sqrt(2.5 * biased * count) / biased),
		Math.floor((ctx.breakLength - ctx.indent) / widest),
		(ctx.compact as number) * 4,
		15,
	);
	if (perLine <= 1) return output;
	const cells = Array.from({ length: perLine }, (_, column) => Math.max(...widths.filter((_w, i) => i % perLine === column), 0) + 2);
	const numbers = value !== undefined && Array.isArray(value) || types.isTypedArray(value)
		? (value as any[]).every((item) => typeof item === "number" || typeof item === "bigint") : false;
	const lines: string[] = [];
	for (let i = 0; i < count; i += perLine) {
		const last = Math.min(i + perLine, count) - 1;
		let line = "";
		for (let k = i; k <= last; k++) {
			const cell = k === last ? output[k] : `${output[k]}, `;
			const room = cells[k - i] - (k === last ? 2 : 0);
			const gap = " ".repeat(Math.max(room - (widths[k] + (k === last ? 0 : 2)), 0));
			line += numbers ? gap + cell : k === last ? cell : cell + gap;
		}
		lines.push(line);
	}
	if (more) lines.push(output[count]);
	return lines;
}

// The functions of node:util

function context(options: any): Context {
	const ctx: Context = { ...defaults, given: {}, stylize: plain, seen: [], circular: new Map(), indent: 0, level: 0 };
	if (options !== null && typeof options === "object") {
		for (const key of Object.keys(options)) {
			if (key in defaults || key === "stylize") (ctx as any)[key] = options[key];
			else ctx.given[key] = options[key];
		}
	}
	if (ctx.colors) ctx.stylize = colored;
	for (const key of ["maxArrayLength", "maxStringLength"] as const) if (ctx[key] === null) ctx[key] = Infinity;
	return ctx;
}

function inspect(value: unknown, options?: any, depth?: any, color?: any): string {
	const ctx = context(typeof options === "boolean" ? { showHidden: options } : options);
	if (typeof options === "boolean" || depth !== undefined) {
		if (depth !== undefined) ctx.depth = depth;
		if (color !== undefined) {
			ctx.colors = color;
			if (color) ctx.stylize = colored;
		}
	}
	return format(ctx, value, 0);
}
inspect.custom = custom;
inspect.colors = colors;
inspect.styles = styles;
Object.defineProperty(inspect, "defaultOptions", {
	get: () => defaults,
	set(options: any) {
		if (options === null || typeof options !== "object") throw Object.assign(new TypeError(`The "options" argument must be of type object. Received ${options === null ? "null" : `type ${typeof options} (${inspect(options)})`}`), { code: "ERR_INVALID_ARG_TYPE" });
		Object.assign(defaults, options);
	},
});

/** Whether a value has a toString of its own, which %s uses. */
function ownText(value: any): boolean {
	if (typeof value.toString !== "function" || Object.hasOwn(value, "toString")) return typeof value.toString === "function";
	let at = value;
	do at = Object.getPrototypeOf(at);
	while (at !== null && !Object.hasOwn(at, "toString"));
	const constructor = at && Object.getOwnPropertyDescriptor(at, "constructor");
	return constructor !== undefined && typeof constructor?.value === "function" && !builtin.has(constructor.value.name);
}

function textOf(value: any, options: any): string {
	switch (typeof value) {
		case "number": return number({ ...defaults, ...options }, value);
		case "bigint": return bigint({ ...defaults, ...options }, value);
		case "object": case "function":
			if (value !== null && !(typeof value === "function" && !Object.hasOwn(value, "toString")) && ownText(value)) return String(value);
			if (value === null) return "null";
			if (typeof value === "function") return String(value);
			return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
	}
	return String(value);
}

function jsonOf(value: unknown): string {
	try {
		return String(JSON.stringify(value));
	} catch (error: any) {
		if (/circular|cyclic/i.test(String(error?.message))) return "[Circular]";
		throw error;
	}
}

function formatWithOptions(options: any, ...args: unknown[]): string {
	if (options === null || typeof options !== "object") {
		throw Object.assign(new TypeError(`The "inspectOptions" argument must be of type object. Received ${options === null ? "null" : `type ${typeof options} (${inspect(options)})`}`), { code: "ERR_INVALID_ARG_TYPE" });
	}
	let used = 0;
	let text = "";
	if (typeof args[0] === "string") {
		used = 1;
		text = args.length === 1 ? args[0] : args[0].replace(/%([sdifjoOc%])/g, (whole, kind: string) => {
			if (kind === "%") return "%";
			if (used >= args.length) return whole;
			const value: any = args[used++];
			const integer = (n: number) => number({ ...defaults, ...options }, n);
			switch (kind) {
				case "s": return textOf(value, options);
				case "d": return typeof value === "bigint" ? bigint({ ...defaults, ...options }, value) : typeof value === "symbol" ? "NaN" : integer(Number(value));
				case "i": return typeof value === "bigint" ? bigint({ ...defaults, ...options }, value) : typeof value === "symbol" ? "NaN" : integer(parseInt(value));
				case "f": return typeof value === "symbol" ? "NaN" : integer(parseFloat(value));
				case "j": return jsonOf(value);
				case "o": return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
				case "O": return inspect(value, options);
			}
			return "";
		});
	}
	const rest = args.slice(used).map((value) => (typeof value === "string" ? value : inspect(value, options)));
	return (typeof args[0] === "string" ? [text, ...rest] : rest).join(" ");
}

const formatted = (...args: unknown[]): string => formatWithOptions({}, ...args);

export { formatted as format, formatWithOptions, inspect, stripVTControlCharacters };
