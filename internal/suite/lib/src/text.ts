// Matchers of one text.

import type { Matcher } from "plumb";

export type Text = Matcher;

export const isText = (v: unknown): v is Text => typeof v === "string" || v instanceof RegExp;

/** matchesText for many texts: a check looks at hundreds of them, and a suite makes thousands of checks. */
export function textTest(matcher: Text): (text: string) => boolean {
	if (typeof matcher === "string") return (text) => text.includes(matcher);
	if (matcher.global || matcher.sticky) return (text) => matchesText(matcher, text);
	return (text) => matcher.test(text);
}

/** A string is looked for within the text; where a RegExp with g or y stopped last time is forgotten. */
export function matchesText(matcher: Text, text: string): boolean {
	if (typeof matcher === "string") return text.includes(matcher);
	matcher.lastIndex = 0;
	const found = matcher.test(text);
	matcher.lastIndex = 0;
	return found;
}

export const describeText = (matcher: Text): string => (typeof matcher === "string" ? JSON.stringify(matcher) : String(matcher));

/** What a value is, for those who gave the wrong one. */
export function kindOf(v: unknown): string {
	if (v === null) return "null";
	if (Array.isArray(v)) return "an array";
	return typeof v === "object" || typeof v === "undefined" ? String(typeof v === "object" ? "an object" : v) : `a ${typeof v}`;
}
