// Studies: parallel coordinates, scatter with slopes, effects; fits; the history of a search.

/** Parallel coordinates of all cases; a range drawn on an axis chooses among them. `chosen(mask)` is told. */
function parallel(axes, count, tinted, chosen) {
  const [height, top, bottom, side] = [320, 42, 24, 60];
  const wide = Math.max(1100, axes.length * 110);
  const svg = drawn("svg", { viewBox: `0 0 ${wide} ${height}` });
  const spans = axes.map((axis) => range(axis.values));
  const px = (k) => side + (axes.length > 1 ? (k * (wide - 2 * side)) / (axes.length - 1) : 0);
  const py = (k, value) => height - bottom - ((value - spans[k][0]) / (spans[k][1] - spans[k][0])) * (height - top - bottom);
  const back = (k, y) => spans[k][0] + ((height - bottom - y) / (height - top - bottom)) * (spans[k][1] - spans[k][0]);
  const brushes = axes.map(() => null);
  const lines = drawn("g");
  const strokes = [];
  const mask = new Uint8Array(count).fill(1);
  for (let row = 0; row < count; row += 1) {
    const d = axes.map((axis, k) => (Number.isFinite(axis.values[row]) ? `${k ? "L" : "M"}${px(k).toFixed(1)} ${py(k, axis.values[row]).toFixed(1)}` : "")).join("");
    const stroke = drawn("path", { class: "line", d: d.startsWith("M") ? d : "", "stroke-opacity": count > 300 ? 0.3 : 0.7 });
    strokes.push(stroke);
    lines.append(stroke);
  }
  svg.append(lines);
  const paint = () => {
    const values = axes[tinted()].values;
    const [low, high] = range(values);
    for (let row = 0; row < count; row += 1) {
      mask[row] = axes.every((axis, k) => !brushes[k] || (axis.values[row] >= brushes[k][0] && axis.values[row] <= brushes[k][1])) ? 1 : 0;
      strokes[row].setAttribute("stroke", mask[row] ? ramp((values[row] - low) / (high - low)) : "var(--faint)");
    }
    for (let row = 0; row < count; row += 1) if (mask[row]) lines.append(strokes[row]);
    chosen(mask);
  };
  axes.forEach((axis, k) => {
    const x = px(k);
    svg.append(drawn("line", { class: "axis", x1: x, x2: x, y1: top, y2: height - bottom, style: "stroke:var(--soft)" }));
    svg.append(drawn("text", { x, y: 14, "text-anchor": "middle", "font-weight": 600 }, axis.name));
    svg.append(drawn("text", { class: "tick", x, y: 28, "text-anchor": "middle" }, unitText(axis.unit) && `[${unitText(axis.unit)}]`));
    for (const tick of steps(...spans[k], 5)) {
      svg.append(drawn("line", { class: "axis", x1: x - 4, x2: x, y1: py(k, tick), y2: py(k, tick), style: "stroke:var(--soft)" }));
      svg.append(drawn("text", { class: "tick", x: x - 7, y: py(k, tick) + 4, "text-anchor": "end" }, shown(tick, 4)));
    }
    const mark = drawn("rect", { x: x - 7, width: 14, fill: "var(--accent)", "fill-opacity": 0.25, stroke: "var(--accent)", visibility: "hidden" });
    const grip = drawn("rect", { x: x - 16, width: 32, y: top, height: height - top - bottom, fill: "transparent", "data-axis": axis.name });
    let start = null;
    const where = (event) => Math.min(height - bottom, Math.max(top, ((event.clientY - svg.getBoundingClientRect().top) / svg.getBoundingClientRect().height) * height));
    grip.addEventListener("pointerdown", (event) => {
      grip.setPointerCapture(event.pointerId);
      start = where(event);
      brushes[k] = null;
      mark.setAttribute("visibility", "hidden");
      paint();
    });
    grip.addEventListener("pointermove", (event) => {
      if (start === null || !event.buttons) return;
      const [a, b] = [start, where(event)].sort((p, q) => p - q);
      if (b - a < 3) return;
      brushes[k] = [back(k, b), back(k, a)];
      mark.setAttribute("y", a);
      mark.setAttribute("height", b - a);
      mark.setAttribute("visibility", "visible");
      paint();
    });
    grip.addEventListener("pointerup", () => (start = null));
    svg.append(mark, grip);
  });
  return { root: element("div", { class: "chart" }, svg), paint };
}

