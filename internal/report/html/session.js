// sessionView shows one session: its verdicts, its timeline and, beside them, its facts.
async function sessionView(x, s) {
  const head = await block(s.head), report = head.report || {};
  const word = wordOf(s);
  const others = x.sessions.length > 1 && el("select", {"aria-label": "Session", onchange: (e) => { location.hash = e.target.value; }},
    x.sessions.map((o) => el("option", {value: routeOf(x, o), selected: o === s}, sessionName(x, o))));
  const bar = el("div.bar2",
    el("button", {type: "button", onclick: leave, title: "Back (esc)"}, "← back"),
    el("h1", mark(word), " ", el("bdi", x.case), " ", index.runners.length > 1 && el("span.on", "› " + index.runners[x.runner])),
    others,
    index.executions.some((y) => y !== x && y.sessions || y === x && x.sessions.length > 1) && el("button", {type: "button", onclick: () => { location.hash = compareRoute(x, s); }, title: "Compare (c)"}, "compare"),
    index.executions.some((y) => y !== x && y.sessions) && [
      el("button", {type: "button", onclick: () => neighbor(x, -1), title: "Previous (←)", "aria-label": "Previous execution"}, "‹"),
      el("button", {type: "button", onclick: () => neighbor(x, 1), title: "Next (→)", "aria-label": "Next execution"}, "›")]);
  const raw = (filesOf(report)[0] || [])[1] || head.show || "";
  const o = {subagents: subagentsOf(head), raw: raw, workspace: report.workspace, needle: "", hidden: new Set()};
  const lines = el("div.lines");
  const main = el("div", lead(x, s, head), changedPart(report));
  const render = (step) => o.hidden.has(kindOf(step)) ? null : stepNode(step, o);
  const parts = partsOf(head.blocks);
  const there = parts.reduce((n, p) => n + p.n, 0);
  const find = el("input", {type: "search", placeholder: "Find in this session ( / ), Enter for the next", "aria-label": "Find in this session", spellcheck: "false"});
  const of = head.kinds || {}, kinds = [["message", "messages"], ["thinking", "thinking"], ["command", "commands"], ["read", "reads"], ["call", "other tools"]].filter(([kind]) => of[kind]);
  const view = el("div", bar, el("div.session", main, factsPart(x, s, head)));
  const timeline = windowed(lines, parts, render, 62);
  const chip = ([kind, name]) => el("button.chip", {type: "button", "aria-pressed": "true", onclick: (e) => {
    const off = !o.hidden.delete(kind);
    if (off) o.hidden.add(kind);
    e.currentTarget.setAttribute("aria-pressed", String(!off));
    timeline.redraw();
  }}, name, " ", el("b", count(of[kind])));
  // A single answer, as from a model without tools, is already shown above.
  if (head.steps > 1 || head.steps && !report.finalOutput) {
    main.append(el("h2.sub", "Timeline ", el("small", plural(head.steps, "event"))), head.steps > 1 && el("div.showing", kinds.length > 1 && kinds.map(chip), find), lines);
  }
  if (there < head.steps) {
    main.append(el("p.banner", count(head.steps - there) + " more events did not fit into this page. To see them all: " + (head.show || raw)));
  }
  if (!head.steps && !report.finalOutput) main.append(el("p.dim", "Nothing was recorded."));
  find.addEventListener("keydown", async (e) => {
    if (e.key !== "Enter") return;
    e.preventDefault();
    o.needle = find.value.trim().toLowerCase();
    timeline.redraw();
    if (!o.needle) return;
    for (let n = 1, at = timeline.at; n <= timeline.length; n++) {
      const i = (at + n + timeline.length) % timeline.length;
      const step = await timeline.item(i);
      if (!o.hidden.has(kindOf(step)) && textOf(step).includes(o.needle)) {
        await timeline.go(i, "center");
        say("found in step " + (i + 1));
        return;
      }
    }
    say("not found");
    find.setAttribute("aria-invalid", "true");
    setTimeout(() => find.removeAttribute("aria-invalid"), 900);
  });
  await timeline.ready;
  return {
    node: view, list: timeline, search: find, watch: timeline.watch, after: timeline.keep, close: timeline.close, title: marks[word] + " " + x.case + (index.runners.length > 1 ? " › " + index.runners[x.runner] : ""),
    print: () => {
      const folded = [...main.querySelectorAll(".lead > details:not([open])")], undo = timeline.print();
      for (const d of folded) d.open = true;
      return () => { undo(); for (const d of folded) d.open = false; };
    },
    keys: {
      c: () => { location.hash = compareRoute(x, s); },
      ArrowLeft: () => neighbor(x, -1), ArrowRight: () => neighbor(x, 1), p: () => neighbor(x, -1), n: () => neighbor(x, 1),
    },
  };
}

