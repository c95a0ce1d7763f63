"use strict";
// The page of one or more runs. All numbers come from the JSON in the page; what
// they mean is in docs/report.md.
const page = JSON.parse(document.getElementById("data").textContent);
const engineNames = ["sequencer", "load", "store", "matrix", "vector"];
/// The engines of a run's machine: those behind the first matrix engine come last.
const enginesOf = (run) => [...engineNames,
  ...Object.keys(run.engines).filter((name) => !engineNames.includes(name)).sort()];
const root = document.documentElement;
let repaint = []; // Called when the theme or the window's width changes.

const color = (name) => getComputedStyle(root).getPropertyValue("--" + name.replace(/\d+$/, "")).trim();
const whole = (value) => Math.round(value).toLocaleString("en-US");
const percent = (part) => (100 * part).toFixed(1) + " %";
const ratio = (a, b) => (b ? a / b : 0);
function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; count >= 1024 && unit + 1 < units.length; ++unit) count /= 1024;
  return (unit ? count.toFixed(1) : count) + " " + units[unit];
}
function duration(us) {
  return us >= 1e6 ? (us / 1e6).toFixed(3) + " s" : us >= 1e3 ? (us / 1e3).toFixed(3) + " ms" : us.toFixed(3) + " µs";
}
/// Text only: names come from models and are never taken for markup.
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key === "style") node.style.cssText = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function section(id, title, about, ...children) {
  const node = make("section", { id, tabindex: "-1", "aria-label": title }, make("h2", {}, title));
  if (about) node.append(make("p", { class: "about" }, about));
  node.append(...children);
  return node;
}

// ---------------------------------------------------------------- tables

/// Columns: {name, value: row → number or text, show: value → text, text, share}.
function table(columns, rows, options) {
  const body = make("tbody");
  const heads = columns.map((column, at) => make("th", { scope: "col", class: column.text ? "text" : "" },
    make("button", { type: "button", onclick: () => sortBy(at) }, column.name)));
  let sorted = options.sort === undefined ? -1 : options.sort, descending = true;
  const count = make("span", { class: "count", "aria-live": "polite" });
  const search = make("input", { type: "search", placeholder: "Search…", "aria-label": "Search the table",
    oninput: () => fill() });
  const largest = columns.map((column) => column.share ? Math.max(...rows.map(column.value), 0) : 0);
  function sortBy(at) {
    descending = sorted === at ? !descending : !columns[at].text;
    sorted = at;
    fill();
  }
  function fill() {
    const wanted = search.value.toLowerCase();
    const shown = rows.filter((row) => !wanted ||
      columns.some((column) => column.text && String(column.value(row)).toLowerCase().includes(wanted)));
    if (sorted >= 0) {
      const value = columns[sorted].value;
      const order = (a, b) => typeof a === "string" ? a.localeCompare(b) : a - b;
      shown.sort((a, b) => (descending ? -1 : 1) * order(value(a), value(b)));
    }
    heads.forEach((head, at) => head.setAttribute("aria-sort",
      at !== sorted ? "none" : descending ? "descending" : "ascending"));
    body.replaceChildren(...shown.map((row) => make("tr", {}, ...columns.map((column, at) => {
      const value = column.value(row);
      const cell = make("td", { class: (column.text ? "text " : "") + (column.tone ? column.tone(row) : "") });
      if (column.share && largest[at])
        cell.append(make("span", { class: "share", style: `width:${(60 * value) / largest[at]}px` }));
      const text = column.show ? column.show(value, row) : String(value);
      if (column.text) cell.title = text;
      cell.append(text);
      return cell;
    }))));
    count.textContent = shown.length === rows.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
  }
  fill();
  return make("div", {}, make("div", { class: "controls" }, search, count),
    make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body)));
}

// ---------------------------------------------------------------- one run

function tile(name, value, more) {
  return make("div", { class: "tile" }, make("div", { class: "name" }, name), make("div", { class: "value" }, value),
    make("div", { class: "more" }, more || ""));
}
function overview(run) {
  const node = section("overview", `${run.model} on ${run.arch} (${run.format})`, "",
    make("div", { class: "tiles" },
      tile("time", duration(run.time_us), `${whole(run.cycles)} cycles at ${run.machine.clock_ghz} GHz`),
      tile("matrix engines", percent(run.matrix.utilization), `of peak, ${whole(run.matrix.macs)} MACs`),
      tile("vector engines", percent(run.vector.utilization), "busy"),
      tile("DRAM", percent(run.dram.utilization),
        `${run.dram.bandwidth_gbps.toFixed(2)} of ${run.dram.peak_gbps.toFixed(1)} GB/s, ` +
        bytes(run.dram.bytes_read + run.dram.bytes_written)),
      tile("efficiency", percent(run.bound.efficiency),
        `bound: ${whole(run.bound.cycles)} cycles, limited by ${run.bound.limiter}`),
      tile("fit of the array", percent(run.roofline.efficiency), `roofline: ${whole(run.roofline.cycles)} cycles`),
      tile("layer by layer", whole(run.layerwise.cycles), `critical path ${whole(run.critical_path.cycles)} cycles`),
      tile("scratchpad", bytes(run.spm.peak_bytes), "highest use of a core"),
      ...(run.memory && run.memory.cache && run.memory.cache.hits + run.memory.cache.misses > 0 ? [tile("cache",
        percent(ratio(run.memory.cache.hits, run.memory.cache.hits + run.memory.cache.misses)),
        `hits; ${whole(run.memory.cache.fills)} lines filled, ${whole(run.memory.cache.write_backs)} written back`)] : [])),
    make("ul", { class: "explanation" }, ...run.explanation.map((sentence) => make("li", {}, sentence))));
  for (const output of run.outputs)
    node.append(make("div", { class: output.ok ? "good" : "bad" }, `${output.ok ? "verified" : "FAILED"}: ${output.name}, ` +
      `max error ${output.max_abs_err.toPrecision(3)}, tolerance ${output.tolerance.toPrecision(3)} (${output.reason})`));
  return node;
}

