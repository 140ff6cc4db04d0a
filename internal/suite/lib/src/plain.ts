// Copies values of the user's modules as plain JSON, and reports everything that JSON cannot represent.

import type { Position } from "./engine";

/** A problem of a module's exports. */
export interface Problem {
	case?: number;
	id?: string;
	path: string;
	message: string;
	hint?: string;
	warning?: true;
	source?: Position;
}

/** A member of a path: a.b, a[0], a["b c"]. */
export function member(path: string, key: string | number): string {
	if (typeof key === "number") return `${path}[${key}]`;
	if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
	return path === "" ? key : `${path}.${key}`;
}

/** The kind of a value in messages. */
export function called(v: unknown): string {
	if (v === null || v === undefined) return String(v);
	if (Array.isArray(v)) return "an array";
	if (typeof v === "object") {
		const name = (v as object).constructor?.name;
		if (typeof (v as any).then === "function") return "a promise";
		return name === undefined || name === "Object" ? "an object" : `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`;
	}
	return typeof v === "object" ? "an object" : `a ${typeof v}`;
}

/** A copy that JSON can represent, without undefined members. */
export function plain(v: unknown, path: string, problems: Problem[], above: object[] = []): unknown {
	const bad = (message: string, hint?: string): undefined => {
		problems.push({ path, message, ...(hint === undefined ? {} : { hint }) });
		return undefined;
	};
	if (v === null || typeof v === "string" || typeof v === "boolean" || v === undefined) return v;
	if (typeof v === "number") return Number.isFinite(v) ? v : bad(`expected a number, not ${v}`);
	if (typeof v !== "object") return bad(`expected plain data, not ${called(v)}`, typeof v === "function" ? "call it" : undefined);
	if (above.includes(v)) return bad("the value contains itself");
	if (typeof (v as any).then === "function") return bad("expected plain data, not a promise", "await it at the top level of the module");
	if (v instanceof Map || v instanceof Set || v instanceof RegExp) return bad(`expected plain data, not ${called(v)}`);
	above = [...above, v];
	if (Array.isArray(v)) return v.map((item, i) => plain(item, member(path, i), problems, above) ?? null);
	if (typeof (v as any).toJSON === "function") return plain((v as any).toJSON(), path, problems, above);
	const copy: Record<string, unknown> = {};
	for (const [key, value] of Object.entries(v)) {
		const c = plain(value, member(path, key), problems, above);
		if (c !== undefined) Object.defineProperty(copy, key, { value: c, enumerable: true, writable: true, configurable: true });
	}
	return copy;
}

/** The known word that is nearest to word: at most a third of its letters differ. */
export function nearest(word: string, known: readonly string[]): string | undefined {
	let best: string | undefined;
	let least = Math.max(1, Math.floor(word.length / 3)) + 1;
	for (const k of known) {
		const d = distance(word.toLowerCase(), k.toLowerCase());
		if (d < least) [best, least] = [k, d];
	}
	return best;
}

/** The number of letters to insert, delete, change or swap with their neighbor. */
function distance(a: string, b: string): number {
	let before: number[] = [];
	let above = Array.from({ length: b.length + 1 }, (_, j) => j);
	for (let i = 1; i <= a.length; i++) {
		const row = [i];
		for (let j = 1; j <= b.length; j++) {
			const same = a[i - 1] === b[j - 1];
			row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1));
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
		}
		[before, above] = [above, row];
	}
	return above[b.length];
}
