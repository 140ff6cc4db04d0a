// node:module, as far as packages use it.
const names = ["assert", "assert/strict", "async_hooks", "buffer", "child_process", "console", "constants", "crypto", "diagnostics_channel", "events", "fs", "fs/promises", "module", "os", "path", "path/posix", "path/win32", "perf_hooks", "process", "querystring", "string_decoder", "timers", "timers/promises", "tty", "url", "util", "util/types"];

function createRequire(file: unknown) {
  const path = __plumb.require("url");
  const from = typeof file === "string" && !file.startsWith("file:") ? file : path.fileURLToPath(file);
  const require = (name: string) => {
    const bare = String(name).replace(/^node:/, "");
    if (names.includes(bare)) return __plumb.require(bare);
    if (/^\.{0,2}\//.test(name) && name.endsWith(".json")) return JSON.parse(__plumb.require("fs").readFileSync(__plumb.require("path").resolve(__plumb.require("path").dirname(from), name), "utf8"));
    throw Object.assign(new Error(`Cannot find module '${name}': a require made by createRequire finds built-in modules and .json files; import the rest`), { code: "MODULE_NOT_FOUND" });
  };
  require.resolve = (name: string) => {
    const found: string = __plumb.host("resolve", name, from);
    return found.startsWith("file:") ? path.fileURLToPath(found) : found.replace(/^node:/, "");
  };
  require.cache = {};
  return require;
}

function Module() {}
export default Object.assign(Module, { Module, createRequire, builtinModules: names, isBuiltin: (n: string) => names.includes(n.replace(/^node:/, "")), _extensions: {}, register() {}, syncBuiltinESMExports() {} });
