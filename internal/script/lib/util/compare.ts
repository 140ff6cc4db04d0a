// Deep equality as documented for Node's assert.deepEqual, deepStrictEqual and
// partialDeepStrictEqual. It is in util because util.isDeepStrictEqual needs it, too.

export type Mode = "loose" | "strict" | "partial";

const tagOf = Object.prototype.toString;
const isEnumerable = Object.prototype.propertyIsEnumerable;

type Kind =
	| "array" | "object" | "date" | "regexp" | "error" | "map" | "set" | "buffer" | "view" | "boxed" | "opaque" | "url";

// The engine's own type checks. They throw for an object that only looks like the type.
const brands: [Kind, (v: any) => unknown][] = [
	["map", (v) => Map.prototype.has.call(v, 0)],
	["set", (v) => Set.prototype.has.call(v, 0)],
	["date", (v) => Date.prototype.getTime.call(v)],
	["opaque", (v) => WeakMap.prototype.has.call(v, {})],
	["opaque", (v) => WeakSet.prototype.has.call(v, {})],
];

const kindsByTag: Record<string, Kind> = {
	"[object Object]": "object",
	"[object Arguments]": "object",
	"[object Map]": "map",
	"[object Set]": "set",
	"[object Date]": "date",
	"[object RegExp]": "regexp",
	"[object Error]": "error",
	"[object ArrayBuffer]": "buffer",
	"[object SharedArrayBuffer]": "buffer",
	"[object Number]": "boxed",
	"[object String]": "boxed",
	"[object Boolean]": "boxed",
	"[object Symbol]": "boxed",
	"[object BigInt]": "boxed",
	"[object WeakMap]": "opaque",
	"[object WeakSet]": "opaque",
	"[object Promise]": "opaque",
};

function is(kind: Kind, v: object): boolean {
	for (const [k, check] of brands) {
		if (k !== kind) continue;
		try {
			check(v);
			return true;
		} catch {}
	}
	return false;
}

function kindOf(v: object, tag: string): Kind {
	if (Array.isArray(v)) return "array";
	if (ArrayBuffer.isView(v)) return "view";
	if (tag === "[object Object]" && Object.getPrototypeOf(v) === Object.prototype) return "object";
	if (v instanceof Error) return "error";
	if (tag === "[object URL]" && v instanceof URL) return "url";
	const known = kindsByTag[tag];
	if (known === "map" || known === "set" || known === "date") return is(known, v) ? known : "object";
	if (known === "opaque" && !(v instanceof Promise)) return is(known, v) ? known : "object";
	if (known === "boxed") return boxed(v) === undefined ? "object" : "boxed";
	if (known === "regexp" && !(v instanceof RegExp)) return "object";
	if (known !== undefined && known !== "object") return known;
	// Objects with their own toStringTag, including subclasses of collections.
	if (v instanceof Map) return "map";
	if (v instanceof Set) return "set";
	if (v instanceof Date) return "date";
	if (v instanceof RegExp) return "regexp";
	return "object";
}

/** What a primitive wrapper holds, in an array; undefined for everything else. */
function boxed(v: object): [unknown] | undefined {
	for (const type of [Number, String, Boolean, Symbol, BigInt] as { prototype: object }[]) {
		try {
			return [(type.prototype as any).valueOf.call(v)];
		} catch {}
	}
	return undefined;
}

/** Pairs that are being compared, so that circular values end. */
interface Memo {
	a: Map<object, number>;
	b: Map<object, number>;
	depth: number;
}

export function deepEqual(a: unknown, b: unknown, mode: Mode): boolean {
	return equal(a, b, mode, undefined);
}

