// Charts: lines over an axis, with a cursor; dots; bars.

const WIDE = 640;

/**
 * Lines over a common axis.
 * `lines`: {name, unit, values, colour}; `across`: {label, values}. Options: height and wide of the drawing, title, dots (names of lines drawn as dots),
 * moved(x): called while the pointer is drawn over the chart; closed(): the chart can be closed.
 */
function lineChart(lines, across, options = {}) {
  const [height, wide] = [options.height ?? 190, options.wide ?? WIDE];
  const edge = { left: 70, right: 12, top: 8, bottom: 36 };
  const [x0, x1] = extent(across.values);
  const svg = drawn("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": options.title ?? "" });
  const px = (x) => edge.left + ((x - x0) / (x1 - x0 || 1)) * (wide - edge.left - edge.right);
  const back = (at) => x0 + ((at - edge.left) / (wide - edge.left - edge.right)) * (x1 - x0);
  const axes = drawn("g");
  const paths = drawn("g");
  const cursor = drawn("line", { class: "cursor", y1: edge.top, y2: height - edge.bottom, visibility: "hidden" });
  svg.append(axes, paths, cursor);
  const legend = element("div", { class: "legend" });
  const entries = lines.map((line) => {
    const value = element("span");
    legend.append(element("span", {}, lines.length > 1 ? element("i", { style: `background:${line.colour}` }) : "", lines.length > 1 || options.named ? `${line.name} ` : "", value));
    return value;
  });
  const head = element("header", {}, element("strong", {}, options.title ?? ""), options.caption ? element("span", { class: "note" }, options.caption) : null, legend);
  if (options.closed) head.append(element("button", { class: "close", title: "Close this chart", onclick: options.closed }, "×"));
  const root = element("div", { class: "chart" }, head, svg);
  const units = [...new Set(lines.map((line) => line.unit))];
  let predicted = null;

  function draw() {
    const all = lines.map((line) => line.values);
    const [y0, y1] = range(...all, ...(predicted ?? []));
    const py = (y) => height - edge.bottom - ((y - y0) / (y1 - y0)) * (height - edge.top - edge.bottom);
    axes.replaceChildren();
    for (const tick of steps(y0, y1, (height - 40) / 30)) {
      axes.append(drawn("line", { class: tick === 0 ? "zero" : "grid", x1: edge.left, x2: wide - edge.right, y1: py(tick), y2: py(tick) }));
      axes.append(drawn("text", { class: "tick", x: edge.left - 6, y: py(tick) + 4, "text-anchor": "end" }, shown(tick)));
    }
    for (const tick of steps(x0, x1, wide / 80)) {
      axes.append(drawn("line", { class: "grid", x1: px(tick), x2: px(tick), y1: edge.top, y2: height - edge.bottom }));
      axes.append(drawn("text", { class: "tick", x: px(tick), y: height - edge.bottom + 15, "text-anchor": "middle" }, shown(tick)));
    }
    axes.append(drawn("text", { x: (edge.left + wide - edge.right) / 2, y: height - 4, "text-anchor": "middle" }, across.label));
    const middle = (edge.top + height - edge.bottom) / 2;
    const label = withUnit(options.label ?? "", units.length === 1 ? units[0] : "");
    if (label) axes.append(drawn("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(11 ${middle}) rotate(-90)` }, label));
    paths.replaceChildren();
    lines.forEach((line, number) => {
      const xs = line.across ?? across.values;
      if (line.dots) paths.append(dots(xs, line.values, px, py, line.colour));
      else paths.append(drawn("path", { class: predicted?.[number] ? "line behind" : "line", stroke: line.colour, d: path(xs, line.values, px, py) }));
      if (predicted?.[number]) paths.append(drawn("path", { class: "line predicted", stroke: line.colour, d: path(xs, predicted[number], px, py) }));
    });
  }

  const largest = lines.reduce((most, line) => line.values.reduce((own, value) => Math.max(own, Math.abs(value) || 0), most), 0);

  function at(x) {
    cursor.setAttribute("x1", px(x));
    cursor.setAttribute("x2", px(x));
    cursor.setAttribute("visibility", "visible");
    lines.forEach((line, number) => {
      const unit = unitText(line.unit);
      const value = valueAt(across.values, line.values, x);
      const now = Math.abs(value) <= 1e-9 * largest ? 0 : value; // round-off
      const then = predicted?.[number] ? ` → ${shown(valueAt(across.values, predicted[number], x), 4)}` : "";
      entries[number].textContent = `${shown(now, 4)}${then}${unit && ` ${unit}`}`;
    });
  }

  if (options.moved) {
    const move = (event) => {
      const box = svg.getBoundingClientRect();
      const x = back(((event.clientX - box.left) / box.width) * wide);
      options.moved(Math.min(x1, Math.max(x0, x)));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      move(event);
    });
    svg.addEventListener("pointermove", (event) => event.buttons && move(event));
  }
  draw();
  return {
    root,
    at,
    /** Draw other values beside the lines, a list for each of them; null: none. */
    predict(values) {
      predicted = values;
      draw();
    },
  };
}

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return low < high ? [low, high] : [low - 0.5, low + 0.5];
}