function axes(x, y) {
  const axis = (label, more) => ({ label, stroke: () => color("weak"), grid: { stroke: () => color("line"), width: 1 },
    ticks: { stroke: () => color("line") }, font: "12px system-ui", labelFont: "12px system-ui", ...more });
  return [axis(x.label, x), axis(y.label, y)];
}
/// Makes a uPlot that follows the width of its place.
function chart(place, options, data) {
  let plot = null;
  const draw = () => {
    const width = Math.max(280, place.clientWidth);
    if (!plot) plot = new uPlot({ ...options, width }, data, place);
    else if (plot.width !== width) plot.setSize({ width, height: options.height });
    else plot.redraw(false, true);
  };
  repaint.push(draw);
  requestAnimationFrame(draw);
}
const short = (value) => value === 0 ? "0" : value >= 1e3 || value < 1e-2 ? value.toExponential(0).replace("e+", "e")
  : String(+value.toPrecision(3));

function roofline(run) {
  const machine = run.machine, slope = machine.dram_bytes_per_cycle;
  const points = [];
  for (const dispatch of run.dispatches) {
    const operations = dispatch.macs || dispatch.vector_ops;
    if (!operations || !dispatch.cycles) continue;
    points.push({ dispatch, matrix: dispatch.macs > 0, y: operations / dispatch.cycles,
      x: dispatch.dram_bytes ? operations / dispatch.dram_bytes : Infinity });
  }
  const peaks = [machine.matrix_macs_per_cycle, machine.vector_ops_per_cycle];
  const finite = points.map((p) => p.x).filter(isFinite).concat(peaks.filter((p) => p > 0).map((p) => p / slope));
  const low = Math.min(...finite) / 4, high = Math.max(...finite) * 8;
  const bottom = Math.min(...points.map((p) => p.y), ...peaks.filter((p) => p > 0)) / 4;
  for (const p of points) p.at = Math.min(p.x, high / 1.5);
  const xs = [];
  for (let i = 0; i <= 200; ++i) xs.push(low * Math.pow(high / low, i / 200));
  for (const peak of peaks) if (peak > 0) xs.push(peak / slope);
  xs.sort((a, b) => a - b);
  const roof = (peak) => xs.map((x) => (peak > 0 ? Math.min(slope * x, peak) : null));
  const place = make("div", { class: "plot" }), tip = make("div", { class: "tip" });
  const radius = (p) => 4 + 9 * Math.sqrt(ratio(p.dispatch.cycles, run.cycles));
  function drawPoints(u) {
    const context = u.ctx, scale = devicePixelRatio;
    context.save();
    for (const p of points) {
      context.beginPath();
      context.arc(u.valToPos(p.at, "x", true), u.valToPos(p.y, "y", true), radius(p) * scale, 0, 7);
      context.fillStyle = color(p.matrix ? "matrix" : "vector");
      context.globalAlpha = 0.6;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = scale;
      context.strokeStyle = context.fillStyle;
      context.stroke();
    }
    context.restore();
  }
  function hover(u) {
    const { left, top } = u.cursor;
    let best = null, distance = 400;
    for (const p of points) {
      const dx = u.valToPos(p.at, "x") - left, dy = u.valToPos(p.y, "y") - top;
      if (dx * dx + dy * dy < distance) { best = p; distance = dx * dx + dy * dy; }
    }
    tip.style.display = best ? "block" : "none";
    if (!best) return;
    const d = best.dispatch;
    const roofHere = Math.min(isFinite(best.x) ? slope * best.x : Infinity, peaks[best.matrix ? 0 : 1]);
    tip.textContent = `${d.name}\n${d.ops.join(", ").slice(0, 80)}\n${whole(d.cycles)} cycles, ` +
      `${percent(ratio(d.cycles, run.cycles))} of the run\n` +
      `${best.y.toPrecision(3)} ${best.matrix ? "MACs" : "operations"} per cycle, ${percent(ratio(best.y, roofHere))} of its roof\n` +
      `${isFinite(best.x) ? best.x.toPrecision(3) + " per byte" : "no DRAM traffic"}, limited by ${d.limiter}`;
    tip.style.left = Math.min(left + 80, place.clientWidth - 330) + "px";
    tip.style.top = top + 24 + "px";
  }
  place.append(tip);
  chart(place, {
    height: 380, legend: { show: false }, cursor: { drag: { x: true, y: false } },
    scales: { x: { time: false, distr: 3, range: (u, a, b) => [a, b] },
      y: { distr: 3, range: () => [bottom, Math.max(...peaks) * 2] } },
    axes: axes({ label: "operations per byte of DRAM traffic", values: (u, s) => s.map((v) => v === null ? "" : short(v)) },
      { label: "operations per cycle", size: 64, values: (u, s) => s.map((v) => v === null ? "" : short(v)) }),
    series: [{}, { label: "matrix", stroke: () => color("matrix"), width: 2, points: { show: false } },
      { label: "vector", stroke: () => color("vector"), width: 2, points: { show: false }, dash: [6, 4] }],
    hooks: { draw: [drawPoints], setCursor: [hover] },
  }, [xs, roof(peaks[0]), roof(peaks[1])]);
  const legend = make("div", { class: "legend" });
  for (const [name, text] of [["matrix", "matrix work: multiply-accumulates"], ["vector", "vector work: lane operations"]])
    legend.append(make("span", {}, make("i", { style: `background:var(--${name})` }), text));
  return section("roofline", "Roofline", "Each dispatch is a point, larger with its part of the time. The slope is the " +
    "DRAM's ceiling; the flat roofs are the peaks of the matrix (solid) and vector engines (dashed). A point far below its " +
    "roof waits.", place, legend);
}

