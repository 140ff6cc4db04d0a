// node:buffer, written from Node's documentation. Go converts long texts, because it is faster than a loop here.
import util from "node:util";
import { invalidType, invalidValue, outOfRange, unknownEncoding } from "../internal/errors";

const maxLength = 2 ** 53 - 1;
const listTypes = "of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object";

// Every Buffer is an instance of this class, whose prototype is that of Buffer.
class Bytes extends Uint8Array {}
const bytes = Bytes.prototype as any;

/** Node's name of an encoding, or undefined. */
function known(encoding: unknown): string | undefined {
  const name = String(encoding).toLowerCase();
  switch (name) {
    case "utf8": case "hex": case "ascii": case "latin1": case "base64": case "base64url": case "utf16le":
      return name;
    case "utf-8": return "utf8";
    case "ucs2": case "ucs-2": case "utf-16le": return "utf16le";
    case "binary": return "latin1";
  }
  return undefined;
}

function encodingOf(encoding: unknown): string {
  const name = encoding === undefined || encoding === null || encoding === "" ? "utf8" : known(encoding);
  if (name === undefined) throw unknownEncoding(encoding);
  return name;
}

const view = (of: ArrayBufferView): DataView => new DataView(of.buffer, of.byteOffset, of.byteLength);
const wrap = (of: Uint8Array): Bytes => new Bytes(of.buffer as ArrayBuffer, of.byteOffset, of.length);

/** The bytes of a text; not yet a Buffer. */
function encode(text: string, encoding: string): Uint8Array {
  switch (encoding) {
    case "utf8":
      return new TextEncoder().encode(text);
    case "utf16le":
      return new Uint8Array(Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)).buffer);
    case "hex": {
      const digits = /^(?:[0-9a-fA-F]{2})*/.exec(text)![0]; // Node stops at the first pair that is no byte
      return (Uint8Array as any).fromHex(digits);
    }
    case "base64": case "base64url": {
      const [digits] = text.replace(/[^\0-\xff]/g, (c) => String.fromCharCode(c.charCodeAt(0) & 255)).split("=", 1); // as Node does
      const plain = digits.replace(/[^A-Za-z0-9+/_-]/g, "").replaceAll("-", "+").replaceAll("_", "/");
      return (Uint8Array as any).fromBase64(plain.length % 4 === 1 ? plain.slice(0, -1) : plain);
    }
  }
  return Uint8Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
}

/** The text of some bytes. */
function decode(of: any, encoding: string): string {
  switch (encoding) {
    case "utf8":
      return of.length === 0 ? "" : __plumb.host("text.decode", of.toBase64(), "utf-8", false);
    case "hex":
      return of.toHex();
    case "base64":
      return of.toBase64();
    case "base64url":
      return of.toBase64({ alphabet: "base64url", omitPadding: true });
  }
  const units = encoding === "utf16le" ? new Uint16Array(Uint8Array.prototype.slice.call(of, 0, of.length & ~1).buffer) : encoding === "ascii" ? Uint8Array.from(of, (b: number) => b & 127) : of;
  let text = "";
  for (let i = 0; i < units.length; i += 4096) text += String.fromCharCode(...units.subarray(i, i + 4096));
  return text;
}

function size(value: unknown): number {
  if (typeof value !== "number") throw invalidType("size", "of type number", value);
  if (!(value >= 0 && value <= maxLength)) throw outOfRange("size", `>= 0 && <= ${maxLength}`, value);
  return value;
}

function isBytes(value: any): value is Uint8Array {
  return value instanceof Uint8Array || util.types.isUint8Array(value);
}

function checkedBytes(name: string, value: any): Uint8Array {
  if (!isBytes(value)) throw invalidType(name, "an instance of Buffer or Uint8Array", value);
  return value;
}

// Callable without new, as old packages do.
function Buffer(value: any, encodingOrOffset?: any, length?: any): any {
  if (typeof value !== "number") return from(value, encodingOrOffset, length);
  if (typeof encodingOrOffset === "string") throw invalidType("string", "of type string", value);
  return alloc(value);
}
Buffer.prototype = bytes;
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(bytes, "constructor", { value: Buffer, writable: true, configurable: true });
Object.defineProperty(Buffer, "name", { value: "Buffer", configurable: true }); // whatever name the build gives it
Object.defineProperty(Buffer, Symbol.species, { configurable: true, get: () => Bytes });

