const index = JSON.parse($("index").textContent);
let view = null, scrolled = 0, opened = null, opener = null;
const title = document.title;

const routeOf = (x, s) => "x" + x.at + "/" + s.repetition + "." + s.session;
const pairRoute = (a, b) => "c" + routeOf(a.x, a.s).slice(1) + "," + routeOf(b.x, b.s).slice(1);

// defaultSession returns the session that best shows how the execution ended.
function defaultSession(x) {
  const all = x.sessions.filter((s) => s.head >= 0), like = all.filter((s) => wordOf(s) === x.word);
  return like[like.length - 1] || all[all.length - 1] || x.sessions[x.sessions.length - 1];
}

// compareRoute pairs a session with the closest other session: another try of the execution, if
// possible with another outcome, else the same case on another runner, else any session.
function compareRoute(x, s) {
  const word = wordOf(s), all = [];
  for (const y of index.executions) {
    for (const t of y.sessions || []) {
      if (t === s || t.head < 0) continue;
      const differs = wordOf(t) !== word;
      all.push([(y === x ? 4 : y.case === x.case ? 2 : 0) + (differs ? 1 : 0) + (y.runner === x.runner && y.case !== x.case ? .5 : 0), y, t]);
    }
  }
  if (!all.length) {
    say("no other session to compare with");
    return location.hash.slice(1);
  }
  const best = all.reduce((a, b) => b[0] > a[0] ? b : a);
  return pairRoute({x, s}, {x: best[1], s: best[2]});
}

function neighbor(x, by) {
  const list = index.executions.filter((y) => y.sessions);
  const next = list[list.indexOf(x) + by];
  if (next) location.hash = routeOf(next, defaultSession(next));
  else say(by > 0 ? "this is the last execution" : "this is the first execution");
}

function parse(part) {
  const m = /^(\d+)(?:\/(\d+)\.(\d+))?$/.exec(part);
  const x = m && index.executions.find((y) => y.at === Number(m[1]));
  if (!x || !x.sessions) return null;
  const s = x.sessions.find((t) => t.repetition === Number(m[2]) && t.session === Number(m[3])) || defaultSession(x);
  return {x, s};
}

async function route() {
  const hash = decodeURIComponent(location.hash.slice(1)), box = $("view"), main = $("main");
  const mine = opened = {};
  let make = null;
  delete document.documentElement.dataset.shown;
  if (/^x\d/.test(hash)) {
    const at = parse(hash.slice(1));
    if (at) make = () => at.s.head < 0 ? missing(at) : sessionView(at.x, at.s);
  } else if (/^c\d/.test(hash)) {
    const [a, b] = hash.slice(1).split(",").map(parse);
    if (a && b) make = () => a.s.head < 0 || b.s.head < 0 ? missing(a.s.head < 0 ? a : b) : compareView(a, b);
  }
  if (!main.hidden && make) {
    scrolled = window.scrollY;
    opener = main.contains(document.activeElement) ? document.activeElement : null;
  }
  const back = main.hidden;
  if (view) view.close();
  view = null;
  box.hidden = !make;
  main.hidden = Boolean(make);
  box.replaceChildren();
  if (!make) {
    await drawn;
    if (mine !== opened) return;
    const part = hash && $(hash);
    document.title = title;
    clear();
    if (back && (opener || !part)) window.scrollTo(0, scrolled);
    else if (part) part.scrollIntoView();
    if (back && opener) opener.focus({preventScroll: true});
    shown("");
    return;
  }
  window.scrollTo(0, 0);
  let made;
  try {
    made = await make();
  } catch (err) {
    made = {node: el("div", el("div.bar2", el("button", {type: "button", onclick: leave}, "← back")), el("p.banner", "This cannot be shown: " + err.message)), close() {}, keys: {}};
  }
  if (mine !== opened) {
    made.close();
    return;
  }
  view = made;
  box.replaceChildren(view.node);
  clear();
  if (view.watch) view.watch();
  document.title = view.title ? view.title + " · " + title : title;
  const heading = box.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({preventScroll: true});
  }
  if (view.after) await view.after();
  if (mine === opened) shown(hash);
}

// shown records which view is complete, for programs that drive the page.
function shown(view) { document.documentElement.dataset.shown = view; }

// clear keeps the target of a scroll below the bars that stick to the top of the window.
function clear() {
  const bar = view ? $("view").querySelector(".bar2") : $("filters") || $("pairtools");
  const under = bar && getComputedStyle(bar).position === "sticky" ? parseFloat(getComputedStyle(bar).top) + bar.offsetHeight : document.querySelector(".top").offsetHeight;
  document.documentElement.style.setProperty("--under", under - 1 + "px");
  document.documentElement.style.scrollPaddingTop = under + 12 + "px";
}

function missing(at) {
  return {
    node: el("div", el("div.bar2", el("button", {type: "button", onclick: leave}, "← back"), el("h1", at.x.case)),
      el("p.banner", "This session is not on the page, which has room for 50 MB, failures first. To see it: " + at.x.show)),
    close() {}, keys: {},
  };
}