function dispatchTable(run) {
  const lost = (d) => Math.max(0, d.cycles - Math.max(d.bound_cycles, d.memory_cycles));
  return section("dispatches", "Time by dispatch", "Bound: the dispatch's work at the engines' speed; memory: its traffic at " +
    "the DRAM's ceiling; lost: cycles above the larger one.", table([
    { name: "dispatch", value: (d) => d.name, text: true },
    { name: "cycles", value: (d) => d.cycles, show: whole, share: true },
    { name: "of run", value: (d) => ratio(d.cycles, run.cycles), show: percent },
    { name: "lost", value: lost, show: whole, share: true },
    { name: "bound", value: (d) => d.bound_cycles, show: whole },
    { name: "memory", value: (d) => d.memory_cycles, show: whole },
    { name: "limiter", value: (d) => d.limiter, text: true },
    { name: "matrix", value: (d) => d.matrix_utilization, show: percent },
    { name: "DRAM", value: (d) => d.dram_bytes, show: bytes },
    { name: "scratchpad", value: (d) => d.spm_bytes || 0, show: bytes },
    { name: "model nodes", value: (d) => d.ops.join(", "), text: true },
  ], run.dispatches, { sort: 1 }));
}
function nodeTable(run) {
  return section("nodes", "Time by model node", "A dispatch's cycles are shared among the nodes that it computes in the " +
    "ratio of their bounds, and so is their DRAM traffic; both columns add up to those of all dispatches. Engines overlap, so a node's part may be less " +
    "than its own bound." + (run.outside_dispatches ? ` In no dispatch: ${whole(run.outside_dispatches.cycles)} cycles, ` +
    `${bytes(run.outside_dispatches.dram_bytes)}.` : ""), table([
    { name: "node", value: (n) => n.name, text: true },
    { name: "kind", value: (n) => n.kind, text: true },
    { name: "cycles", value: (n) => n.cycles, show: whole, share: true },
    { name: "of run", value: (n) => ratio(n.cycles, run.cycles), show: percent },
    { name: "bound", value: (n) => n.bound_cycles, show: whole },
    { name: "MACs", value: (n) => n.macs, show: whole },
    { name: "vector operations", value: (n) => n.vector_ops, show: whole },
    { name: "DRAM", value: (n) => n.dram_bytes || 0, show: bytes },
    { name: "dispatches", value: (n) => n.dispatches.join(", "), text: true },
  ], run.nodes, { sort: 2 }));
}

function stalls(run) {
  const causes = Object.keys(run.engines.matrix).filter((cause) => cause !== "no_kernel" &&
    enginesOf(run).some((engine) => run.engines[engine][cause] > 0));
  const hue = (cause) => cause === "busy" ? "var(--accent)" : cause === "queue_empty" ? "var(--line)"
    : `hsl(${(causes.indexOf(cause) * 137.5) % 360} 55% 58%)`;
  const stack = make("div", { class: "stack" });
  for (const engine of enginesOf(run)) {
    const total = causes.reduce((sum, cause) => sum + run.engines[engine][cause], 0);
    const bar = make("div", { class: "bar", role: "img", "aria-label": causes.filter((c) => run.engines[engine][c])
      .map((c) => `${c} ${percent(ratio(run.engines[engine][c], total))}`).join(", ") });
    for (const cause of causes) {
      const part = ratio(run.engines[engine][cause], total);
      if (part > 0) bar.append(make("span", { style: `flex:${part};background:${hue(cause)}`,
        title: `${engine}: ${cause} ${percent(part)} (${whole(run.engines[engine][cause])} engine-cycles)` }));
    }
    stack.append(make("div", {}, engine), bar);
  }
  const legend = make("div", { class: "legend" }, ...causes.map((cause) =>
    make("span", {}, make("i", { style: `background:${hue(cause)}` }), cause.replaceAll("_", " "))));
  return section("stalls", "Where the engines' cycles went", "Over all cores, while a kernel was on the core.", stack, legend);
}

