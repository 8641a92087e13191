"use strict";
// Helpers of all parts of the page: the data, elements, numbers as text. Texts of a model become text nodes, never markup.

const data = JSON.parse(document.getElementById("data").textContent);

/** Numbers of the data: single precision or whole numbers, in rows of the shape. */
function numbers(stored) {
  if (!stored) return null;
  const bytes = Uint8Array.from(atob(stored.f4 ?? stored.u4), (letter) => letter.charCodeAt(0));
  const values = stored.f4 !== undefined ? new Float32Array(bytes.buffer) : new Uint32Array(bytes.buffer);
  return { values, shape: stored.shape };
}

/** A column of numbers of shape (N, ...): element `at` of each row. */
function column(table, at = 0) {
  const width = table.shape.slice(1).reduce((a, b) => a * b, 1);
  return Float32Array.from({ length: table.shape[0] }, (_, row) => table.values[row * width + at]);
}

/** An element with attributes, and children that are elements or texts. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

/** An element of SVG. */
function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A number in so many digits, with a true minus. */
function shown(value, digits = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) return String(Number(value.toPrecision(digits))).replaceAll("-", "−");
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${Number(power)}`.replaceAll("-", "−");
}

/** Text of a unit; a plain number has none. */
function unitText(unit) {
  return unit && unit !== "1" ? pretty(unit) : "";
}

/** Name and unit of an axis or a column. */
function withUnit(name, unit) {
  const text = unitText(unit);
  return text ? `${name} [${text}]` : name;
}

/** Units as people write them: m^2 becomes m², a blank between factors a dot. */
function pretty(unit) {
  const raised = { 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹", "-": "⁻" };
  return unit.replace(/\^(-?\d+)/g, (_, digits) => [...digits].map((digit) => raised[digit]).join("")).replace(/(\S) (?=\S)/g, "$1·");
}

/** Steps of an axis from low to high, about `count` of them: 1, 2 or 5 times a power of ten apart. */
function steps(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let k = first; k * step <= high + step * 1e-9; k += 1) found.push(Math.abs(k) < 1e-9 ? 0 : Number((k * step).toPrecision(12)));
  return found;
}

/** Least and largest of finite numbers, with a little room; a constant gets room around it. */
function range(...lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists)
    for (const value of list)
      if (Number.isFinite(value)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
  if (low > high) return [0, 1];
  const scale = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= 1e-6 * scale || scale === 0) {
    const room = 0.1 * scale || 1;
    return [low - room, high + room];
  }
  const room = 0.05 * (high - low);
  return [low - room, high + room];
}

const colour = (number) => `var(--c${number % 6})`;

/** A heading with what belongs to it, at the end of the page or of another element. */
function section(title, ...children) {
  return element("section", {}, element("h2", {}, title), ...children);
}