function from(value: any, encodingOrOffset?: any, length?: any): any {
  if (typeof value === "string") return wrap(encode(value, encodingOf(encodingOrOffset)));
  if (value === null || typeof value !== "object") throw invalidType("first argument", listTypes, value);
  if (util.types.isAnyArrayBuffer(value)) {
    const offset = Number(encodingOrOffset) || 0;
    const rest = value.byteLength - offset;
    const bounds = (name: string) => Object.assign(new RangeError(`"${name}" is outside of buffer bounds`), { code: "ERR_BUFFER_OUT_OF_BOUNDS" });
    if (rest < 0) throw bounds("offset");
    const n = length === undefined ? rest : Math.max(Number(length) || 0, 0);
    if (n > rest) throw bounds("length");
    return new Bytes(value, offset, n);
  }
  const inner = value.valueOf?.();
  if (inner !== undefined && inner !== null && inner !== value && (typeof inner === "string" || typeof inner === "object")) {
    return from(inner, encodingOrOffset, length);
  }
  if (value.length !== undefined || util.types.isAnyArrayBuffer(value.buffer)) {
    return typeof value.length === "number" ? wrap(Uint8Array.from(value)) : new Bytes(0);
  }
  if (value.type === "Buffer" && Array.isArray(value.data)) return wrap(Uint8Array.from(value.data));
  const primitive = value[Symbol.toPrimitive];
  if (typeof primitive === "function") {
    const text = primitive.call(value, "string");
    if (typeof text === "string") return from(text, encodingOrOffset);
  }
  throw invalidType("first argument", listTypes, value);
}

function alloc(length: unknown, fill?: unknown, encoding?: unknown): any {
  const made = new Bytes(size(length));
  if (fill !== undefined && fill !== 0 && made.length > 0) (made as any).fill(fill, encoding);
  return made;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return Math.sign(a.length - b.length) || 0;
}

function byteLength(value: any, encoding?: unknown): number {
  if (typeof value !== "string") {
    if (ArrayBuffer.isView(value) || util.types.isAnyArrayBuffer(value)) return value.byteLength;
    throw invalidType("string", "of type string or an instance of Buffer or ArrayBuffer", value);
  }
  switch (known(encoding)) {
    case "hex": return value.length >>> 1;
    case "utf16le": return value.length * 2;
    case "ascii": case "latin1": return value.length;
    case "base64": case "base64url": return Math.floor((value.replace(/={1,2}$/, "").length * 3) / 4);
  }
  return encode(value, "utf8").length;
}

