// The errors that several built-in modules throw about their arguments, with Node's codes and words.

const inspect = (value: unknown, options?: object): string => __plumb.require("util").inspect(value, options);

/** How Node describes a value that it did not want. */
function received(value: any): string {
  if (value === null || value === undefined) return `Received ${value}`;
  if (typeof value === "function") return `Received function ${value.name}`;
  if (typeof value === "object") {
    return value.constructor?.name ? `Received an instance of ${value.constructor.name}` : `Received ${inspect(value, { depth: -1 })}`;
  }
  const text = inspect(value);
  return `Received type ${typeof value} (${text.length > 28 ? `${text.slice(0, 25)}...` : text})`;
}

/** wanted is for example "of type string" or "an instance of Buffer". */
export function invalidType(name: string, wanted: string, value: unknown): TypeError {
  return Object.assign(new TypeError(`The ${name.includes(" ") ? name : `"${name}" ${name.includes(".") ? "property" : "argument"}`} must be ${wanted}. ${received(value)}`), {
    code: "ERR_INVALID_ARG_TYPE",
  });
}

export function invalidValue(name: string, why: string, value: unknown): TypeError {
  return Object.assign(new TypeError(`The ${name.includes(".") ? "property" : "argument"} '${name}' ${why}. Received ${inspect(value)}`), {
    code: "ERR_INVALID_ARG_VALUE",
  });
}

const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, "_");

export function outOfRange(name: string, range: string, value: unknown): RangeError {
  let text = inspect(value);
  if (Number.isInteger(value) && Math.abs(value as number) > 2 ** 32) text = grouped(String(value));
  if (typeof value === "bigint") text = `${value > 2n ** 32n || value < -(2n ** 32n) ? grouped(String(value)) : value}n`;
  return Object.assign(new RangeError(`The value of "${name}" is out of range. It must be ${range}. Received ${text}`), {
    code: "ERR_OUT_OF_RANGE",
  });
}

export function unknownEncoding(encoding: unknown): TypeError {
  return Object.assign(new TypeError(`Unknown encoding: ${encoding}`), { code: "ERR_UNKNOWN_ENCODING" });
}
