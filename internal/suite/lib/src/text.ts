// Matchers of one text.

import type { Matcher } from "plumb";

export type Text = Matcher;

export const isText = (v: unknown): v is Text => typeof v === "string" || v instanceof RegExp;

/** matchesText for many texts: a check tests hundreds of them, and a suite makes thousands of checks. */
export function textTest(matcher: Text): (text: string) => boolean {
	if (typeof matcher === "string") return (text) => text.includes(matcher);
	if (matcher.global || matcher.sticky) return (text) => matchesText(matcher, text);
	return (text) => matcher.test(text);
}

/** A string matches within the text. The lastIndex of a RegExp with g or y is reset. */
export function matchesText(matcher: Text, text: string): boolean {
	if (typeof matcher === "string") return text.includes(matcher);
	matcher.lastIndex = 0;
	const found = matcher.test(text);
	matcher.lastIndex = 0;
	return found;
}

export const describeText = (matcher: Text): string => (typeof matcher === "string" ? JSON.stringify(matcher) : String(matcher));

/** The kind of a value, for messages about a wrong one. */
export function kindOf(v: unknown): string {
	if (v === null) return "null";
	if (Array.isArray(v)) return "an array";
	return typeof v === "object" || typeof v === "undefined" ? String(typeof v === "object" ? "an object" : v) : `a ${typeof v}`;
}