Object.assign(Buffer, {
  poolSize: 8192,
  from,
  alloc,
  allocUnsafe: (length: unknown) => alloc(length),
  allocUnsafeSlow: (length: unknown) => alloc(length),
  of: (...items: number[]) => wrap(Uint8Array.from(items)),
  byteLength,
  isBuffer: (value: unknown) => value instanceof Buffer,
  isEncoding: (encoding: unknown) => typeof encoding === "string" && encoding.length > 0 && known(encoding) !== undefined,
  compare: (a: unknown, b: unknown) => compare(checkedBytes("buf1", a), checkedBytes("buf2", b)),
  concat(list: unknown, length?: unknown) {
    if (!Array.isArray(list)) throw invalidType("list", "an instance of Array", list);
    list.forEach((item, i) => {
      if (!isBytes(item)) throw Object.assign(invalidType(`list[${i}]`, "an instance of Buffer or Uint8Array", item));
    });
    if (length !== undefined && !Number.isInteger(length)) throw outOfRange("length", "an integer", length);
    const joined = alloc(length ?? list.reduce((sum, item) => sum + item.length, 0));
    let at = 0;
    for (const item of list) {
      if (at >= joined.length) break;
      joined.set(item.subarray(0, joined.length - at), at);
      at += item.length;
    }
    return joined;
  },
  copyBytesFrom(of: any, offset = 0, length?: number) {
    if (!util.types.isTypedArray(of)) throw invalidType("view", "an instance of TypedArray", of);
    const part = of.slice(offset, length === undefined ? undefined : offset + length);
    return wrap(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  },
});

const clamp = (value: unknown, missing: number, most: number): number => {
  const n = value === undefined ? missing : Math.trunc(Number(value)) || 0;
  return Math.min(Math.max(n, 0), most);
};

/** The place of a value, or -1. */
function find(of: any, value: any, start: any, encoding: any, last: boolean): number {
  if (typeof start === "string") [start, encoding] = [undefined, start];
  let at = Number(start);
  if (Number.isNaN(at)) at = last ? of.length : 0;
  at = Math.trunc(Math.min(Math.max(at, -0x80000000), 0x7fffffff));
  if (at < 0) at += of.length;
  if (typeof value === "number") {
    if (at < 0 && last) return -1;
    return last ? Uint8Array.prototype.lastIndexOf.call(of, value & 255, at) : Uint8Array.prototype.indexOf.call(of, value & 255, Math.max(at, 0));
  }
  const unit = typeof value === "string" && encodingOf(encoding) === "utf16le" ? 2 : 1;
  if (typeof value === "string") value = encode(value, encodingOf(encoding));
  else if (!isBytes(value)) throw invalidType("value", "one of type number or string or an instance of Buffer or Uint8Array", value);
  if (value.length === 0) return Math.min(Math.max(at, 0), of.length);
  if (at < 0) {
    if (last) return -1;
    at = 0;
  }
  const end = of.length - value.length;
  const step = last ? -1 : 1;
  for (let i = last ? Math.min(at, end) : at; i >= 0 && i <= end; i += step) {
    if (unit === 2 && (i - (last ? 0 : at)) % 2 !== 0) continue;
    let same = 0;
    while (same < value.length && of[i + same] === value[same]) same++;
    if (same === value.length) return i;
  }
  return -1;
}

/** A copy of the characters of a text that fit whole. */
function write(of: any, text: string, offset: number, length: number, encoding: string): number {
  let made = encode(text, encoding);
  const room = Math.min(length, of.length - offset);
  if (made.length > room) {
    made = made.subarray(0, room);
    if (encoding === "utf16le") made = made.subarray(0, room & ~1);
    if (encoding === "utf8") {
      let end = room;
      const whole = encode(text, encoding);
      while (end > 0 && (whole[end] & 0xc0) === 0x80) end--;
      made = made.subarray(0, end);
    }
  }
  of.set(made, offset);
  return made.length;
}

function swap(of: any, n: number): any {
  if (of.length % n !== 0) {
    throw Object.assign(new RangeError(`Buffer size must be a multiple of ${n * 8}-bits`), { code: "ERR_INVALID_BUFFER_SIZE" });
  }
  for (let i = 0; i < of.length; i += n) of.subarray(i, i + n).reverse();
  return of;
}

const methods: Record<string, (this: any, ...args: any[]) => any> = {
  toString(encoding?: unknown, start?: unknown, end?: unknown) {
    const from = clamp(start, 0, this.length);
    const to = clamp(end, this.length, this.length);
    if (to <= from) return "";
    return decode(Uint8Array.prototype.subarray.call(this, from, to), encodingOf(encoding));
  },
  toJSON() { return { type: "Buffer", data: [...this] }; },
  equals(other: unknown) {
    return this === other || compare(this, checkedBytes("otherBuffer", other)) === 0;
  },
  compare(target: any, targetStart?: any, targetEnd?: any, start?: any, end?: any) {
    checkedBytes("target", target);
    const bound = (name: string, value: any, missing: number, most: number) => {
      if (value === undefined) return missing;
      if (!(value >= 0 && value <= most)) throw outOfRange(name, `>= 0 && <= ${most}`, value);
      return value;
    };
    const theirs = target.subarray(bound("targetStart", targetStart, 0, maxLength), bound("targetEnd", targetEnd, target.length, target.length));
    return compare(this.subarray(bound("sourceStart", start, 0, maxLength), bound("sourceEnd", end, this.length, this.length)), theirs);
  },
  copy(target: any, targetStart?: any, start?: any, end?: any) {
    checkedBytes("target", target);
    const at = targetStart === undefined ? 0 : Math.trunc(Number(targetStart)) || 0;
    const begin = start === undefined ? 0 : Math.trunc(Number(start)) || 0;
    if (at < 0) throw outOfRange("targetStart", ">= 0", at);
    if (begin < 0 || begin > this.length) throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, begin);
    const stop = end === undefined ? this.length : Math.trunc(Number(end)) || 0;
    if (stop < 0) throw outOfRange("sourceEnd", ">= 0", stop);
    const part = this.subarray(begin, Math.max(begin, Math.min(stop, begin + Math.max(target.length - at, 0))));
    if (part.length > 0) Uint8Array.prototype.set.call(target, part, at);
    return part.length;
  },
  fill(value: any, offset?: any, end?: any, encoding?: any) {
    if (typeof offset === "string") [offset, end, encoding] = [undefined, undefined, offset];
    else if (typeof end === "string") [end, encoding] = [undefined, end];
    else if (offset === undefined) encoding = undefined; // as Node does
    encoding = typeof value === "string" ? encodingOf(encoding) : "";
    const from = offset ?? 0;
    const to = offset === undefined ? this.length : end ?? this.length; // as Node does
    if (!(from >= 0 && from <= maxLength)) throw outOfRange("offset", `>= 0 && <= ${maxLength}`, from);
    if (!(to >= 0 && to <= this.length)) throw outOfRange("end", `>= 0 && <= ${this.length}`, to);
    if (from >= to) return this;
    if (typeof value !== "string" && !isBytes(value)) {
      Uint8Array.prototype.fill.call(this, Number(value) & 255, from, to);
      return this;
    }
    const pattern = typeof value === "string" ? encode(value, encoding) : value;
    if (pattern.length === 0) {
      if (typeof value !== "string" || value.length > 0) throw invalidValue("value", "is invalid", value);
      Uint8Array.prototype.fill.call(this, 0, from, to);
      return this;
    }
    for (let i = from; i < to; i++) this[i] = pattern[(i - from) % pattern.length];
    return this;
  },
  indexOf(value: any, start?: any, encoding?: any) { return find(this, value, start, encoding, false); },
  lastIndexOf(value: any, start?: any, encoding?: any) { return find(this, value, start, encoding, true); },
  includes(value: any, start?: any, encoding?: any) { return find(this, value, start, encoding, false) >= 0; },
  subarray(start?: any, end?: any) {
    const part = Uint8Array.prototype.subarray.call(this, start, end);
    return part instanceof Buffer ? part : wrap(part);
  },
  write(text: any, offset?: any, length?: any, encoding?: any) {
    if (typeof text !== "string") throw invalidType("argument", "of type string", text);
    if (offset === undefined) return write(this, text, 0, this.length, "utf8"); // whatever else is given, as in Node
    if (typeof offset === "string") [offset, length, encoding] = [undefined, undefined, offset];
    else if (typeof length === "string") [length, encoding] = [undefined, length];
    const at = offset ?? 0;
    if (typeof at !== "number") throw invalidType("offset", "of type number", at);
    if (!(at >= 0 && at <= this.length)) throw outOfRange("offset", `>= 0 && <= ${this.length}`, at);
    const most = length ?? this.length - at;
    if (!(most >= 0 && most <= this.length - at) && length !== undefined && !(most >= 0 && most <= this.length)) {
      throw outOfRange("length", `>= 0 && <= ${this.length}`, most);
    }
    return write(this, text, at, most, encodingOf(encoding));
  },
  swap16() { return swap(this, 2); },
  swap32() { return swap(this, 4); },
  swap64() { return swap(this, 8); },
};
methods.toLocaleString = methods.toString;
methods.slice = methods.subarray;