function path(xs, ys, px, py) {
  let text = "";
  let pen = "M";
  for (let k = 0; k < ys.length; k += 1) {
    if (!Number.isFinite(ys[k])) {
      pen = "M";
      continue;
    }
    text += `${pen}${px(xs[k]).toFixed(1)} ${py(ys[k]).toFixed(1)}`;
    pen = "L";
  }
  return text;
}

function dots(xs, ys, px, py, fill) {
  const group = drawn("g", { fill });
  const r = ys.length > 300 ? 1.5 : ys.length > 1 ? 2.5 : 4;
  for (let k = 0; k < ys.length; k += 1) if (Number.isFinite(ys[k])) group.append(drawn("circle", { cx: px(xs[k]).toFixed(1), cy: py(ys[k]).toFixed(1), r }));
  return group;
}

/** The value of a history at a time, between its neighbours. */
function valueAt(xs, ys, x) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  const width = xs[high] - xs[low];
  const part = width > 0 ? Math.min(1, Math.max(0, (x - xs[low]) / width)) : 0;
  return part === 0 ? ys[low] : ys[low] + part * (ys[high] - ys[low]);
}

/** Horizontal bars: rows of {name, value, text}; drawn from zero to both sides. */
function barChart(rows, options = {}) {
  const [row, wide] = [24, options.wide ?? 420];
  const left = 10 + 7 * Math.max(...rows.map((one) => one.name.length), 4);
  const height = rows.length * row + 8;
  const svg = drawn("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": options.title ?? "" });
  const known = rows.map((one) => one.value).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
  const room = 84; // for the number beside a bar
  const [start, end] = [left + (low < 0 ? room : 4), wide - (high > 0 ? room : 8)];
  const px = (value) => start + ((value - low) / (high - low || 1)) * (end - start);
  rows.forEach((one, number) => {
    const y = 4 + number * row;
    const known = Number.isFinite(one.value);
    const [from, to] = known ? [px(Math.min(0, one.value)), px(Math.max(0, one.value))] : [px(0), px(0)];
    svg.append(drawn("text", { x: left - 8, y: y + 15, "text-anchor": "end" }, one.name, one.title ? drawn("title", {}, one.title) : null));
    svg.append(drawn("rect", { x: from, y: y + 4, width: Math.max(0.5, to - from), height: row - 9, fill: one.value < 0 ? "var(--c0)" : "var(--c1)", rx: 2 }));
    const side = known && one.value < 0;
    svg.append(drawn("text", { class: "tick", x: side ? from - 5 : to + 5, y: y + 15, "text-anchor": side ? "end" : "start" }, one.text));
  });
  svg.append(drawn("line", { class: "zero", x1: px(0), x2: px(0), y1: 2, y2: height - 2 }));
  return element("div", { class: "chart", style: `max-width:${1.5 * wide}px` }, svg);
}
