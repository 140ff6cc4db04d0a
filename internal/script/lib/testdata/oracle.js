// Calls of built-in modules with generated arguments, for comparison with Node: see oracle_test.go. Node and our engine run
// this same file, and make the same calls from the same seed.
globalThis.oracle = (require, seed, count) => {
	const { Buffer } = require("node:buffer");
	const { StringDecoder } = require("node:string_decoder");
	const { URL, URLSearchParams } = require("node:url");
	const EventEmitter = require("node:events");
	const util = require("node:util");

	let state = seed;
	const random = () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (n) => Math.floor(random() * n);
	const one = (list) => list[below(list.length)];
	const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));

	const letters = ["a", "b", "Z", "0", "9", " ", "\n", "'", '"', "`", "\\", "é", "ß", "漢", "字", "😀", "\ud800", "\0", "\x1b", "-", "_", "=", "+", "/", "%", "&", "#", "?", "$"];
	const text = (n = 8) => times(below(n), () => one(letters)).join("");
	const word = () => times(1 + below(6), () => one("abcXYZ_09".split(""))).join("");
	const encodings = ["utf8", "utf-8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "ucs2", "utf16le", "UTF-8", "HEX", undefined, "nope"];
	const encoding = () => one(encodings);
	const integer = () => one([0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2 ** 31, 2 ** 32, 2 ** 40, -129, -(2 ** 31), 1.5, NaN, Infinity, "3", undefined, below(1000)]);
	const bytes = (n = 12) => Buffer.from(times(below(n), () => one([0, 65, 127, 128, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xed, 0xa0, 0xff, below(256)])));
	// An encoding of some bytes, which may be cut or followed by something else.
	const encoded = (e) => (bytes().toString(e) + one(["", "", text(3)])).slice(below(2));

	const calls = {
		from: () => {
			const e = one(["hex", "base64", "base64url", "latin1", "utf8", "ucs2"]);
			const t = one([encoded(e), text()]);
			return [`Buffer.from(${JSON.stringify(t)}, ${e})`, () => Buffer.from(t, e).toString("hex")];
		},
		toString: () => {
			const [b, e, s, n] = [bytes(), encoding(), integer(), integer()];
			return [`${b.toString("hex")}.toString(${e}, ${s}, ${n})`, () => b.toString(e, s, n)];
		},
		byteLength: () => {
			const [t, e] = [text(), encoding()];
			return [`byteLength(${JSON.stringify(t)}, ${e})`, () => Buffer.byteLength(t, e)];
		},
		search: () => {
			const b = bytes(30);
			const v = one([() => b.subarray(below(b.length + 1), below(b.length + 2)), () => below(256), () => text(3), () => integer()])();
			const e = typeof v === "string" ? one(["utf8", "hex", "latin1", undefined]) : undefined;
			const m = one(["indexOf", "lastIndexOf", "includes"]);
			const at = one([undefined, 0, 1, 5, -3, 100, -100, NaN]);
			return [`${b.toString("hex")}.${m}(${util.inspect(v)}, ${at}, ${e})`, () => b[m](v, at, e)];
		},
		write: () => {
			const [b, t, o, n, e] = [bytes(), text(), one([undefined, 0, 1, 3, 20, -1]), one([undefined, 0, 1, 2, 5]), encoding()];
			return [`${b.toString("hex")}.write(${JSON.stringify(t)}, ${o}, ${n}, ${e})`, () => [b.write(t, o, n, e), b.toString("hex")]];
		},
		fill: () => {
			const [b, v, o, n, e] = [bytes(), one([text(3), below(300), bytes(3), "", undefined]), one([undefined, 0, 2, 30, -1]), one([undefined, 0, 4, 30]), encoding()];
			return [`${b.toString("hex")}.fill(${util.inspect(v)}, ${o}, ${n}, ${e})`, () => b.fill(v, o, n, e).toString("hex")];
		},
		numbers: () => {
			const b = bytes();
			const kind = one(["UInt8", "Int8", "UInt16LE", "UInt16BE", "Int16LE", "Int16BE", "UInt32LE", "UInt32BE", "Int32LE", "Int32BE", "FloatLE", "FloatBE", "DoubleLE", "DoubleBE", "BigInt64LE", "BigUInt64BE", "UIntLE", "UIntBE", "IntLE", "IntBE"]);
			const [at, n] = [one([0, 1, 2, 3, undefined, -1, 1.5, "0", 50]), one([1, 2, 3, 4, 5, 6, 0, 7])];
			if (below(2)) return [`${b.toString("hex")}.read${kind}(${at}, ${n})`, () => b[`read${kind}`](at, n)];
			const v = kind.startsWith("Big") ? one([0n, -1n, 2n ** 63n, 2n ** 64n, 5n]) : integer();
			return [`${b.toString("hex")}.write${kind}(${String(v)}, ${at}, ${n})`, () => [b[`write${kind}`](v, at, n), b.toString("hex")]];
		},
		pieces: () => {
			const [a, b, s, n] = [bytes(), bytes(), integer(), integer()];
			return one([
				[`slice ${s} ${n}`, () => a.slice(s, n).toString("hex")],
				[`subarray ${s} ${n}`, () => a.subarray(s, n)],
				[`concat ${one([s])}`, () => Buffer.concat([a, b], typeof s === "number" && s >= 0 && s < 100 ? s : undefined).toString("hex")],
				[`compare`, () => [Buffer.compare(a, b), a.compare(b, below(2), b.length, 0, a.length), a.equals(b), a.equals(Buffer.from(a))]],
				[`copy`, () => [a.copy(b, below(3), below(3), below(20)), b.toString("hex")]],
				[`swap`, () => [a.length, a.swap16().toString("hex")]],
				[`json ${a.length}`, () => JSON.stringify(a)],
				[`views`, () => [a.map((x) => x + 1), a.filter((x) => x > 100), Buffer.from(a.buffer, a.byteOffset, a.length), Buffer.isBuffer(a.slice()), a.slice(1) instanceof Buffer]],
				[`bad`, () => one([() => Buffer.from(5), () => Buffer.from(null), () => Buffer.from({}), () => Buffer.alloc(-1), () => Buffer.alloc("5"), () => Buffer.concat("x"), () => Buffer.concat([1]), () => a.equals(1), () => a.copy(1), () => Buffer.compare(1, a), () => Buffer.from({ length: 3, 0: 5 }), () => Buffer.from({ type: "Buffer", data: [1, 2] }), () => Buffer.from(new String("x")), () => Buffer.alloc(5, "ab"), () => Buffer.alloc(5, "61", "hex"), () => new Buffer("x"), () => Buffer(3)])()],
			]);
		},
		decoder: () => {
			const e = one(["utf8", "utf16le", "base64", "base64url", "hex", "latin1", "ascii"]);
			const parts = times(1 + below(5), () => bytes(5));
			return [`decoder ${e} ${parts.map((p) => p.toString("hex"))}`, () => {
				const d = new StringDecoder(e);
				return [...parts.map((p) => [d.write(p), d.lastNeed]), d.end(), d.encoding];
			}];
		},
		url: () => {
			const input = one([
				() => one(["http", "https", "HTTP", "ftp", "file", "ws", "mailto", "data", "x-y", "javascript", "blob", ""]) + one([":", "://", ":///", ":/", "//", ""]) +
					one(["", "user@", "user:pa ss@", "a:b@c@", ":@"]) + one(["example.com", "EXAMPLE.com", "münchen.de", "127.0.0.1", "0x7f.1", "[::1]", "[1:2:3:4:5:6:7:8]", "256.256.256.256", "a b", "", "x..y", "%41.com", "xn--a"]) +
					one(["", ":80", ":443", ":8080", ":99999", ":x", ":"]) + one(["", "/", "/a/../b", "/a/./b/..", "//x", "/%2e%2e/c", "/a b", "/é", "\\x", "/C:/x"]) +
					one(["", "?", "?a=b&c", "?q='\"<>", "?é=ü"]) + one(["", "#", "#frag ment", "#é`"]),
				() => one(["../x", "./y?z", "?q", "#h", "//host/p", "/abs", "", "a:b", "C:\\x", " http://trim ", "\thttp://t\nab.com"]),
				() => text(),
			])();
			const base = one([undefined, "http://example.com/a/b?c#d", "file:///x/y", "mailto:x", "nope", "https://u:p@h:81/"]);
			const part = one(["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash", "href"]);
			const value = part === "port" ? one(["", "80", "443", "8080x"]) : one(["", "x", "https", "ftp:", "a b", "80", "8080x", "?q=1", "#z", "/p q", "example.org:99", "é", "[::2]", text(4)]);
			return [`new URL(${JSON.stringify(input)}, ${base}).${part} = ${JSON.stringify(value)}`, () => {
				const u = new URL(input, base);
				const before = [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash];
				u[part] = value;
				return [before, u.href, [...u.searchParams], util.inspect(u)];
			}];
		},
		params: () => {
			const p = new URLSearchParams(one([() => text(20).replaceAll("%", ""), () => ({ a: text(), b: 1 }), () => [[word(), text()], ["a", "b"]], () => new Map([["k", text()]]), () => "a=1&b=2&a=3&%zz=%41+b", () => "?x"])());
			const ops = times(below(4), () => [one(["append", "set", "delete", "get", "getAll", "has", "sort"]), one(["a", "b", "x", text(4)]), text(4)]);
			return [`params ${p} ${JSON.stringify(ops)}`, () => [...ops.map(([op, k, v]) => (op === "append" || op === "set" ? p[op](k, v) : op === "sort" ? p.sort() : p[op](k))), `${p}`, p.size, p, [...p.keys()]]];
		},
		events: () => {
			const plan = times(12, () => [one(["on", "once", "prependListener", "prependOnceListener", "off", "off", "emit", "emit", "emit", "removeAllListeners", "counts"]), one(["a", "b", "error", Symbol.for("s"), "newListener", "removeListener"]), below(4)]);
			return [`events ${plan.map(([o, n, k]) => `${o} ${String(n)} ${k}`)}`, () => {
				const log = [];
				const e = new EventEmitter(below(2) ? {} : undefined);
				const listeners = times(4, (i) => function (...args) {
					log.push([i, this === e, args.length]);
					if (i === 3 && log.length < 40) e.off("a", listeners[0]);
				});
				for (const [op, name, k] of plan) {
					try {
						if (op === "emit") log.push(e.emit(name, ...times(k, () => one([1, "x", { a: 1 }]))));
						else if (op === "removeAllListeners") k ? e.removeAllListeners(name === "removeListener" ? "a" : name) : e.removeAllListeners();
						else if (op === "counts") log.push([e.eventNames(), e.listenerCount(name), e.listeners(name).length, e.rawListeners(name).length, e.listenerCount(name, listeners[k])]);
						else if (/once/i.test(op) && name === "removeListener") continue; // Node breaks off when one of these is removed
						else e[op](name, k === 2 && op === "off" ? undefined : listeners[k]);
					} catch (error) {
						log.push([error.name, error.code, error.message]);
					}
				}
				log.push(util.inspect(e, { depth: 0 }));
				return log;
			}];
		},
		inspect: () => {
			class Shape { constructor() { this.side = 1; } get area() { return 1; } }
			class List extends Array {}
			class Table extends Map {}
			const value = (depth) => one(depth <= 0 ? [() => 1] : [
				() => one([0, -0, 1, 1.5, NaN, -Infinity, 123456789, 1e21]), () => text(), () => text(60), () => true, () => null, () => undefined, () => Symbol(word()), () => 12n ** 20n,
				() => times(below(5), () => value(depth - 1)), () => times(below(120), () => below(10 ** below(6))), () => times(below(40), () => word()), () => times(below(30), () => text(12)),
				() => Object.fromEntries(times(below(6), () => [one([word(), text(5), String(below(5))]), value(depth - 1)])),
				() => Object.fromEntries(times(below(9), () => [word(), value(depth - 1)])),
				() => Object.assign([1, 2], { [word()]: value(depth - 1) }), () => { const a = [1]; a[below(6)] = 2; a.length += below(3); return a; },
				() => new Map(times(below(4), () => [value(depth - 2), value(depth - 1)])), () => new Set(times(below(5), () => value(depth - 1))),
				() => new Date(below(1e9) * 1000), () => new RegExp(word(), "g"), () => Object.assign(/x/, { a: 1 }), () => new Shape(), () => List.from([1, 2]), () => new Table([[1, value(depth - 1)]]),
				() => Object.create(null), () => Object.assign(Object.create(null), { a: value(depth - 1) }), () => Object.create({ a: 1 }), () => Object.create(Shape.prototype), () => Object.create(new Shape()),
				() => function named() {}, () => () => {}, () => Object.assign(function f() {}, { a: 1 }), () => class {}, () => class A extends Shape {}, () => class extends null {}, () => async function a() {}, () => function* g() {}, () => async () => {},
				() => Object(1), () => Object("ab"), () => Object.assign(Object("ab"), { x: 1 }), () => Object(Symbol("q")), () => Object(false), () => Object(5n),
				() => new Uint8Array(times(below(20), () => below(256))), () => new Float64Array([1.5, -0]), () => new BigInt64Array(2), () => bytes(60), () => new ArrayBuffer(below(5)), () => new DataView(new ArrayBuffer(2)),
				() => new WeakMap(), () => new WeakSet(), () => ({ get a() { return 1; }, set a(v) {}, get b() { return 2; }, set c(v) {} }),
				() => ({ [Symbol.toStringTag]: word() }), () => ({ [Symbol("k")]: 1 }), () => { const o = { a: 1 }; o.self = o; return o; }, () => { const o = { a: { b: {} } }; o.a.b.c = o.a; return o; },
				() => ({ [util.inspect.custom](depth, options) { return `custom ${depth}\nline`; } }), () => ({ [util.inspect.custom]: (d, o, i) => ({ d, in: i("x", o) }) }),
				() => Object.assign(new Error(word()), { stack: `Error: ${word()}` }), () => Object.assign(new TypeError("m"), { stack: "TypeError: m\n    at x (y:1:2)", code: "E", [word()]: value(depth - 1) }),
				() => Object.assign(new Error("m", { cause: value(depth - 1) }), { stack: "Error: m\n    at x (y:1:2)" }), () => Object.assign(new AggregateError([1], "m"), { stack: "AggregateError: m\n    at x (y:1:2)" }),
				() => { class Custom extends Error {} return Object.assign(new Custom("x"), { stack: "Error: x\n    at a (b:1:1)" }); },
				() => { class Custom extends Error { name = "Other"; } return Object.assign(new Custom("x"), { stack: "Other: x\n    at a (b:1:1)" }); },
				() => new URLSearchParams("a=b"), () => Math, () => JSON, () => globalThis.Reflect, () => Promise, () => Object.freeze([1]), () => Object.assign(new Date(0), { a: 1 }), () => new Date(NaN),
				() => (function () { return arguments; })(1, 2), () => "漢字".repeat(below(20)), () => times(10, () => "漢字".repeat(1 + below(3))),
			])();
			const v = value(1 + below(4));
			const options = Object.fromEntries(Object.entries({
				depth: [0, 1, 3, null, Infinity], compact: [true, false, 1, 2, 5, 0], breakLength: [20, 40, 60, 120, Infinity], sorted: [true, false], colors: [true, false],
				maxArrayLength: [0, 1, 3, null], maxStringLength: [0, 3, null], getters: [true, false, "get", "set"], numericSeparator: [true], customInspect: [false],
			}).filter(() => below(5) === 0).map(([k, list]) => [k, one(list)]));
			return [`inspect ${JSON.stringify(options, (_k, x) => (x === Infinity ? "Infinity" : x))}`, () => util.inspect(v, options)];
		},
		format: () => {
			const parts = times(1 + below(4), () => one(["%s", "%d", "%i", "%f", "%j", "%o", "%O", "%c", "%%", "%x", "text", " "])).join(" ");
			const args = times(below(4), () => one([1, -0, 1.5, "x", "0x10", 5n, Symbol("s"), null, undefined, [1, [2, [3]]], { a: { b: { c: { d: 1 } } } }, new Date(0), { toString() { return "own"; } }, () => 1, new (class P { toString() { return "p"; } })(), Object.create(null), new Error("e").message, [undefined], NaN, true]));
			return [`format ${parts} ${args.length}`, () => util.format(parts, ...args)];
		},
	};
	const names = Object.keys(calls);
	return times(count, () => {
		const name = one(names);
		const [call, make] = calls[name]();
		let result;
		try {
			result = make();
			if (typeof result !== "string") result = util.inspect(result, { depth: 6, breakLength: Infinity, maxArrayLength: null });
		} catch (error) {
			result = `throws ${error.name} ${error.code}: ${error.message}`;
		}
		return { name, call, result };
	});
};