const kindOf = (s) => ["message", "thinking", "command", "read"].includes(s.kind) ? s.kind : "call";

// tryName distinguishes the sessions of an execution.
function tryName(x, s) {
  const many = x.sessions.some((o) => o.repetition !== s.repetition), again = x.sessions.some((o) => o.session > 1);
  return [many && "repetition " + s.repetition, again && "try " + s.session].filter(Boolean).join(", ") || "session";
}

const sessionName = (x, s) => marks[wordOf(s)] + " " + tryName(x, s) + " · " + duration(s.durationMs);

// subagentsOf returns the subagents in the order of their numbers in the timeline.
const subagentsOf = (head) => (head.subagents || []).map((id) => {
  const known = (head.report.subagents || []).find((a) => a.id === id) || {};
  return {name: known.type ? known.type + " " + id : id, usage: known.usage};
});

const filesOf = (report) => Object.entries(report.rawArtifacts || {}).filter(([, path]) => path).map(([key, path]) => [key.replace(/Path$/, ""), path]);

const place = (p) => p && p.file ? [p.file, p.line, p.column].filter(Boolean).join(":") : "";

// providerOf describes the response of the provider to a request that failed.
const providerOf = (f) => (f.provider ? f.provider + (f.httpStatus ? " answered " + f.httpStatus : "") + (f.requestId ? ", request " + f.requestId : "") : "") +
  (f.attempts > 1 ? " after " + plural(f.attempts, "attempt") : "");

const outcomeOf = (v) => v.error ? "error" : v.pass ? "pass" : "fail";
const reasonOf = (v) => v.error ? v.error.message + (v.error.hint ? "\nhint: " + v.error.hint : "") : v.reason;

function lead(x, s, head) {
  const word = wordOf(s), box = el("div.lead"), f = head.failure, report = head.report || {};
  // A message that a check below repeats is shown only there.
  const repeated = f && head.verdicts.some((v) => outcomeOf(v) !== "pass" && reasonOf(v) && f.message.endsWith(reasonOf(v)));
  const explain = head.explain, explained = head.explained || [];
  const label = f && (f.class.label || f.class.id), detail = f && providerOf(f);
  const card = f && (!repeated || f.hint || f.logPath || detail || explain);
  if (card) {
    box.append(el("div.card." + word,
      el("h2", el("span.tag." + word, label || words[word]), f.origin !== "assertion" && el("span.meta", f.origin)),
      !repeated && el("pre.why", f.message), !repeated && place(f.source) && el("p.at", "at " + place(f.source)), detail && el("p.dim", detail), f.hint && el("p.hint", "hint: " + f.hint),
      !repeated && f.stack && el("details", el("summary", "stack"), el("pre", f.stack)), f.logPath && el("p.at", "Log: " + f.logPath),
      explain && el("p.hint", explained.length ? "ask again with --rerun: " : "ask the agent why: ", commandNode(explain))));
  }
  if (explained.length) {
    box.append(el("details.explained", {open: true}, el("summary", "The agent's own explanation ", el("small", plural(explained.length, "answer"))),
      explained.map((e) => el("div.check", el("p.dim", e.question), el("pre", e.answer), e.answer && el("button.tool", {type: "button", onclick: () => copy(e.answer, "the explanation")}, "copy")))));
  }
  if (head.verdicts.length) {
    const held = head.verdicts.filter((v) => outcomeOf(v) === "pass").length;
    box.append(el("details", {open: held < head.verdicts.length || head.verdicts.length <= 5},
      el("summary", "Checks ", el("small", held + " of " + head.verdicts.length + " passed"), f && !card && el("span.tag." + word, label)),
      el("div.verdicts", head.verdicts.map((v) => verdictNode(v, repeated ? null : f)))));
  }
  // The prompt is folded when the timeline starts with it.
  const short = (text) => text.length < 1200;
  if (report.prompt) box.append(el("details", {open: short(report.prompt) && !(head.kinds || {}).user}, el("summary", "Prompt"), el("pre", report.prompt)));
  if (report.finalOutput) box.append(el("details", {open: short(report.finalOutput)}, el("summary", "Final output"), el("pre", report.finalOutput)));
  return box;
}

