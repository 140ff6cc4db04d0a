// The mark /*>*/ stands before the place where the error of each function is to be found.
import assert from "node:assert/strict";
import { define } from "plumb";
import { helper, later, Store } from "./locations-helper";

enum Level { Low, High }
interface Report { text: string; items?: string[] }
const report: Report = { text: "ä💩 text" };

define("throw", () => { /* ünïcödé 💩 */ throw /*>*/new Error("x"); });
define("throw-multiline", () => {
	const a = 1;
	throw /*>*/new RangeError(
		"x" + a,
	);
});
define("equal", () => {
	assert./*>*/equal(Level.High as number, 2);
});
define("ok-multiline", () => {
	assert
		./*>*/ok(
			report.text === "no",
			);
});
define("bare-ok", () => {
	/*>*/assert(report.text.length === 1);
});
define("in-helper", () => { helper(report); });
define("after-await", async () => {
	await null;
	await new Promise((r) => setTimeout(r, 1));
	assert./*>*/match(report.text, /nope/);
});
define("engine-type-error", () => {
	const items: any = report.items;
	return items./*>*/length;
});
define("engine-call-error", () => {
	const o: any = {};
	o./*>*/nope();
});
define("reference-error", () => {
	return (globalThis as any).x ?? /*>*/undefinedName();
});
declare function undefinedName(): void;
define("private-method", () => { new Store().check(); });
define("read-null", () => { const a = { b: null as any }; return 1 + a.b./*>*/deep.er; });
define("write-undefined", () => { const a: any = {}; a.b./*>*/c = 1; });
define("subclass-constructor", () => { class Mine extends Error { constructor() { super("own"); this.name = "Mine"; } } throw /*>*/new Mine(); });
define("callback", () => { [1].forEach((n) => { throw /*>*/new Error(String(n)); }); });
define("subclass", () => { class Mine extends Error {} throw /*>*/new Mine("m"); });
define("rejects", async () => { await later(); });
define("unhandled", () => { void (async () => { await null; throw /*>*/new Error("floating"); })(); return new Promise((r) => setTimeout(r, 30)); });
define("timer", () => { setTimeout(() => { throw /*>*/new Error("timer"); }, 1); return new Promise((r) => setTimeout(r, 30)); });
define("json", () => JSON./*>*/parse("{bad"));
define("deep-equal", () => { assert./*>*/deepEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }); });
define("throws", () => { assert./*>*/throws(() => report.text); });
define("assert-rejects", async () => { await assert./*>*/rejects(Promise.resolve(1)); });
define("template", () => `${(() => { throw /*>*/new Error("in template"); })()}`);
define("cause", () => { try { null!./*inner*/toString(); } catch (cause) { throw /*>*/new Error("outer", { cause }); } });
