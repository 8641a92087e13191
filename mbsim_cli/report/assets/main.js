// Builds the page of a result, a model, a study or a fit.

function resultPage() {
  const histories = data.histories ? new Histories(data.histories) : null;
  const charts = new Map();
  let changes = [];
  let stage = null;
  let now = 0;
  const moved = (time) => {
    now = time;
    stage?.at(time);
    for (const { chart } of charts.values()) chart.at(time);
  };
  const place = element("div");

  const open = (name) => {
    const one = histories.find(name);
    if (!one || charts.has(name)) return;
    const several = one.components.length > 1;
    const lines = one.components.map((component, k) => ({ name: several ? component : one.name, unit: one.units[k], values: one.columns[k], colour: colour(k), dots: histories.time.length === 1 }));
    const largest = Math.max(...lines.map((line) => line.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0)));
    const moving = lines.filter((line) => line.values.some((value) => Math.abs(value) > 1e-9 * largest));
    const kept = moving.length ? moving : lines;
    const caption = one.description + (kept.length < lines.length ? ` (${lines.filter((line) => !kept.includes(line)).map((line) => line.name).join(", ")} zero throughout)` : "");
    const chart = lineChart(kept, { label: "time [s]", values: histories.time }, {
      title: one.name,
      label: one.name,
      caption,
      moved: (time) => (stage?.playing && stage.play(false), moved(time)),
      closed: () => (charts.delete(name), chart.root.remove()),
    });
    chart.root.dataset.history = name;
    charts.set(name, { chart, one, which: kept.map((line) => lines.indexOf(line)) });
    place.append(chart.root);
    predict(charts.get(name));
    chart.at(now);
  };
  const predict = ({ chart, one, which }) => {
    const found = histories.moved(one, changes);
    chart.predict(found && which.map((k) => found[k]));
  };

  const made = [opening(data.kind === "model" ? "model" : data.optimization ? "result of an optimisation" : "result"), lead()];
  if (data.motion) {
    const mechanism = new Mechanism(data.motion, histories);
    stage = new Stage(mechanism, moved);
    now = mechanism.time[0];
  }
  if (histories?.list.length) {
    now = stage ? now : histories.time[0];
    const choice = element("select", { "aria-label": "Add a history", onchange: () => (open(choice.value), (choice.value = "")) }, element("option", { value: "" }, "Add a history …"));
    const kinds = [...new Set(histories.list.map((one) => one.kind))];
    for (const kind of kinds) choice.append(element("optgroup", { label: kind }, ...histories.list.filter((one) => one.kind === kind).map((one) => element("option", { value: one.name }, one.name))));
    const side = element("div", {}, element("div", { class: "bar" }, choice, element("span", { class: "note" }, "Drag across a chart to move the time.")), place);
    made.push(stage ? element("div", { class: "columns" }, stage.root, side) : side);
    data.histories.opened.forEach(open);
  } else if (stage) made.push(stage.root);
  if (histories && data.objectives) {
    const sliders = whatIf(histories, (now_) => {
      changes = now_;
      for (const each of charts.values()) predict(each);
      for (const { chart } of charts.values()) chart.at(now);
    });
    if (data.objectives.length && !sliders) made.push(section("Objectives", table(["objective", "value", "unit"], data.objectives.map((one) => [one.name, shown(one.value), pretty(one.unit)]), [1])));
    made.push(sliders, gradientSection());
  } else if (data.parameters?.length) {
    made.push(section("Parameters", table(["parameter", "value", "unit", ""], data.parameters.map((one) => [one.name, shown(one.value), unitText(one.unit), one.description]), [1])));
  }
  if (data.optimization) made.push(searchSection(data.optimization));
  window.mbsim = { moveTo: moved, stage };
  return [...made.filter(Boolean), ...closing(), () => moved(now)];
}

function errorPage() {
  return [opening("model"), element("p", { class: "warning" }, "The file cannot be shown as it stands:"), ...data.errors.map((text) => element("div", { class: "warning" }, text))];
}

/** Ask the server for a newer page every half second, and take it. */
function live() {
  const before = data.version;
  setInterval(async () => {
    try {
      const answer = await fetch("version", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== before) location.reload();
    } catch {
      document.title = "(server has ended)";
    }
  }, 500);
}

function start() {
  const page = document.getElementById("page");
  const parts = { result: resultPage, model: resultPage, study: studyPage, fit: fitPage, error: errorPage }[data.kind]();
  page.replaceChildren(...parts.filter((part) => part instanceof Node));
  for (const part of parts) if (typeof part === "function") part();
  if (data.live) live();
  document.documentElement.dataset.ready = "yes";
}

try {
  start();
} catch (error) {
  document.documentElement.dataset.error = String(error?.stack ?? error);
  document.getElementById("page").append(element("p", { class: "warning" }, `This page could not be drawn: ${error}`));
}
