// Tables, and the end of every page: warnings, checks, provenance.

/** A table: heads and rows of texts; columns of numbers are flush right. */
function table(heads, rows, numeric = []) {
  const cells = (tag, texts) => texts.map((text, k) => element(tag, numeric.includes(k) ? { class: "number" } : {}, text instanceof Node ? text : String(text)));
  return element("table", {}, element("thead", {}, element("tr", {}, ...cells("th", heads))), element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))));
}

function pairs(rows) {
  return element("table", {}, element("tbody", {}, ...rows.map(([name, text]) => element("tr", {}, element("th", {}, name), element("td", {}, text)))));
}

/** Warnings, checks, notes and provenance. */
function closing() {
  const made = [];
  if (data.warnings?.length) made.push(section("Warnings", ...data.warnings.map((text) => element("div", { class: "warning" }, text))));
  if (data.checks?.length) made.push(section("Accuracy", pairs(data.checks)));
  if (data.notes?.length) made.push(section("About this page", ...data.notes.map((text) => element("p", { class: "note" }, text))));
  if (data.provenance?.length) made.push(element("details", {}, element("summary", {}, "Provenance"), pairs(data.provenance)));
  return made;
}

function opening(kind) {
  return element("header", {}, element("h1", {}, data.title), element("span", { class: "soft" }, kind));
}

function lead() {
  return data.description ? element("p", { class: "lead" }, data.description) : null;
}
