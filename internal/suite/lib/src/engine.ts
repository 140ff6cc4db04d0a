// What the engine offers beyond JavaScript; see internal/script/lib/README.md.

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

/** Calls Go. The arguments and the answer are texts, mostly JSON. */
export const host = (op: string, ...args: string[]): string => __host(op, ...args);
export const hostAsync = (op: string, ...args: string[]): Promise<string> => __hostAsync(op, ...args);

/** The stack of an error with frames in the user's files. Of one that is very deep, the top. */
export function stackOf(e: unknown): string {
	if (typeof __plumb !== "object") return e instanceof Error ? String(e.stack) : "";
	// What overflowed the stack has thousands of frames, and it takes long to find the places of all.
	const raw = e instanceof Error ? Object.getOwnPropertyDescriptor(e, "stack")?.value : undefined;
	if (typeof raw === "string" && raw.startsWith("    at ") && raw.length > longest) {
		const top = raw.slice(0, raw.lastIndexOf("\n", longest) + 1);
		return `${(e as Error).name}: ${(e as Error).message}${__plumb.host("trace", top, "", -1)}`;
	}
	return __plumb.stack(e);
}

// The longest stack that is looked at as a whole, in characters.
const longest = 16_000;

// Frames of the engine and of this library have names of modules; those of users have paths.
const isPath = (file: string) => /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(file);

// A stack can be as deep as the engine allows, and what matters is near its top.
const deepest = 200;

/**
 * The innermost place in the user's own files; a package's only where there is nothing else. The constructor of the error, if it is
 * the user's own, is not where it was thrown.
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

/** Where a function is written. Suites make many cases with one function, so places are remembered. */
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