function overTime(entry) {
  const { run, activity } = entry;
  const { cycle } = activity, peak = run.dram.peak_gbps / run.machine.clock_ghz;
  const middle = cycle.slice(1).map((end, i) => (end + cycle[i]) / 2);
  const perCycle = (list) => list.map((v, i) => v / (cycle[i + 1] - cycle[i]));
  // In percent; of all matrix engines together.
  const part = (kind) => {
    const all = activity.engines.filter((_, i) => enginesOf(run)[i].replace(/\d+$/, "") === kind);
    return all[0].map((_, at) => all.reduce((sum, values) => sum + values[at], 0) / all.length / 10);
  };
  const read = perCycle(activity.dram_read), written = perCycle(activity.dram_written);
  const line = (label, name, more) => ({ label, stroke: () => color(name), width: 1.5, points: { show: false },
    value: (u, v) => v === null || v === undefined ? "–" : v.toFixed(1) + " %", ...more });
  const place = make("div", { class: "plot" }), network = make("div", { class: "plot" });
  const key = uPlot.sync("time");
  chart(place, { height: 260, cursor: { sync: { key: key.key } },
    scales: { x: { time: false }, y: { range: [0, 100] } },
    axes: axes({ label: "", values: (u, s) => s.map(whole) }, { label: "% of peak, or busy", size: 56 }),
    series: [{ label: "cycle", value: (u, v) => v === null || v === undefined ? "–" : whole(v) }, line("matrix busy", "matrix"), line("vector busy", "vector"),
      line("DRAM", "load", { fill: () => color("load") + "22" }), line("load busy", "store", { show: false }),
      line("store busy", "sequencer", { show: false })] },
  [middle, part("matrix"), part("vector"), read.map((v, i) => (100 * (v + written[i])) / peak), part("load"), part("store")]);
  const amount = (u, v) => v === null || v === undefined ? "–" : v.toFixed(2);
  chart(network, { height: 200, cursor: { sync: { key: key.key } }, scales: { x: { time: false } },
    axes: axes({ label: "cycle", values: (u, s) => s.map(whole) }, { label: "bytes per cycle", size: 76 }),
    series: [{ label: "cycle", value: (u, v) => v === null || v === undefined ? "–" : whole(v) },
      line("DRAM read", "load", { value: amount }), line("DRAM written", "store", { value: amount }),
      line("network, bytes × hops", "noc", { value: amount })] },
  [middle, read, written, perCycle(activity.noc)]);
  return section("time", "Over time", `Averages of ${whole(cycle.length - 1)} intervals. Click a name in the legend to show ` +
    "or hide it.", place, network);
}

// ---------------------------------------------------------------- memory

/// The steps of what is in use while dispatches run, a level until the next one.
function levels(spans, run, end, value) {
  const moments = [...new Set(spans.flatMap(([, start, , , finish]) => [start, finish]))].sort((a, b) => a - b);
  const waiting = spans.slice().sort((a, b) => b[1] - a[1]), xs = [0], ys = [0];
  let running = [];
  for (const at of moments) {
    while (waiting.length && waiting[waiting.length - 1][1] <= at) running.push(waiting.pop());
    running = running.filter(([, , , , finish]) => finish > at);
    xs.push(at);
    ys.push(Math.max(0, ...running.map(([dispatch]) => value(run.dispatches[dispatch]))));
  }
  xs.push(end);
  ys.push(0);
  return [xs, ys];
}
function occupancy(entry) {
  const { run, spans } = entry, f = run.footprint, machine = run.machine;
  const end = Math.max(...spans.map(([, , , , finish]) => finish), 1);
  const steps = uPlot.paths.stepped({ align: 1 });
  const fixed = f.weights + f.code + f.inputs + f.outputs;
  const [xs, live] = levels(spans, run, end, (d) => d.live_bytes);
  const [, spm] = levels(spans, run, end, (d) => d.spm_bytes);
  const value = (u, v) => v === null || v === undefined ? "–" : bytes(v);
  const line = (label, name, more) => ({ label, stroke: () => color(name), width: 1.5, points: { show: false }, paths: steps,
    value, ...more });
  const draw = (top, series, data) => {
    const place = make("div", { class: "plot" });
    chart(place, { height: 180, cursor: { sync: { key: uPlot.sync("time").key } },
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, Math.max(1, top || high * 1.1)] } },
      axes: axes({ label: "cycle", values: (u, s) => s.map(whole) },
        { label: "", size: 76, incrs: Array.from({ length: 44 }, (_, i) => 2 ** i),
          values: (u, s) => s.map((v) => v === null ? "" : bytes(Math.round(v))) }),
      series: [{ label: "cycle", value: (u, v) => v === null || v === undefined ? "–" : whole(v) }, ...series] }, [xs, ...data]);
    return place;
  };
  const shared = machine.shared_bytes ? `The program keeps nothing in the shared memory of ${bytes(machine.shared_bytes)}.`
    : "The machine has no shared memory.";
  return section("memory", "Memory in use", `DRAM (${bytes(machine.dram_bytes)}): ${bytes(f.weights)} of weights and constants, ` +
    `${bytes(f.code)} of code and commands, ${bytes(f.inputs)} of inputs and ${bytes(f.outputs)} of outputs all the time; ` +
    `intermediate tensors that are still to be read, in an arena of ${bytes(f.arena)}. Scratchpad: the highest byte that a ` +
    `dispatch wrote on any core, of ${bytes(machine.spm_bytes)}. ${shared}`,
    make("h3", {}, "DRAM"),
    draw(0, [line("intermediate tensors", "store", { fill: () => color("store") + "22" }), line("with all that stays", "load")],
      [live, live.map((v) => v + fixed)]),
    make("h3", {}, "Scratchpad of a core"),
    draw(machine.spm_bytes, [line("in use", "vector", { fill: () => color("vector") + "22" })], [spm]));
}

