// compareView shows the steps of two sessions side by side. It aligns them by their actions and, if
// wording counts, also by their texts.
async function compareView(a, b) {
  const [ha, hb] = await Promise.all([block(a.s.head), block(b.s.head)]);
  const [sa, sb] = await Promise.all([stepsOf(ha), stepsOf(hb)]);
  let wording = false, only = false, rows = align(sa, sb, false), note = "";
  if (rows.first < 0) {
    rows = align(sa, sb, true);
    if (rows.first >= 0) {
      wording = true;
      note = "Both sessions did the same things. The mark shows where their wording first differs.";
    } else {
      note = "Both sessions did the same.";
    }
  }
  const box = el("div.pairs"), info = el("p.dim", {role: "status"});
  let list;
  const draw = (scroll) => {
    if (list) list.close();
    box.replaceChildren();
    const visible = only ? rows.list.filter((r, i) => r.kind !== "same" || near(rows.list, i)) : rows.list;
    const parts = [];
    for (let i = 0; i < visible.length; i += 100) {
      const items = visible.slice(i, i + 100);
      parts.push({n: items.length, load: () => items});
    }
    const first = rows.first < 0 ? -1 : visible.indexOf(rows.list[rows.first]);
    list = windowed(box, parts, (r) => pairNode(r, sa, sb, ha, hb, r === rows.list[rows.first]), 74);
    list.visible = visible;
    if (box.isConnected) {
      list.watch();
      list.keep();
    }
    const same = rows.list.filter((r) => r.kind === "same").length, changed = rows.list.length - same;
    info.textContent = [note, count(same) + " equal, " + count(changed) + " different" + (rows.gaveUp ? "; the rest is too different to align" : ""),
      (sa.left || sb.left) && "some steps are not on this page"].filter(Boolean).join(" · ");
    if (scroll && first > 0) setTimeout(() => list.go(first, "center"), 0);
    else list.at = first;
  };
  const next = (by) => {
    const v = list.visible;
    let i = list.at;
    while (i >= 0 && i < v.length && v[i].kind !== "same") i += by; // leave this difference
    while (i >= 0 && i < v.length && v[i].kind === "same") i += by;
    if (list.at < 0) i = v.findIndex((r) => r.kind !== "same");
    if (i >= 0 && i < v.length) list.go(i, "center", true);
    else say("no more differences");
  };
  const toggle = (name, get, set) => el("button.chip", {type: "button", "aria-pressed": String(get()), onclick: (e) => {
    set(!get());
    e.target.setAttribute("aria-pressed", String(get()));
    rows = align(sa, sb, wording);
    note = "";
    draw(true);
  }}, name);
  const node = el("div", el("div.bar2",
    el("button", {type: "button", onclick: leave, title: "Back (esc)"}, "← back"), el("h1", "Compare", a.x.case === b.x.case && [" ", el("bdi", a.x.case)]),
    toggle("compare wording", () => wording, (v) => { wording = v; }), toggle("differences only", () => only, (v) => { only = v; }),
    el("button", {type: "button", onclick: () => next(-1), title: "Previous difference (k)"}, "‹ difference"),
    el("button", {type: "button", onclick: () => next(1), title: "Next difference (j)"}, "difference ›"),
    el("div.names", nameNode(a, b), nameNode(b, a))),
    el("div.heads", sideNode(a, b, ha, 0), sideNode(b, a, hb, 1)), info, box);
  draw(false);
  await list.ready;
  return {
    node, title: "compare " + [...new Set([a.x.case, b.x.case])].join(" and "), watch: () => list.watch(), close: () => list.close(), print: () => list.print(),
    async after() {
      await list.keep();
      if (rows.first > 3) await list.go(list.visible.indexOf(rows.list[rows.first]), "center");
    },
    keys: {j: () => next(1), k: () => next(-1), x: () => { location.hash = pairRoute(b, a); }},
  };
}

// nameNode names a side in the bar that stays visible. It includes the case if the sides differ in
// it.
function nameNode({x, s}, other) {
  const parts = [x.case !== other.x.case && el("bdi", x.case), index.runners.length > 1 && index.runners[x.runner], x.sessions.length > 1 && tryName(x, s)].filter(Boolean);
  return el("a", {href: "#" + routeOf(x, s)}, mark(wordOf(s)), " ", parts.length ? parts.flatMap((p, i) => i ? [" · ", p] : [p]) : words[wordOf(s)]);
}

const near = (list, i) => list.slice(Math.max(0, i - 2), i + 3).some((r) => r.kind !== "same");

// sideNode is the head of one side. The reader can choose another session there.
function sideNode(side, other, head, which) {
  const go = (x, s) => { location.hash = which ? pairRoute(other, {x, s}) : pairRoute({x, s}, other); };
  const cases = [...new Set(index.executions.filter((x) => x.sessions).map((x) => x.case))].sort();
  const open = (name, runner) => {
    const of = index.executions.filter((x) => x.case === name && x.sessions);
    const x = of.find((y) => y.runner === runner) || of[0];
    go(x, defaultSession(x));
  };
  const select = (label, options, onchange) => el("select", {"aria-label": label, onchange: (e) => onchange(e.target.value)}, options);
  const runners = index.executions.filter((x) => x.case === side.x.case && x.sessions);
  const word = wordOf(side.s), t = (head.report || {}).usage;
  return el("div.card." + word, el("div.pick",
    cases.length > 1 && select("Case", cases.map((c) => el("option", {selected: c === side.x.case}, c)), (c) => open(c, side.x.runner)),
    index.runners.length > 1 && select("Runner", runners.map((x) => el("option", {value: x.runner, selected: x === side.x}, index.runners[x.runner])), (r) => open(side.x.case, Number(r))),
    side.x.sessions.length > 1 && select("Session", side.x.sessions.map((s, i) => el("option", {value: i, selected: s === side.s}, sessionName(side.x, s))), (i) => go(side.x, side.x.sessions[i]))),
    el("p.dim", [words[word], duration(side.s.durationMs), plural(head.steps, "event"), t && (t.inputTokens !== undefined || t.outputTokens !== undefined) && count(t.inputTokens) + " in, " + count(t.outputTokens) + " out"].filter(Boolean).join(" · ")),
    head.failure && el("pre.why", head.failure.message.slice(0, 600)));
}

