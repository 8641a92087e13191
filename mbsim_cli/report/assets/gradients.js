// Gradients as bars, and "what if": parameters on sliders, by first order.

/** Histories of a result by name, with rows between stored times. */
class Histories {
  constructor(stored) {
    this.time = numbers(stored.time).values;
    this.list = stored.list.map((one) => ({ ...one, table: numbers(one.values), by: numbers(one.derivatives) }));
    for (const one of this.list) {
      one.columns = one.components.map((_, k) => column(one.table, k));
      one.row = (time) => one.columns.map((values) => valueAt(this.time, values, time));
    }
  }

  find(name) {
    return this.list.find((one) => one.name === name);
  }

  /** Values of each component, moved by first order along changes (p,) of the parameters; null without derivatives. */
  moved(one, changes) {
    if (!one.by || changes.every((change) => change === 0)) return null;
    const [rows, width, count] = one.by.shape;
    return one.components.map((_, k) =>
      Float32Array.from({ length: rows }, (_unused, row) => {
        let value = one.table.values[row * width + k];
        changes.forEach((change, p) => {
          if (change) value += change * one.by.values[(row * width + k) * count + p];
        });
        return value;
      }),
    );
  }
}

/** Bars of all gradients, absolute or relative. */
function gradientSection() {
  const known = data.objectives.filter((one) => one.gradient);
  if (!known.length) return null;
  const place = element("div", { class: "tiles" });
  const relative = element("input", { type: "checkbox", checked: true });
  const draw = () => {
    place.replaceChildren(
      ...known.map((one) => {
        const rows = data.parameters.map((parameter, k) => {
          const slope = one.gradient[k];
          const value = relative.checked ? (slope * parameter.value) / one.value : slope;
          const why = one.undefined?.[parameter.name];
          const unit_ = relative.checked || one.units[k] === "1" ? "" : ` ${pretty(one.units[k])}`;
          return { name: parameter.name, value: slope === null ? NaN : value, text: why ? "does not exist" : shown(value, 4) + unit_, title: why ?? parameter.description };
        });
        rows.sort((a, b) => (Number.isFinite(b.value) ? Math.abs(b.value) : -1) - (Number.isFinite(a.value) ? Math.abs(a.value) : -1));
        const title = relative.checked ? `${one.name}: change in % by 1 % of` : `${one.name}: derivative by`;
        return element("div", {}, element("h3", {}, title), element("div", { class: "note" }, one.description), barChart(rows.slice(0, 24), { title }), rows.length > 24 ? element("p", { class: "note" }, `The 24 largest of ${rows.length}.`) : null);
      }),
    );
  };
  relative.addEventListener("change", draw);
  draw();
  return section("Gradients", element("label", { class: "soft" }, relative, " relative: change in per cent of the objective by one per cent of the parameter"), place);
}

/** Sliders of parameters; `changed(changes)` gets the changes (p,) from the values of the run. */
function whatIf(histories, changed) {
  const withSlopes = data.objectives.filter((one) => one.gradient);
  const derived = histories.list.filter((one) => one.by).length;
  if (!data.parameters?.length || !(withSlopes.length || derived)) return null;
  const changes = data.parameters.map(() => 0);
  const outcome = element("div");
  const reset = [];
  const told = () => {
    const rows = withSlopes.map((one) => {
      const change = changes.reduce((sum, by, k) => (by ? sum + by * (one.gradient[k] ?? NaN) : sum), 0);
      const part = one.value ? ` (${change >= 0 ? "+" : "−"}${shown(Math.abs((100 * change) / one.value), 3)} %)` : "";
      return [one.name, shown(one.value), shown(one.value + change) + (change ? part : ""), unitText(one.unit)];
    });
    if (rows.length) outcome.replaceChildren(table(["objective", "as computed", "by first order", "unit"], rows, [1, 2]));
    changed(changes);
  };
  const sliders = data.parameters.map((parameter, k) => {
    const span = parameter.bounds ?? (parameter.value ? [0.8, 1.2].map((f) => f * parameter.value).sort((a, b) => a - b) : [-1, 1]);
    const value = element("span", { class: "value" });
    const input = element("input", { type: "range", min: span[0], max: span[1], step: "any", value: parameter.value, "data-parameter": parameter.name, "aria-label": parameter.name });
    const show = () => {
      changes[k] = Math.abs(Number(input.value) - parameter.value) < 1e-9 * (span[1] - span[0]) ? 0 : Number(input.value) - parameter.value;
      value.textContent = `${shown(parameter.value + changes[k], 4)} ${unitText(parameter.unit)}`;
    };
    input.addEventListener("input", () => (show(), told()));
    reset.push(() => ((input.value = parameter.value), (changes[k] = 0), show(), (changes[k] = 0)));
    show();
    changes[k] = 0;
    return element("div", { class: "slider" }, element("span", { title: parameter.description }, parameter.name), input, value);
  });
  const source = [
    derived ? `Histories move by their derivatives along time, which the file holds (direct differentiation): ${derived} of ${histories.list.length} have them.` : "The file holds no derivatives of histories along time (a run with sensitivity ddm stores them), so that charts stay as they are.",
    withSlopes.length ? `Objectives move by their gradients (${[...new Set(withSlopes.map((one) => one.method))].join(", ")}).` : "",
    "Both are exact at the values of the run; what is shown away from them is their straight continuation, not a new run.",
  ].join(" ");
  told();
  return section("What if", element("p", { class: "note" }, source), ...sliders, element("div", { class: "bar" }, element("button", { onclick: () => (reset.forEach((each) => each()), told()) }, "Back to the run")), outcome);
}