/// A colour for a part of a peak, from the card's to one that stands out.
const heat = (part) => `color-mix(in srgb, var(--hot) ${Math.round(100 * Math.min(1, part))}%, var(--cold))`;
function heatKey() {
  return make("div", { class: "legend" }, make("span", {}, "0 %"), make("span", { class: "heatkey",
    style: `background:linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(heat).join(", ")})` }), make("span", {}, "100 %"));
}
/// Where routers lie: in the rows of a mesh, or all in one.
function networkMap(run) {
  const machine = run.machine, cycles = Math.max(1, run.cycles * machine.network_cycles_per_cycle);
  const links = run.memory.links.map((link) => ({ ...link, part: link.flits / cycles }));
  const number = (name) => name.startsWith("router ") ? +name.slice(7) : -1;
  const routers = new Map();
  const routerOf = (name) => {
    const id = number(name);
    if (!routers.has(id)) routers.set(id, { id, ends: [] });
    return routers.get(id);
  };
  const between = [];
  for (const link of links) {
    const from = routerOf(link.from);
    if (number(link.to) >= 0) { routerOf(link.to); between.push(link); } else from.ends.push(link);
  }
  const columns = machine.network === "mesh" ? machine.routers_per_row : Math.max(1, ...[...routers.keys()].map((id) => id + 1));
  const rows = Math.max(1, ...[...routers.keys()].map((id) => Math.floor(id / columns) + 1));
  const size = Math.max(26, Math.min(84, Math.floor(900 / columns))), box = size * 0.5;
  const place = (id) => [(id % columns) * size + size / 2, Math.floor(id / columns) * size + size / 2];
  const svgNode = (tag, attributes, title) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (title) {
      const about = document.createElementNS("http://www.w3.org/2000/svg", "title");
      about.textContent = title;
      node.append(about);
    }
    return node;
  };
  const say = (link) => `${link.from} to ${link.to}: busy ${percent(link.part)}, ${bytes(link.bytes)}, blocked for ` +
    `${whole(link.blocked_cycles)} cycles`;
  const svg = svgNode("svg", { viewBox: `0 0 ${columns * size} ${rows * size}`, class: "network", role: "img",
    width: columns * size, "aria-label": "Network: how busy each router and link was" });
  for (const link of between) {
    const [ax, ay] = place(number(link.from)), [bx, by] = place(number(link.to));
    // The two directions lie side by side: each to the right of its way.
    const length = Math.hypot(bx - ax, by - ay) || 1, dx = (bx - ax) / length, dy = (by - ay) / length;
    const shift = box / 5, gap = length > size * 1.5 ? 0 : box / 2;
    svg.append(svgNode("line", { x1: ax + dx * gap - dy * shift, y1: ay + dy * gap + dx * shift, x2: bx - dx * gap - dy * shift,
      y2: by - dy * gap + dx * shift, "stroke-width": box / 4, style: `stroke:${heat(link.part)}` }, say(link)));
  }
  for (const router of routers.values()) {
    const [x, y] = place(router.id);
    const most = router.ends.reduce((best, link) => (link.part > best.part ? link : best), { part: 0 });
    svg.append(svgNode("rect", { x: x - box / 2, y: y - box / 2, width: box, height: box, rx: 3,
      style: `fill:${heat(most.part)};stroke:var(--line)` },
      `router ${router.id}\n` + router.ends.map(say).join("\n")));
    const label = svgNode("text", { x, y: y + 4, "text-anchor": "middle", "font-size": Math.max(8, box / 4),
      style: "fill:var(--text);pointer-events:none" });
    label.textContent = router.id;
    svg.append(label);
  }
  const busiest = links.slice().sort((a, b) => b.part - a.part).slice(0, 200);
  return section("network", "Network", `A ${machine.network} of ${routers.size} routers that carried something. A square has the ` +
    "colour of the busiest port from its router to a core, channel or slice; bars are links between routers, one for each " +
    "direction. Point at them for figures.", make("div", { class: "scroll", tabindex: "0" }, svg), heatKey(),
    table([{ name: "from", value: (l) => l.from, text: true }, { name: "to", value: (l) => l.to, text: true },
      { name: "busy", value: (l) => l.part, show: percent, share: true }, { name: "bytes", value: (l) => l.bytes, show: bytes },
      { name: "messages", value: (l) => l.messages, show: whole },
      { name: "blocked cycles", value: (l) => l.blocked_cycles, show: whole }], busiest, { sort: 2 }));
}

