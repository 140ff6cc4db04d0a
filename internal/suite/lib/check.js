// Runs the code that checks and cases of suites have. Its entries return JSON texts. Go calls it with the source of an expression or a function body,
// or with "" for the module that was loaded, and with the output and the rest of the session.
const AsyncFunction = (async () => {}).constructor;
const names = ["output", "context", "report", "vars", "prompt"];

// compile reads the source as an expression, and else as the body of a function.
function compile(source) {
  try {
    return new AsyncFunction(...names, `return (${source.trim().replace(/;+$/, "")}\n);`);
  } catch (expression) {
    try {
      return new AsyncFunction(...names, source);
    } catch (body) {
      throw /\breturn\b/.test(source) ? body : expression;
    }
  }
}

function exported() {
  const main = globalThis.__main ?? {};
  for (const f of [main.default, main.default?.default, main]) if (typeof f === "function") return f;
  throw new TypeError("the file exports no function: write export default (output, context) => ... or module.exports = ...");
}

// result returns a value as JSON, also where JSON has no such value.
function result(value) {
  if (typeof value === "number" && !Number.isFinite(value)) return JSON.stringify(String(value));
  return JSON.stringify(value) ?? JSON.stringify(null);
}

__entry.syntax = (source) => {
  try {
    compile(source);
    return result("");
  } catch (err) {
    return result(String(err.message));
  }
};

__entry.exported = () => {
  exported();
  return result(null);
};

__entry.check = async (source, output, context) => {
  const given = { ...context, output };
  const value = source
    ? await compile(source)(output, given, given.report, given.vars, given.prompt)
    : await exported()(output, given);
  return result(value);
};
