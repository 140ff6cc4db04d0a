// columnHead names a column, with its pass rate and what all its prompts have in common.
function columnHead(m, col) {
  const label = "failures of this column first", sort = () => m.columns.length > 1 && m.sort(m.order === col.i ? "differs" : col.i, col);
  const first = col.prompt && m.shownColumns().find((c) => c.prompt === col.prompt) === col; // the prompt once
  return el("div.colhead", {role: "columnheader", "aria-sort": m.order === col.i ? "ascending" : ""},
    el("div.name", {title: [col.prompt, col.name].filter(Boolean).join(" · "), onclick: sort}, col.prompt && el("b", el("bdi", col.prompt)), col.prompt && " ", el(col.prompt ? "span.on" : "b", el("bdi", col.name))),
    first && templateNode(m, col),
    el("span.rate", el("strong", col.rate), m.base === col.i && [" ", el("span.tag", "diff base")],
      m.columns.length > 1 && el("button", {type: "button", title: label, "aria-label": label, onclick: sort}, m.order === col.i ? "↑" : "↕")), col.share);
}

// templateNode shows what all prompts of a column have in common.
function templateNode(m, col) {
  return col.asked && el("details.template", {open: m.unfolded.has(col.prompt), ontoggle: (e) => {
    if (e.target.open) m.unfolded.add(col.prompt);
    else m.unfolded.delete(col.prompt);
  }}, el("summary", {title: "The prompt"}, el("span", col.asked.replace(/\s+/g, " "))), el("p", col.asked));
}

