// TextEncoder and TextDecoder. Go converts long texts, because it is faster than a loop here.
const plain = (label: unknown) => String(label).trim().toLowerCase();

function encode(text: string): Uint8Array {
  if (text.length > 512) return (Uint8Array as any).fromBase64(__plumb.host("text.encode", text.toWellFormed()));
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    let c = text.codePointAt(i)!;
    if (c > 0xffff) i++;
    else if (c >= 0xd800 && c <= 0xdfff) c = 0xfffd;
    if (c < 0x80) out.push(c);
    else if (c < 0x800) out.push(0xc0 | (c >> 6), 0x80 | (c & 63));
    else if (c < 0x10000) out.push(0xe0 | (c >> 12), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63));
    else out.push(0xf0 | (c >> 18), 0x80 | ((c >> 12) & 63), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63));
  }
  return Uint8Array.from(out);
}

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text: unknown = "") { return encode(String(text)); }
  encodeInto(text: string, into: Uint8Array) {
    let read = 0, written = 0;
    for (const c of String(text)) {
      const bytes = encode(c);
      if (written + bytes.length > into.length) break;
      into.set(bytes, written);
      written += bytes.length;
      read += c.length;
    }
    return { read, written };
  }
}

function bytesOf(input: any): Uint8Array {
  if (input === undefined) return new Uint8Array();
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (input instanceof ArrayBuffer || (typeof SharedArrayBuffer === "function" && input instanceof SharedArrayBuffer)) return new Uint8Array(input as ArrayBuffer);
  throw Object.assign(new TypeError('The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.'), { code: "ERR_INVALID_ARG_TYPE" });
}

/** How many bytes at the end begin a character that is not complete. */
function torn(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const b = bytes[bytes.length - back];
    if (b < 0x80) return 0;
    if (b >= 0xc0) return (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

class TextDecoder {
  #encoding: string;
  #fatal: boolean;
  #keepBOM: boolean;
  #rest = new Uint8Array();
  #begun = false;
  constructor(label: unknown = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const name = plain(label);
    const known =
      ["utf-8", "utf8", "unicode-1-1-utf-8"].includes(name) ? "utf-8"
      : ["utf-16le", "utf-16", "ucs-2", "unicode"].includes(name) ? "utf-16le"
      : ["latin1", "iso-8859-1", "ascii", "us-ascii", "windows-1252", "l1"].includes(name) ? "windows-1252"
      : undefined;
    if (!known) throw Object.assign(new RangeError(`The "${label}" encoding is not supported`), { code: "ERR_ENCODING_NOT_SUPPORTED" });
    this.#encoding = known;
    this.#fatal = !!options.fatal;
    this.#keepBOM = !!options.ignoreBOM;
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#keepBOM; }
  decode(input?: unknown, options: { stream?: boolean } = {}): string {
    let bytes = bytesOf(input);
    if (this.#rest.length) {
      const all = new Uint8Array(this.#rest.length + bytes.length);
      all.set(this.#rest);
      all.set(bytes, this.#rest.length);
      bytes = all;
      this.#rest = new Uint8Array();
    }
    if (options.stream) {
      const n = this.#encoding === "utf-8" ? torn(bytes) : this.#encoding === "utf-16le" ? bytes.length % 2 : 0;
      this.#rest = bytes.slice(bytes.length - n);
      bytes = bytes.subarray(0, bytes.length - n);
    }
    let text: string = __plumb.host("text.decode", (bytes as any).toBase64(), this.#encoding, this.#fatal);
    if (!this.#begun && !this.#keepBOM && this.#encoding !== "windows-1252" && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    this.#begun = !!options.stream && (this.#begun || text !== "");
    return text;
  }
}
for (const c of [TextEncoder, TextDecoder]) Object.defineProperty(c.prototype, Symbol.toStringTag, { value: c.name, configurable: true });

export default { TextEncoder, TextDecoder };
