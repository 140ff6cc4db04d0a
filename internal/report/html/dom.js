// Code creates nodes one by one and sets texts as text, so the browser never parses model text as
// markup.
const $ = (id) => document.getElementById(id);

// el creates an element: el("a.link", {href: "#"}, "text", node, [nodes]).
function el(name, attrs, ...children) {
  const [tag, ...classes] = name.split(".");
  const svg = tag === "svg" || tag === "rect";
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag || "div");
  if (classes.length) node.setAttribute("class", classes.join(" "));
  if (attrs !== null && (typeof attrs !== "object" || attrs instanceof Node || Array.isArray(attrs))) {
    children.unshift(attrs);
    attrs = null;
  }
  for (const [key, value] of Object.entries(attrs || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== "" && value !== undefined && value !== null) node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false && child !== "") node.append(child);
  }
  return node;
}

const count = (n) => n === undefined || n === null ? "–" : Math.round(n).toLocaleString("en-US");
const plural = (n, noun) => n === 1 ? "1 " + noun : count(n) + " " + noun + "s";

// duration renders milliseconds with their two largest units, like format.go.
function duration(ms) {
  const s = Math.floor(ms / 1000), strip = (text, tail) => text.endsWith(tail) ? text.slice(0, -tail.length) : text;
  if (ms < 0) return "0ms";
  if (ms < 1000) return Math.floor(ms) + "ms";
  if (s < 10) return strip(s + "." + Math.floor(ms % 1000 / 100), ".0") + "s";
  if (s < 60) return s + "s";
  if (s < 3600) return strip(Math.floor(s / 60) + "m " + s % 60 + "s", " 0s");
  return strip(Math.floor(s / 3600) + "h " + Math.floor(s % 3600 / 60) + "m", " 0m");
}

const marks = {pass: "✓", fail: "✗", error: "!", xfail: "◇", xpass: "◆", skipped: "·"};
const words = {pass: "pass", fail: "fail", error: "not measured", xfail: "failed as expected", xpass: "unexpected pass", skipped: "not run"};
const mark = (word) => el("span.mark." + word, {"aria-hidden": "true"}, marks[word]);

// wordOf returns how a session ended, as a word of the matrix.
function wordOf(s) {
  if (s.status === "expected-failed") return "xfail";
  if (s.status === "unexpected-passed") return "xpass";
  return s.outcome in marks ? s.outcome : "error";
}

function say(text) { $("live").textContent = text; }

// highlight sets the text of a node and marks the matches.
function highlight(node, text, needle) {
  if (!needle) {
    node.textContent = text;
    return node;
  }
  const low = text.toLowerCase();
  let from = 0;
  node.textContent = "";
  for (let at = low.indexOf(needle), n = 0; at >= 0 && n < 200; at = low.indexOf(needle, from), n++) {
    node.append(text.slice(from, at), el("mark", text.slice(at, at + needle.length)));
    from = at + needle.length;
  }
  node.append(text.slice(from));
  return node;
}

// diffNode colors a unified diff.
function diffNode(lines) {
  const kind = (l) => /^(\+\+\+|---) /.test(l) ? "span.at" : l.startsWith("+") ? "span.add" : l.startsWith("-") ? "span.del" : l.startsWith("@") ? "span.at" : "span";
  return el("pre.diff", lines.map((l) => el(kind(l), l + "\n")));
}
