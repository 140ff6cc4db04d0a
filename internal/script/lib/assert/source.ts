// The source text of a failed call of ok, from the user's file.

declare const __plumb: { expression(error: object): string } | undefined;

/** The call of fn as it is written, or "" where the source is not at hand. */
export function callOf(fn: Function): string {
	const probe = {};
	(Error as any).captureStackTrace?.(probe, fn);
	return typeof __plumb === "object" ? __plumb.expression(probe) : "";
}
