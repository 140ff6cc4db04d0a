// node:string_decoder, written from Node's documentation: text of bytes that arrive in pieces.
import { Buffer } from "node:buffer";
import { invalidType, unknownEncoding } from "../internal/errors";

/** How many bytes at the end belong to a character, or to a group of base64, that is not complete. */
function torn(encoding: string, bytes: Uint8Array): number {
  const n = bytes.length;
  if (encoding === "utf16le") {
    const odd = n % 2;
    const high = n - odd >= 2 && (bytes[n - odd - 1] & 0xfc) === 0xd8; // the first half of a surrogate pair
    return odd + (high ? 2 : 0);
  }
  if (encoding === "base64" || encoding === "base64url") return n % 3;
  if (encoding !== "utf8") return 0;
  for (let back = 1; back <= Math.min(3, n); back++) {
    const lead = bytes[n - back];
    if (lead < 0x80) return 0;
    if (lead < 0xc0) continue;
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    return lead < 0xf8 && length > back ? back : 0;
  }
  return 0;
}

function normal(encoding: unknown): string {
  const name = String(encoding ?? "utf8").toLowerCase();
  const known: Record<string, string> = { "utf-8": "utf8", ucs2: "utf16le", "ucs-2": "utf16le", "utf-16le": "utf16le", binary: "latin1" };
  if (Buffer.isEncoding(name)) return known[name] ?? name;
  throw unknownEncoding(encoding);
}

export class StringDecoder {
  encoding: string;
  #rest = Buffer.alloc(0);

  constructor(encoding?: unknown) {
    this.encoding = normal(encoding);
  }

  write(piece: string | ArrayBufferView): string {
    if (typeof piece === "string") return piece;
    if (!ArrayBuffer.isView(piece)) throw invalidType("buf", "an instance of Buffer, TypedArray, or DataView", piece);
    const bytes = Buffer.concat([this.#rest, Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)]);
    const whole = bytes.length - torn(this.encoding, bytes);
    this.#rest = bytes.subarray(whole);
    return bytes.toString(this.encoding, 0, whole);
  }

  end(piece?: string | ArrayBufferView): string {
    const text = (piece === undefined ? "" : this.write(piece)) + this.#rest.toString(this.encoding);
    this.#rest = Buffer.alloc(0);
    return text;
  }

  get lastNeed(): number {
    if (this.#rest.length === 0) return 0;
    return this.lastTotal - this.#rest.length;
  }

  get lastTotal(): number {
    const [lead = 0] = this.#rest;
    if (this.#rest.length === 0) return 0;
    if (this.encoding === "utf8") return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (this.encoding === "utf16le") return this.#rest.length > 1 ? 4 : 2;
    return 3;
  }
}

export default { StringDecoder };
