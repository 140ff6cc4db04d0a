// Calls of node:util, one a line, for comparison with Node: see util_test.go. Node and our engine run this same file.
globalThis.utilTable = (util) => {
	const { inspect: i, format: f, types: t } = util;
	class Shape { constructor() { this.x = 1; } get y() { return 2; } static z = 1; }
	class List extends Array {}
	class Dictionary extends Map {}
	const circle = {};
	circle.self = circle;
	return [
		() => i({ a: 1, b: "x", c: [1, 2, 3], d: { e: { f: { g: 1 } } } }),
		() => i(new Map([[{ a: 1 }, "b"]])),
		() => i(new Set([1, "a"])),
		() => i(Promise.resolve(1)),
		() => i(new Promise(() => {})),
		() => i(new Shape()),
		() => i(Shape),
		() => i(class extends Shape {}),
		() => i(circle),
		() => i([, 1]),
		() => i("it's"),
		() => i("it's \"both\""),
		() => i(Symbol("x")),
		() => i(-0),
		() => i(10n),
		() => i(null),
		() => i(undefined),
		() => i(() => {}),
		() => i(function named() {}),
		() => i(async () => {}),
		() => i(function* generate() {}),
		() => i(new Date(0)),
		() => i(new Date(NaN)),
		() => i(/x/g),
		() => i(new Uint8Array(3)),
		() => i(new WeakMap()),
		() => i(Object.create(null)),
		() => i(Object.create({})),
		() => i({ get a() { return 1; }, set b(v) {} }),
		() => i(new Proxy({ a: 1 }, {})),
		() => i(Array(200).fill(1)),
		() => i("x".repeat(20000)).length,
		() => i({ "a-b": 1, 2: 3, [Symbol("k")]: 4 }),
		() => i([["a", "b"], ["c"]], { compact: false }),
		() => i({ a: { b: { c: {} } } }, { depth: 0 }),
		() => i({ a: { b: { c: { d: { e: 1 } } } } }, { depth: Infinity }),
		() => i({ a: 1n, b: Symbol("s"), c: undefined, d: "x", e: null, f: true }, { colors: true }),
		() => i({ b: 1, a: 2 }, { sorted: true }),
		() => i([1, 2, 3, 4], { maxArrayLength: 2 }),
		() => i("abcdef", { maxStringLength: 3 }),
		() => i(Object(1)),
		() => i(Object("s")),
		() => i(new Dictionary([[1, 2]])),
		() => i(new List(3)),
		() => i((function () { return arguments; })(1, 2)),
		() => i([1.0, -0, NaN, Infinity]),
		() => i({ a: "multi\nline".repeat(10) }),
		() => i(Array.from({ length: 30 }, (_, k) => "item" + k)),
		() => i({ [util.inspect.custom]() { return "CUSTOM"; } }),
		() => i({ [util.inspect.custom]: (depth, options, own) => own({ depth }) }),
		() => i(Math),
		() => i([1, 2, 3].values()),
		() => i((function* () {})()),
		() => i(Object.assign(() => {}, { a: 1 })),
		() => i({ a: function () {}, b: class {}, c: Symbol.iterator }),
		() => i("a\u0000\u001b\ud800"),
		() => i([1], { showHidden: true }),
		() => i(new Error("x")).split("\n")[0],
		() => i({ e: new RangeError("deep") }).split("\n")[1].trim(),
		() => i(Object.assign(new Error("x"), { stack: "Error: x", code: "E" })),
		() => f("%s %d %i %f %j %o %O %%", "a", 1.5, 1.5, "2.5", { a: 1 }, { b: 1 }, { c: { d: { e: { f: 1 } } } }),
		() => f("a", "b", { c: 1 }),
		() => f("%s", null, undefined, 5n, Symbol("x")),
		() => f("%s", { toString() { return "own"; } }),
		() => f("%c styled", "css"),
		() => f("%d %i", "x", "0x10"),
		() => f("%s %s", "one"),
		() => f(1, 2, "3"),
		() => f("100%", 1),
		() => util.formatWithOptions({ colors: true }, "%O", { a: 1 }),
		() => util.styleText("red", "x", { validateStream: false }),
		() => util.styleText(["bold", "underline"], "x", { validateStream: false }),
		() => util.styleText("no such", "x"),
		() => util.stripVTControlCharacters("\u001b[31mx\u001b[0m \u001b]8;;http://a\u0007link"),
		() => util.isDeepStrictEqual({ a: [1] }, { a: [1] }),
		() => util.isDeepStrictEqual({ a: 1 }, { a: "1" }),
		() => util.isDeepStrictEqual(new Set([{}]), new Set([{}])),
		() => util.isDeepStrictEqual([, 1], [undefined, 1]),
		() => util.toUSVString("a\ud800"),
		() => JSON.stringify(util.parseEnv("A=1\nB=\"x\\ny\"\n# c\nexport C='d e' # f\nD=a b # c\nE=\n  F = g ")),
		() => util.inspect.custom.toString() + util.promisify.custom.toString(),
		() => util.promisify((a, done) => done(null, a + 1))(1),
		() => util.promisify((done) => done(new Error("no")))().catch((e) => e.message),
		() => util.promisify(1),
		() => new Promise((r) => util.callbackify(async (a) => a + 1)(1, (e, v) => r(f(e, v)))),
		() => new Promise((r) => util.callbackify(async () => { throw null; })((e) => r(e.code + " " + e.message))),
		() => { function A() {} function B() {} util.inherits(A, B); return new A() instanceof B && A.super_ === B; },
		() => util.deprecate((a) => a, "old")(7),
		() => typeof util.TextEncoder + typeof util.TextDecoder + typeof util.debuglog("x").enabled,
		...Object.entries({
			map: new Map(), set: new Set(), date: new Date(0), regExp: /x/, prototype: RegExp.prototype, promise: Promise.resolve(), then: { then() {} },
			error: new TypeError("x"), notError: { __proto__: Error.prototype }, bytes: new Int8Array(1), view: new DataView(new ArrayBuffer(1)),
			buffer: new ArrayBuffer(1), boxed: Object(1n), symbol: Object(Symbol("s")), generatorFunction: function* () {}, asyncFunction: async () => {},
			generator: (function* () {})(), arguments: (function () { return arguments; })(), mapIterator: new Map().keys(), setIterator: new Set().keys(),
			weakMap: new WeakMap(), weakSet: new WeakSet(), text: "x", nothing: null, tagged: { [Symbol.toStringTag]: "Map" },
		}).map(([name, v]) => () => name + ": " + Object.keys(t).filter((k) => {
			try { return t[k](v); } catch { return false; } // some want objects only
		}).sort().join(" ")),
	];
};
globalThis.runUtilTable = async (util) => {
	const results = [];
	for (const call of globalThis.utilTable(util)) {
		let result;
		try {
			result = String(await call());
		} catch (e) {
			result = "throws " + e.name + " " + e.code + ": " + e.message;
		}
		results.push(result);
	}
	return results;
};