function verdictNode(v, failure) {
  const outcome = outcomeOf(v), reason = reasonOf(v), at = place(v.source) || place(v.at), asked = v.asked;
  const node = el("div", el("pre.why", mark(outcome), " ", v.name && el("b", v.name), v.name && reason && ": ", reason && el("bdi", reason),
    v.score > 0 && v.score < 1 && el("span.dim", "  score " + v.score.toFixed(2))), v.class && el("span.meta", v.class.label || v.class.id));
  if (at) node.append(el("p.at", "at " + at));
  if (v.diff) node.append(diffNode(v.diff));
  else if (v.expected || v.got) {
    const compared = el("dl.compared", v.expected && [el("dt", "expected"), el("dd", el("pre", v.expected))],
      [el("dt", "got"), el("dd", el("pre", v.got || "“”"))]);
    node.append(outcome === "pass" ? el("details", el("summary", "expected and got"), compared) : compared);
  }
  if (asked && asked.model) {
    node.append(el("p.dim", "judge: " + asked.model + (asked.self ? " (the model under test)" : ""),
      (asked.yes || 0) + (asked.no || 0) > 1 && ", " + count(asked.yes || 0) + " yes, " + count(asked.no || 0) + " no"));
  }
  if (asked && asked.replies) node.append(el("details", {open: outcome !== "pass"}, el("summary", plural(asked.replies.length, "judge answer")), asked.replies.map((r) => el("pre", r))));
  for (const q of v.questions || []) node.append(el("p.dim", "question for the agent: " + q.question));
  if (v.stack && (!failure || v.stack !== failure.stack)) node.append(el("details", el("summary", "stack"), el("pre", v.stack)));
  return node;
}

function changedPart(report) {
  const changed = (report.files || {}).changed;
  if (!changed) return null;
  return el("div", el("h2.sub", "Changed files ", el("small", count(changed.length))), changed.map((c) => {
    const lines = c.diff ? c.diff.replace(/\n$/, "").split("\n") : [];
    const plus = lines.filter((l) => /^\+(?!\+\+ )/.test(l)).length, minus = lines.filter((l) => /^-(?!-- )/.test(l)).length;
    return el("details", {open: changed.length <= 3 && lines.length < 60},
      el("summary", pathNode(c.path, report.workspace), " " + c.kind + " ", c.diff && [el("span.plus", "+" + plus), " ", el("span.minus", "−" + minus)]),
      c.diff ? diffNode(lines) : el("p.dim", "no diff: not a text file, or its content is unknown"));
  }));
}

