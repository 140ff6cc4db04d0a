// windowed shows a long list. It creates the nodes of a part when the part comes near the visible
// window and removes them when it is far away, so the page stays small for any length. parts: {n,
// load() -> items or a promise of them}; render(item, i) -> a node, or null for a hidden item.
const printed = 2000; // items on paper

function windowed(box, parts, render, height) {
  let from = 0;
  for (const p of parts) {
    p.from = from;
    from += p.n;
    p.node = el("div.block.empty");
    p.node.style.height = p.n * height + "px";
    box.append(p.node);
  }
  if (from > printed) box.append(el("p.banner.paper", "Only the first " + count(printed) + " of " + count(from) + " are printed."));
  const fill = (p, items) => {
    if (p.full) return;
    p.full = true;
    p.node.classList.remove("empty");
    p.node.style.height = "";
    p.node.replaceChildren();
    items.forEach((item, i) => {
      const node = render(item, p.from + i);
      if (node) {
        node.dataset.i = p.from + i;
        p.node.append(node);
      }
    });
  };
  const show = async (p) => {
    p.near = true;
    if (p.full) return;
    try {
      const items = await p.load();
      if (p.near || p.forced) fill(p, items);
    } catch (err) {
      p.node.classList.remove("empty");
      p.node.replaceChildren(el("p.banner", "This part cannot be shown: " + err.message));
    }
  };
  const hide = (p) => {
    if (!box.offsetParent) return; // the reader is at another view, and comes back
    p.near = false;
    if (!p.full || p.forced) return;
    p.full = false;
    p.node.style.height = p.node.offsetHeight + "px";
    p.node.classList.add("empty");
    p.node.replaceChildren();
  };
  const watch = new IntersectionObserver((entries) => {
    for (const e of entries) {
      const p = parts[e.target.dataset.part];
      if (e.isIntersecting) show(p);
      else hide(p);
    }
  }, {rootMargin: "1200px"});
  const part = (i) => {
    let low = 0, high = parts.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (parts[mid].from <= i) low = mid;
      else high = mid - 1;
    }
    return parts[low];
  };
  const list = {
    length: from,
    // watch starts to observe the window. Call it when the list is in the page: before that, every
    // part seems far away.
    watch() {
      parts.forEach((p, i) => {
        p.node.dataset.part = i;
        watch.observe(p.node);
      });
    },
    ready: parts.length ? show(parts[0]) : Promise.resolve(),
    node: (i) => part(i).node.querySelector(":scope > [data-i='" + i + "']"),
    item: async (i) => { const p = part(i); return (await p.load())[i - p.from]; },
    // go selects an item, scrolls it into view and, if asked, focuses it. Drawing the items above
    // it may move it, so go scrolls twice.
    async go(i, where, focus) {
      const p = part(i);
      p.forced = true;
      await show(p);
      p.forced = false;
      for (const old of box.querySelectorAll(".sel")) old.classList.remove("sel");
      const node = list.node(i);
      if (!node) return null;
      node.classList.add("sel");
      if (focus) node.focus({preventScroll: true});
      node.scrollIntoView({block: where});
      list.at = i;
      for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
      if (node.isConnected && list.at === i) node.scrollIntoView({block: "nearest"});
      return node;
    },
    at: -1,
    // redraw renders the visible parts again after a filter has changed.
    redraw() {
      for (const p of parts) {
        if (p.full) {
          p.full = false;
          show(p);
        }
      }
    },
    // keep loads the items to print in advance, because the print event does not wait.
    async keep() {
      for (const p of parts) {
        if (p.from < printed) p.kept = await Promise.resolve(p.load()).catch(() => null); // show() reports the error
      }
    },
    // print renders the kept items and returns a function that removes them.
    print() {
      for (const p of parts) {
        if (!p.kept) continue;
        p.forced = true;
        fill(p, p.kept);
      }
      return () => parts.forEach((p) => { p.forced = false; if (!p.near) hide(p); });
    },
    close: () => watch.disconnect(),
  };
  return list;
}

// partsOf splits the blocks of a timeline into parts for windowed.
function partsOf(blocks) {
  const size = 100, parts = [];
  for (const [id, n] of blocks || []) {
    for (let from = 0; from < n; from += size) {
      const to = Math.min(n, from + size);
      parts.push({
        n: to - from,
        load: () => block(id).then((steps) => steps.slice(from, to)),
      });
    }
  }
  return parts;
}