// rowHead names an item: by its question, if its id is only a number.
function rowHead(m, row) {
  const question = rowQuestion(m, row), plain = question && /^[a-z]*[-_. #]*\d+$/i.test(row.item);
  const node = el("div.rowhead", {role: "rowheader"}), id = el("bdi.id", row.item);
  if (question) {
    const text = el("div.q", {title: row.open ? "" : question.slice(0, 600)}), draw = () => { highlight(text, row.open ? question : start(question, m.needle, 160, 4), m.needle); };
    draw();
    if (!plain) node.append(id);
    node.append(text);
    if (start(question, m.needle, 160, 4) !== question) node.append(el("button.more", {type: "button", onclick: (e) => {
      row.open = !row.open;
      e.target.textContent = row.open ? "less" : "more";
      draw();
    }}, row.open ? "less" : "more"), " ");
  }
  node.classList.toggle("plain", Boolean(plain));
  node.append(el("span.tags", question && !plain ? null : id, row.group && el("small", row.group), row.tags.map((t) => el("small", t))));
  return node;
}

// start returns what a folded cell shows of a text: its start, or the surroundings of what the
// reader searches for. It is the text itself if that is short.
function start(text, needle, limit = 280, lines = 6) {
  let short = text.split("\n", lines + 1).slice(0, lines).join("\n");
  if (short.length > limit + 20) short = short.slice(0, limit);
  if (short.length === text.length) return text;
  const at = needle ? text.toLowerCase().indexOf(needle) : -1;
  return at > short.length - needle.length ? "… " + text.slice(Math.max(0, at - 80), at + limit - 80) + " …" : short.trimEnd() + " …";
}

// sameAs reports whether a cell says what the cell of the base says, which is the first one if the
// reader chose none.
function sameAs(m, row, c) {
  const base = row.cells[m.base < 0 ? m.shownColumns()[0].i : m.base];
  return Boolean(base && base !== c && base.word === c.word && c.word === "pass" && answerOf(c) && answerOf(base).trim() === answerOf(c).trim());
}

// cellNode draws one execution.
function cellNode(m, row, col) {
  const c = row.cells[col.i], label = [col.prompt, index.runners.length > 1 || !col.prompt ? col.name : ""].filter(Boolean).join(" · ");
  if (!c) return el("div.mcell.none", {role: "gridcell"}, el("span.dim", "–"));
  const t = c.tries[c.chosen], s = t && c.x && (c.x.sessions || []).find((o) => o.repetition === t.repetition && o.session === t.session);
  const wide = m.wide(), word = wide && c.tries.length > 1 && s ? wordOf(s) : c.word, tab = m.current(c) ? "0" : "-1", same = sameAs(m, row, c);
  const button = (act, name, text, f) => el("button.tool", {type: "button", "data-act": act, tabindex: tab, "aria-label": /\w/.test(text) ? "" : name, title: name, onclick: f}, text);
  const used = c.x && c.x.used && m.metric ? c.x.used[m.metric - 1] : m.agents || m.show.has("latency") && !t ? c.time : "";
  const which = c.tries.length > 1 && c.x && c.chosen !== c.first ? routeOf(c.x, s) : "x" + c.at;
  const reason = t ? t.reason : c.x && c.x.reason;
  const go = el(c.shown ? "a.go" : "span.go", {href: c.shown && "#" + which, tabindex: tab, title: [c.sure, words[word], reason].filter(Boolean).join("\n").slice(0, 600), "data-act": "go"},
    mark(word), " ", el("span.sr", words[word]), c.more && " ", c.more);
  const node = el("div.mcell." + word + (c.out ? ".out" : "") + (c.open ? ".open" : "") + (same ? ".same" : ""), {role: "gridcell", "data-at": c.at});
  if (!wide) {
    const said = used && word !== "pass" && reason || answerOf(c) || reason || (used ? "" : words[word]);
    node.append(el("span.phone", label), el("div.line1", go, " ", used && el("span.used", used), " ", (used || !c.more) && highlight(el("span.first", {title: said.slice(0, 600)}), start(said.replace(/\s+/g, " ").trim(), m.needle, 160, 1), m.needle)), figuresNode(m, t) || "");
    return node;
  }
  const top = el("div.top1", go);
  if (c.tries.length > 1) {
    top.append(" ", el("span.stepper", button("prev", "previous repetition ([)", "‹", () => m.step(c, -1)), el("span", {title: "repetition " + t.repetition + " of " + c.tries.length}, "#" + t.repetition), button("next", "next repetition (])", "›", () => m.step(c, 1))));
  } else if (!c.more) {
    top.classList.add("bare");
  }
  node.append(el("span.phone", label), top);
  let folded = false;
  const text = (name, full, limit, lines) => {
    const short = start(full, m.needle, limit, lines);
    folded = folded || short !== full;
    return highlight(el(name), c.open ? full : short, m.needle);
  };
  if (m.show.has("prompt") && c.prompt) node.append(text("div.q", c.open ? c.prompt : c.prompt.replace(/\s+/g, " "), 140));
  else if (c.question && !rowQuestion(m, row)) node.append(text("div.q", c.open ? c.question : c.question.replace(/\s+/g, " "), 70));
  if (m.show.has("answer")) {
    const answer = answerOf(c), base = row.cells[m.base];
    if (answer && base && m.base !== col.i && answerOf(base)) {
      const parts = wordDiff(answerOf(base), answer);
      folded = folded || answer.length > 300;
      node.append(parts && same && !c.open ? el("div.a", el("span.dim", "same")) : parts ? el("div.a", diffParts(parts, c.open)) : [el("div.dim.note", "too different to compare"), text("div.a", answer)]);
    } else if (answer) {
      node.append(text("div.a", answer, m.shownColumns().length < 3 ? 280 : 160, 4));
    } else {
      node.append(el("div.dim.note", c.tries.length ? word === "error" ? words.error : "no answer" : c.word === "skipped" ? "not run" : "not on this page"));
    }
  }
  if (m.show.has("reason") && reason && word !== "pass") node.append(text("div.r", reason, 140, 3));
  const foot = [folded && button("more", "unfold (Space)", c.open ? "show less" : "show all", () => m.unfold(c)), figuresNode(m, t)].filter(Boolean);
  if (foot.length) node.append(el("div.foot", foot));
  if (answerOf(c)) node.append(button("copy", "copy the answer (y)", "copy", () => copy(answerOf(c), "the answer")));
  return node;
}

// figuresNode shows the chosen figures of a session.
function figuresNode(m, t) {
  if (!t) return null;
  const has = (key, value, text) => m.show.has(key) && value !== undefined && value !== null && text(value);
  const tokens = m.show.has("tokens") && (t.in !== undefined || t.out !== undefined) && count(t.in) + " → " + count(t.out) + " tok";
  const list = [has("latency", t.latencyMs, duration), tokens, has("cost", t.costUsd, money), has("score", t.score, (v) => v.toFixed(2))].filter(Boolean);
  return list.length ? el("span.figs", list.map((text) => el("span", text))) : null;
}

const money = (usd) => "$" + (usd >= 1 || usd === 0 ? usd.toFixed(2) : usd.toPrecision(2));

// wordDiff compares two texts by words. It returns pairs of a kind ("same", "add", "del") and a text,
// or null when the texts are too different.
function wordDiff(before, after) {
  if (before === after) return [["same", after]];
  const split = (text) => (text.match(/\s+|[\p{L}\p{N}_]+|[^\s]/gu) || []).map((word) => ({key: [word]}));
  const a = split(before), b = split(after);
  let from = 0, endA = a.length, endB = b.length;
  while (from < endA && from < endB && a[from].key[0] === b[from].key[0]) from++;
  while (endA > from && endB > from && a[endA - 1].key[0] === b[endB - 1].key[0]) { endA--; endB--; }
  const middle = myers(a, b, from, endA, endB);
  if (!middle) return null;
  // A few equal characters between two changes are part of one change, which reads better.
  const out = [];
  let same = "", del = "", add = "";
  const flush = () => {
    if (del) out.push(["del", del]);
    if (add) out.push(["add", add]);
    del = add = "";
  };
  const equal = (word) => { same += word; }, change = () => {
    if (!same) return;
    if ((del || add) && same.trim().length < 6) {
      del += same;
      add += same;
    } else {
      flush();
      out.push(["same", same]);
    }
    same = "";
  };
  for (let i = 0; i < from; i++) equal(b[i].key[0]);
  let i = from, j = from;
  for (const [p, q] of [...middle, [endA, endB]]) {
    if (i < p || j < q) change();
    while (i < p) del += a[i++].key[0];
    while (j < q) add += b[j++].key[0];
    if (p === endA) break; // the end of the middle part
    equal(b[j++].key[0]);
    i++;
  }
  for (; j < b.length; j++) equal(b[j].key[0]);
  flush();
  if (same) out.push(["same", same]);
  return out;
}

// diffParts marks what differs. A folded cell starts shortly before the first difference.
function diffParts(parts, open) {
  const nodes = [];
  let left = open ? Infinity : 340;
  parts.forEach(([kind, text], i) => {
    if (left <= 0) return;
    let shown = text;
    if (!open && i === 0 && kind === "same" && parts.length > 1 && text.length > 120) shown = "… " + text.slice(-90);
    else if (shown.length > left) shown = shown.slice(0, left) + " …";
    left -= shown.length;
    nodes.push(kind === "same" ? shown : el(kind === "add" ? "ins" : "del", shown));
    if (left <= 0 && i < parts.length - 1 && !shown.endsWith(" …")) nodes.push(" …");
  });
  return nodes;
}

// copy puts a text on the clipboard.
async function copy(text, what) {
  const old = document.activeElement;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not allowed here
    const area = el("textarea.sr", {"aria-label": "copied text"});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    if (old) old.focus({preventScroll: true});
  }
  say("copied " + what);
}

