// structuredClone.
function refuse(value: any): never {
  const what = typeof value === "symbol" ? value.toString() : typeof value === "function" ? value.toString() : `#<${value?.constructor?.name ?? "Object"}>`;
  throw new (globalThis as any).DOMException(`${what} could not be cloned.`, "DataCloneError");
}

const kinds: Record<string, any> = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function clone(value: any, seen: Map<object, any>): any {
  if (typeof value === "symbol" || typeof value === "function") refuse(value);
  if (value === null || typeof value !== "object") return value;
  if (seen.has(value)) return seen.get(value);
  const keep = <T>(copy: T): T => (seen.set(value, copy), copy);
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (Array.isArray(value)) {
    const copy = keep(new Array(value.length));
    for (const key of Object.keys(value)) (copy as any)[key] = clone((value as any)[key], seen);
    return copy;
  }
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof Boolean || value instanceof Number || value instanceof String || tag === "BigInt") return keep(Object(value.valueOf()));
  if (value instanceof Map) {
    const copy = keep(new Map());
    for (const [k, v] of [...value]) copy.set(clone(k, seen), clone(v, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const v of [...value]) copy.add(clone(v, seen));
    return copy;
  }
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = clone(value.buffer, seen);
    const Kind: any = value instanceof DataView ? DataView : (globalThis as any)[Object.getPrototypeOf(Uint8Array.prototype).__lookupGetter__(Symbol.toStringTag).call(value)];
    return keep(value instanceof DataView ? new Kind(buffer, value.byteOffset, value.byteLength) : new Kind(buffer, value.byteOffset, (value as any).length));
  }
  if (__errors.isError(value)) {
    const Kind = kinds[value.name] ?? Error;
    const copy: any = keep(Object.create(Kind.prototype));
    const made = new Kind(value.message);
    seen.set(value, made);
    Object.defineProperty(made, "stack", { value: value.stack, writable: true, configurable: true, enumerable: false });
    if ("cause" in value) Object.defineProperty(made, "cause", { value: clone(value.cause, seen), writable: true, configurable: true, enumerable: false });
    void copy;
    return made;
  }
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise) refuse(value);
  const copy: any = keep({});
  for (const key of Object.keys(value)) copy[key] = clone(value[key], seen);
  return copy;
}
const __errors = (__plumb as any).errors;

export default {
  structuredClone(value: unknown, options?: { transfer?: unknown[] }) {
    if (arguments.length === 0) throw Object.assign(new TypeError("The \"value\" argument must be specified"), { code: "ERR_MISSING_ARGS" });
    void options;
    return clone(value, new Map());
  },
};