function equal(a: any, b: any, mode: Mode, memo: Memo | undefined): boolean {
	if (a === b) return a !== 0 || mode === "loose" || Object.is(a, b);
	if (mode !== "loose") {
		if (typeof a !== "object") return typeof a === "number" && a !== a && b !== b;
		if (typeof b !== "object" || a === null || b === null) return false;
		if (mode === "strict" && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
	} else {
		if (a === null || typeof a !== "object") {
			// eslint-disable-next-line eqeqeq -- loosely equal is what was asked for
			return (b === null || typeof b !== "object") && (a == b || (a !== a && b !== b));
		}
		if (b === null || typeof b !== "object") return false;
	}
	const tag = tagOf.call(a);
	if (tag !== tagOf.call(b)) return false;
	const kind = kindOf(a, tag);
	if (kind !== kindOf(b, tag)) return false;
	switch (kind) {
		case "array":
			if (mode === "partial" ? b.length > a.length : a.length !== b.length) return false;
			return children(a, b, mode, memo, kind, otherKeys(a), otherKeys(b));
		case "date":
			// In Node 22, two invalid dates are not equal, either.
			if (Date.prototype.getTime.call(a) !== Date.prototype.getTime.call(b)) return false;
			break;
		case "regexp":
			if (a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
			break;
		case "error":
			if (!sameError(a, b, mode, memo)) return false;
			break;
		case "url":
			if (a.href !== b.href) return false;
			break;
		case "map":
		case "set":
			if (mode === "partial" ? b.size > a.size : a.size !== b.size) return false;
			break;
		case "buffer":
			if (!sameBytes(new Uint8Array(a), new Uint8Array(b), mode)) return false;
			break;
		case "view":
			if (!sameView(a, b, mode)) return false;
			return children(a, b, mode, memo, "object", otherKeys(a), otherKeys(b));
		case "boxed":
			if (!Object.is(boxed(a)![0], boxed(b)![0])) return false;
			break;
		case "opaque":
			// Their content is not visible, so each is equal only to itself.
			return false;
	}
	return children(a, b, mode, memo, kind, Object.keys(a), Object.keys(b));
}

/** The keys of an array or view that are no indexes. Indexes come first. */
function otherKeys(v: object): string[] {
	const keys = Object.keys(v);
	let n = keys.length;
	while (n > 0 && !(/^(?:0|[1-9]\d{0,9})$/.test(keys[n - 1]) && Number(keys[n - 1]) < 4294967295)) n--;
	return keys.slice(n);
}

function sameError(a: any, b: any, mode: Mode, memo: Memo | undefined): boolean {
	// These properties count even if they are not enumerable; children includes the enumerable
	// ones.
	for (const key of ["message", "name"]) {
		if (!isEnumerable.call(a, key) && !isEnumerable.call(b, key) && a[key] !== b[key]) return false;
	}
	for (const key of ["cause", "errors"]) {
		const [inA, inB] = [Object.hasOwn(a, key), Object.hasOwn(b, key)];
		if (isEnumerable.call(a, key) || isEnumerable.call(b, key)) continue;
		if (inA !== inB && !(mode === "partial" && inA)) return false;
		if (inB && !equal(a[key], b[key], mode, memo)) return false;
	}
	return true;
}

function sameBytes(a: Uint8Array, b: Uint8Array, mode: Mode): boolean {
	if (mode === "partial" ? b.length > a.length : a.length !== b.length) return false;
	return b.every((byte, i) => byte === a[i]);
}

function sameView(a: any, b: any, mode: Mode): boolean {
	if (a instanceof DataView) {
		return sameBytes(
			new Uint8Array(a.buffer, a.byteOffset, a.byteLength),
			new Uint8Array(b.buffer, b.byteOffset, b.byteLength),
			mode,
		);
	}
	if (mode === "partial" ? b.length > a.length : a.length !== b.length) return false;
	for (let i = 0; i < b.length; i++) {
		if (mode === "loose" ? a[i] !== b[i] : !Object.is(a[i], b[i])) return false;
	}
	return true;
}

function ownSymbols(v: object): symbol[] {
	const all = Object.getOwnPropertySymbols(v);
	return all.length === 0 ? all : all.filter((s) => isEnumerable.call(v, s));
}

function children(
	a: any, b: any, mode: Mode, memo: Memo | undefined, kind: Kind, aKeys: string[], bKeys: string[],
): boolean {
	const keys: (string | symbol)[] = bKeys;
	if (mode !== "partial" && aKeys.length !== bKeys.length) return false;
	for (const key of bKeys) if (!isEnumerable.call(a, key)) return false;
	if (mode !== "loose") {
		const symbols = ownSymbols(b);
		if (mode === "strict" && ownSymbols(a).length !== symbols.length) return false;
		for (const s of symbols) {
			if (!isEnumerable.call(a, s)) return false;
			keys.push(s);
		}
	}
	const empty = kind === "array" ? b.length === 0 : kind === "map" || kind === "set" ? b.size === 0 : true;
	if (keys.length === 0 && empty) return true;

	if (memo === undefined) {
		memo = { a: new Map(), b: new Map(), depth: 0 };
	} else {
		const [atA, atB] = [memo.a.get(a), memo.b.get(b)];
		if (atA !== undefined && atB !== undefined) return atA === atB;
	}
	memo.depth++;
	memo.a.set(a, memo.depth);
	memo.b.set(b, memo.depth);
	let same = kind === "map" ? sameMap(a, b, mode, memo) : kind === "set" ? sameSet(a, b, mode, memo)
		: kind === "array" ? sameItems(a, b, mode, memo) : true;
	for (let i = 0; same && i < keys.length; i++) same = equal(a[keys[i]], b[keys[i]], mode, memo);
	memo.a.delete(a);
	memo.b.delete(b);
	return same;
}

function sameItems(a: any[], b: any[], mode: Mode, memo: Memo): boolean {
	if (mode === "partial") {
		// The expected items must occur in this order; other items may be between them. Holes
		// expect nothing and match nothing.
		let at = 0;
		return b.every((item) => {
			while (at < a.length && !(Object.hasOwn(a, at) && equal(a[at], item, mode, memo))) at++;
			return at++ < a.length;
		});
	}
	for (let i = 0; i < a.length; i++) {
		if (mode === "strict" && Object.hasOwn(a, i) !== Object.hasOwn(b, i)) return false;
		if (mode === "loose" && Object.hasOwn(a, i) !== Object.hasOwn(b, i)) return false;
		if (!equal(a[i], b[i], mode, memo)) return false;
	}
	return true;
}

const isObject = (v: unknown) => typeof v === "object" && v !== null;

function sameSet(a: Set<unknown>, b: Set<unknown>, mode: Mode, memo: Memo): boolean {
	const rest = new Set<unknown>();
	for (const v of a) if (!b.has(v)) rest.add(v);
	for (const v of b) {
		if (a.has(v)) continue;
		if (mode !== "loose" && !isObject(v)) return false;
		let found = false;
		for (const other of rest) {
			if (!equal(other, v, mode, memo)) continue;
			rest.delete(other);
			found = true;
			break;
		}
		if (!found) return false;
	}
	return mode === "partial" || rest.size === 0;
}

function sameMap(a: Map<unknown, unknown>, b: Map<unknown, unknown>, mode: Mode, memo: Memo): boolean {
	const rest = new Map(a);
	const open: [unknown, unknown][] = [];
	for (const [key, v] of b) {
		if (a.has(key) && equal(a.get(key), v, mode, memo)) rest.delete(key);
		else if (mode !== "loose" && !isObject(key)) return false;
		else open.push([key, v]);
	}
	for (const [key, v] of open) {
		let found = false;
		for (const [otherKey, other] of rest) {
			if (!equal(otherKey, key, mode, memo) || !equal(other, v, mode, memo)) continue;
			rest.delete(otherKey);
			found = true;
			break;
		}
		if (!found) return false;
	}
	return mode === "partial" || rest.size === 0;
}
