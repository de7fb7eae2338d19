// The attributes: in groups that are drawn when they are opened, or as found by a search.
import { choice, chosen } from "./choice.js";
import { isColour } from "./colours.js";
import { control, fullName, swatchControl } from "./controls.js";
import { counted, el, field, fresh, later } from "./elements.js";
import { areDegrees } from "./levels.js";

const FOUND = 60; // shown at most by a search
const FEW = 12; // controls that can all be in sight
const CLEAR = 4; // controls among which nobody needs to search
const FLAT = 60; // more attributes without groups than this are divided

// How many controls there are: a switch or a slider for each attribute, but one choice for an exclusive group.
const controls = ({ attributes, groups }) => groups.size + attributes.filter((one) => !one.exclusive).length;
export const isFew = (description) => controls(description) <= FEW;

function grouped(attributes) {
  const groups = new Map();
  const named = attributes.some((one) => one.group);
  attributes.forEach((one, place) => {
    const from = Math.floor(place / 50) * 50;
    const rest = attributes.length > FLAT ? `attributes ${from + 1} to ${Math.min(from + 50, attributes.length)}` : "";
    const key = one.group ?? (named ? "others" : rest);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  });
  return groups;
}

const opens = (text, word) => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
  return false;
};
// Attributes with all of `words` in their names, first those with words that begin with them.
function hitsOf(attributes, words) {
  const texts = new Map(attributes.map((one) => [one, `${fullName(one)} ${one.name}`.toLowerCase()]));
  const hits = attributes.filter((one) => words.every((word) => texts.get(one).includes(word)));
  const inside = new Map(hits.map((one) => [one, words.filter((word) => !opens(texts.get(one), word)).length]));
  return hits.sort((a, b) => inside.get(a) - inside.get(b));
}

export function attributeList(description) {
  const drawn = new Set(); // the `sync` of all controls that are drawn
  const draw = (list, attributes, name, painted = false) => {
    const made = painted ? swatchControl : control;
    const mine = attributes.map((one) => made(description, one, name(one)));
    list.replaceChildren(...mine.map(({ item }) => item));
    mine.forEach(({ sync }) => drawn.add(sync));
    return () => mine.forEach(({ sync }) => drawn.delete(sync));
  };

  const groups = [...grouped(description.attributes)].map(([name, members]) => {
    const painted = name !== "" && members.every((one) => isColour(one) && !one.exclusive);
    const list = el("ul", { class: painted ? "attributes swatches" : "attributes" });
    if (name === "") {
      draw(list, members, (one) => one.label);
      return { node: list, sync: () => {} };
    }
    const count = el("span", { class: "quiet" });
    const alone = members[0].exclusive; // then all of them are
    const pick = alone && choice(description, name, members);
    if (alone) drawn.add(pick.sync);
    const body = alone ? pick.item : list;
    const node = el("details", { class: "group" }, el("summary", {}, el("span", {}, name), count), body);
    const fill = () => alone || list.childElementCount || draw(list, members, (one) => one.label, painted);
    node.addEventListener("toggle", () => node.open && fill());
    if (isFew(description)) {
      fill();
      node.open = true;
    }
    const sync = () => {
      const changed = members.filter((one) => description.changed.has(one.name)).length;
      const total = changed ? `${changed} of ${members.length} set` : String(members.length);
      count.textContent = (alone && chosen(description, members)?.label) || total;
      node.classList.toggle("changed", changed > 0);
    };
    return { node, sync };
  });
  const all = el(
    "div",
    {},
    groups.map(({ node }) => node),
  );

  const found = el("ul", { class: "attributes" });
  const summary = el("p", { class: "quiet", role: "status" });
  const input = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  let forget = () => {};
  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    forget();
    const hits = hitsOf(description.attributes, words);
    all.hidden = words.length > 0;
    found.hidden = !words.length;
    forget = words.length ? draw(found, hits.slice(0, FOUND), fullName) : () => {};
    const more = hits.length > FOUND ? `, the first ${FOUND} are shown` : "";
    summary.textContent = !words.length
      ? ""
      : hits.length
        ? `${counted(hits.length, "attribute")}${more}`
        : "No attribute has these letters in its name.";
  };
  input.addEventListener("input", later(find, 60));
  const sync = () => [...drawn, ...groups.map((one) => one.sync)].forEach((one) => one());
  description.addEventListener("change", sync);
  sync();
  const numbers = el("input", { type: "checkbox", id: fresh("numbers"), checked: !areDegrees(description.attributes) });
  const some = !description.attributes.every((one) => one.binary);
  const pale = some && el("p", { class: "quiet" }, "Pale means not set: the mean of the trained classes is used.");
  const search = controls(description) > CLEAR && field("Search attributes", input);
  const exact = some && el("div", { class: "check" }, numbers, el("label", { for: numbers.id }, "Show numbers"));
  const node = el("div", {}, search, pale, exact, summary, found, all);
  const turn = () => node.classList.toggle("numbered", numbers.checked);
  numbers.addEventListener("change", turn);
  turn();
  return node;
}
