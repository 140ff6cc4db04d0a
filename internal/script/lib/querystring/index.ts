// node:querystring.
const unescape = (s: string) => { try { return decodeURIComponent(s); } catch { return s; } };
const escape = (s: unknown) => encodeURIComponent(String(s)).replace(/[*]/g, "%2A").replace(/%2A/g, "*");
const text = (v: unknown) => (typeof v === "string" ? v : (typeof v === "number" && isFinite(v)) || typeof v === "boolean" || typeof v === "bigint" ? String(v) : "");

function parse(query: unknown, sep = "&", eq = "=", options: any = {}) {
  const out: Record<string, string | string[]> = Object.create(null);
  if (typeof query !== "string" || query === "") return out;
  const decode = options.decodeURIComponent ?? unescape;
  const max = options.maxKeys ?? 1000;
  const pairs = query.split(sep);
  for (const pair of max > 0 ? pairs.slice(0, max) : pairs) {
    if (pair === "") continue;
    const i = pair.indexOf(eq);
    const k = decode((i < 0 ? pair : pair.slice(0, i)).replaceAll("+", " "));
    const v = i < 0 ? "" : decode(pair.slice(i + eq.length).replaceAll("+", " "));
    const had = out[k];
    if (had === undefined) out[k] = v;
    else if (Array.isArray(had)) had.push(v);
    else out[k] = [had, v];
  }
  return out;
}

function stringify(value: any, sep = "&", eq = "=", options: any = {}) {
  const encode = options.encodeURIComponent ?? escape;
  if (value === null || typeof value !== "object") return "";
  return Object.keys(value).flatMap((k) => (Array.isArray(value[k]) ? value[k].map((v: unknown) => encode(k) + eq + encode(text(v))) : [encode(k) + eq + encode(text(value[k]))])).join(sep);
}

export default { parse, stringify, decode: parse, encode: stringify, escape, unescape };
