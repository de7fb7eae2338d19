// Two classes side by side: their photos, in what they differ most, how often one is taken for the other.
import { fullName } from "./controls.js";
import { badge, el, link, named, number, share, thing, things } from "./elements.js";
import { classPhoto } from "./gallery.js";
import { areDegrees, levelOf } from "./levels.js";

const toClass = (name) => el("a", { href: link("classes", { class: name }) }, named(name));

// As a person says it, the number on demand; numbers with units stay numbers.
function worded(one, value, degrees) {
  if (one.binary) return el("td", {}, value > 0.5 ? "yes" : "no");
  return degrees ? el("td", { title: number(value) }, levelOf(one, value)) : el("td", {}, number(value));
}

// The attributes in which two classes differ most, each with the value of either.
export function differences(differ, context) {
  const attributes = new Map(context.model.attributes.map((one) => [one.name, one]));
  const degrees = areDegrees(context.model.attributes);
  const lines = differ.map(({ attribute, values }) => {
    const one = attributes.get(attribute);
    return el(
      "tr",
      {},
      worded(one, values[0], degrees),
      el("th", { scope: "row" }, fullName(one)),
      worded(one, values[1], degrees),
    );
  });
  return lines.length
    ? el("table", { class: "differ" }, el("caption", { class: "hidden" }, "In what they differ most"), el("tbody", {}, lines))
    : el("p", { class: "quiet" }, "Their descriptions are the same.");
}

// `words` say how often they are mistaken; the first of the names is not a link where it is the class on show.
export function sideBySide(names, differ, words, context, chosen = null) {
  const known = new Map(context.classes.map((one) => [one.name, one]));
  const half = (name) =>
    el(
      "div",
      { class: "half" },
      classPhoto(known.get(name)),
      el("div", {}, name === chosen ? el("b", {}, named(name)) : toClass(name), " ", badge(known.get(name)?.kind)),
    );
  return el(
    "div",
    { class: "pair" },
    el("div", { class: "halves" }, half(names[0]), half(names[1])),
    differences(differ, context),
    el("p", { class: "quiet" }, words),
  );
}

export function classPairs(context) {
  const list = el("ol", { class: "pairs" });
  const note = el(
    "p",
    { class: "quiet" },
    `Counted on test ${thing.many}, to look at only: nothing is chosen by it. Below the two: in what their descriptions differ most.`,
  );
  const place = el("div", {}, note, list);
  let pairs = null;
  const matching = (hits) => {
    const names = new Set(hits.map((one) => one.name));
    return (pairs ?? []).filter(({ classes }) => classes.some((name) => names.has(name)));
  };
  const mistakes = ({ mistaken: [left, right], rows, share: part }) => {
    const ways = [
      left > 0 && `${left} of ${rows[0]} on the left are taken for the right`,
      right > 0 && `${right} of ${rows[1]} on the right for the left`,
    ];
    const said = left > 0 ? ways : [`${right} of ${rows[1]} on the right are taken for the left`];
    return `${share(part)} of the ${things(rows[0] + rows[1])} are mistaken: ${said.filter(Boolean).join(", ")}.`;
  };
  const draw = (hits, shown) => {
    const found = matching(hits).slice(0, shown);
    list.replaceChildren(
      ...found.map((pair) => el("li", {}, sideBySide(pair.classes, pair.differ, mistakes(pair), context))),
    );
  };
  return { node: place, draw, total: (hits) => matching(hits).length, take: (found) => (pairs = found) };
}