/** The place of a number in a Buffer. */
function place(of: any, offset: any, n: number): number {
  const at = offset === undefined ? 0 : offset;
  if (typeof at !== "number") throw invalidType("offset", "of type number", at);
  if (!Number.isInteger(at)) throw outOfRange("offset", "an integer", at);
  if (of.length < n) {
    throw Object.assign(new RangeError("Attempt to access memory outside buffer bounds"), { code: "ERR_BUFFER_OUT_OF_BOUNDS" });
  }
  if (at < 0 || at + n > of.length) throw outOfRange("offset", `>= 0 and <= ${of.length - n}`, at);
  return at;
}

/** Throws unless an integer of n bytes can hold a value. */
function fits(value: any, n: number, signed: boolean): void {
  const big = typeof value === "bigint";
  const bound = 2n ** BigInt(n * 8 - Number(signed));
  const exact = [signed ? -bound : 0n, bound - 1n] as const;
  const [low, high] = big ? exact : exact.map(Number); // the engine compares some numbers with bigints wrongly
  if (!(value < low || value > high)) return;
  const unit = big ? "n" : "";
  let range = `>= ${low}${unit} and <= ${high}${unit}`;
  if (n > 4) {
    const bits = n * 8;
    range = signed ? `>= -(2${unit} ** ${bits - 1}${unit}) and < 2${unit} ** ${bits - 1}${unit}` : `>= 0${unit} and < 2${unit} ** ${bits}${unit}`;
  } else if (n === 3) {
    range = `>= ${low} and <= ${high}`;
  }
  throw outOfRange("value", range, value);
}