function leave() { location.hash = ""; }

// keyboard installs the keys. They do nothing while an input field has the focus.
function keyboard() {
  const dialog = $("keys");
  const keys = [["j  k", "next and previous: failure, step, difference"], ["Enter", "open the selection; unfold a step"], ["Esc", "back"], ["/", "filter, or find in the session"],
    ["← →", "previous and next execution"], ["h  j  k  l", "in the matrix, as the arrow keys: the next cell"], ["Space", "in the matrix: unfold the cell"], ["y", "in the matrix: copy the answer"], ["d", "in the matrix: compare the words with this column"], ["[  ]", "in the matrix: previous and next repetition"],
    ["c", "compare with the closest session"], ["x", "swap the two sides of a comparison"],
    ["t", "theme: light, dark, system"], ["?", "this list"]];
  dialog.append(el("h2", "Keys"), el("dl", keys.map(([k, text]) => [el("dt", k.split("  ").map((one) => [el("kbd", one), " "])), el("dd", text)])),
    el("form", {method: "dialog"}, el("button", "Close")));
  dialog.querySelector("form").addEventListener("submit", (e) => { e.preventDefault(); dialog.close(); });
  const help = () => dialog.open ? dialog.close() : dialog.showModal();
  $("help").addEventListener("click", help);
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || dialog.open && e.key !== "?") return;
    const typing = e.target.closest && e.target.closest("input, select, textarea");
    if (e.key === "Escape") {
      if (typing) e.target.blur();
      else if (view) leave();
      return;
    }
    if (typing) return;
    const act = (f) => { e.preventDefault(); f(); };
    if (e.key === "?") return act(help);
    if (e.key === "t") return act(theme);
    if (e.key === "Enter" && e.target.matches(".step, .pair")) return act(() => unfold(e.target));
    if (e.key === "/") return act(() => (view ? view.search : $("text"))?.focus());
    if (view && view.keys[e.key]) return act(view.keys[e.key]);
    if (e.key !== "j" && e.key !== "k") return;
    const by = e.key === "j" ? 1 : -1;
    act(() => view ? walk(by) : select(by));
  });
}

// unfold opens the folded parts of a step, or folds them again.
function unfold(step) {
  const all = [...step.querySelectorAll("details")], open = all.some((d) => !d.open);
  for (const d of all) d.open = open;
  for (const more of step.querySelectorAll("button.more")) more.click();
}

// walk goes to the next visible step.
async function walk(by) {
  const list = view.list;
  if (!list) return;
  for (let i = list.at + by; i >= 0 && i < list.length; i += by) {
    if (await list.go(i, "nearest", true)) return;
  }
}

// select moves the focus through the failures, and from the first one back into the matrix. Enter
// opens the focused one.
function select(by) {
  const all = candidates(), at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  if (next) choose(next);
  else if (matrix && (by < 0 || !all.length)) matrix.enter();
}

// choose focuses a link of the first page and marks what it belongs to.
function choose(link) {
  for (const old of document.querySelectorAll("main .sel")) old.classList.remove("sel");
  link.focus({preventScroll: true});
  const whole = link.closest(".card");
  if (whole) whole.classList.add("sel");
  (whole || link).scrollIntoView({block: "nearest"});
}

const themes = ["auto", "light", "dark"];
let chosen = "auto";

function theme(to) {
  chosen = typeof to === "string" ? to : themes[(themes.indexOf(chosen) + 1) % themes.length];
  document.documentElement.className = chosen === "auto" ? "" : chosen;
  $("theme").textContent = {auto: "◐", light: "○", dark: "●"}[chosen];
  $("theme").setAttribute("aria-label", "Color theme: " + chosen);
  try { localStorage.setItem("plumb-theme", chosen); } catch { /* blocked, for example on file: URLs */ }
}

let undo = null;
window.addEventListener("beforeprint", () => {
  const shown = view || matrix;
  if (shown && shown.print) undo = shown.print();
});
window.addEventListener("afterprint", () => { if (undo) undo(); undo = null; });
window.addEventListener("hashchange", route);
window.addEventListener("resize", clear);
$("tools").hidden = false;
// A navigation link leads to a part of the first page, so the earlier focus is not restored.
document.querySelector(".top nav").addEventListener("click", () => { opener = null; });
document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault(); // the content may be a session
  (view ? $("view").querySelector("h1") : $("main")).focus();
});
$("theme").addEventListener("click", () => theme());
let stored = "auto";
try { stored = localStorage.getItem("plumb-theme"); } catch { /* blocked, for example on file: URLs */ }
theme(themes.includes(stored) ? stored : "auto");
for (const code of document.querySelectorAll("code.command")) code.replaceWith(commandNode(code.textContent));
const drawn = Promise.all([overview(), pairsView()]); // the first page is complete
keyboard();
route();
document.documentElement.dataset.ready = "yes";
