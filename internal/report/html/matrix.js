// The matrix shows each item, in a row, on each prompt and runner, in the columns. Its rows come from
// the table that the page has without scripts; the prompts and answers come from blocks.

// readMatrix reads the table and removes it from the page.
function readMatrix() {
  const region = $("matrix").querySelector(".scroll"), table = region.querySelector("table"), byAt = new Map(index.executions.map((x) => [x.at, x]));
  const columns = [...table.querySelectorAll("thead th")].slice(1).map((th, i) => {
    const small = th.querySelector("small");
    return {i, prompt: th.dataset.prompt, runner: Number(th.dataset.runner), name: th.dataset.name, rate: small.firstChild.data.trim(), interval: small.querySelector("span")?.textContent || ""};
  });
  const rows = [...table.querySelectorAll("tbody tr")].map((tr) => {
    const row = {item: tr.querySelector("bdi").textContent, group: tr.dataset.group || "", tags: (tr.dataset.tags || "").split("\n").filter(Boolean), cells: []};
    row.cells = [...tr.querySelectorAll("td")].map((td, i) => td.dataset.at === undefined ? null : {
      row, column: columns[i], at: Number(td.dataset.at), word: td.className, flaky: "flaky" in td.dataset, sure: td.title, shown: Boolean(td.querySelector("a")),
      more: td.querySelector("b")?.textContent || "", time: td.querySelector("i")?.textContent || "", x: byAt.get(Number(td.dataset.at)), tries: [], prompt: "", chosen: 0, out: false, open: false,
    });
    return row;
  });
  region.remove();
  return {columns, rows};
}

// readAnswers adds the prompts and answers to the cells.
async function readAnswers(rows) {
  const cells = new Map(rows.flatMap((r) => r.cells).filter(Boolean).map((c) => [c.at, c]));
  const runners = Math.max(1, index.runners.length), prompts = new Map();
  for (const id of index.answers || []) {
    for (const a of JSON.parse(await blockText(id))) {
      if (a.prompt) prompts.set(Math.floor(a.at / runners), a.prompt);
      const c = cells.get(a.at);
      if (!c) continue;
      c.tries = a.tries;
      // The try that best shows how the execution ended.
      const best = c.x && c.x.sessions ? defaultSession(c.x) : null;
      c.first = c.chosen = Math.max(0, a.tries.findIndex((t) => best && t.repetition === best.repetition));
    }
  }
  for (const c of cells.values()) c.prompt = prompts.get(Math.floor(c.at / runners)) || "";
}

// rowPrompt returns the prompt of a row if all its shown cells have the same.
function rowPrompt(m, row) {
  const asked = new Set(m.shownColumns().map((col) => row.cells[col.i]).filter((c) => c && c.prompt).map((c) => c.prompt));
  return asked.size === 1 ? [...asked][0] : "";
}

const answerOf = (c) => c && c.tries[c.chosen] && c.tries[c.chosen].answer || "";

// figures that a reader can choose for the cells, and what they start with.
const figures = {prompt: "prompts", answer: "answers", reason: "reasons", latency: "latency", tokens: "tokens", cost: "cost", score: "score"};

