"use strict";
// Formats numbers as `sgoodput` does, and creates elements. Content is inserted only as text, never as HTML,
// because users choose the names of jobs and runs.

const BUCKETS = [/*@bucket_names@*/];
// Drawn with stripes, besides their colour.
const PATTERNS = ["lost_work", "unobserved", "unknown"];

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  return fill(node, attributes, children);
}

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  return fill(node, attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "color") {
      node.style.backgroundColor = `var(--${value})`;
      if (PATTERNS.includes(value)) node.classList.add("pattern");
    } else if (key === "plain") node.style.fill = `var(--${value})`;
    else if (key === "paint") node.style.fill = PATTERNS.includes(value) ? `url(#pattern-${value})` : `var(--${value})`;
    else if (key === "style_opacity") node.style.opacity = value;
    else if (key === "width_percent") node.style.width = value + "%";
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(typeof child === "object" ? child : String(child));
  }
  return node;
}

function percent(fraction) {
  return fraction === null || fraction === undefined ? "–" : (100 * fraction).toFixed(1) + " %";
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return seconds.toFixed(1) + " s";
  const whole = Math.round(seconds);
  const d = Math.floor(whole / 86400), h = Math.floor(whole / 3600) % 24, m = Math.floor(whole / 60) % 60, s = whole % 60;
  if (d) return `${d} d ${h} h`;
  if (h) return `${h} h ${m} m`;
  return `${m} m ${s} s`;
}

// How long a run has made no progress, as text, or null. The present is submit time plus wall time: the answer has no clock.
function stuck(job) {
  if (job.no_progress_since_ns === null || job.no_progress_since_ns === undefined) return null;
  return "no progress for " + duration((job.submit_ns + job.wall_ns - job.no_progress_since_ns) / 1e9);
}

function counted(n, one) {
  return `${n} ${one}${n === 1 ? "" : "s"}`;
}

function hours(gpu_seconds) {
  const h = gpu_seconds / 3600;
  if (h >= 100) return Math.round(h).toLocaleString("en-US");
  return h >= 1 ? h.toFixed(1) : h.toPrecision(2);
}

function pad(number) {
  return String(number).padStart(2, "0");
}

// Nanoseconds since the epoch, in the reader's time zone. A double represents them to about a microsecond.
function time(ns, with_day = true) {
  if (ns === null || ns === undefined) return "–";
  const at = new Date(ns / 1e6);
  const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return with_day ? `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clock}` : clock;
}

function table(columns, rows, attributes = {}) {
  const cell = (name, column, content, more = {}) => el(name, {...more, class: [column.n ? "n" : "", column.wide ? "wide" : "", column.long ? "long" : ""].join(" ").trim() || null}, content);
  return el("div", {class: "scroll"}, el("table", {class: "rows", ...attributes},
    el("thead", {}, el("tr", {}, columns.map((column) => cell("th", column, column.title || column.name, {scope: "col", "aria-sort": column.sorted})))),
    el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((column, i) => cell("td", column, row[i], {"data-label": column.name})))))));
}

// The time zone of all times on the page: "UTC", "Europe/Berlin".
function zone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// A card whose content is shown on demand.
function folded(title, ...content) {
  return el("section", {class: "card"}, el("details", {}, el("summary", {}, el("h2", {}, title)), content));
}

// A table that a click on a title sorts. A column has `text` and, to be sorted by, `value` of an item; null is last.
function sortable(columns, items, first) {
  const holder = el("div", {});
  let by = columns.find((column) => column.name === first), up = false;
  const order = (a, b) => {
    const [one, other] = [by.value(a), by.value(b)];
    if (one === null || other === null) return (one === null) - (other === null);
    return (one < other ? -1 : one > other ? 1 : 0) * (up ? 1 : -1);
  };
  const choose = (column) => {
    up = by === column ? !up : false;
    by = column;
    paint();
    [...holder.querySelectorAll("th button")].find((button) => button.dataset.column === column.name).focus();
  };
  function paint() {
    const titles = columns.map((column) => ({...column, sorted: column === by ? (up ? "ascending" : "descending") : null,
      title: el("button", {type: "button", "data-column": column.name, onclick: () => choose(column)}, column.name + (column !== by ? "" : up ? " ↑" : " ↓"))}));
    holder.replaceChildren(table(titles, [...items].sort(order).map((item) => columns.map((column) => column.text(item)))));
  }
  paint();
  return holder;
}

// At most `most` rows of a table, and a button for the others.
function shortened(columns, rows, most) {
  if (rows.length <= most) return table(columns, rows);
  const holder = el("div", {});
  const half = Math.floor(most / 2);
  const all = el("button", {type: "button", onclick: () => holder.replaceChildren(table(columns, rows))}, `show all ${rows.length}`);
  holder.append(table(columns, rows.slice(0, half)), el("p", {class: "soft"}, `${rows.length - 2 * half} more `, all), table(columns, rows.slice(-half)));
  return holder;
}

function card(title, ...content) {
  return el("section", {class: "card"}, title ? el("h2", {}, title) : null, content);
}

const tip = {
  show(text, event) {
    const box = document.getElementById("tip");
    box.textContent = text;
    box.hidden = false;
    const width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 4)) + "px";
    box.style.top = Math.max(4, event.clientY + 16 + height > innerHeight ? event.clientY - height - 8 : event.clientY + 16) + "px";
  },
  hide() { document.getElementById("tip").hidden = true; },
  on(text) { return {onmousemove: (event) => tip.show(text, event), onmouseleave: tip.hide}; },
};