/// One row per DRAM channel over time, and its banks.
function channelMap(entry) {
  const { run, activity } = entry, channels = run.memory.channels;
  const peak = (run.dram.peak_gbps * 1e3 * run.time_us) / channels.length;
  const moved = (c) => (c.reads + c.writes) * run.memory.atom_bytes;
  const parts = [];
  if (activity && activity.channels && activity.channels.length) {
    const canvas = make("canvas", { class: "heatmap", role: "img", "aria-label": "Use of each DRAM channel over time" });
    const tip = make("div", { class: "tip" }), place = make("div", { class: "plot" }, canvas, tip);
    const rowHeight = Math.max(3, Math.min(18, Math.floor(400 / activity.channels.length)));
    const { cycle } = activity, end = cycle[cycle.length - 1];
    canvas.style.height = activity.channels.length * rowHeight + "px";
    const draw = () => {
      const scale = devicePixelRatio, width = canvas.clientWidth;
      canvas.width = width * scale;
      canvas.height = activity.channels.length * rowHeight * scale;
      const c = canvas.getContext("2d");
      c.scale(scale, scale);
      c.fillStyle = color("cold");
      c.fillRect(0, 0, width, activity.channels.length * rowHeight);
      c.fillStyle = color("hot");
      activity.channels.forEach((row, at) => {
        for (let i = 0; i < row.length; ++i) {
          const x = (cycle[i] / end) * width, part = digits.indexOf(row[i]) / 61;
          if (!part) continue;
          c.globalAlpha = part;
          c.fillRect(x, at * rowHeight, Math.max(1, (cycle[i + 1] / end) * width - x), rowHeight - (rowHeight > 6 ? 1 : 0));
        }
      });
    };
    canvas.addEventListener("pointermove", (event) => {
      const at = Math.floor(event.offsetY / rowHeight), moment = (event.offsetX / canvas.clientWidth) * end;
      const i = cycle.findIndex((_, k) => k + 1 < cycle.length && cycle[k + 1] > moment);
      if (i < 0 || !activity.channels[at]) return;
      tip.style.display = "block";
      tip.textContent = `channel ${at}: ${percent(digits.indexOf(activity.channels[at][i]) / 61)} of its peak\ncycles ` +
        `${whole(cycle[i])} to ${whole(cycle[i + 1])}`;
      tip.style.left = Math.min(event.offsetX + 14, canvas.clientWidth - 260) + "px";
      tip.style.top = event.offsetY + 14 + "px";
    });
    canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
    repaint.push(draw);
    requestAnimationFrame(draw);
    parts.push(place, heatKey());
  }
  const rows = channels.map((c, i) => ({ ...c, i, part: ratio(moved(c), peak), moved: moved(c) }));
  parts.push(table([{ name: "channel", value: (c) => c.i }, { name: "of peak", value: (c) => c.part, show: percent, share: true },
    { name: "bytes", value: (c) => c.moved, show: bytes }, { name: "reads", value: (c) => c.reads, show: whole },
    { name: "writes", value: (c) => c.writes, show: whole }, { name: "row hits", value: (c) => ratio(c.row_hits,
      c.row_hits + c.row_misses + c.row_conflicts), show: percent },
    { name: "conflicts", value: (c) => c.row_conflicts, show: whole },
    { name: "turnarounds", value: (c) => c.turnarounds, show: whole },
    { name: "refreshes", value: (c) => c.refreshes, show: whole },
    { name: "busiest bank", value: (c) => ratio(Math.max(0, ...c.bank_accesses), c.bank_accesses.reduce((a, b) => a + b, 0)),
      show: percent }], rows, {}));
  return section("channels", "DRAM channels", "Bytes on each channel's data bus against its peak" + (parts.length > 1 ?
    ", one row a channel, from the run's start on the left to its end." : "."), ...parts);
}