/** Colour of a part from 0 to 1: blue, green, yellow (after viridis, which the colour-blind can read). */
function ramp(part) {
  if (!Number.isFinite(part)) return "var(--soft)";
  const stops = [[68, 58, 140], [49, 104, 142], [33, 145, 140], [53, 183, 121], [170, 205, 60], [235, 190, 20]];
  const at = Math.min(0.9999, Math.max(0, part)) * (stops.length - 1);
  const k = Math.floor(at);
  return `rgb(${stops[k].map((from, i) => Math.round(from + (at - k) * (stops[k + 1][i] - from))).join(",")})`;
}

/** Dots of an objective over a parameter, with the slope of each case where it is known. */
function scatter(x, y, slopes, wanted) {
  const [wide, height] = [320, 230];
  const edge = { left: 62, right: 10, top: 8, bottom: 38 };
  const svg = drawn("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img" });
  const [[x0, x1], [y0, y1]] = [range(x.values), range(y.values)];
  const px = (value) => edge.left + ((value - x0) / (x1 - x0)) * (wide - edge.left - edge.right);
  const py = (value) => height - edge.bottom - ((value - y0) / (y1 - y0)) * (height - edge.top - edge.bottom);
  for (const tick of steps(y0, y1, 5)) svg.append(drawn("line", { class: "grid", x1: edge.left, x2: wide - edge.right, y1: py(tick), y2: py(tick) }), drawn("text", { class: "tick", x: edge.left - 6, y: py(tick) + 4, "text-anchor": "end" }, shown(tick, 4)));
  for (const tick of steps(x0, x1, 4)) svg.append(drawn("line", { class: "grid", x1: px(tick), x2: px(tick), y1: edge.top, y2: height - edge.bottom }), drawn("text", { class: "tick", x: px(tick), y: height - edge.bottom + 15, "text-anchor": "middle" }, shown(tick, 4)));
  svg.append(drawn("text", { x: (edge.left + wide) / 2, y: height - 4, "text-anchor": "middle" }, withUnit(x.name, x.unit)));
  svg.append(drawn("text", { "text-anchor": "middle", transform: `translate(11 ${(height - edge.bottom) / 2}) rotate(-90)` }, withUnit(y.name, y.unit)));
  const marks = [];
  const reach = 0.035 * (x1 - x0);
  for (let row = 0; row < x.values.length; row += 1) {
    if (!Number.isFinite(y.values[row])) continue;
    const group = drawn("g");
    if (slopes && Number.isFinite(slopes[row])) {
      const [dx, dy] = [px(x.values[row] + reach) - px(x.values[row]), py(y.values[row] + slopes[row] * reach) - py(y.values[row])];
      const shorter = Math.min(1, 16 / Math.hypot(dx, dy));
      group.append(drawn("line", { x1: px(x.values[row]) - dx * shorter, x2: px(x.values[row]) + dx * shorter, y1: py(y.values[row]) - dy * shorter, y2: py(y.values[row]) + dy * shorter, stroke: "var(--c1)" }));
    }
    group.append(drawn("circle", { cx: px(x.values[row]), cy: py(y.values[row]), r: x.values.length > 400 ? 1.6 : 2.8, fill: "var(--c0)" }));
    svg.append(group);
    marks.push([row, group]);
  }
  const choose = (mask) => marks.forEach(([row, group]) => group.setAttribute("opacity", mask[row] ? 1 : 0.08));
  wanted.push(choose);
  return element("div", { class: "chart" }, svg);
}

function studyPage() {
  const [design, results, slopes, effects] = [data.design, data.results, data.slopes, data.effects].map(numbers);
  const varied = Object.entries(data.varied).map(([name, unit_], k) => ({ name, unit: unit_, values: column(design, k) }));
  const objectives = Object.entries(data.objectives).map(([name, unit_], k) => ({ name, unit: unit_, values: column(results, k) }));
  const axes = [...varied, ...objectives];
  const count = design.shape[0];
  const [wanted, told] = [[], element("span", { class: "soft" })];
  const tint = element("select", { "aria-label": "Colour" }, ...axes.map((axis, k) => element("option", { value: k, selected: k === varied.length }, `colour by ${axis.name}`)));
  const plot = parallel(axes, count, () => Number(tint.value), (mask) => {
    const left = mask.reduce((sum, each) => sum + each, 0);
    told.textContent = left === count ? `${count} cases` : `${left} of ${count} cases chosen`;
    wanted.forEach((choose) => choose(mask));
  });
  tint.addEventListener("change", plot.paint);
  const made = [opening(`study, ${data.cases} cases${data.failed ? `, ${data.failed} failed or missing` : ""}`)];
  made.push(section("Cases", element("p", { class: "note" }, "Drag along an axis to choose cases; click it to choose all again. The choice holds for the dots below."), element("div", { class: "bar" }, tint, told), plot.root));
  objectives.forEach((objective, k) => {
    const bars = varied.map((one, v) => {
      const value = effects.values[k * varied.length + v];
      return { name: one.name, value, text: Number.isFinite(value) ? `${Math.round(100 * value)} %` : "not known" };
    });
    const slopesOf = (v) => slopes && Float32Array.from({ length: count }, (_, row) => slopes.values[(row * objectives.length + k) * varied.length + v]);
    made.push(section(withUnit(objective.name, objective.unit), element("h3", {}, "Share of its variance by each parameter"), barChart(bars), element("h3", {}, slopes ? "Cases, with their slopes by exact gradients" : "Cases"), element("div", { class: "tiles" }, ...varied.map((one, v) => scatter(one, objective, slopesOf(v), wanted)))));
  });
  plot.paint();
  return [...made, ...closing()];
}

