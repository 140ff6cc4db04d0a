// The names that the prelude's modules use besides Node's and the language's own.

/** The prelude's own object; Go and the built-in modules in lib use it, suites do not. */
declare const __plumb: {
  /** Calls Go. Arguments and result are strings, numbers, booleans or null; an error of Go is thrown as Node would. */
  host(op: string, ...args: unknown[]): any;
  /** Calls a function of Options.Async. */
  hostAsync(op: string, ...args: unknown[]): Promise<any>;
  /** Returns a built-in or additional module, without "node:". */
  require(name: string): any;
  /** The whole stack of an error, header first, mapped to the user's files. */
  stack(error: unknown): string;
  /** The source text of the call at the first frame of the user's code, e.g. `assert.ok(x)`, or "". */
  expression(error: unknown): string;
  /** The functions that Go calls by name. */
  entry: Record<string, (...args: any[]) => unknown>;
  /** The process object's environment, also for the modules that start processes. */
  env(): Record<string, string>;
  /** Runs op on a goroutine and settles a promise with its result. */
  async(op: string, ...args: unknown[]): Promise<any>;
  fail(error: unknown): void;
  version: string;
};

declare module "node:*";