// matrixView draws the matrix. It creates the rows near the window only.
function matrixView({columns, rows}) {
  const agents = Boolean($("metric"));
  const m = {columns, rows, show: new Set(agents ? ["latency"] : ["prompt", "answer", "reason", "latency"]), on: new Set(columns.map((c) => c.i)), base: -1, needle: "", metric: "", visible: rows};
  let list = null, at = {row: rows[0], i: 0};
  const head = el("div.mhead", {role: "rowgroup"}), body = el("div.mbody", {role: "presentation"});
  const grid = el("div.matrix", {role: "grid", "aria-labelledby": "h-matrix", "aria-colcount": columns.length + 1}, head, body);
  $("matrix").querySelector(".empty").after(grid);
  body.addEventListener("scroll", () => { head.scrollLeft = body.scrollLeft; });

  m.shownColumns = () => columns.filter((c) => m.on.has(c.i));
  m.wide = () => ["prompt", "answer", "reason"].some((k) => m.show.has(k));
  m.current = (c) => at.row === c.row && at.i === c.column.i;

  const rowNode = (row, i) => el("div.mrow", {role: "row", "aria-rowindex": i + 2}, rowHead(m, row), m.shownColumns().map((col) => cellNode(m, row, col)));
  // draw creates the rows again, after a filter or what is shown has changed.
  m.draw = () => {
    const cols = m.shownColumns();
    if (list) list.close();
    grid.classList.toggle("wide", m.wide());
    grid.style.setProperty("--n", cols.length);
    grid.setAttribute("aria-rowcount", m.visible.length + 1);
    head.replaceChildren(el("div.mrow", {role: "row", "aria-rowindex": 1}, el("div.rowhead", {role: "columnheader"}, "case"), cols.map((c) => columnHead(m, c))));
    body.replaceChildren();
    if (!m.visible.includes(at.row) || !m.on.has(at.i)) at = {row: m.visible[0], i: cols.length ? cols[0].i : 0};
    const parts = [], size = 20;
    for (let from = 0; from < m.visible.length; from += size) {
      const items = m.visible.slice(from, from + size);
      parts.push({n: items.length, load: () => items});
    }
    const mine = list = windowed(body, parts, rowNode, m.wide() ? 140 : 32);
    for (const p of parts) p.node.setAttribute("role", "rowgroup");
    list.watch();
    list.keep();
    // The first rows show how high the others probably are.
    list.ready.then(() => {
      const first = parts[0] && parts[0].node.offsetHeight;
      if (first && mine === list) for (const p of parts) if (!p.full) p.node.style.height = first / parts[0].n * p.n + "px";
    });
  };
  // redraw replaces one cell, after it was unfolded or shows another repetition.
  m.redraw = (c, focus) => {
    const old = grid.querySelector("[data-at='" + c.at + "']");
    if (!old) return;
    const was = old.contains(document.activeElement) && document.activeElement.dataset.act, node = cellNode(m, c.row, c.column);
    old.replaceWith(node);
    const next = was && node.querySelector("[data-act='" + was + "']") || (was || focus) && node.querySelector(".go");
    if (next) next.focus({preventScroll: true});
  };
  // go moves the focus to the cell of a row and a column.
  m.go = async (row, i) => {
    const r = m.visible.indexOf(row), old = m.cellAt();
    at = {row, i};
    if (old) for (const e of old.querySelectorAll(".go, button")) e.tabIndex = -1;
    if (!list.node(r)) await list.go(r, "nearest");
    const cell = list.node(r) && m.cellAt();
    if (!cell) return;
    for (const e of cell.querySelectorAll(".go, button")) e.tabIndex = 0;
    cell.querySelector(".go").focus({preventScroll: true});
    cell.scrollIntoView({block: "nearest", inline: "nearest"});
  };
  m.cellAt = () => at.row && at.row.cells[at.i] && grid.querySelector("[data-at='" + at.row.cells[at.i].at + "']");
  // move goes to the next cell in a direction. It returns false at the edge.
  m.move = (down, right) => {
    const cols = m.shownColumns();
    let r = m.visible.indexOf(at.row), k = cols.findIndex((c) => c.i === at.i);
    for (;;) {
      r += down;
      k += right;
      if (!m.visible[r] || !cols[k]) return false;
      if (m.visible[r].cells[cols[k].i]) {
        m.go(m.visible[r], cols[k].i);
        return true;
      }
    }
  };
  m.enter = () => { if (at.row && at.row.cells[at.i]) m.go(at.row, at.i); else m.move(0, 1); };
  m.diff = (i) => {
    m.base = i;
    const select = $("matrixtools").querySelector("select");
    if (select) select.value = i;
    m.draw();
  };
  grid.addEventListener("focusin", (e) => {
    const cell = e.target.closest(".mcell"), c = cell && m.cell(cell);
    if (!c || m.current(c)) return;
    const old = m.cellAt();
    if (old) for (const other of old.querySelectorAll(".go, button")) other.tabIndex = -1;
    at = {row: c.row, i: c.column.i};
    for (const other of cell.querySelectorAll(".go, button")) other.tabIndex = 0;
  });
  const byAt = new Map(rows.flatMap((r) => r.cells).filter(Boolean).map((c) => [String(c.at), c]));
  m.cell = (node) => byAt.get(node.dataset.at);
  const step = (c, by) => {
    if (c.tries.length < 2) return;
    c.chosen = (c.chosen + by + c.tries.length) % c.tries.length;
    m.redraw(c, true);
    say("repetition " + c.tries[c.chosen].repetition);
  };
  m.step = step;
  m.unfold = (c) => {
    c.open = !c.open;
    m.redraw(c, true);
  };
  grid.addEventListener("keydown", (e) => {
    const node = e.target.closest(".mcell"), c = node && m.cell(node);
    if (!c || e.altKey || e.ctrlKey || e.metaKey) return;
    const act = {
      ArrowLeft: () => m.move(0, -1), h: () => m.move(0, -1), ArrowRight: () => m.move(0, 1), l: () => m.move(0, 1),
      ArrowUp: () => m.move(-1, 0), k: () => m.move(-1, 0) || lastCard(), ArrowDown: () => m.move(1, 0), j: () => m.move(1, 0),
      "[": () => step(c, -1), "]": () => step(c, 1), y: () => copy(answerOf(c), "the answer"), d: () => { m.diff(m.base === c.column.i ? -1 : c.column.i); m.go(c.row, c.column.i); },
      " ": () => e.target.matches(".go") && m.unfold(c),
    }[e.key];
    if (!act || e.key === " " && !e.target.matches(".go")) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  });
  const lastCard = () => {
    const cards = candidates();
    if (cards.length) choose(cards[cards.length - 1]);
  };
  m.print = () => list && list.print();
  matrixTools(m);
  return m;
}

