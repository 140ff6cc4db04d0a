// String.prototype.localeCompare in the order of ICU's root collation, as far as suites need it:
// letters compare before accents, accents before case, lower case first; spaces and punctuation
// sort before digits, digits before letters.
const bare = (s: string) => s.normalize("NFD").replace(/\p{M}/gu, "");

/** The order of ASCII punctuation in ICU; other characters go by group, then code point. */
const order = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

function weight(c: string): number {
  const code = c.codePointAt(0)!;
  if (/\s/u.test(c)) return code;
  const i = order.indexOf(c);
  if (i >= 0) return 0x100000 + i;
  if (/\p{P}|\p{S}/u.test(c)) return 0x200000 + code;
  if (/\p{N}/u.test(c)) return 0x400000 + code;
  return 0x600000 + code;
}

function primary(a: string, b: string, numeric: boolean): number {
  const x = [...a], y = [...b];
  let i = 0, j = 0;
  while (i < x.length && j < y.length) {
    if (numeric && /\d/.test(x[i]) && /\d/.test(y[j])) {
      let m = "", n = "";
      while (i < x.length && /\d/.test(x[i])) m += x[i++];
      while (j < y.length && /\d/.test(y[j])) n += y[j++];
      const d = BigInt(m) - BigInt(n);
      if (d) return d < 0n ? -1 : 1;
      continue;
    }
    const d = weight(x[i++]) - weight(y[j++]);
    if (d) return d < 0 ? -1 : 1;
  }
  return Math.sign(x.length - i - (y.length - j));
}

function compare(a: string, b: string, options: any = {}): number {
  if (a === b) return 0;
  const { numeric = false, sensitivity = "variant", caseFirst = "false", ignorePunctuation = false } = options ?? {};
  if (ignorePunctuation) {
    a = a.replace(/[\p{P}\s]/gu, "");
    b = b.replace(/[\p{P}\s]/gu, "");
  }
  const fold = (s: string) => bare(s).toLowerCase();
  const first = primary(fold(a), fold(b), numeric);
  if (first || sensitivity === "base") return first;
  const low = (s: string) => s.normalize("NFD").toLowerCase();
  if (sensitivity !== "case") {
    const x = low(a), y = low(b);
    if (x !== y) return x < y ? -1 : 1;
  }
  if (sensitivity === "accent") return 0;
  const x = [...a.normalize("NFD")], y = [...b.normalize("NFD")];
  for (let i = 0; i < x.length && i < y.length; i++)
    if (x[i] !== y[i]) {
      const lower = x[i] === x[i].toLowerCase();
      return lower === (caseFirst !== "upper") ? -1 : 1;
    }
  return 0;
}

export default { compare };
