// The engine's functions beyond JavaScript; see internal/script/lib/README.md.

declare const __plumb: undefined | {
	stack(error: unknown): string;
	host(op: string, ...args: unknown[]): string;
};

declare const __host: (op: string, ...args: string[]) => string;
declare const __hostAsync: (op: string, ...args: string[]) => Promise<string>;

export interface Position {
	file: string;
	line: number;
	column: number;
}

/** Calls Go. The arguments and the result are texts, mostly JSON. */
export const host = (op: string, ...args: string[]): string => __host(op, ...args);
export const hostAsync = (op: string, ...args: string[]): Promise<string> => __hostAsync(op, ...args);

/** Whether the engine ran out of memory. */
export const ranOut = (): unknown => __plumb?.host("full");

/** The stack of an error with frames in the user's files. A very deep stack is cut to its top. */
export function stackOf(e: unknown): string {
	if (typeof __plumb !== "object") return e instanceof Error ? String(e.stack) : "";
	// After a stack overflow there are thousands of frames, and mapping all of them is slow.
	const raw = e instanceof Error ? Object.getOwnPropertyDescriptor(e, "stack")?.value : undefined;
	if (typeof raw === "string" && raw.startsWith("    at ") && raw.length > longest) {
		const top = raw.slice(0, raw.lastIndexOf("\n", longest) + 1);
		return `${(e as Error).name}: ${(e as Error).message}${__plumb.host("trace", top, "", -1)}`;
	}
	return __plumb.stack(e);
}

// The longest stack that is mapped completely, in characters.
const longest = 16_000;

// Frames of the engine and of this library have module names; frames of users have paths.
const isPath = (file: string) => /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(file);

// A stack can be very deep, but the relevant frames are near its top.
const deepest = 200;

/**
 * The innermost place in the user's own files, or in a package if there is no other. The constructor of a user's error class does not
 * count.
 */
export function userFrame(stack: string, thrown?: unknown): Position | undefined {
	let constructor = thrown instanceof Error ? thrown.constructor.name : "";
	let inPackage: Position | undefined;
	for (const line of stack.split("\n", deepest)) {
		const m = /^\s*at (?:(.*?) \()?(.+?):(\d+):(\d+)\)?\s*$/.exec(line);
		if (m === null) continue;
		let file = m[2];
		if (file.startsWith("file://")) file = decodeURIComponent(file.slice("file://".length).replace(/^\/(?=[A-Za-z]:)/, ""));
		if (!isPath(file) || (constructor !== "" && m[1]?.replace(/^new /, "") === constructor)) continue;
		constructor = "";
		const place = { file, line: Number(m[3]), column: Number(m[4]) };
		if (!/[/\\]node_modules[/\\]/.test(file)) return place;
		inPackage ??= place;
	}
	return inPackage;
}

const positions = new Map<string, Position | undefined>();

/** The place of a function. Places are cached, because many cases can share a function. */
export function positionOf(fn: unknown): Position | undefined {
	const f = fn as { fileName?: unknown; lineNumber?: unknown; columnNumber?: unknown };
	if (typeof fn !== "function" || typeof f.fileName !== "string" || typeof f.lineNumber !== "number") return undefined;
	if (typeof __plumb !== "object") return undefined;
	const raw = `${f.fileName}:${f.lineNumber}:${f.columnNumber ?? 1}`;
	if (!positions.has(raw)) {
		try {
			positions.set(raw, userFrame(__plumb.host("trace", `    at f (${raw})\n`, "", 1)));
		} catch {
			positions.set(raw, undefined);
		}
	}
	return positions.get(raw);
}
