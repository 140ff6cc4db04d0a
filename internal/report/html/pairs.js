// pairsView lists the pairs of a comparison and filters them. It creates the rows of a part of the
// list at a time, so that a page with 100,000 pairs opens at once.
async function pairsView() {
  if (!$("pairtools")) return; // the page of a run
  const changes = {broken: "broken", suspect: "suspect", lost: "lost", won: "won", unmeasured: "not measured", "same-answer": "same answer", same: "same"};
  const of = {broken: "fail", suspect: "fail", lost: "fail", won: "pass", unmeasured: "error", "same-answer": "skipped", same: "skipped"};
  const wordsOf = (p) => p.broken ? [p.broken, p.change] : [p.change];
  const body = $("pairs").querySelector("tbody"), more = $("morepairs"), hits = el("span", {role: "status"});
  const state = {text: "", change: new Set(), runner: "", category: ""};
  const answers = new Map();
  try {
    for (const id of index.answers || []) for (const a of JSON.parse(await blockText(id))) answers.set(a.at, a);
  } catch (err) {
    hits.textContent = "The answers cannot be shown: " + err.message;
  }
  // What the page has of each side of a pair: its execution and the try that shows how it ended.
  const sides = index.pairs.map((p) => p.at.map((at) => {
    const x = index.executions[at], a = answers.get(at);
    if (!x) return null;
    const s = defaultSession(x);
    return {x, s, prompt: a && a.prompt || "", ...(a && (a.tries.find((t) => t.repetition === s.repetition) || a.tries[0]))};
  }));
  const [before, after] = commonOf(sides.map(([a, b]) => (b || a || {}).prompt).filter(Boolean), false);
  const questionOf = ([a, b]) => {
    const prompt = (b || a || {}).prompt || "";
    return prompt.slice(before.length, prompt.length - after.length).trim();
  };
  const questions = sides.map(questionOf), one = new Set(index.pairs.map((p) => p.runner)).size < 2;
  const table = body.closest("table");
  table.classList.toggle("one", one);
  table.classList.toggle("bare", !questions.some(Boolean));
  const texts = index.pairs.map((p, i) => [p.case, p.runner, p.category, ...(p.tags || []), questions[i], ...sides[i].map((s) => s && s.answer)].join(" ").toLowerCase());
  let found = [], drawn = 0;

  const sideNode = (name, count, s, nodes, note) => el("td.side", {"data-label": name}, el("span.count", s && mark(s.x.word), /^[01]\/1$/.test(count) && s ? el("span.sr", " " + count) : " " + count), " ", nodes && el("div.a", nodes), note && el("div.r", note));
  const row = (i) => {
    const p = index.pairs[i], [a, b] = sides[i], word = wordsOf(p)[0], said = [a, b].map((s) => s && s.answer || "");
    const equal = said[0] && said[0] === said[1], diff = !equal && said[0] && said[1] && wordDiff(...said);
    const parts = diff && diff.some(([kind, text]) => kind === "same" && text.trim()) && diff; // marks on all of it help nobody
    const of1 = (drop, side) => !said[side] ? el("span.dim", p.at[side] < 0 ? "" : "no answer") : equal && side ? el("span.dim", "the same") : parts ? diffParts(parts.filter(([kind]) => kind !== drop), false) : start(said[side], state.text, 240, 5);
    const route = a && b ? pairRoute(a, b) : a || b ? routeOf((a || b).x, (a || b).s) : "";
    const name = el("bdi", p.case);
    return el("tr." + p.change + (equal ? ".equal" : ""), el("th", {scope: "row"}, route ? el("a", {href: "#" + route, "aria-label": (a && b ? "side by side: the sessions of " : "the only session of ") + p.case}, name) : name, el("span.tags", [p.category, ...(p.tags || [])].filter(Boolean).map((t) => el("small", t)))),
      el("td", p.runner), el("td.q", start(questions[i], state.text, 240, 4)), sideNode("baseline", p.baseline, a, of1("add", 0)),
      sideNode("candidate", p.candidate, b, of1("del", 1), p.change === "lost" && b && b.reason && start(b.reason, "", 140, 2)),
      el("td.change", mark(of[word]), " ", wordsOf(p).map((w) => changes[w]).join(", ")));
  };
  const draw = (n) => {
    body.append(...found.slice(drawn, drawn + n).map(row));
    drawn = Math.min(found.length, drawn + n);
    more.hidden = drawn >= found.length;
    more.textContent = "show " + count(Math.min(500, found.length - drawn)) + " more of " + count(found.length - drawn);
  };
  const apply = () => {
    found = [];
    index.pairs.forEach((p, i) => {
      if ((!state.change.size || wordsOf(p).some((w) => state.change.has(w))) && (!state.runner || p.runner === state.runner) &&
        (!state.category || p.category === state.category) && texts[i].includes(state.text)) found.push(i);
    });
    body.replaceChildren();
    drawn = 0;
    draw(200);
    hits.textContent = found.length === index.pairs.length ? "" : count(found.length) + " of " + plural(index.pairs.length, "pair");
  };
  const choose = (label, key, values) => values.length > 1 && el("select", {"aria-label": label, onchange: (e) => { state[key] = e.target.value; apply(); }},
    el("option", {value: ""}, "all " + label), values.map((v) => el("option", {value: v}, v)));
  const distinct = (key) => [...new Set(index.pairs.map((p) => p[key]).filter(Boolean))];
  const chips = Object.keys(changes).map((word) => [word, index.pairs.filter((p) => wordsOf(p).includes(word)).length]).filter(([, n]) => n).map(([word, n]) =>
    el("button.chip." + of[word], {type: "button", "aria-pressed": "false", onclick: (e) => {
      const on = !state.change.delete(word);
      if (on) state.change.add(word);
      e.currentTarget.setAttribute("aria-pressed", String(on));
      apply();
    }}, mark(of[word]), " ", changes[word], " ", el("b", count(n))));
  const tools = $("pairtools");
  tools.append(el("input", {id: "text", type: "search", placeholder: "Filter by case, tag, category …  ( / )", "aria-label": "Filter by text", autocomplete: "off", spellcheck: "false",
    oninput: (e) => { state.text = e.target.value.trim().toLowerCase(); apply(); }}),
    ...[choose("runners", "runner", distinct("runner")), choose("categories", "category", distinct("category"))].filter(Boolean),
    el("div.chips", {role: "group", "aria-label": "Change"}, chips), hits);
  // The whole row opens the sessions, but not while the reader selects a text.
  body.addEventListener("click", (e) => {
    const link = e.target.closest("tr").querySelector("a");
    if (link && !e.target.closest("a") && !String(getSelection())) link.click();
  });
  tools.hidden = false;
  more.addEventListener("click", () => draw(500));
  apply();
}
