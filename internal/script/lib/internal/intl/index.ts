// What the engine's Intl lacks: Collator, PluralRules, ListFormat, RelativeTimeFormat and
// Segmenter, for en-US.
import collate from "node:internal/collate";

export default function complete(Intl: any) {
  const locales = (l: unknown) => (l === undefined ? ["en-US"] : Array.isArray(l) ? l : [l]);
  class Base {
    static supportedLocalesOf(l: unknown) { return locales(l).map(String); }
  }
  class Collator extends Base {
    #o: any;
    compare: (a: string, b: string) => number;
    constructor(_?: unknown, o: any = {}) {
      super();
      this.#o = { locale: "en-US", usage: "sort", sensitivity: "variant", ignorePunctuation: false, collation: "default", numeric: false, caseFirst: "false", ...o };
      this.compare = (a, b) => (collate as any).compare(String(a), String(b), this.#o);
    }
    resolvedOptions() { return { ...this.#o }; }
  }
  class PluralRules extends Base {
    #o: any;
    constructor(_?: unknown, o: any = {}) {
      super();
      this.#o = { locale: "en-US", type: "cardinal", ...o };
    }
    select(n: number) {
      if (this.#o.type !== "ordinal") return n === 1 ? "one" : "other";
      const d = n % 10, h = n % 100;
      return d === 1 && h !== 11 ? "one" : d === 2 && h !== 12 ? "two" : d === 3 && h !== 13 ? "few" : "other";
    }
    resolvedOptions() { return { ...this.#o }; }
  }
  class ListFormat extends Base {
    #o: any;
    constructor(_?: unknown, o: any = {}) {
      super();
      this.#o = { locale: "en-US", type: "conjunction", style: "long", ...o };
    }
    format(list: Iterable<string>) {
      const items = [...list], word = this.#o.type === "disjunction" ? "or" : this.#o.type === "unit" ? "" : this.#o.style === "long" ? "and" : "&";
      if (items.length < 2) return items.join("");
      const last = items.pop()!;
      if (!word) return `${items.join(", ")}, ${last}`;
      return items.length === 1 ? `${items[0]} ${word} ${last}` : `${items.join(", ")}, ${word} ${last}`;
    }
  }
  class RelativeTimeFormat extends Base {
    #o: any;
    constructor(_?: unknown, o: any = {}) {
      super();
      this.#o = { numeric: "always", ...o };
    }
    format(n: number, unit: string) {
      const u = unit.replace(/s$/, "");
      if (this.#o.numeric === "auto") {
        const named: any = { day: { "-1": "yesterday", 0: "today", 1: "tomorrow" }, second: { 0: "now" } };
        const said = named[u]?.[n] ?? { "-1": `last ${u}`, 0: `this ${u}`, 1: `next ${u}` }[String(n)];
        if (said && !["hour", "minute", "second"].includes(u)) return said;
        if (u === "second" && n === 0) return "now";
        if (n === 0) return `this ${u}`;
      }
      const m = Math.abs(n), text = `${new Intl.NumberFormat("en-US").format(m)} ${u}${m === 1 ? "" : "s"}`;
      return n < 0 || Object.is(n, -0) ? `${text} ago` : `in ${text}`;
    }
  }
  // Grapheme clusters, close enough to UAX 29 for widths and counts.
  const cluster = /\r\n|\p{RI}\p{RI}|(?:\p{Emoji}(?:\p{EMod}|\uFE0F\u20E3?|[\u{E0020}-\u{E007F}]+)?(?:\u200D\p{Emoji}(?:\p{EMod}|\uFE0F\u20E3?)?)+)|[\u1100-\u115F]*[\uAC00-\uD7A3\u1160-\u11A7][\u1160-\u11FF]*|\P{M}[\p{M}\p{EMod}\u200D\uFE0F]*|\p{M}+/gsu;
  class Segmenter extends Base {
    #g: string;
    constructor(_?: unknown, o: any = {}) {
      super();
      this.#g = o?.granularity ?? "grapheme";
    }
    segment(input: string) {
      const re = this.#g === "word" ? /[\p{L}\p{M}\p{N}_]+(?:['’.][\p{L}\p{N}_]+)*|\s+|./gsu : this.#g === "sentence" ? /[^.!?]+(?:[.!?]+["')\]]*\s*|$)|[.!?]+\s*/gsu : cluster;
      const all = [...String(input).matchAll(re)].map((m) => ({
        segment: m[0], index: m.index, input,
        ...(this.#g === "word" ? { isWordLike: /[\p{L}\p{N}]/u.test(m[0]) } : {}),
      }));
      return {
        [Symbol.iterator]: () => all[Symbol.iterator](),
        containing: (at = 0) => all.find((s) => at >= s.index && at < s.index + s.segment.length),
      };
    }
    resolvedOptions() { return { locale: "en-US", granularity: this.#g }; }
  }
  for (const c of [Collator, PluralRules, ListFormat, RelativeTimeFormat, Segmenter])
    if (!(c.name in Intl)) Object.defineProperty(Intl, c.name, { value: c, writable: true, configurable: true, enumerable: false });
}