// ---------------------------------------------------------------- timeline

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
function timeline(entry) {
  const { run, activity, spans } = entry;
  const end = activity.cycle[activity.cycle.length - 1];
  const lanes = []; // Ends of the dispatches in each lane.
  const boxes = spans.map(([dispatch, start, running, halt, finish, core]) => {
    let lane = lanes.findIndex((free) => free <= start);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = finish;
    return { dispatch: run.dispatches[dispatch], start, running, halt, finish, core, lane };
  });
  const cores = activity.busy.length;
  const average = [];
  const engines = enginesOf(run);
  for (let engine = 0; engine < engines.length; ++engine) average.push(activity.engines[engine].map((v) => v / 1000));
  const engineOrder = [1, 3, ...[...engines.keys()].slice(engineNames.length), 4, 2, 0];
  let everyCore = cores <= 4;
  function rows() {
    if (!everyCore) return engineOrder.map((e) => ({ name: engines[e], engine: e, at: (i) => average[e][i] }));
    const list = [];
    activity.busy.forEach((busy, core) => engineOrder.forEach((e) => list.push({ engine: e, core,
      name: cores > 1 ? `core ${core} ${engines[e]}` : engines[e], at: (i) => digits.indexOf(busy[e][i]) / 61 })));
    return list;
  }
  const canvas = make("canvas", { class: "timeline", tabindex: "0", role: "application",
    "aria-label": "Timeline of dispatches and engines; arrows move, plus and minus zoom, 0 shows all" });
  const tip = make("div", { class: "tip" }), place = make("div", { class: "plot" }, canvas, tip);
  const margin = 110, top = 22, laneHeight = 22, rowHeight = 13;
  let from = 0, to = end, pending = false;
  const later = () => { if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; draw(); }); } };
  const width = () => canvas.clientWidth - margin;
  const position = (cycle) => margin + ((cycle - from) / (to - from)) * width();
  const cycleAt = (x) => from + ((x - margin) / width()) * (to - from);
  function view(a, b) {
    const size = Math.min(end, Math.max(20, b - a));
    from = Math.min(Math.max(0, a), end - size);
    to = from + size;
    later();
  }
  const zoom = (factor, around) => view(around - (around - from) * factor, around + (to - around) * factor);
  const hueOf = (d) => `hsl(${(run.dispatches.indexOf(d) * 61) % 360} 50% ${root.dataset.theme === "dark" ? 42 : 72}%)`;
  function draw() {
    const list = rows(), height = top + lanes.length * laneHeight + 6 + list.length * rowHeight + 4;
    const scale = devicePixelRatio;
    canvas.style.height = height + "px";
    canvas.width = canvas.clientWidth * scale;
    canvas.height = height * scale;
    const c = canvas.getContext("2d");
    c.scale(scale, scale);
    c.font = "11px system-ui";
    c.textBaseline = "middle";
    c.fillStyle = color("weak");
    const step = Math.pow(10, Math.floor(Math.log10((to - from) / 4)));
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const x = position(t);
      c.fillRect(x, top - 5, 1, 4);
      if (Math.round(t / step) % Math.max(1, Math.ceil((90 * (to - from)) / step / width())) === 0) c.fillText(whole(t), x + 3, 8);
    }
    c.save();
    c.beginPath();
    c.rect(margin, 0, width(), height);
    c.clip();
    for (const box of boxes) {
      if (box.finish < from || box.start > to) continue;
      const x = Math.max(position(box.start), margin - 5), y = top + box.lane * laneHeight;
      const w = Math.max(1, Math.min(position(box.finish), canvas.clientWidth + 5) - x);
      c.globalAlpha = 0.45;
      c.fillStyle = hueOf(box.dispatch);
      c.fillRect(x, y, w, laneHeight - 3);
      c.globalAlpha = 1; // The time in which its kernel ran.
      c.fillRect(position(box.running), y, Math.max(1, position(box.halt) - position(box.running)), laneHeight - 3);
      if (w > 30) {
        c.save();
        c.beginPath();
        c.rect(x, y, w, laneHeight);
        c.clip();
        c.fillStyle = color("text");
        c.fillText(box.dispatch.name, x + 4, y + laneHeight / 2 - 1);
        c.restore();
      }
    }
    list.forEach((row, at) => {
      const y = top + lanes.length * laneHeight + 6 + at * rowHeight;
      c.fillStyle = color(engines[row.engine]);
      let i = firstInterval(from);
      for (let x = margin; x < canvas.clientWidth; ++x) {
        const a = cycleAt(x), b = cycleAt(x + 1);
        while (i + 1 < activity.cycle.length - 1 && activity.cycle[i + 1] <= a) ++i;
        let sum = 0, all = 0;
        for (let j = i; j < activity.cycle.length - 1 && activity.cycle[j] < b; ++j) {
          const overlap = Math.min(b, activity.cycle[j + 1]) - Math.max(a, activity.cycle[j]);
          if (overlap > 0) { sum += overlap * row.at(j); all += overlap; }
        }
        if (!sum) continue;
        c.globalAlpha = Math.max(0.08, sum / all);
        c.fillRect(x, y, 1, rowHeight - 2);
      }
      c.globalAlpha = 1;
    });
    c.restore();
    c.fillStyle = color("text");
    c.fillText("dispatches", 4, top + laneHeight / 2);
    list.forEach((row, at) => c.fillText(row.name, 4, top + lanes.length * laneHeight + 6 + (at + 0.5) * rowHeight));
  }
  function firstInterval(cycle) {
    let low = 0, high = activity.cycle.length - 1;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (activity.cycle[middle] <= cycle) low = middle; else high = middle;
    }
    return low;
  }
  function hover(event) {
    const x = event.offsetX, y = event.offsetY, cycle = cycleAt(x);
    const lane = Math.floor((y - top) / laneHeight);
    const box = boxes.find((b) => b.lane === lane && b.start <= cycle && cycle <= b.finish);
    const row = rows()[Math.floor((y - top - lanes.length * laneHeight - 6) / rowHeight)];
    tip.style.display = x > margin && (box || (row && y > top)) ? "block" : "none";
    if (box) tip.textContent = `${box.dispatch.name}\n${box.dispatch.ops.join(", ").slice(0, 80)}\ncycles ${whole(box.start)} to ` +
      `${whole(box.finish)}: ${whole(box.finish - box.start)}\nbefore its kernel ${whole(box.running - box.start)}, after ` +
      whole(box.finish - box.halt);
    else if (row) {
      const i = firstInterval(cycle);
      tip.textContent = `${row.name}: ${percent(row.at(i))} busy\ncycles ${whole(activity.cycle[i])} to ${whole(activity.cycle[i + 1])}`;
    }
    tip.style.left = Math.min(x + 14, canvas.clientWidth - 300) + "px";
    tip.style.top = y + 14 + "px";
  }
  let dragged = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, cycleAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.offsetX, from, to };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      const by = ((dragged.x - event.offsetX) / width()) * (dragged.to - dragged.from);
      view(dragged.from + by, dragged.to + by);
    }
    hover(event);
  });
  canvas.addEventListener("pointerup", () => { dragged = null; });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  canvas.addEventListener("dblclick", () => view(0, end));
  canvas.addEventListener("keydown", (event) => {
    const size = to - from, middle = (from + to) / 2;
    const actions = { ArrowLeft: () => view(from - size / 5, to - size / 5), ArrowRight: () => view(from + size / 5, to + size / 5),
      "+": () => zoom(0.7, middle), "=": () => zoom(0.7, middle), "-": () => zoom(1.4, middle), "0": () => view(0, end) };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  });
  const controls = make("div", { class: "controls" },
    make("button", { type: "button", onclick: () => zoom(0.5, (from + to) / 2) }, "+"),
    make("button", { type: "button", onclick: () => zoom(2, (from + to) / 2) }, "−"),
    make("button", { type: "button", onclick: () => view(0, end) }, "all"));
  if (cores > 1) {
    const toggle = make("button", { type: "button", "aria-pressed": String(everyCore), onclick: () => {
      everyCore = !everyCore;
      toggle.setAttribute("aria-pressed", String(everyCore));
      later();
    } }, "every core");
    controls.append(toggle);
  }
  repaint.push(later);
  later();
  return section("timeline", "Timeline", "Dispatches, the pale parts before and after their kernels ran; below, how busy each " +
    "engine was. Wheel or + and − zoom, dragging or arrows move. For single instructions make a trace (--trace).", controls, place);
}

// ---------------------------------------------------------------- comparison

