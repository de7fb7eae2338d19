// What is said, as chips: each with its value, which can be changed, and a button that takes it back. They are one stop
// of the Tab key: arrow keys walk along them.
import { chosen } from "./choice.js";
import { swatch } from "./colours.js";
import { fullName } from "./controls.js";
import { el, human, number, phrase } from "./elements.js";
import { STEPS, levelOf, stepOf, valueOf } from "./levels.js";

const STEP = { ArrowRight: 1, ArrowLeft: -1 };

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

// `leave` forgets the class that the description starts from.
export function chips(description, leave) {
  const list = el("ul", { class: "chips", "aria-label": "What is set" });
  const byName = new Map(description.attributes.map((one) => [one.name, one]));
  const controls = () => [...list.querySelectorAll("select, button")];
  const reach = (at) => controls().forEach((one, place) => (one.tabIndex = place === at ? 0 : -1));
  list.addEventListener("keydown", (event) => {
    const all = controls();
    const next = all[all.indexOf(event.target) + STEP[event.key]];
    if (!STEP[event.key]) return;
    event.preventDefault(); // an arrow to the side would choose another value
    next?.focus();
  });
  list.addEventListener("focusin", (event) => reach(controls().indexOf(event.target)));
  const implied = (one) => {
    const now = one.exclusive && chosen(description, description.groups.get(one.group));
    return Boolean(now) && now !== one; // off, because another one is chosen
  };
  const button = (words, work) => {
    const node = el("button", { type: "button", "aria-label": words }, el("span", { "aria-hidden": "true" }, "×"));
    node.addEventListener("click", () => {
      const place = [...list.children].indexOf(node.parentElement);
      work();
      list.children[Math.min(place, list.children.length - 1)]?.querySelector("button").focus();
    });
    return node;
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
    const remove = button(`Remove ${fullName(one)}`, () => description.remove(one));
    return el("li", { class: "chip" }, swatch(one), el("span", {}, one.exclusive ? one.group : phrase(one)), select, remove);
  };
  const sync = () => {
    const focused = [...list.querySelectorAll("select")].indexOf(document.activeElement);
    const names = description.said;
    const like = description.start !== null && description.base.size > 0 && !names.some((name) => description.base.has(name));
    const start = like && el("li", { class: "chip" }, el("span", {}, `like ${human(description.start)}`), button("Forget the start", leave));
    const items = names.map((name) => byName.get(name)).filter((one) => !implied(one)).map(chip);
    list.replaceChildren(...[start, ...items].filter(Boolean));
    list.hidden = !list.childElementCount;
    reach(0);
    if (focused >= 0) list.querySelectorAll("select")[focused]?.focus();
  };
  description.addEventListener("change", sync);
  sync();
  return list;
}