for (const [kind, n] of [["Int8", 1], ["Uint8", 1], ["Int16", 2], ["Uint16", 2], ["Int32", 4], ["Uint32", 4], ["Float32", 4], ["Float64", 8], ["BigInt64", 8], ["BigUint64", 8]] as const) {
  for (const order of n === 1 ? [""] : ["LE", "BE"]) {
    const little = order === "LE";
    const name = (kind === "Float32" ? "Float" : kind === "Float64" ? "Double" : kind.replace("BigUint", "BigUInt").replace(/^Uint/, "UInt")) + order;
    const read = function (this: any, offset?: any) { return (view(this) as any)[`get${kind}`](place(this, offset, n), little); };
    const written = function (this: any, value: any, offset?: any) {
      if (!kind.startsWith("Big")) value = +value;
      if (n === 1 && offset !== undefined && typeof offset !== "number") throw invalidType("offset", "of type number", offset);
      if (!kind.startsWith("Float")) fits(value, n, kind.startsWith("Int") || kind === "BigInt64");
      const at = place(this, offset, n);
      (view(this) as any)[`set${kind}`](at, value, little);
      return at + n;
    };
    for (const alias of [name, name.replace("UInt", "Uint")]) {
      methods[`read${alias}`] = read;
      methods[`write${alias}`] = written;
    }
  }
}

for (const signed of [true, false]) {
  for (const little of [true, false]) {
    const width = (n: any): number => {
      if (typeof n !== "number") throw invalidType("byteLength", "of type number", n);
      if (!Number.isInteger(n)) throw outOfRange("byteLength", "an integer", n);
      if (n < 1 || n > 6) throw outOfRange("byteLength", ">= 1 and <= 6", n);
      return n;
    };
    const read = function (this: any, offset: any, byteLength: any) {
      if (offset === undefined) throw invalidType("offset", "of type number", offset);
      const n = width(byteLength);
      const at = place(this, offset, n);
      let value = 0;
      for (let i = 0; i < n; i++) value = value * 256 + this[little ? at + n - 1 - i : at + i];
      return signed && value >= 2 ** (n * 8 - 1) ? value - 2 ** (n * 8) : value;
    };
    const written = function (this: any, value: any, offset: any, byteLength: any) {
      const n = width(byteLength);
      value = +value;
      if (n > 1) fits(value, n, signed); // in Node's order
      if (typeof offset !== "number") throw invalidType("offset", "of type number", offset);
      fits(value, n, signed);
      const at = place(this, offset, n);
      let rest = value < 0 ? Math.trunc(value) + 2 ** (n * 8) : Math.trunc(value) || 0;
      for (let i = 0; i < n; i++, rest = Math.floor(rest / 256)) this[little ? at + i : at + n - 1 - i] = rest % 256;
      return at + n;
    };
    for (const word of signed ? ["Int"] : ["UInt", "Uint"]) {
      methods[`read${word}${little ? "LE" : "BE"}`] = read;
      methods[`write${word}${little ? "LE" : "BE"}`] = written;
    }
  }
}

