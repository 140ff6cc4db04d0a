// The matrix shows each item, in a row, on each prompt and runner, in the columns. Its rows come from
// the table that the page has without scripts; the prompts and answers come from blocks.

// readMatrix reads the table and removes it from the page.
function readMatrix() {
  const region = $("matrix").querySelector(".scroll"), table = region.querySelector("table"), byAt = new Map(index.executions.map((x) => [x.at, x]));
  const columns = [...table.querySelectorAll("thead th")].slice(1).map((th, i) => {
    const small = th.querySelector("small");
    return {i, prompt: th.dataset.prompt, runner: Number(th.dataset.runner), name: th.dataset.name, rate: small.firstChild.data.trim(), share: th.querySelector("svg"), asked: ""};
  });
  const rows = [...table.querySelectorAll("tbody tr")].map((tr) => {
    const row = {item: tr.querySelector("bdi").textContent, group: tr.dataset.group || "", tags: (tr.dataset.tags || "").split("\n").filter(Boolean), cells: []};
    row.cells = [...tr.querySelectorAll("td")].map((td, i) => td.dataset.at === undefined ? null : {
      row, column: columns[i], at: Number(td.dataset.at), word: td.className, flaky: "flaky" in td.dataset, sure: td.title, shown: Boolean(td.querySelector("a")),
      more: td.querySelector("b")?.textContent || "", time: td.querySelector("i")?.textContent || "", x: byAt.get(Number(td.dataset.at)), tries: [], prompt: "", question: "", chosen: 0, out: false, open: false,
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
  for (const c of cells.values()) c.prompt = c.question = prompts.get(Math.floor(c.at / runners)) || "";
}

// readQuestions splits the prompts of each column into what they have in common, which is the prompt
// as the suite has it, and what is different in each row: the question. The log has only the whole.
function readQuestions({columns, rows}) {
  const split = new Map(columns.map((col) => [col.prompt, commonOf(rows.map((r) => r.cells[col.i]).filter((c) => c && c.prompt).map((c) => c.prompt), columns.some((c) => c.prompt))]));
  for (const col of columns) {
    const [before, after] = split.get(col.prompt);
    if (!before && !after) continue;
    col.asked = (before.trimEnd() + " … " + after.trimStart()).trim();
    for (const r of rows) {
      const c = r.cells[col.i];
      if (c && c.prompt) c.question = c.prompt.slice(before.length, c.prompt.length - after.length).trim();
    }
  }
}

// commonOf returns the words with which all texts start and end. Without a name of the prompt, only
// whole sentences count: questions start alike.
function commonOf(texts, named) {
  const all = [...new Set(texts)], none = ["", ""];
  if (all.length < 2) return none;
  let [first, ...rest] = all, from = first.length, to = first.length;
  for (const text of rest) {
    let n = 0;
    while (n < from && text[n] === first[n]) n++;
    from = n;
    n = 0;
    while (n < to && text[text.length - 1 - n] === first[first.length - 1 - n]) n++;
    to = n;
  }
  const shortest = Math.min(...all.map((t) => t.length));
  to = Math.min(to, shortest - from);
  const before = first.slice(0, from).replace(named ? /\S+$/ : /[^.:!?\n]*$/, ""), after = to ? first.slice(-to).replace(/^\S+/, "") : "";
  return before.length + after.length < (named ? 4 : 20) ? none : [before, after];
}

// rowQuestion returns the question of a row if all its shown cells have the same.
function rowQuestion(m, row) {
  const asked = new Set(m.shownColumns().map((col) => row.cells[col.i]).filter((c) => c && c.question).map((c) => c.question));
  return asked.size === 1 ? [...asked][0] : "";
}

// orders are how the rows can be sorted; a number sorts by a column, failures first.
const orders = {differs: "differences first", suite: "order of the suite", name: "by name"};
const urgency = {fail: 0, xpass: 1, error: 2, pass: 4, xfail: 4, skipped: 5};

// sorted returns the rows in the order that a reader chose.
function sorted(m, rows) {
  if (m.order === "suite") return rows;
  const cells = (r) => m.shownColumns().map((col) => r.cells[col.i]).filter(Boolean);
  const rank = (r) => {
    if (typeof m.order === "number") return r.cells[m.order] ? urgency[r.cells[m.order].word] : 9;
    const at = cells(r).map((c) => urgency[c.word]), least = Math.min(9, ...at);
    if (least < 3) return least * 2 + (at.some((n) => n !== least) ? 0 : 1);
    return new Set(cells(r).map(answerOf).filter(Boolean).map((a) => a.trim())).size > 1 ? 7 : 8;
  };
  if (m.order === "name") return [...rows].sort((a, b) => a.item.localeCompare(b.item, "en", {numeric: true}));
  return rows.map((r) => [rank(r), r]).sort((a, b) => a[0] - b[0]).map(([, r]) => r);
}

const answerOf = (c) => c && c.tries[c.chosen] && c.tries[c.chosen].answer || "";

// figures that a reader can choose for the cells, and what they start with.
const texts = ["prompt", "answer", "reason"];
const figures = {prompt: "whole prompts", answer: "answers", reason: "reasons", latency: "latency", tokens: "tokens", cost: "cost", score: "score"};

// matrixView draws the matrix. It creates the rows near the window only.
function matrixView({columns, rows}) {
  const agents = Boolean($("metric")), few = columns.length < 5 && window.innerWidth > 640;
  const m = {columns, rows, agents, unfolded: new Set(), order: "differs", show: new Set(agents || !few ? [] : ["answer", "reason"]), on: new Set(columns.map((c) => c.i)), base: -1, needle: "", metric: "", visible: rows};
  let list = null, at = {row: rows[0], i: 0};
  const head = el("div.mhead", {role: "rowgroup"}), body = el("div.mbody", {role: "presentation"});
  const grid = el("div.matrix", {role: "grid", "aria-labelledby": "h-matrix", "aria-colcount": columns.length + 1}, head, body);
  $("matrix").querySelector(".empty").after(grid);
  body.addEventListener("scroll", () => { head.scrollLeft = body.scrollLeft; });

  m.shownColumns = () => columns.filter((c) => m.on.has(c.i));
  m.wide = () => texts.some((k) => m.show.has(k));
  m.current = (c) => at.row === c.row && at.i === c.column.i;

  const rowNode = (row, i) => el("div.mrow", {role: "row", "aria-rowindex": i + 2}, rowHead(m, row), m.shownColumns().map((col) => cellNode(m, row, col)));
  // draw creates the rows again, after a filter or what is shown has changed.
  m.draw = () => {
    const cols = m.shownColumns();
    if (list) list.close();
    grid.classList.toggle("wide", m.wide());
    grid.classList.toggle("many", cols.length > 6);
    grid.style.setProperty("--n", cols.length);
    grid.setAttribute("aria-rowcount", m.visible.length + 1);
    head.replaceChildren(el("div.mrow", {role: "row", "aria-rowindex": 1}, el("div.rowhead", {role: "columnheader"}, cols.length && !cols[0].prompt ? templateNode(m, cols[0]) || "" : "", el("span", plural(m.visible.length, "case"))), cols.map((c) => columnHead(m, c))));
    body.replaceChildren();
    if (!m.visible.includes(at.row) || !m.on.has(at.i)) at = {row: m.visible[0], i: cols.length ? cols[0].i : 0};
    const parts = [], size = 20;
    for (let from = 0; from < m.visible.length; from += size) {
      const items = m.visible.slice(from, from + size);
      parts.push({n: items.length, load: () => items});
    }
    const mine = list = windowed(body, parts, rowNode, m.wide() ? 100 : 40);
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
    $("base").value = i;
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
      ArrowUp: () => m.move(-1, 0), k: () => m.move(-1, 0), ArrowDown: () => m.move(1, 0), j: () => m.move(1, 0) || select(1),
      "[": () => step(c, -1), "]": () => step(c, 1), y: () => copy(answerOf(c), "the answer"), d: () => { m.diff(m.base === c.column.i ? -1 : c.column.i); m.go(c.row, c.column.i); },
      " ": () => e.target.matches(".go") && m.unfold(c),
    }[e.key];
    if (!act || e.key === " " && !e.target.matches(".go")) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  });
  // The whole cell opens the session, but not while the reader selects a text.
  grid.addEventListener("click", (e) => {
    const cell = e.target.closest(".mcell"), link = cell && cell.querySelector("a.go");
    if (link && !e.target.closest("a, button") && !String(getSelection())) link.click();
  });
  m.sort = (order, column) => {
    m.order = order;
    $("order").value = order;
    m.changed();
    if (column) head.querySelectorAll(".colhead")[m.shownColumns().indexOf(column)].querySelector("button").focus({preventScroll: true});
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
  const answers = el("button.chip", {type: "button", title: "Whole answers, or a line of each", onclick: () => {
    const on = !m.wide();
    for (const k of ["answer", "reason"]) {
      if (on) m.show.add(k);
      else m.show.delete(k);
    }
    if (!on) m.show.delete("prompt");
    m.changed();
  }}, "answers");
  const boxes = menu("Show ▾", Object.entries(figures).map(([key, name]) => {
    const label = box1(name, m.show.has(key), toggle(m.show, key));
    label.querySelector("input").name = key;
    return label;
  }));
  const name = (c) => [c.prompt, index.runners.length > 1 || !c.prompt ? c.name : ""].filter(Boolean).join(" · ");
  const option = (value, text) => el("option", {value: value}, text), many = m.columns.length > 1;
  box.append(el("select", {id: "order", "aria-label": "Order of the rows", onchange: (e) => m.sort(e.target.value in orders ? e.target.value : Number(e.target.value))},
    Object.entries(orders).map(([key, text]) => option(key, key === "differs" && !many ? "failures first" : text)), many && m.columns.map((c) => option(c.i, "failures of " + name(c)))), answers, m.agents ? "" : boxes);
  if (many) {
    box.append(menu("Columns ▾", m.columns.map((c) => box1(name(c), true, toggle(m.on, c.i)))),
      el("select", {id: "base", "aria-label": "Compare the words with a column", onchange: (e) => m.diff(Number(e.target.value))}, option(-1, "no diff"), m.columns.map((c) => option(c.i, "diff: " + name(c)))));
  }
  box.append(menu("Download ▾", ["csv", "json"].map((kind) => el("button", {type: "button", onclick: () => download(m, kind)}, kind.toUpperCase() + " of what is shown"))));
  box.hidden = false;
  m.pressed = () => {
    answers.setAttribute("aria-pressed", String(m.wide()));
    for (const input of boxes.querySelectorAll("input")) input.checked = m.show.has(input.name);
  };
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