// commandNode shows a command with a button that copies it.
const commandNode = (text) => el("span.copyable", el("code", text), " ", el("button.tool", {type: "button", onclick: () => copy(text, "the command")}, "copy"));

// shownCells lists what the matrix shows, as records for a file.
function shownCells(m) {
  const out = [];
  for (const r of m.visible) {
    for (const col of m.shownColumns()) {
      const c = r.cells[col.i], t = c && c.tries[c.chosen] || {};
      if (!c || c.out) continue;
      out.push({
        case: r.item, prompt: col.prompt, runner: col.name, category: r.group, tags: r.tags.join(" "), outcome: words[c.word], repetition: t.repetition, repetitions: c.tries.length, score: t.score,
        latencyMs: t.latencyMs, inputTokens: t.in, outputTokens: t.out, costUsd: t.costUsd, asked: c.prompt, answer: t.answer || "", reason: t.reason || "",
      });
    }
  }
  return out;
}

// csvField quotes a field. A spreadsheet must not calculate a text that starts like a formula.
function csvField(value) {
  let text = value === undefined || value === null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

function download(m, kind) {
  const list = shownCells(m), keys = ["case", "prompt", "runner", "category", "tags", "outcome", "repetition", "repetitions", "score", "latencyMs", "inputTokens", "outputTokens", "costUsd", "asked", "answer", "reason"];
  const text = kind === "json" ? JSON.stringify(list, null, 1) + "\n" : [keys, ...list.map((o) => keys.map((k) => o[k]))].map((line) => line.map(csvField).join(",")).join("\r\n") + "\r\n";
  const url = URL.createObjectURL(new Blob([text], {type: kind === "json" ? "application/json" : "text/csv;charset=utf-8"}));
  const link = el("a", {href: url, download: (index.runId || "run") + "." + kind});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say("saved " + plural(list.length, "cell"));
}