function factsPart(x, s, head) {
  const report = head.report || {}, usage = report.usage || {}, requests = report.requestUsage || [];
  const aside = el("aside", {"aria-label": "Facts"});
  const part = (title, ...body) => aside.append(el("section", el("h2", title), ...body));
  const facts = el("dl.facts", head.facts.map(([k, v]) => [el("dt", k), el("dd", v)]));
  if (head.score !== undefined) facts.prepend(el("dt", "score"), el("dd", head.score.toFixed(2)));
  if (facts.firstChild) part("Session", facts);
  if (usage.inputTokens !== undefined || usage.outputTokens !== undefined || requests.length) part("Tokens", tokensNode(report, requests));
  if ((report.detectedSkills || []).length) part("Skills used", el("ul", report.detectedSkills.map((k) => el("li", el("b", k.skill), " " + k.confidence, (k.evidence || []).map((e) => el("div.at", e))))));
  if (report.permissionDenials) part("Denied", el("ul", report.permissionDenials.map((d) => el("li", el("b.leak", d.tool), " " + (d.message || "")))));
  const offered = report.offered;
  if (offered) {
    const leaked = offered.filter((o) => o.undeclared).length;
    part("Offered", leaked > 0 && el("p.leak", "! " + leaked + " not declared by the suite"), el("details", {open: leaked > 0 || offered.length < 6},
      el("summary", plural(offered.length, "item")),
      el("ul", offered.map((o) => el("li", {title: o.path || ""}, o.undeclared && el("span.leak", "! "), el("span.dim", o.kind + " "), o.name, o.source && el("span.dim", " (" + o.source + ")"))))));
  }
  if (head.subagents) part("Subagents", el("ul", subagentsOf(head).map((a) => el("li", a.name, a.usage && el("span.dim", " " + count(a.usage.inputTokens) + " in, " + count(a.usage.outputTokens) + " out")))));
  const reads = (report.files || {}).observedReads || [];
  if (reads.length) part("Files read", el("details", {open: reads.length < 8}, el("summary", plural(reads.length, "file")), el("ul", reads.map((p) => el("li", pathNode(p, report.workspace))))));
  const notes = [...report.notes || [], head.omitted && "not shown: " + plural(head.omitted, "more list item")].filter(Boolean);
  if (notes.length) part("Notes", el("ul", notes.map((n) => el("li", n))));
  // The end of a path says most.
  const file = (k, v) => el("li.file", el("span.dim", k), el("span.path.tail", {title: v}, el("bdi", {dir: "ltr"}, v)), el("button.tool", {type: "button", "aria-label": "copy the path of " + k, onclick: () => copy(v, "the path")}, "copy"));
  const files = filesOf(report).map(([k, v]) => file(k, v));
  if (head.artifactDir) files.unshift(file("directory", head.artifactDir));
  files.push(el("li", commandNode(head.show)));
  part("Files", el("ul", files));
  return aside;
}

function tokensNode(report, requests) {
  const all = report.usage;
  const row = (name, t, total) => el("tr" + (total ? ".total" : ""), el("th", {scope: "row"}, name), [t.inputTokens, t.cacheTokens, t.outputTokens, t.reasoningTokens].map((n) => el("td", count(n))));
  const table = (rows) => el("table.req", el("thead", el("tr", ["", "in", "cache", "out", "reason"].map((h) => h ? el("th", {scope: "col"}, h) : el("td")))), el("tbody", rows));
  const box = el("div", table([row("all", all, true)]));
  if (all.totalTokens !== undefined) box.append(el("p.dim", count(all.totalTokens) + " billable (not from a cache)"));
  if (all.cacheWriteTokens) box.append(el("p.dim", count(all.cacheWriteTokens) + " written to the cache"));
  if (requests.length > 1) {
    const width = 4, most = Math.max(1, ...requests.map((r) => (r.inputTokens || 0) + (r.outputTokens || 0)));
    const svg = el("svg.spark", {viewBox: "0 0 " + requests.length * width + " 42", preserveAspectRatio: "none", role: "img", "aria-label": "tokens of each request"});
    requests.forEach((r, i) => {
      const high = (r.inputTokens || 0) / most * 40, out = (r.outputTokens || 0) / most * 40;
      svg.append(el("rect.i", {x: i * width, width: width - .6, y: 42 - high, height: high}), el("rect.o", {x: i * width, width: width - .6, y: 42 - high - out, height: out}));
    });
    box.append(svg);
  }
  if (requests.length) {
    const of = (r) => [r.model !== report.model && r.model, r.subagent].filter(Boolean).map((name) => " " + name).join("");
    box.append(el("details", el("summary", plural(requests.length, "request")), table(requests.map((r, i) => row((i + 1) + of(r), r)))));
  }
  return box;
}