function pairNode(r, sa, sb, ha, hb, first) {
  const side = (s, head, there) => el("div." + (s ? "there" : "gone"), s && stepNode(s, {subagents: subagentsOf(head), raw: head.show, workspace: (head.report || {}).workspace}));
  return el("div.pair." + r.kind + (first ? ".first" : ""), {tabindex: "-1"}, side(sa[r.a], ha), side(sb[r.b], hb));
}

async function stepsOf(head) {
  const all = [];
  for (const [id] of head.blocks || []) all.push(...await block(id));
  const answer = (head.report || {}).finalOutput;
  if (!head.steps && answer) return Object.assign([{kind: "message", role: "assistant", text: answer}], {left: 0}); // not every runner records events
  all.left = head.steps - all.length;
  all.workspace = (head.report || {}).workspace;
  return all;
}

// stable replaces the parts of a text that differ between any two sessions: times, ids and the
// place of the workspace.
function stable(text) {
  return (text || "").slice(0, 2000)
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?/g, "<time>")
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<id>").replace(/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, "<id>")
    .replace(/(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]+){3,}/g, (p) => "…/" + p.split(/[\\/]/).slice(-2).join("/"))
    .replace(/\b\d+(\.\d+)? ?(ms|s|sec|seconds)\b/g, "<time>").replace(/\s+/g, " ").trim();
}

// keysOf returns two keys: equal steps have the same first key, steps of one kind the same second
// key. The name of the tool does not count when the effect is known, because each agent names its
// tools differently.
function keysOf(s, wording, workspace) {
  const path = (p) => stable(within(p, workspace));
  const did = [(s.commands || []).map((c) => stable(c.line) + " " + (c.exit || 0)), (s.reads || []).map(path),
    (s.changes || []).map((c) => c.change + " " + path(c.path)), (s.skills || []).map((k) => k.skill), s.denied !== undefined, Boolean(s.failed)];
  const known = did.slice(0, 4).some((d) => d.length);
  const kind = [s.kind, s.role, s.phase, known || s.tool, s.sub ? 1 : 0].join("|");
  return [kind + JSON.stringify(did) + (known ? "" : stable(s.args)) + (wording ? stable(s.text) + "|" + stable(s.output) : ""), kind];
}

// align returns rows {a, b, kind}: "same", "near" (same kind of step, different content) or "only"
// on one side. Thinking counts only if wording does.
function align(sa, sb, wording) {
  const pick = (steps) => steps.map((s, i) => ({i, key: keysOf(s, wording, steps.workspace)})).filter((e) => wording || steps[e.i].kind !== "thinking" && steps[e.i].role !== "user"); // some agents do not record the prompt
  const a = pick(sa), b = pick(sb), pairs = [];
  let from = 0, endA = a.length, endB = b.length;
  while (from < endA && from < endB && a[from].key[0] === b[from].key[0]) pairs.push([from, from++]);
  const tail = [];
  while (endA > from && endB > from && a[endA - 1].key[0] === b[endB - 1].key[0]) tail.unshift([--endA, --endB]);
  const middle = myers(a, b, from, endA, endB);
  pairs.push(...(middle || []), ...tail);
  const list = [];
  const push = (kind, i, j) => list.push({kind, a: i === undefined ? -1 : a[i].i, b: j === undefined ? -1 : b[j].i});
  let i = 0, j = 0;
  for (const [p, q] of [...pairs, [a.length, b.length]]) {
    // Between matches, pair steps of the same kind.
    while (i < p || j < q) {
      if (i < p && j < q && a[i].key[1] === b[j].key[1]) push("near", i++, j++);
      else if (i < p && (j >= q || !b.slice(j, Math.min(q, j + 50)).some((e) => e.key[1] === a[i].key[1]))) push("only", i++);
      else if (j < q) push("only", undefined, j++);
      else push("only", i++);
    }
    if (p < a.length || q < b.length) push("same", i++, j++);
  }
  return {list, first: list.findIndex((r) => r.kind !== "same"), gaveUp: !middle};
}

// myers returns the longest common subsequence of a and b from index from to their ends (the
// algorithm of Myers, 1986). Its time grows with the number of differences; it returns null when
// there are too many.
function myers(a, b, from, endA, endB) {
  const n = endA - from, m = endB - from, most = 1200, history = [];
  if (!n || !m) return [];
  let v = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(n + m, most); d++) {
    history.push(v);
    const now = new Map(v);
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || k !== d && v.get(k - 1) < v.get(k + 1) ? v.get(k + 1) : v.get(k - 1) + 1;
      while (x < n && x - k < m && a[from + x].key[0] === b[from + x - k].key[0]) x++;
      now.set(k, x);
      if (x >= n && x - k >= m) {
        const pairs = [];
        let y = x - k;
        for (let e = d; e >= 0; e--) {
          const old = history[e], l = x - y;
          const up = l === -e || l !== e && old.get(l - 1) < old.get(l + 1) ? l + 1 : l - 1;
          const px = e ? old.get(up) : 0, py = e ? px - up : 0;
          while (x > px && y > py) pairs.unshift([from + --x, from + --y]);
          x = px;
          y = py;
        }
        return pairs;
      }
    }
    v = now;
  }
  return null;
}
