// node:crypto: hashes and random values.
declare const Buffer: any;
const host = __plumb.host;

const base64 = (data: any, encoding?: string): string =>
  (typeof data === "string" ? Buffer.from(data, encoding) : ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data)).toString("base64");
const output = (text: string, encoding?: string) => {
  const b = Buffer.from(text, "base64");
  return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
};

class Hash {
  #algorithm: string;
  #key: string | undefined;
  #parts: string[] = [];
  #done = false;
  constructor(algorithm: string, key?: any) {
    this.#algorithm = String(algorithm).toLowerCase();
    this.#key = key === undefined ? undefined : base64(key);
    host("crypto.hash", this.#algorithm, "", "");
  }
  update(data: any, encoding?: string) {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    if (typeof data !== "string" && !ArrayBuffer.isView(data)) throw Object.assign(new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${data === null || data === undefined ? data : typeof data}`), { code: "ERR_INVALID_ARG_TYPE" });
    this.#parts.push(base64(data, encoding));
    return this;
  }
  digest(encoding?: string) {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#done = true;
    return output(host("crypto.hash", this.#algorithm, this.#parts.join(","), this.#key), encoding);
  }
  copy() {
    const h = new Hash(this.#algorithm);
    h.#key = this.#key;
    h.#parts = [...this.#parts];
    return h;
  }
}

const randomBytes = (n: number, callback?: any) => {
  const b = output(host("crypto.random", n));
  if (callback) setImmediate(callback, null, b);
  return callback ? undefined : b;
};
const randomUUID = (): string => host("crypto.uuid");

function randomInt(min: number, max?: any, callback?: any) {
  if (max === undefined || typeof max === "function") [min, max, callback] = [0, min, max];
  if (!(max > min)) throw Object.assign(new RangeError(`The value of "max" is out of range. It must be greater than the value of "min" (${min}). Received ${max}`), { code: "ERR_OUT_OF_RANGE" });
  const range = BigInt(max - min), limit = (1n << 64n) - ((1n << 64n) % range);
  let x: bigint;
  do x = randomBytes(8).readBigUInt64LE(); while (x >= limit);
  const n = min + Number(x % range);
  if (callback) setImmediate(callback, null, n);
  return callback ? undefined : n;
}

function fill(array: any) {
  const b = new Uint8Array(array.buffer ?? array, array.byteOffset ?? 0, array.byteLength);
  b.set(randomBytes(b.length));
  return array;
}

function timingSafeEqual(a: any, b: any) {
  if (a.byteLength !== b.byteLength) throw Object.assign(new RangeError("Input buffers must have the same byte length"), { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  const x = new Uint8Array(a.buffer ?? a, a.byteOffset ?? 0, a.byteLength), y = new Uint8Array(b.buffer ?? b, b.byteOffset ?? 0, b.byteLength);
  let d = 0;
  for (let i = 0; i < x.length; i++) d |= x[i] ^ y[i];
  return d === 0;
}

const webcrypto = {
  randomUUID,
  getRandomValues(array: any) {
    if (array.byteLength > 65536) throw new (globalThis as any).DOMException("The requested length exceeds 65,536 bytes", "QuotaExceededError");
    return fill(array);
  },
  subtle: {
    async digest(algorithm: any, data: any) {
      const name = String(algorithm?.name ?? algorithm).toLowerCase().replace("-", "");
      const b = output(host("crypto.hash", name, base64(ArrayBuffer.isView(data) ? data : new Uint8Array(data)), undefined));
      return b.buffer.slice(b.byteOffset, b.byteOffset + b.length);
    },
  },
};

const refuse = (name: string) => () => {
  throw Object.assign(new Error(`crypto.${name} is not available to suites`), { code: "ERR_NOT_AVAILABLE" });
};

export default {
  Hash,
  createHash: (algorithm: string) => new Hash(algorithm),
  createHmac: (algorithm: string, key: any) => new Hash(algorithm, key),
  hash: (algorithm: string, data: any, encoding = "hex") => new Hash(algorithm).update(data).digest(encoding),
  getHashes: () => ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "sha3-256", "sha3-512"],
  randomBytes, randomUUID, randomInt, randomFillSync: fill, timingSafeEqual, webcrypto,
  getRandomValues: webcrypto.getRandomValues, subtle: webcrypto.subtle,
  pseudoRandomBytes: randomBytes,
  ...Object.fromEntries(["createCipheriv", "createDecipheriv", "createSign", "createVerify", "generateKeyPairSync", "pbkdf2Sync", "scryptSync", "createPrivateKey", "createPublicKey"].map((n) => [n, refuse(n)])),
};