for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(value, "name", { value: name, configurable: true });
  Object.defineProperty(bytes, name, { value, writable: true, configurable: true, enumerable: true });
}
Object.defineProperties(bytes, {
  parent: { configurable: true, get() { return this instanceof Buffer ? this.buffer : undefined; } },
  offset: { configurable: true, get() { return this instanceof Buffer ? this.byteOffset : undefined; } },
});

let inspectMaxBytes = 50;
bytes[(util as any).inspect.custom] = function (this: any, _depth: number, options: any) {
  const rest = this.length - inspectMaxBytes;
  let text = decode(Uint8Array.prototype.subarray.call(this, 0, inspectMaxBytes), "hex").replace(/(.{2})(?!$)/g, "$1 ");
  if (rest > 0) text += ` ... ${rest} more byte${rest > 1 ? "s" : ""}`;
  const own = Object.keys(this).filter((key) => !/^\d+$/.test(key));
  if (own.length > 0) {
    const extra = Object.assign(Object.create(null), Object.fromEntries(own.map((key) => [key, this[key]])));
    const shown = util.inspect(extra, { ...options, breakLength: Infinity, compact: true });
    text += `${this.length > 0 ? ", " : ""}${shown.slice("[Object: null prototype] {".length + 1, -2)}`;
  }
  return `<${this.constructor.name} ${text}>`;
};

const domError = (message: string) => new (globalThis as any).DOMException(message, "InvalidCharacterError");

function atob(text: unknown): string {
  const digits = String(text).replace(/[\t\n\f\r ]/g, "");
  const plain = digits.length % 4 === 0 ? digits.replace(/={1,2}$/, "") : digits;
  if (/[^A-Za-z0-9+/]/.test(plain) || plain.length % 4 === 1) throw domError("The string to be decoded is not correctly encoded.");
  return decode(encode(plain, "base64"), "latin1");
}

function btoa(text: unknown): string {
  const plain = String(text);
  if (/[^\0-\xff]/.test(plain)) throw domError("Invalid character");
  return decode(encode(plain, "latin1"), "base64");
}

class Blob {
  #bytes: any;
  #type: string;
  constructor(parts: any = [], options: any = {}) {
    if (parts === null || typeof parts !== "object" || typeof parts[Symbol.iterator] !== "function") throw invalidType("sources", "a sequence", parts);
    this.#bytes = (Buffer as any).concat([...parts].map((part: any) =>
      part instanceof Blob ? part.#bytes
      : ArrayBuffer.isView(part) ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
      : from(util.types.isAnyArrayBuffer(part) ? part : String(part))));
    const type = String(options?.type ?? "");
    this.#type = /[^\x20-\x7e]/.test(type) ? "" : type.toLowerCase();
  }
  get size() { return this.#bytes.length; }
  get type() { return this.#type; }
  async text() { return new TextDecoder().decode(this.#bytes); }
  async arrayBuffer() { return new Uint8Array(this.#bytes).buffer; }
  async bytes() { return new Uint8Array(this.#bytes); }
  slice(start = 0, end = this.size, type?: string) {
    return new Blob([Uint8Array.prototype.slice.call(this.#bytes, start, end)], { type });
  }
}

class File extends Blob {
  name: string;
  lastModified: number;
  constructor(parts: any, name: string, options: any = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options?.lastModified ?? Date.now();
  }
}

export default {
  Buffer, SlowBuffer: Buffer, Blob, File, atob, btoa,
  constants: { MAX_LENGTH: maxLength, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  kMaxLength: maxLength, kStringMaxLength: 2 ** 29 - 24,
  get INSPECT_MAX_BYTES() { return inspectMaxBytes; },
  set INSPECT_MAX_BYTES(n: number) { inspectMaxBytes = n; },
  isUtf8: (value: any) => {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(value);
      return true;
    } catch {
      return false;
    }
  },
  isAscii: (value: any) => new Uint8Array(value.buffer ?? value, value.byteOffset, value.byteLength).every((b) => b < 128),
  transcode: (source: any, before: string, after: string) => from(decode(source, encodingOf(before)), encodingOf(after)),
};
