// overview filters the first page and searches all sessions.
function overview() {
  if (!$("matrix")) return; // there was nothing to run
  $("filters").hidden = false;
  const state = {text: "", words: new Set(), runner: "", group: "", tag: ""};
  const byAt = new Map(index.executions.map((x) => [x.at, x]));
  const runners = Math.max(1, index.runners.length);
  const rows = [...document.querySelectorAll(".matrix tbody tr")].map((row) => ({
    row, group: row.dataset.group || "", tags: (row.dataset.tags || "").split("\n"),
    cells: [...row.querySelectorAll("td")].map((td, r) => ({td, r, word: td.className, link: td.querySelector("a"), x: byAt.get(Number(td.dataset.at))})),
    text: row.querySelector("th").textContent,
  }));
  const cards = new Map([...document.querySelectorAll("#failures .card")].map((card) => [card.dataset.at, card]));
  const flaky = [...document.querySelectorAll("#flaky li")];
  for (const r of rows) {
    for (const c of r.cells) {
      const card = cards.get(c.td.dataset.at);
      c.text = [r.text, index.runners[c.r], card && card.textContent, c.x && [c.x.reason, c.x.class, c.x.category].join(" ")].join(" ").toLowerCase();
      if (c.link && c.x && c.x.reason) c.link.title = c.x.reason;
    }
  }
  const apply = () => {
    let hits = 0, cases = 0;
    const shown = new Set();
    for (const r of rows) {
      let any = false;
      const whole = (!state.group || r.group === state.group) && (!state.tag || r.tags.includes(state.tag));
      for (const c of r.cells) {
        const ok = whole && (!state.words.size || state.words.has(c.word) || state.words.has("flaky") && "flaky" in c.td.dataset) && (state.runner === "" || c.r === Number(state.runner)) && c.text.includes(state.text);
        c.td.classList.toggle("out", !ok);
        any = any || ok;
        if (!ok) continue;
        hits++;
        shown.add(c.td.dataset.at);
      }
      r.row.hidden = !any;
      if (any) cases++;
    }
    for (const [at, card] of cards) card.hidden = !shown.has(at);
    for (const item of flaky) item.hidden = !shown.has(item.dataset.at);
    if (flaky.length) $("flaky").hidden = flaky.every((item) => item.hidden);
    const filtered = state.text || state.words.size || state.runner !== "" || state.group || state.tag;
    const section = $("failures");
    if (section) {
      section.hidden = [...cards.keys()].every((at) => !shown.has(at));
      section.classList.toggle("all", Boolean(filtered));
    }
    $("matrix").classList.toggle("none", !hits);
    $("clear").hidden = !filtered;
    $("hits").textContent = filtered ? plural(hits, "execution") + " of " + plural(cases, "case") + (hits || !state.text ? "" : "; press Enter to search the sessions") : "";
  };
  $("text").addEventListener("input", (e) => { state.text = e.target.value.trim().toLowerCase(); apply(); });
  $("text").addEventListener("keydown", (e) => { if (e.key === "Enter") deepSearch(state.text); });
  for (const key of ["runner", "group", "tag"]) if ($(key)) $(key).addEventListener("change", (e) => { state[key] = e.target.value; apply(); });
  for (const chip of document.querySelectorAll("#filters .chip")) {
    chip.addEventListener("click", () => {
      const on = !state.words.delete(chip.dataset.word);
      if (on) state.words.add(chip.dataset.word);
      chip.setAttribute("aria-pressed", String(on));
      apply();
    });
  }
  $("clear").addEventListener("click", () => {
    state.text = state.runner = state.group = state.tag = "";
    state.words.clear();
    for (const field of document.querySelectorAll("#filters input, #filters select")) field.value = "";
    for (const chip of document.querySelectorAll("#filters .chip")) chip.setAttribute("aria-pressed", "false");
    apply();
    $("text").focus();
  });
  if ($("unfold")) {
    $("unfold").hidden = false;
    $("unfold").addEventListener("click", () => {
      const next = [...cards.values()].find((card) => !card.getClientRects().length);
      $("failures").classList.remove("folded");
      $("unfold").remove();
      if (next) next.querySelector("h3 a").focus();
    });
  }
  if ($("metric")) {
    $("metric").closest("p").hidden = false;
    $("metric").addEventListener("change", (e) => {
      for (const c of rows.flatMap((r) => r.cells)) {
        if (!c.link || !c.x || !c.x.used) continue;
        c.first = c.first || c.link.lastChild.data;
        c.link.lastChild.data = e.target.value ? " " + c.x.used[e.target.value - 1] : c.first;
      }
    });
  }
  $("deep").addEventListener("click", () => deepSearch(state.text));
  document.querySelector(".matrix").addEventListener("keydown", (e) => {
    const cell = e.target.closest("td"), by = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key];
    if (!cell || !by || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    let row = cell.parentNode, column = cell.cellIndex;
    for (let n = 0; n < rows.length + runners; n++) {
      if (by[0]) row = by[0] > 0 ? row.nextElementSibling : row.previousElementSibling;
      column += by[1];
      const link = row && row.cells[column] && !row.hidden && row.cells[column].querySelector("a");
      if (!row || !row.cells[column] || column < 1) return;
      if (link) {
        link.focus();
        return;
      }
    }
  });
}

// candidates returns the links that j and k visit on the first page: the failures, then the matrix.
function candidates() {
  return [...document.querySelectorAll("#found a, #failures .card h3 a, #unfold, .matrix tr td:not(.out) a")].filter((e) => e.getClientRects().length);
}

// snippet returns the first match of the text in a value, with its surroundings.
function snippet(value, text) {
  if (typeof value === "string") {
    const at = value.toLowerCase().indexOf(text);
    return at < 0 ? "" : value.slice(Math.max(0, at - 60), at + text.length + 90).replace(/\s+/g, " ");
  }
  for (const inner of value && typeof value === "object" ? Object.values(value) : []) {
    const found = snippet(inner, text);
    if (found) return found;
  }
  return "";
}

let searching = 0;

// deepSearch searches all sessions for a text.
async function deepSearch(text) {
  const box = $("found"), out = box.querySelector("div"), mine = ++searching;
  out.replaceChildren();
  box.hidden = !text;
  if (!text) {
    $("text").focus();
    return;
  }
  const needle = JSON.stringify(text).slice(1, -1), list = el("ul.notes"), status = el("p.dim", {role: "status"});
  out.append(status, list);
  let hits = 0, seen = 0;
  for (const x of index.executions) {
    for (const s of x.sessions || []) {
      if (mine !== searching || hits >= 200) break;
      if (s.head < 0) continue;
      const head = await block(s.head);
      let found = "";
      for (const id of [s.head, ...(head.blocks || []).map((b) => b[0])]) {
        const json = await blockText(id);
        if (!found && json.toLowerCase().includes(needle)) found = snippet(JSON.parse(json), text);
      }
      seen++;
      if (found) {
        hits++;
        list.append(el("li", el("a", {href: "#" + routeOf(x, s)}, marks[wordOf(s)] + " " + x.case + " › " + index.runners[x.runner]), " ", highlight(el("span.at"), found, text)));
      }
      if (seen % 20 === 0) status.textContent = seen + " sessions searched …";
    }
  }
  if (mine === searching) status.textContent = "found in " + count(hits) + " of " + plural(seen, "session") + (hits >= 200 ? "; there may be more" : "");
}
