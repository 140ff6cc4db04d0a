// node:buffer: the npm package buffer, with Node's inspection and base64url, and base64 by the
// engine.
import feross from "buffer";
import util from "node:util";

const Buffer: any = (feross as any).Buffer;
Object.defineProperty(Buffer, "name", { value: "Buffer", configurable: true });

const toString = Buffer.prototype.toString;
Buffer.prototype.toString = function (encoding?: string, start?: number, end?: number) {
  const e = encoding === undefined ? "utf8" : String(encoding).toLowerCase();
  if (e === "base64" || e === "base64url" || ((e === "utf8" || e === "utf-8") && this.length > 512)) {
    const b = this.subarray(start ?? 0, end ?? this.length);
    if (e === "base64") return Uint8Array.prototype.toBase64.call(b);
    if (e === "base64url") return Uint8Array.prototype.toBase64.call(b, { alphabet: "base64url", omitPadding: true });
    return __plumb.host("text.decode", Uint8Array.prototype.toBase64.call(b), "utf-8", false);
  }
  return toString.call(this, encoding, start, end);
};

const from = Buffer.from;
Buffer.from = function (value: any, encoding?: any, length?: number) {
  if (typeof value === "string") {
    const e = encoding === undefined ? "utf8" : String(encoding).toLowerCase();
    if (e === "base64url" || e === "base64") return from(value.replace(/[^A-Za-z0-9+/_-].*$/s, (rest: string) => rest.replace(/[^A-Za-z0-9+/_-]/g, "")).replace(/-/g, "+").replace(/_/g, "/"), "base64");
    if ((e === "utf8" || e === "utf-8") && value.length > 512) {
      const bytes = (Uint8Array as any).fromBase64(__plumb.host("text.encode", value.toWellFormed()));
      return from(bytes.buffer, 0, bytes.length);
    }
  }
  return from(value, encoding, length);
};
const isEncoding = Buffer.isEncoding;
Buffer.isEncoding = (e: unknown) => String(e).toLowerCase() === "base64url" || isEncoding(e);
const byteLength = Buffer.byteLength;
Buffer.byteLength = (value: any, encoding?: string) =>
  encoding === "base64url" && typeof value === "string" ? Math.floor((value.replace(/=+$/, "").length * 3) / 4) : byteLength(value, encoding);
Buffer.poolSize = 8192;

Buffer.prototype[(util as any).inspect.custom] = function (_depth: number, options: any) {
  const shown = this.subarray(0, 50);
  const hex = toString.call(shown, "hex").replace(/(.{2})/g, "$1 ").trim();
  const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : "";
  void options;
  return `<${this.constructor.name}${hex || more ? " " : " "}${hex}${more}>`.replace(" >", ">");
};
delete Buffer.prototype.inspect;

function atob(text: unknown): string {
  const s = String(text).replace(/[\t\n\f\r ]/g, "");
  if (/[^A-Za-z0-9+/=]/.test(s) || /=[^=]/.test(s) || s.replace(/=+$/, "").length % 4 === 1)
    throw new (globalThis as any).DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  return Buffer.from(s, "base64").toString("latin1");
}

function btoa(text: unknown): string {
  const s = String(text);
  for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) > 255) throw new (globalThis as any).DOMException("Invalid character", "InvalidCharacterError");
  return Buffer.from(s, "latin1").toString("base64");
}

class Blob {
  #bytes: any;
  #type: string;
  constructor(parts: any[] = [], options: any = {}) {
    this.#bytes = Buffer.concat(parts.map((p) => (p instanceof Blob ? p.#bytes : ArrayBuffer.isView(p) ? Buffer.from(p.buffer, p.byteOffset, p.byteLength) : Buffer.from(p instanceof ArrayBuffer ? p : String(p)))));
    this.#type = String(options?.type ?? "").toLowerCase();
  }
  get size() { return this.#bytes.length; }
  get type() { return this.#type; }
  async text() { return this.#bytes.toString("utf8"); }
  async arrayBuffer() { return this.#bytes.buffer.slice(this.#bytes.byteOffset, this.#bytes.byteOffset + this.#bytes.length); }
  async bytes() { return new Uint8Array(await this.arrayBuffer()); }
  slice(start?: number, end?: number, type?: string) { return new Blob([this.#bytes.subarray(start, end)], { type }); }
}
class File extends Blob {
  name: string;
  lastModified: number;
  constructor(parts: any[], name: string, options: any = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options?.lastModified ?? Date.now();
  }
}

export default {
  Buffer, SlowBuffer: Buffer, Blob, File, atob, btoa,
  constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  kMaxLength: 2 ** 31 - 1, kStringMaxLength: 2 ** 29 - 24, INSPECT_MAX_BYTES: 50,
  isUtf8: (b: Uint8Array) => { try { new TextDecoder("utf-8", { fatal: true }).decode(b); return true; } catch { return false; } },
  isAscii: (b: Uint8Array) => new Uint8Array(b).every((x) => x < 128),
};
