// Elements that the views share. Whatever comes from the service goes in as text nodes and attributes, never as HTML.
import { fillPicture } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";
let made = 0;

export const fresh = (word) => `${word}-${++made}`; // an id that is not taken

// el("button", { class: "plain", onclick: f }, "Save"): attributes that are null or false are left out.
function build(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
export const el = (tag, props = {}, ...children) => build(document.createElement(tag), props, children);
export const svg = (tag, props = {}, ...children) => build(document.createElementNS(SVG, tag), props, children);

export const number = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size < 0.001 || size >= 100000)
      ? value.toExponential(1)
      : String(size >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
  return text.replace("-", "−");
};
export const signed = (value) => {
  const text = number(Math.abs(value) < 1e-9 ? 0 : value); // a difference that is only rounding is 0
  return value > 0 && text !== "0" ? `+${text}` : text;
};
export const score = (value) => {
  const size = Math.abs(value);
  return size !== 0 && (size < 0.001 || size >= 100000) ? number(value) : value.toPrecision(3).replace("-", "−");
};
// How to write values with a sign, all with the same decimals: three digits of the largest.
export function signs(values) {
  const largest = Math.max(...values.map(Math.abs));
  if (largest < 1e-6 || largest >= 1e6) return (value) => (value > 0 ? "+" : "") + number(value);
  const decimals = Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(largest))));
  return (value) => {
    const text = value.toFixed(decimals).replace("-", "−");
    return Number(value.toFixed(decimals)) === 0 ? "0" : (value > 0 ? "+" : "") + text;
  };
}
export const share = (value) =>
  value === null || value === undefined
    ? "–"
    : `${(100 * value).toFixed(value < 0.1 && value >= 0.0005 ? 1 : 0)}\u00a0%`;
export const counted = (count, word, many = `${word}s`) =>
  `${count.toLocaleString("en").replaceAll(",", "\u00a0")} ${count === 1 ? word : many}`;

// What a row of the data is called on this page: a photo, a picture or a row. `things(3)` is "3 photos".
export const thing = { one: "row", many: "rows", One: "Row", Many: "Rows" };
export function callThings(one) {
  const [One, many] = [one[0].toUpperCase() + one.slice(1), `${one}s`];
  Object.assign(thing, { one, many, One, Many: `${One}s` });
}
export const things = (count) => counted(count, thing.one, thing.many);

// How to sort names: 2 before 10, whatever their case.
export const natural = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;

// A name as people write it: Groove-billed Ani for 004.Groove_billed_Ani, polar bear for polar+bear.
export const human = (name) =>
  name
    .replace(/^\d+\.(?=\p{L})/u, "")
    .replace(/(\p{Lu}[^_+]*)_(?=\p{Ll})/gu, "$1-")
    .replace(/(?<=\S)[_+](?=\S)/g, " ");

// What a part of the data is called.
const PARTS = { trainval: "learned from", test_seen: "kept for testing, trained classes", test_unseen: "kept for testing, new classes" };
export const partName = (name) => PARTS[name] ?? name;

// An attribute as people say it: "yellow crown" of "crown color: yellow", "bill shorter than head".
const GENERAL = /\b(colou?r|shape|pattern|length|size|primary|main|overall|type)\b/g;
const ALONE = /^(eyering|eyebrow|eyeline|malar|unique pattern)$/;
export function phrase({ label, group, exclusive }) {
  const value = label.replace(/\s*\(.*?\)/g, "");
  if (!group || exclusive) return group ? `${group} ${value}` : value;
  const part = group.replace(GENERAL, "").replace(/\s+/g, " ").trim();
  if (part === group) return `${part} ${value}`;
  if (!part) return /primary/.test(group) ? `mostly ${value}` : value;
  if (value.includes(part) || ALONE.test(value)) return value.replaceAll("-", " ");
  if (/length/.test(group)) return `${part} ${value}`;
  return `${value} ${part}`;
}

// Classes whose names look like this one to a reader, though they are written in another way.
const look = (name) => human(name).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
export const lookAlike = (name, classes) => {
  const mine = look(name);
  return mine ? classes.filter((one) => one.name !== name && look(one.name) === mine) : [];
};

