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

/** The stack of an error with frames in the user's files. */
export function stackOf(e: unknown): string {
	if (typeof __plumb === "object") return __plumb.stack(e);
	return e instanceof Error ? String(e.stack) : "";
}

// Frames of the engine and of this library have names of modules; those of users have paths.
const isPath = (file: string) => /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(file);

interface Frame extends Position {
	name: string;
}

function framesIn(stack: string): Frame[] {
	const frames: Frame[] = [];
	for (const line of stack.split("\n")) {
		const m = /^\s*at (?:(.*?) \()?(.+?):(\d+):(\d+)\)?\s*$/.exec(line);
		if (m === null) continue;
		let file = m[2];
		if (file.startsWith("file://")) file = decodeURIComponent(file.slice("file://".length).replace(/^\/(?=[A-Za-z]:)/, ""));
		if (isPath(file)) frames.push({ file, line: Number(m[3]), column: Number(m[4]), name: (m[1] ?? "").replace(/^new /, "") });
	}
	return frames;
}

/**
 * The innermost place in the user's own files; a package's only where there is nothing else. The constructor of the error, if it is
 * the user's own, is not where it was thrown.
 */
export function userFrame(stack: string, thrown?: unknown): Position | undefined {
	const constructor = thrown instanceof Error ? thrown.constructor.name : "";
	const all = framesIn(stack);
	const frames = constructor === "" ? all : all.slice(Math.max(0, all.findIndex((f) => f.name !== constructor)));
	const found = frames.find((f) => !/[/\\]node_modules[/\\]/.test(f.file)) ?? frames[0];
	return found && { file: found.file, line: found.line, column: found.column };
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
