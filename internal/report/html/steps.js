// stepNode draws one step of a timeline. o: {needle, subagents, time: false in a comparison}.
function stepNode(s, o) {
  const classes = ["step", s.kind];
  if (s.kind === "message" && s.role === "user") classes.push("user");
  if (s.phase === "final" && !s.sub) classes.push("final");
  if (s.sub) classes.push("in1");
  const body = el("div.body");
  const when = el("div.when", s.at === undefined ? "" : "+" + duration(s.at));
  const node = el("article." + classes.join("."), {tabindex: "-1", "aria-label": labelOf(s)}, when, body);
  if (s.sub) {
    const agent = o.subagents && o.subagents[s.sub - 1];
    body.append(el("div.agent", "subagent " + (agent ? agent.name : s.sub)));
  }
  if (s.kind === "message") {
    body.append(el("span.who", whoOf(s)));
    body.append(longText("div.text", s.text || "", o, 4000));
  } else if (s.kind === "thinking") {
    const text = s.text || "";
    body.append(el("details", {open: o.open || o.needle && text.toLowerCase().includes(o.needle)},
      el("summary", "thinking · " + (text.replace(/\s+/g, " ").slice(0, 90) || "not shown by the provider") + (text.length > 90 ? " …" : "")),
      longText("div.text", text, o, 8000)));
  } else {
    callBody(body, s, o);
  }
  if (s.cut) body.append(el("p.at", count(s.cut) + " bytes omitted" + (o.raw ? "; full text: " + o.raw : "")));
  if ((s.output || s.text || "").length > 1500) node.classList.add("big");
  return node;
}

function whoOf(s) {
  if (s.role !== "assistant") return s.role || "message";
  return s.phase === "final" ? (s.sub ? "answer" : "assistant · final answer") : s.phase === "commentary" ? "assistant · interim" : "assistant";
}

function labelOf(s) {
  if (s.kind === "message") return whoOf(s);
  if (s.kind === "command") return "command " + ((s.commands || [{line: ""}])[0].line).slice(0, 80);
  return s.kind + " " + (s.tool || "");
}

function callBody(body, s, o) {
  const say = {call: "tool", command: "command", read: "read", change: "changed", skill: "skill", denied: "denied"}[s.kind] || s.kind;
  const tool = s.tool && s.tool.toLowerCase() !== say && !(s.commands || []).length && s.tool;
  const line = el("div.line", el("span.who", s.kind === "call" && tool ? tool : say), s.kind !== "call" && tool && el("span.tool", tool));
  body.append(line);
  for (const c of s.commands || []) {
    line.append(highlight(el("span.cmd"), c.line, o.needle));
    if (c.exit !== undefined) line.append(el("span.exit" + (c.exit ? ".bad" : ""), "exit " + c.exit));
  }
  for (const path of s.reads || []) line.append(pathNode(path, o.workspace, o.needle));
  for (const w of s.changes || []) line.append(w.change && el("span.tool", w.change), pathNode(w.path, o.workspace, o.needle));
  for (const k of s.skills || []) line.append(el("span.path", k.skill + (k.signal ? " (" + k.signal + ")" : "")));
  if (s.kind === "denied") line.append(el("span.exit.no", "denied"));
  else if (s.failed && !(s.commands || []).some((c) => c.exit)) line.append(el("span.exit.bad", "error"));
  else if (!s.answered && s.tool && !s.denied) line.append(el("span.exit.no", "no result"));
  if (s.ms) line.append(el("span.dim", duration(s.ms)));
  if (s.denied) body.append(longText("pre.why", s.denied, o, 2000));
  if (s.args) {
    // Arguments that the line above already shows are folded.
    const shown = (s.commands || s.reads || s.changes || s.skills) && true;
    const short = s.args.length < 400 && s.args.split("\n").length < 12;
    if (shown || !short) {
      line.append(el("details", {open: o.needle && s.args.toLowerCase().includes(o.needle)},
        el("summary", "arguments"), highlight(el("pre"), s.args, o.needle)));
    } else {
      body.append(highlight(el("pre.dim"), s.args.replace(/^\{\n|\n\}$/g, "").replace(/^ {2}/gm, ""), o.needle));
    }
  }
  if (s.answered && s.output) {
    const out = longText("pre.out" + (s.failed ? ".bad" : ""), s.output, o, 6000);
    const tall = s.output.split("\n", 13).length > 12;
    if (tall || s.output.length > 500) out.tabIndex = 0; // it may scroll
    if (tall) {
      body.append(out, el("button.more", {type: "button", onclick: (e) => {
        out.classList.toggle("whole");
        e.target.textContent = out.classList.contains("whole") ? "show less" : "show all";
      }}, "show all"));
    } else {
      body.append(out);
    }
  } else if (s.answered && s.kind !== "read") {
    body.append(el("div.dim", "(no output)"));
  }
}

// pathNode shows a path, relative to its workspace.
function pathNode(path, workspace, needle) {
  const short = within(path, workspace);
  return highlight(el("span.path", {title: short !== path && path}), short, needle);
}

const within = (path, workspace) => workspace && path.startsWith(workspace) && /^[\\/]./.test(path.slice(workspace.length)) ? path.slice(workspace.length + 1) : path;

// longText shows the start of a text, and the rest on request.
function longText(name, text, o, limit) {
  const node = el(name);
  if (text.length <= limit || o.needle && text.toLowerCase().includes(o.needle)) return highlight(node, text, o.needle);
  node.textContent = text.slice(0, limit);
  node.append(el("button.more", {type: "button", onclick: () => { node.textContent = text; }}, " … " + count(text.length - limit) + " more characters"));
  return node;
}

// textOf returns the text of a step that a search covers.
function textOf(s) {
  return [s.text, s.tool, s.args, s.output, s.denied, ...(s.commands || []).map((c) => c.line), ...(s.reads || []),
    ...(s.changes || []).map((c) => c.path), ...(s.skills || []).map((k) => k.skill)].join("\n").toLowerCase();
}
