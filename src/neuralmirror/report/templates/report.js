"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const names = data.rows.map((row) => row[0]);
  const p = names.length;
  const THEME = "neuralmirror-theme";
  const kept = (use) => { try { use(localStorage); } catch { /* a browser may refuse storage to a file */ } };
  const K = data.mirrors;

  // ---- the selection, as in neuralmirror.selection ----

  // For each draw: the distinct positive |M|, increasing, with the estimated FDP at each (selection.estimated_fdp).
  const curves = data.draws.map((m) => {
    const sizes = [...new Set(m.map(Math.abs))].filter((t) => t > 0).sort((a, b) => a - b);
    const up = m.filter((v) => v > 0).sort((a, b) => a - b);
    const down = m.filter((v) => v < 0).map((v) => -v).sort((a, b) => a - b);
    let i = 0, j = 0;
    const fdp = sizes.map((t) => {
      while (i < up.length && up[i] < t) i++;
      while (j < down.length && down[j] < t) j++;
      return (data.offset + down.length - j) / (K * Math.max(up.length - i, 1));
    });
    return { sizes, fdp };
  });

  // min{t > 0 : estimated FDP(t) <= fdr}, infinite when no t passes (selection.mirror_threshold).
  const threshold = ({ sizes, fdp }, fdr) => {
    const k = fdp.findIndex((value) => value <= fdr);
    return k < 0 ? Infinity : sizes[k];
  };

  const median = (values) => {
    const v = [...values].sort((a, b) => a - b), h = v.length >> 1;
    return v.length % 2 ? v[h] : v[h - 1] === v[h] ? v[h] : (v[h - 1] + v[h]) / 2;
  };

  // A set has one estimate, whatever level it was asked for by: the smallest level at which it is selected.
  const reselect = (fdr) => {
    const selected = data.q.map((q) => q <= fdr);
    const fdp = data.q.reduce((most, q, j) => (selected[j] ? Math.max(most, q) : most), 0);
    return { fdr, tau: median(curves.map((curve) => threshold(curve, fdr))), selected, fdp };
  };

  const statistics = names.map((_, j) => median(data.draws.map((m) => m[j])));
  // The level at which something is selected, for the sentence on why nothing was.
  const nearest = data.q.reduce((a, b) => Math.min(a, b), 1);

  let state = reselect(data.fdr);

  // ---- words ----

  const plural = (n, word, words = `${word}s`) => `${n} ${n === 1 ? word : words}`;
  const short = (v, digits = 4) => {
    if (!isFinite(v)) return "∞";
    const size = Math.abs(v);
    return size === 0 ? "0" : size >= 1e-3 && size < 1e5 ? String(+v.toPrecision(digits)) : v.toExponential(2);
  };

  const explain = () => {
    const found = state.selected.filter(Boolean).length;
    const level = short(state.fdr, 3);
    if (found) return `At a false discovery rate of ${level}, ${found === 1 ? "1 feature was" : `${found} features were`} selected; an estimated ${(100 * state.fdp).toFixed(1)}% of them are false.`;
    let text = `No feature was selected at ${level}.`;
    if (data.offset) {
      const needed = Math.ceil(data.offset / (state.fdr * K) - 1e-9);
      const won = statistics.filter((v) => v > 0).length;
      text += ` With ${plural(K, "copy", "copies")} per feature at least ${plural(needed, "feature")} must stand out together; ${won} beat their copies, not clearly enough or too few.`;
    }
    return text + (nearest < 1
      ? ` The nearest level at which something would be selected is ${short(nearest, 3)}.`
      : " No level below 1 would select anything: the data show no sign of a relevant feature.");
  };

  // ---- drawing ----

  const SVG = "http://www.w3.org/2000/svg";
  const node = (parent, tag, attributes = {}, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  const canvas = (id, height, label) => {
    const holder = $(id), width = Math.max(300, holder.clientWidth || 640);
    holder.replaceChildren();
    const svg = node(holder, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    return { svg, width, height };
  };
  const ticks = (low, high, count) => {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
    const out = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high * (1 + 1e-9); v += step) out.push(+v.toPrecision(6));
    return out;
  };
  // Not Math.max(...values): a call with very many arguments fails.
  const highest = (values, floor) => values.reduce((a, v) => Math.max(a, v), floor);
  const lowest = (values, ceiling) => values.reduce((a, v) => Math.min(a, v), ceiling);
  const largest = highest(data.draws.map((m) => highest(m.map(Math.abs), 0)), 1e-12);
  // Square-root scale: most |M| are small, and what matters happens among them and at the far end.
  const along = (width, left, right) => (v) => left + Math.sqrt(Math.min(Math.max(v, 0), largest) / largest) * (width - left - right);
  const roundDown = (v) => { const power = 10 ** Math.floor(Math.log10(v)); return +(Math.floor(v / power + 1e-9) * power).toPrecision(1); };
  const sizeTicks = (width) => [0, ...[0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 1].map((f) => roundDown(f * largest))]
    .filter((v, i, all) => v <= largest && (i === 0 || Math.sqrt(v / largest) - Math.sqrt(all[i - 1] / largest) > 44 / width));

  const drawMirror = () => {
    const { svg, width, height } = canvas("mirror", 300, `Mirror statistics of ${p} features with the threshold at ${short(state.tau)}`);
    const left = 44, right = 12, top = 16, bottom = 34, middle = top + (height - top - bottom) * 0.6;
    const x = along(width, left, right), wide = Math.max(24, Math.round(width / 16)), room = width - left - right;
    // τ is an edge between two bars, so that each lies wholly on one side of it.
    const cut = isFinite(state.tau) ? Math.sqrt(state.tau / largest) : 1;
    const before = Math.max(1, Math.round(cut * wide)), after = cut < 1 ? Math.max(1, wide - before) : isFinite(state.tau) ? 1 : 0;
    const bins = before + after, edge = (b) => (b <= before ? (cut * b) / before : cut + ((1 - cut) * (b - before)) / after);
    const binOf = (size) => {
      const u = Math.sqrt(size / largest);
      return size >= state.tau ? before + Math.min(after - 1, Math.floor(((u - cut) / (1 - cut || 1)) * after)) : Math.min(before - 1, Math.floor((u / cut) * before));
    };
    const bars = Array.from({ length: bins }, () => ({ up: 0, chosen: 0, down: 0, beyond: 0, who: [] }));
    statistics.forEach((v, j) => {
      if (!v) return;
      const bar = bars[Math.max(0, binOf(Math.abs(v)))];
      if (v > 0) { bar.up++; if (state.selected[j]) { bar.chosen++; bar.who.push(names[j]); } }
      else { bar.down++; if (-v >= state.tau) bar.beyond++; }
    });
    const most = Math.max(1, ...bars.map((b) => Math.max(b.up, b.down)));
    const tall = (count, room) => (Math.log1p(count) / Math.log1p(most)) * room;
    if (isFinite(state.tau)) node(svg, "rect", { x: x(state.tau), y: top, width: Math.max(0, width - right - x(state.tau)), height: height - top - bottom, class: "zone" });
    const marks = [...new Set([1, 3, 10, 30, 100, 300, 1000, 3000, 10000].filter((c) => c <= most))];
    for (const count of marks) {
      const y = middle - tall(count, middle - top);
      node(svg, "line", { x1: left, x2: width - right, y1: y, y2: y, class: "axis" });
      node(svg, "text", { x: left - 8, y: y + 4, "text-anchor": "end" }, count);
    }
    bars.forEach((bar, b) => {
      const x0 = left + edge(b) * room + 1, w = Math.max(2, (edge(b + 1) - edge(b)) * room - 2);
      const column = (count, from, sign, room, kind, tip) => {
        if (!count) return;
        const h = Math.max(2, tall(count, room));
        node(svg, "rect", { x: x0, y: sign > 0 ? from - h : from, width: w, height: h, rx: 1.5, class: kind, "data-tip": tip });
      };
      const who = bar.who.slice(0, 6).join(", ") + (bar.who.length > 6 ? " …" : "");
      const low = middle, roomUp = middle - top, roomDown = height - bottom - middle;
      column(bar.up, low, 1, roomUp, bar.chosen === bar.up ? "won" : "mute", `${plural(bar.up, "feature")} beat their copies${bar.chosen ? `; selected: ${who}` : ""}`);
      if (bar.chosen && bar.chosen < bar.up) column(bar.chosen, low, 1, roomUp, "won", `${bar.chosen} selected: ${who}`);
      column(bar.down, low, -1, roomDown, bar.beyond ? "lost" : "mute", `a copy won for ${plural(bar.down, "feature")}`);
    });
    node(svg, "line", { x1: left, x2: width - right, y1: middle, y2: middle, class: "zero" });
    axis(svg, x, width, height - bottom, "|M|, square-root scale");
    if (width > 500 && !(x(state.tau) < left + 130)) node(svg, "text", { x: left, y: top - 4 }, "features, log scale");
    if (!isFinite(state.tau)) return;
    tauLine(svg, x(state.tau), top - 4, height - bottom, width);
    if (width - right - x(state.tau) < 200) return;
    node(svg, "text", { x: width - right - 6, y: top + 14, "text-anchor": "end", class: "won strong" }, "selected");
    node(svg, "text", { x: width - right - 6, y: height - bottom - 8, "text-anchor": "end", class: "lost strong" }, "estimate of the false ones");
  };
  const axis = (svg, x, width, y, label) => {
    node(svg, "line", { x1: x(0), x2: x(largest), y1: y, y2: y, class: "axis" });
    for (const v of sizeTicks(width)) node(svg, "text", { x: x(v), y: y + 16, "text-anchor": "middle" }, short(v, 2));
    node(svg, "text", { x: x(largest), y: y + 31, "text-anchor": "end" }, label);
  };
  const tauLine = (svg, x, top, bottom, width) => {
    node(svg, "line", { x1: x, x2: x, y1: top, y2: bottom, class: "tau" });
    const flip = x > width - 110;
    node(svg, "text", { x: x + (flip ? -6 : 6), y: top + 9, class: "strong", "text-anchor": flip ? "end" : "start" }, `τ = ${short(state.tau, 3)}`);
  };

  const drawFdp = () => {
    const { svg, width, height } = canvas("fdp", 260, `Estimated false discovery proportion against the threshold, level ${short(state.fdr, 3)}`);
    const left = 44, right = 12, top = 14, bottom = 38;
    const x = along(width, left, right), y = (v) => top + (1 - Math.min(v, 1)) * (height - top - bottom);
    for (const v of [0, 0.25, 0.5, 0.75, 1]) {
      node(svg, "line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: "axis" });
      node(svg, "text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, v);
    }
    for (const { sizes, fdp } of curves) {
      let path = "", before = 0;
      sizes.forEach((t, i) => { path += `${i ? "L" : "M"}${x(before).toFixed(1)} ${y(fdp[i]).toFixed(1)}L${x(t).toFixed(1)} ${y(fdp[i]).toFixed(1)}`; before = t; });
      node(svg, "path", { d: path, class: curves.length > 1 ? "curve many" : "curve" });
    }
    node(svg, "line", { x1: left, x2: width - right, y1: y(state.fdr), y2: y(state.fdr), class: "level" });
    node(svg, "text", { x: width - right, y: y(state.fdr) - 6, "text-anchor": "end", class: "strong" }, `level ${short(state.fdr, 3)}`);
    axis(svg, x, width, height - bottom, "threshold t");
    if (isFinite(state.tau)) tauLine(svg, x(state.tau), top, height - bottom, width);
  };

  const places = (() => {
    const c = data.columns.indexOf("chromosome"), b = data.columns.indexOf("position");
    if (b < 0 || data.rows.some((row) => typeof row[b] !== "number")) return null;
    const labels = data.rows.map((row) => (c < 0 ? "" : String(row[c])));
    const order = [...new Set(labels)].sort((a, z) => a.localeCompare(z, "en", { numeric: true }));
    const spans = order.map((label) => {
      let low = Infinity, high = -Infinity;
      data.rows.forEach((row, j) => { if (labels[j] === label) { low = Math.min(low, row[b]); high = Math.max(high, row[b]); } });
      return { label, low, span: Math.max(1, high - low) };
    });
    const gap = spans.reduce((sum, s) => sum + s.span, 0) * 0.008;
    let start = 0;
    for (const s of spans) { s.start = start; start += s.span + gap; }
    const by = new Map(spans.map((s, i) => [s.label, { ...s, odd: i % 2 }]));
    return { spans, total: start - gap, at: data.rows.map((row, j) => { const s = by.get(labels[j]); return { x: s.start + row[b] - s.low, odd: s.odd }; }) };
  })();

  const drawManhattan = () => {
    if (!places) return;
    $("manhattan-figure").hidden = false;
    const { svg, width, height } = canvas("manhattan", 280, "Mirror statistics along the genome");
    const left = 52, right = 12, top = 14, bottom = 38, low = lowest(statistics, 0), high = highest(statistics, 1e-9);
    const x = (v) => left + (v / places.total) * (width - left - right), y = (v) => top + (1 - (v - low) / (high - low)) * (height - top - bottom);
    for (const v of ticks(low, high, 4)) {
      node(svg, "line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: v === 0 ? "zero" : "axis" });
      node(svg, "text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, short(v, 3));
    }
    let last = -Infinity;
    for (const s of places.spans) {
      const middle = x(s.start + s.span / 2);
      if (s.label && middle - last > 18) { node(svg, "text", { x: middle, y: height - bottom + 16, "text-anchor": "middle" }, s.label); last = middle; }
    }
    node(svg, "text", { x: width - right, y: height - bottom + 31, "text-anchor": "end" }, data.columns.includes("chromosome") ? "chromosome" : "position");
    const point = (j, r, kind) => node(svg, "circle", { cx: x(places.at[j].x).toFixed(1), cy: y(statistics[j]).toFixed(1), r, class: kind, "data-tip": `${names[j]}: M = ${short(statistics[j])}` });
    if (p <= 5000) statistics.forEach((v, j) => { if (!state.selected[j]) point(j, 2, places.at[j].odd ? "alt" : "mute"); });
    else {  // very many points are two paths of dots, which draw fast; points that would cover each other are drawn once
      const seen = new Set(), dots = ["", ""];
      statistics.forEach((v, j) => {
        const place = `${Math.round(x(places.at[j].x))} ${Math.round(y(v))}`;
        if (!seen.has(place)) { seen.add(place); dots[places.at[j].odd] += `M${place}h0`; }
      });
      dots.forEach((d, odd) => node(svg, "path", { d, class: odd ? "dots alt" : "dots mute" }));
    }
    statistics.forEach((v, j) => { if (state.selected[j]) point(j, 4.5, "won"); });
    if (isFinite(state.tau)) {
      node(svg, "line", { x1: left, x2: width - right, y1: y(state.tau), y2: y(state.tau), class: "level" });
      node(svg, "text", { x: left + 4, y: y(state.tau) - 5, class: "strong" }, `τ = ${short(state.tau, 3)}`);
    }
  };

  // ---- the table ----

  const TITLES = { feature: "feature", mirror_statistic: "M", scale: "spread", selected: "selected", q_value: "q-value", selection_frequency: "frequency", missing_share: "missing" };
  const PAGE = 100;
  const chosenColumn = data.columns.indexOf("selected");
  const view = { column: -1, up: true, shown: PAGE };
  const value = (j, c) => (c === chosenColumn ? state.selected[j] : data.rows[j][c]);
  const compare = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b), "en", { numeric: true }) : a - b);

  const visibleRows = () => {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let order = names.map((_, j) => j);
    if (words.length) order = order.filter((j) => { const text = data.rows[j].join(" ").toLowerCase(); return words.every((word) => text.includes(word)); });
    if ($("only").checked) order = order.filter((j) => state.selected[j]);
    if (view.column >= 0) order.sort((a, b) => (view.up ? 1 : -1) * compare(value(a, view.column), value(b, view.column)) || a - b);
    return order;
  };

  const drawHead = () => {
    const head = $("table").tHead.rows[0];
    data.columns.forEach((key, c) => {
      const th = document.createElement("th"), button = document.createElement("button");
      th.scope = "col";
      if (c && typeof value(0, c) === "string") th.className = "word";
      button.type = "button";
      button.textContent = TITLES[key] || key.replaceAll("_", " ");
      button.addEventListener("click", () => {
        const word = typeof value(0, c) === "string";
        view.up = view.column === c ? !view.up : word || key === "q_value";
        view.column = c;
        [...head.cells].forEach((cell) => cell.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", view.up ? "ascending" : "descending");
        drawTable();
      });
      th.append(button);
      head.append(th);
    });
  };

  const drawTable = () => {
    const order = visibleRows(), body = $("table").tBodies[0], rows = document.createDocumentFragment();
    for (const j of order.slice(0, view.shown)) {
      const tr = document.createElement("tr");
      if (state.selected[j]) tr.className = "chosen";
      data.columns.forEach((key, c) => {
        const td = document.createElement("td"), v = value(j, c);
        if (key === "selected") { td.textContent = v ? "yes" : "no"; td.className = v ? "yes" : "no"; }
        else if (key === "missing_share") td.textContent = `${+(100 * v).toPrecision(2)}%`;
        else if (typeof v === "number") td.textContent = key === "position" ? String(v) : short(v);
        else { td.textContent = v; td.title = v; if (c) td.className = "word"; }
        tr.append(td);
      });
      rows.append(tr);
    }
    body.replaceChildren(rows);
    const count = Math.min(view.shown, order.length);
    $("shown").textContent = order.length ? `${count} of ${plural(order.length, "feature")} shown` : "No feature matches.";
    $("more").hidden = count >= order.length;
  };

  const exported = () => {
    const quote = (v) => (/[",\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
    const lines = [data.columns.join(","), ...visibleRows().map((j) => data.columns.map((_, c) => quote(value(j, c))).join(","))];
    return lines.join("\n") + "\n";
  };

  // ---- all together ----

  const drawPlots = () => { drawMirror(); drawFdp(); drawManhattan(); };
  const drawWords = () => {
    const found = names.filter((_, j) => state.selected[j]);
    $("found").textContent = $("state-found").textContent = found.length;
    $("state-threshold").textContent = short(state.tau, 3);
    $("state-fdp").textContent = found.length ? state.fdp.toFixed(3) : "–";
    $("sentence").textContent = explain();
    $("level-word").textContent = short(state.fdr, 3);
    document.querySelector(".control > label").dataset.level = short(state.fdr, 3);
    document.querySelectorAll("#found-table tbody tr").forEach((row) => row.classList.toggle("off", +row.dataset.q > state.fdr));
    const chips = found.slice(0, 60).map((name) => Object.assign(document.createElement("li"), { textContent: name }));
    if (found.length > 60) chips.push(Object.assign(document.createElement("li"), { textContent: `and ${found.length - 60} more`, className: "rest" }));
    $("chips").replaceChildren(...chips);
  };
  const setLevel = (fdr) => {
    const valid = fdr > 0 && fdr < 1;
    $("level-number").setAttribute("aria-invalid", String(!valid));
    $("level-error").textContent = valid ? "" : `A level lies between 0 and 1; still shown: ${short(state.fdr, 3)}.`;
    if (!valid) return;
    state = reselect(fdr);
    if (+$("level").value !== fdr) $("level").value = fdr;
    if (+$("level-number").value !== fdr) $("level-number").value = fdr;
    drawWords();
    drawPlots();
    drawTable();
  };

  $("level").addEventListener("input", (event) => setLevel(+event.target.value));
  $("level-number").addEventListener("input", (event) => setLevel(event.target.value === "" ? NaN : +event.target.value));
  $("reset").addEventListener("click", () => setLevel(data.fdr));
  for (const id of ["filter", "only"]) $(id).addEventListener("input", () => { view.shown = PAGE; drawTable(); });
  $("more").addEventListener("click", () => { view.shown += 5 * PAGE; drawTable(); });
  $("export").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([exported()], { type: "text/csv" }));
    link.download = `selection-fdr-${state.fdr}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  $("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText($("bibtex").textContent); $("copy").textContent = "Copied"; }
    catch { getSelection().selectAllChildren($("bibtex")); $("copy").textContent = "Selected: press Ctrl+C"; }
  });
  $("theme").addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches, now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    kept((storage) => storage.setItem(THEME, document.documentElement.dataset.theme));
  });

  // ---- tips: what a mark of a figure stands for, by pointer or by arrow keys ----

  const hideTip = () => { $("tip").hidden = true; document.querySelectorAll(".read").forEach((mark) => mark.classList.remove("read")); };
  const showTip = (text, x, y) => {
    const tip = $("tip");
    tip.hidden = false;
    tip.textContent = text;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(8, y - tip.offsetHeight - 10)}px`;
  };
  document.addEventListener("pointermove", (event) => {
    const text = event.target.dataset?.tip;
    if (text) { hideTip(); showTip(text, event.clientX, event.clientY); } else if (!document.querySelector(".read")) hideTip();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  const chosenFirst = (a, b) => b.classList.contains("won") - a.classList.contains("won") || a.getBoundingClientRect().left - b.getBoundingClientRect().left;
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  for (const id of ["mirror", "manhattan"]) {
    let at = -1;
    $(id).addEventListener("keydown", (event) => {
      const marks = [...$(id).querySelectorAll("[data-tip]")].sort(chosenFirst);
      const next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : event.key in STEPS ? (at + STEPS[event.key] + marks.length) % marks.length : -1;
      if (next < 0 || !marks.length) return;
      event.preventDefault();
      hideTip();
      at = next;
      const box = marks[at].getBoundingClientRect();
      marks[at].classList.add("read");
      showTip(marks[at].dataset.tip, box.left + box.width / 2, box.top);
    });
    $(id).addEventListener("blur", () => { at = -1; hideTip(); });
  }

  let pending = 0;
  addEventListener("resize", () => { cancelAnimationFrame(pending); pending = requestAnimationFrame(drawPlots); });
  let before = null;  // paper shows the selected features only, or the strongest where there are none, and all that is folded
  addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details:not([open])")];
    before = { ...view, only: $("only").checked, folded };
    folded.forEach((part) => { part.open = true; });
    $("only").checked = state.selected.some(Boolean);
    view.shown = $("only").checked ? 400 : 40;
    drawTable();
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    before.folded.forEach((part) => { part.open = false; });
    $("only").checked = before.only;
    view.shown = before.shown;
    drawTable();
  });

  kept((storage) => { const theme = storage.getItem(THEME); if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme; });
  drawHead();
  drawWords();
  drawPlots();
  drawTable();
  window.neuralmirror = { reselect: (fdr) => { const { selected } = reselect(fdr); return names.filter((_, j) => selected[j]); }, exported };
})();
