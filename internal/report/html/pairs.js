// pairsView lists the pairs of a comparison and filters them. It creates the rows of a part of the
// list at a time, so that a page with 100,000 pairs opens at once.
function pairsView() {
  if (!$("pairtools")) return; // the page of a run
  const changes = {broken: "broken", suspect: "suspect", lost: "lost", won: "won", unmeasured: "not measured", "same-answer": "same answer", same: "same"};
  const of = {broken: "fail", suspect: "fail", lost: "fail", won: "pass", unmeasured: "error", "same-answer": "skipped", same: "skipped"};
  const wordsOf = (p) => p.broken ? [p.broken, p.change] : [p.change];
  const body = $("pairs").querySelector("tbody"), more = $("morepairs"), hits = el("span", {role: "status"});
  const state = {text: "", change: new Set(), runner: "", category: ""};
  const texts = index.pairs.map((p) => [p.case, p.runner, p.category, ...(p.tags || [])].join(" ").toLowerCase());
  let found = [], drawn = 0;

  const link = (p) => {
    const [a, b] = p.at.map((at) => index.executions[at]).map((x) => x && {x, s: defaultSession(x)});
    if (a && b) return el("a", {href: "#" + pairRoute(a, b), "aria-label": "side by side: the sessions of " + p.case}, "side by side");
    const one = a || b;
    return one ? el("a", {href: "#" + routeOf(one.x, one.s)}, a ? "baseline" : "candidate") : "–";
  };
  const row = (p) => {
    const word = wordsOf(p)[0];
    return el("tr", el("th", {scope: "row"}, el("bdi", p.case), (p.tags || []).map((t) => [" ", el("small", t)])), el("td", p.runner), el("td", p.baseline), el("td", p.candidate),
      el("td", mark(of[word]), " ", wordsOf(p).map((w) => changes[w]).join(", ")), el("td", link(p)));
  };
  const draw = (n) => {
    body.append(...found.slice(drawn, drawn + n).map((i) => row(index.pairs[i])));
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
  tools.hidden = false;
  more.addEventListener("click", () => draw(500));
  apply();
}
