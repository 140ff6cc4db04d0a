let matrix = null;

// overview filters the first page and searches all sessions.
async function overview() {
  if (!$("matrix")) return; // there was nothing to run
  const state = {text: "", words: new Set(), rows: new Set(), runner: "", group: "", tag: ""};
  const read = readMatrix(), rows = read.rows, cells = rows.flatMap((r) => r.cells).filter(Boolean);
  try {
    await readAnswers(rows);
    readQuestions(read);
  } catch (err) {
    $("answersleft").textContent = "The answers cannot be shown: " + err.message;
    $("answersleft").hidden = false;
  }
  $("filters").hidden = false;
  const m = matrix = matrixView(read);
  const cards = new Map([...document.querySelectorAll("#failures .card")].map((card) => [Number(card.dataset.at), card]));
  const flaky = [...document.querySelectorAll("#flaky li")], title = $("h-failures") && $("h-failures").querySelector("small"), all = title && title.textContent;
  for (const c of cells) {
    const card = cards.get(c.at);
    if (card && c.question && c.question !== c.prompt) card.querySelector(".line1").prepend(el("b", c.question.slice(0, 120)), " ");
    c.text = [c.row.item, ...c.row.tags, c.column.prompt, c.column.name, card && card.textContent, c.x && [c.x.reason, c.x.class, c.x.category].join(" "), c.prompt, ...c.tries.map((t) => t.answer + " " + t.reason)].join(" ").toLowerCase();
  }
  // What a filter of rows asks, of the columns that are shown.
  const asks = {
    differs: (row) => new Set(answered(row).map((c) => answerOf(c).trim())).size > 1,
    one: (row) => {
      const shown = m.shownColumns().map((col) => row.cells[col.i]).filter(Boolean);
      return shown.filter((c) => c.word === "fail").length === 1 && shown.some((c) => c.word === "pass");
    },
  };
  const answered = (row) => m.shownColumns().map((col) => row.cells[col.i]).filter((c) => c && answerOf(c));
  const chips = document.querySelector("#filters .chips"), everything = el("button.chip", {type: "button", onclick: () => clearAll()}, "all ", el("b", count(cells.length)));
  chips.prepend(everything);
  const rowChips = m.columns.length > 1 ? Object.entries({differs: "differs", one: "only one fails"}).map(([key, name]) => {
    const chip = el("button.chip", {type: "button", "data-row": key, "aria-pressed": "false"}, name + " ", el("b"));
    chips.append(chip);
    return chip;
  }) : [];
  const apply = () => {
    let hits = 0, cases = 0;
    const shown = new Set(), hidden = new Set();
    m.visible = rows.filter((r) => {
      let any = false;
      const whole = (!state.group || r.group === state.group) && (!state.tag || r.tags.includes(state.tag)) && [...state.rows].every((key) => asks[key](r));
      for (const c of r.cells) {
        if (!c) continue;
        const ok = whole && m.on.has(c.column.i) && (!state.words.size || state.words.has(c.word) || state.words.has("flaky") && c.flaky) && (state.runner === "" || c.column.runner === Number(state.runner)) && c.text.includes(state.text);
        c.out = !ok;
        any = any || ok;
        if (!ok) {
          hidden.add(c.at);
          continue;
        }
        hits++;
        shown.add(c.at);
      }
      if (any) cases++;
      return any;
    });
    m.visible = sorted(m, m.visible);
    const filtered = Boolean(state.text || state.words.size || state.rows.size || state.runner !== "" || state.group || state.tag);
    for (const [at, card] of cards) card.hidden = hidden.has(at);
    for (const item of flaky) item.hidden = hidden.has(Number(item.dataset.at));
    if (flaky.length) $("flaky").hidden = flaky.every((item) => item.hidden);
    const section = $("failures");
    if (section) {
      const left = [...cards.values()].filter((card) => !card.hidden).length;
      section.hidden = !left;
      section.classList.toggle("all", filtered);
      title.textContent = left === cards.size ? all : count(left) + " of " + all;
    }
    for (const chip of rowChips) chip.querySelector("b").textContent = count(rows.filter(asks[chip.dataset.row]).length);
    everything.setAttribute("aria-pressed", String(!filtered));
    $("matrix").classList.toggle("none", !hits);
    $("clear").hidden = !filtered;
    $("hits").textContent = filtered ? plural(hits, "execution") + " of " + plural(cases, "case") + (hits || !state.text ? "" : "; press Enter to search the sessions") : "";
    m.needle = state.text;
    m.pressed();
    m.draw();
    clear();
  };
  m.changed = apply;
  $("text").addEventListener("input", (e) => { state.text = e.target.value.trim().toLowerCase(); apply(); });
  $("text").addEventListener("keydown", (e) => { if (e.key === "Enter") deepSearch(state.text); });
  for (const key of ["runner", "group", "tag"]) if ($(key)) $(key).addEventListener("change", (e) => { state[key] = e.target.value; apply(); });
  for (const chip of chips.querySelectorAll("[data-word], [data-row]")) {
    const set = chip.dataset.row ? state.rows : state.words, key = chip.dataset.row || chip.dataset.word;
    chip.addEventListener("click", () => {
      const on = !set.delete(key);
      if (on) set.add(key);
      chip.setAttribute("aria-pressed", String(on));
      apply();
    });
  }
  const clearAll = () => {
    state.text = state.runner = state.group = state.tag = "";
    state.words.clear();
    state.rows.clear();
    for (const field of document.querySelectorAll("#filters input, #filters select")) field.value = "";
    for (const chip of chips.querySelectorAll("[data-word], [data-row]")) chip.setAttribute("aria-pressed", "false");
    apply();
    $("text").focus();
  };
  $("clear").addEventListener("click", clearAll);
  if ($("unfold")) {
    $("unfold").hidden = false;
    $("unfold").addEventListener("click", () => {
      const next = [...cards.values()].find((card) => !card.getClientRects().length);
      $("failures").classList.remove("folded");
      $("unfold").remove();
      if (next) choose(next.querySelector("h3 a"));
    });
  }
  if ($("metric")) $("metric").addEventListener("change", (e) => {
    m.metric = e.target.value;
    m.draw();
  });
  $("deep").addEventListener("click", () => deepSearch(state.text));
  apply();
}

// candidates returns the links that j and k visit on the first page: what was found, and the
// failures.
function candidates() {
  return [...document.querySelectorAll("#found a, #failures .card h3 a, #unfold")].filter((e) => e.getClientRects().length);
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