// The same, and it may break where its words end, as long names of files and classes have to on a phone.
export const named = (name) =>
  human(name).split(/(?<=[_./-])(?=.)/).flatMap((part, place) => (place ? [el("wbr"), part] : [part]));

const MARKS = { seen: "●", unseen: "○", added: "+" };
const SHORT = { seen: "trained", unseen: "new", added: "added" };
const MEANINGS = {
  seen: "the model was trained on this class",
  unseen: "new to the model: it only has a description",
  added: "added on this page or by a request",
};
export const badge = (kind) =>
  kind &&
  el(
    "span",
    { class: `badge ${kind}`, title: MEANINGS[kind] },
    el("span", { "aria-hidden": "true" }, `${MARKS[kind]} `),
    SHORT[kind],
  );

export const wordy = (classes) => classes.some(({ name }) => name.length > 12); // names that need wide columns

// A bar from 0 to `part` of its width; for eyes only, as the number always stands beside it.
export function bar(part, kind = "") {
  const inner = el("span", { class: `fill ${kind}` });
  inner.style.width = `${100 * Math.min(1, Math.max(0, part))}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}

// A bar from the middle: to the right for positive values, to the left for negative ones.
export function balanceBar(value, largest) {
  const inner = el("span", { class: `fill ${value < 0 ? "minus" : "plus"}` });
  const wide = largest > 0 ? 50 * Math.min(1, Math.abs(value) / largest) : 0;
  inner.style.width = `${wide}%`;
  inner.style.left = `${value < 0 ? 50 - wide : 50}%`;
  return el("span", { class: "bar both", "aria-hidden": "true" }, inner);
}

// A table of bars to both sides: `heads` are the words over the names, the left and right half of the bars, the numbers.
export function whyTable(caption, [name, left, right, adds], body) {
  const middle = el("th", { scope: "col", class: "both" }, el("span", {}, left), el("span", {}, ` ${right}`));
  const ends = [
    el("th", { scope: "col", class: "wordy" }, name),
    middle,
    el("th", { scope: "col", class: "number" }, adds),
  ];
  return el(
    "table",
    { class: "why" },
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, ends)),
    body,
  );
}

export function picture(row, words) {
  if (!row.picture) return el("span", { class: "nopicture" }, `row ${row.row}`);
  const image = el("img", { alt: words, loading: "lazy", decoding: "async", class: "picture" });
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth <= 64));
  image.addEventListener("error", () => image.replaceWith(el("span", { class: "nopicture" }, "no picture")), {
    once: true,
  });
  fillPicture(image, row.row);
  return image;
}

// A <select> of classes, those of one kind together; `first` are [value, text] before them.
export function classSelect(select, classes, first, chosen = select.value) {
  const groups = ["added", "unseen", "seen"].map((kind) => {
    const members = classes.filter((one) => one.kind === kind);
    return (
      members.length &&
      el(
        "optgroup",
        { label: SHORT[kind] },
        members.map(({ name }) => el("option", { value: `=${name}` }, human(name))),
      )
    );
  });
  select.replaceChildren(...first.map(([value, text]) => el("option", { value }, text)), ...groups.filter(Boolean));
  select.value = chosen;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
  return select;
}
export const classOf = (select) => (select.value.startsWith("=") ? select.value.slice(1) : null);

export const field = (words, control, extra = {}) => {
  control.id ||= fresh("field");
  return el("div", { class: "field", ...extra }, el("label", { for: control.id }, words), control);
};

export function later(work, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}

export const link = (view, values = {}) => {
  const search = new URLSearchParams(values);
  return search.size ? `#${view}?${search}` : `#${view}`;
};

// [node, checkbox]: if only some rows have pictures, a choice to see only those; on at first.
export function onlyPictures(data) {
  const some = Boolean(data) && data.pictured > 0 && data.pictured < data.rows;
  const box = el("input", { type: "checkbox", checked: some, id: fresh("pictured") });
  return [el("div", { class: "check", hidden: !some }, box, el("label", { for: box.id }, `only ${thing.many} that can be shown`)), box];
}
