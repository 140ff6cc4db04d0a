// Calls to Go, and the errors that they return.
declare const raw: (op: string, ...args: unknown[]) => any;

const kinds: Record<string, ErrorConstructor> = { TypeError, RangeError, SyntaxError } as any;

/** Makes the error that Go describes, with the properties in Node's order. */
export function hostError(e: any): Error {
  const error: any = new (kinds[e.name] ?? Error)(e.message);
  if (e.name && !kinds[e.name] && e.name !== "Error") Object.defineProperty(error, "name", { value: e.name, writable: true, configurable: true, enumerable: false });
  for (const key of ["errno", "code", "syscall", "path", "dest"]) if (e[key] !== undefined && e[key] !== null) error[key] = e[key];
  if (e.data) Object.assign(error, JSON.parse(e.data));
  return error;
}

export function host(op: string, ...args: unknown[]): any {
  let result: any;
  try {
    result = raw(op, ...args);
  } catch (error) {
    throw /: out of memory$/.test(String((error as Error)?.message)) ? new RangeError("out of memory") : error; // there is no room for the result
  }
  if (typeof result === "object" && result !== null && "$error" in result) {
    const error = hostError(result.$error);
    (Error as any).captureStackTrace(error, host);
    throw error;
  }
  return result;
}
host.raw = raw;