function fitPage() {
  const made = [opening(`fit ${data.name}`), lead()].filter(Boolean);
  made.push(element("p", { class: data.converged ? "" : "warning" }, data.summary));
  const rows = data.parameters.map((one) => [one.name, shown(one.start), shown(one.value, 7), one.held_by ? `held by its ${one.held_by} end` : one.standard_error === null ? "not determined" : shown(one.standard_error, 2), unitText(one.unit)]);
  made.push(section("Parameters", table(["parameter", "start", "estimate", "standard error", "unit"], rows, [1, 2, 3])));
  if (data.correlated.length) made.push(element("p", { class: "note" }, `Correlated estimates: ${data.correlated.map(([a, b, r]) => `${a} and ${b} by ${shown(r, 4)}`).join("; ")}.`));
  for (const one of data.columns) {
    const [time, measured, computed, residuals] = [one.time, one.measured, one.computed, one.residuals].map((list) => numbers(list).values);
    const across_ = { label: "time [s]", values: time };
    const fit = lineChart([{ name: "measured", unit: one.unit, values: measured, colour: "var(--c0)", dots: true }, { name: "fitted", unit: one.unit, values: computed, colour: "var(--c1)" }], across_, { title: one.name, label: one.sensor, height: 220, named: true });
    const off = lineChart([{ name: "residual", unit: "", values: residuals, colour: "var(--c0)", dots: true }], across_, { title: "residuals over sigma", label: "residual / σ", height: 220 });
    const title = `${one.name}${one.held_out ? " (held out)" : ""}`;
    const facts = `${title}: ${time.length} readings of ${one.sensor}, sigma ${shown(one.sigma, 3)}${one.sigma_estimated ? " (estimated)" : ""}, rms of residuals ${shown(one.rms, 3)}`;
    made.push(section(title, element("p", { class: "note" }, facts), element("div", { class: "columns" }, fit.root, off.root)));
  }
  return [...made, ...closing()];
}

/** The analyses of a search: charts, start and best. */
function searchSection(found) {
  const [values, results] = [found.values, found.found].map(numbers);
  const number = Float32Array.from({ length: results.shape[0] }, (_, k) => k + 1);
  const across_ = { label: "analysis", values: number };
  const charts = Object.entries(found.objectives).map(([name, unit_], k) => lineChart([{ name, unit: unit_, values: column(results, k), colour: colour(k) }], across_, { title: name, label: name, height: 170, wide: 400 }).root);
  charts.push(...Object.entries(found.variables).map(([name, unit_], k) => lineChart([{ name, unit: unit_, values: column(values, k), colour: "var(--soft)" }], across_, { title: name, label: name, height: 150, wide: 400 }).root));
  const optimality = numbers(found.optimality).values.map(Math.log10);
  charts.push(lineChart([{ name: "optimality", unit: "", values: optimality, colour: "var(--c5)" }], across_, { title: "optimality", label: "log10", height: 150, wide: 400 }).root);
  const [first, best] = [0, found.best];
  const rows = [
    ...Object.entries(found.variables).map(([name, unit_], k) => [name, shown(column(values, k)[first]), shown(column(values, k)[best]), `${shown(found.bounds[k][0])} to ${shown(found.bounds[k][1])}`, unitText(unit_)]),
    ...Object.entries(found.objectives).map(([name, unit_], k) => [name, shown(column(results, k)[first]), shown(column(results, k)[best]), "", unitText(unit_)]),
  ];
  const failures = found.failures.filter(Boolean).length;
  return section("Search", pairs(found.facts), table(["", "start", "best", "range", "unit"], rows, [1, 2]), failures ? element("p", { class: "note" }, `${failures} analyses failed; the search turned back from them.`) : null, element("div", { class: "tiles" }, ...charts));
}