// matrixTools creates the controls of the matrix: what the cells show, which columns, the column to
// compare with, and the files to save.
function matrixTools(m) {
  const box = $("matrixtools"), menu = (name, ...body) => el("details.menu", el("summary", name), el("div", body));
  const box1 = (label, on, change) => el("label", el("input", {type: "checkbox", checked: on, onchange: (e) => change(e.target.checked)}), " ", label);
  const toggle = (set, key) => (on) => {
    if (on) set.add(key);
    else set.delete(key);
    m.changed();
  };
  const answers = el("button.chip", {type: "button", "aria-pressed": String(m.wide()), onclick: () => {
    const on = !m.wide();
    for (const k of ["prompt", "answer", "reason"]) {
      if (on) m.show.add(k);
      else m.show.delete(k);
    }
    for (const input of boxes.querySelectorAll("input")) input.checked = m.show.has(input.name);
    m.changed();
  }}, "answers");
  const boxes = menu("Show ▾", Object.entries(figures).map(([key, name]) => {
    const label = box1(name, m.show.has(key), toggle(m.show, key));
    label.querySelector("input").name = key;
    return label;
  }));
  const name = (c) => [c.prompt, index.runners.length > 1 || !c.prompt ? c.name : ""].filter(Boolean).join(" · ");
  box.append(answers, boxes);
  if (m.columns.length > 1) {
    box.append(menu("Columns ▾", m.columns.map((c) => box1(name(c), true, toggle(m.on, c.i)))),
      el("label", "diff against ", el("select", {onchange: (e) => m.diff(Number(e.target.value))}, el("option", {value: -1}, "nothing"), m.columns.map((c) => el("option", {value: c.i}, name(c))))));
  }
  box.append(menu("Download ▾", ["csv", "json"].map((kind) => el("button", {type: "button", onclick: () => download(m, kind)}, kind.toUpperCase() + " of what is shown"))));
  box.append(el("span.dim.hints", el("kbd", "h"), el("kbd", "j"), el("kbd", "k"), el("kbd", "l"), " move ", el("kbd", "Space"), " unfold ", el("kbd", "Enter"), " open ", el("kbd", "?"), " all keys"));
  box.hidden = false;
  m.pressed = () => answers.setAttribute("aria-pressed", String(m.wide()));
  // A menu closes when the reader does something else.
  document.addEventListener("click", (e) => { for (const d of box.querySelectorAll("details[open]")) if (!d.contains(e.target)) d.open = false; });
  box.addEventListener("keydown", (e) => {
    const open = e.key === "Escape" && e.target.closest("details[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
    e.stopPropagation();
  });
  const left = index.answersLeftOut;
  if (left) {
    $("answersleft").textContent = "The answers of " + plural(left, "execution") + " are not in the table, which has room for 16 MB of them, failures first. Open a cell to read its session.";
    $("answersleft").hidden = false;
  }
}