const figures = [
  ["cycles", (r) => r.cycles, whole, -1], ["time", (r) => r.time_us, duration, -1],
  ["matrix utilization", (r) => r.matrix.utilization, percent, 1], ["vector utilization", (r) => r.vector.utilization, percent, 1],
  ["DRAM traffic", (r) => r.dram.bytes_read + r.dram.bytes_written, bytes, -1],
  ["DRAM utilization", (r) => r.dram.utilization, percent, 0],
  ["bound", (r) => r.bound.cycles, whole, 0], ["efficiency", (r) => r.bound.efficiency, percent, 1],
  ["roofline", (r) => r.roofline.cycles, whole, 0], ["layer by layer", (r) => r.layerwise.cycles, whole, 0],
  ["critical path", (r) => r.critical_path.cycles, whole, 0], ["dispatches", (r) => r.dispatches.length, whole, 0],
  ["instructions", (r) => r.instructions, whole, 0], ["scratchpad, highest use", (r) => r.spm.peak_bytes, bytes, 0],
];
const times = (value) => value ? value.toFixed(value < 10 ? 2 : 1) + "×" : "–";
const tone = (value) => value > 1.005 ? "good" : value && value < 0.995 ? "bad" : "";
function comparison(entries) {
  const runs = entries.map((entry) => entry.run);
  const body = make("tbody");
  for (const [name, value, show, better] of figures) {
    const row = make("tr", {}, make("td", {}, name));
    runs.forEach((run, at) => {
      const change = at ? ratio(value(run), value(runs[0])) : 0;
      const gain = better < 0 ? ratio(1, change) : change;
      row.append(make("td", { class: at && better ? tone(gain) : "" },
        show(value(run)) + (!at || !change ? "" : better < 0 ? `  (${times(gain)} less)` : `  (${times(change)})`)));
    });
    body.append(row);
  }
  const head = make("tr", {}, make("th", {}, ""), ...entries.map((entry) => make("th", { scope: "col" }, entry.name)));
  const rowsOf = (pick, key) => {
    const rows = new Map();
    runs.forEach((run, at) => {
      for (const item of pick(run)) {
        const id = key(item);
        if (!rows.has(id)) rows.set(id, { name: id, cycles: runs.map(() => 0) });
        rows.get(id).cycles[at] += item.cycles;
      }
    });
    return [...rows.values()];
  };
  const columns = [{ name: "node", value: (row) => row.name, text: true }];
  entries.forEach((entry, at) => columns.push({ name: entry.name, value: (row) => row.cycles[at], show: (v) => v ? whole(v) : "–", share: true }));
  entries.slice(1).forEach((entry, i) => columns.push({ name: `speed-up, ${entry.name}`, show: times,
    value: (row) => row.cycles[0] ? ratio(row.cycles[0], row.cycles[i + 1]) : 0, tone: (row) => tone(row.cycles[0] ? ratio(row.cycles[0], row.cycles[i + 1]) : 0) }));
  const named = (first) => [{ ...columns[0], name: first }, ...columns.slice(1)];
  return [
    section("compare", "Comparison", `In brackets: against ${entries[0].name}.`,
      make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, head), body))),
    section("compare-nodes", "Speed-up by model node", "", table(named("node"), rowsOf((r) => r.nodes, (n) => n.name), { sort: 1 })),
    section("compare-dispatches", "Speed-up by dispatch", "Dispatches that compute the same nodes are compared; several of the same nodes are added up.",
      table(named("nodes of the dispatch"), rowsOf((r) => r.dispatches, (d) => d.ops.join(", ") || d.name), { sort: 1 })),
  ];
}

// ---------------------------------------------------------------- the page

function show(at) {
  repaint = [];
  const entry = page.runs[at], main = document.getElementById("main"), sections = [];
  if (page.runs.length > 1) sections.push(...comparison(page.runs));
  sections.push(overview(entry.run), roofline(entry.run), dispatchTable(entry.run), nodeTable(entry.run), stalls(entry.run));
  if (entry.activity && entry.activity.cycle.length > 1) sections.push(overTime(entry), timeline(entry));
  if (entry.run.footprint && entry.spans && entry.spans.length) sections.push(occupancy(entry));
  if (entry.run.memory && entry.run.machine.network) sections.push(networkMap(entry.run), channelMap(entry));
  if (entry.architecture) sections.push(section("architecture", "Architecture", "", make("pre", { tabindex: "0" }, entry.architecture)));
  if (entry.command) sections.push(section("command", "Made by", "", make("pre", { tabindex: "0" }, entry.command)));
  main.replaceChildren(...sections);
  document.getElementById("sections").replaceChildren(...sections.map((node, i) =>
    make("a", { href: "#" + node.id, title: i < 9 ? `Key ${i + 1}` : "" }, node.id.replace("compare-", "by "))));
  if (page.runs.length > 1)
    document.getElementById("runs").replaceChildren(...page.runs.map((other, i) => make("button",
      { type: "button", "aria-pressed": String(i === at), onclick: () => show(i) }, other.name)));
}
function setTheme(theme) {
  root.dataset.theme = theme;
  for (const draw of repaint) draw();
}
const darkWished = matchMedia("(prefers-color-scheme: dark)");
darkWished.addEventListener("change", () => setTheme(darkWished.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const nodes = document.querySelectorAll("main > section");
  // 1 to 9, then 0 for the tenth; n and p go on and back.
  const here = [...nodes].indexOf(document.activeElement.closest("main > section"));
  const wanted = { 0: 9, n: here + 1, p: here - 1 }[event.key] ?? (event.key >= "1" && event.key <= "9" ? event.key - 1 : -1);
  if (nodes[wanted]) {
    nodes[wanted].scrollIntoView();
    nodes[wanted].focus({ preventScroll: true });
  } else if (event.key === "d") {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  } else if (event.key === "/") {
    event.preventDefault();
    document.querySelector("input[type=search]").focus();
  }
});
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => { for (const draw of repaint) draw(); }, 100);
});
root.dataset.theme = darkWished.matches ? "dark" : "light";
document.getElementById("title").textContent = page.runs.length > 1 ? "Tessera: comparison" : "Tessera";
show(0);
