// What is set, as chips: each with its value, which can be changed, and a button that takes it back.
import { chosen } from "./choice.js";
import { swatch } from "./colours.js";
import { fullName } from "./controls.js";
import { el, number } from "./elements.js";
import { STEPS, levelOf, stepOf, valueOf } from "./levels.js";

const MOST = 40;

// [text, value] to choose from, and the one that holds now.
function values(description, one) {
  const now = description.value(one);
  if (one.exclusive) {
    const members = description.groups.get(one.group);
    return [members.map((each) => [each.label, each]), one];
  }
  if (one.binary) return [[["yes", one.high], ["no", one.low]], now];
  const steps = STEPS.map(([word, part]) => [word, valueOf(one, part)]);
  return [stepOf(one, now) === null ? [...steps, [`${levelOf(one, now)} (${number(now)})`, now]] : steps, now];
}

export function chips(description) {
  const list = el("ul", { class: "chips", "aria-label": "What is set" });
  const byName = new Map(description.attributes.map((one) => [one.name, one]));
  const implied = (one) => {
    const now = one.exclusive && chosen(description, description.groups.get(one.group));
    return Boolean(now) && now !== one; // off, because another one is chosen
  };
  const chip = (one) => {
    const [offers, now] = values(description, one);
    const select = el(
      "select",
      { "aria-label": `Change ${fullName(one)}` },
      offers.map(([text], place) => el("option", { value: place }, text)),
    );
    select.value = offers.findIndex(([, value]) => value === now);
    select.addEventListener("change", () => {
      const [, value] = offers[Number(select.value)];
      if (one.exclusive) description.set(value, 1);
      else description.set(one, value);
    });
    const remove = el(
      "button",
      { type: "button", "aria-label": `Remove ${fullName(one)}` },
      el("span", { "aria-hidden": "true" }, "×"),
    );
    remove.addEventListener("click", () => {
      const place = [...list.children].indexOf(remove.parentElement);
      description.reset(one);
      list.children[Math.min(place, list.children.length - 1)]?.querySelector("button").focus();
    });
    return el("li", { class: "chip" }, swatch(one), el("span", {}, one.exclusive ? one.group : fullName(one)), select, remove);
  };
  const sync = () => {
    const focused = [...list.querySelectorAll("select")].indexOf(document.activeElement);
    const changed = [...description.changed.keys()].map((name) => byName.get(name)).filter((one) => !implied(one));
    const items = changed.slice(0, MOST).map(chip);
    const more = changed.length - items.length;
    list.replaceChildren(...items, ...(more > 0 ? [el("li", { class: "quiet" }, `and ${more} more`)] : []));
    list.hidden = !changed.length;
    if (focused >= 0) list.querySelectorAll("select")[focused]?.focus();
  };
  description.addEventListener("change", sync);
  sync();
  return list;
}
