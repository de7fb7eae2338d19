// One attribute as a switch, or as a slider with a field for its number.
import { swatch } from "./colours.js";
import { el, fresh, number } from "./elements.js";
import { STEPS, levelOf, valueOf } from "./levels.js";

const BEYOND = 10; // a number may be beyond the slider by so many times its range, or its end if that is more

export const fullName = ({ label, group }) => (group ? `${group}: ${label}` : label);
export const stateOf = (description, one) => {
  if (!description.isSet(one)) return "not set";
  const value = description.value(one);
  return one.binary && value === one.high ? "on" : one.binary && value === one.low ? "off" : levelOf(one, value);
};

function toggle(description, one, input) {
  input.addEventListener("change", () => description.set(one, input.checked ? one.high : one.low));
  return () => {
    input.indeterminate = !description.isSet(one);
    input.checked = description.isSet(one) && description.value(one) > (one.low + one.high) / 2;
  };
}

function slider(description, one, input) {
  input.addEventListener("input", () => description.set(one, Number(Number(input.value).toPrecision(4))));
  return () => {
    input.value = description.value(one);
    input.setAttribute(
      "aria-valuetext",
      description.isSet(one)
        ? `${levelOf(one, description.value(one))}, ${number(description.value(one))}`
        : `${number(one.mean)}, the mean: not set`,
    );
  };
}

// The number itself: also beyond the ends of the slider, and empty for what is not set.
function typing(description, one, { low, high }, input) {
  const far = BEYOND * Math.max(high - low, Math.abs(low), Math.abs(high));
  const fits = () => input.value !== "" && input.valueAsNumber >= low - far && input.valueAsNumber <= high + far;
  const follow = () => {
    if (document.activeElement === input && input.dataset.typed) return; // not under the hands of who types
    input.value = description.isSet(one) ? String(Number(description.value(one).toPrecision(6))) : "";
    input.placeholder = number(one.mean);
    input.removeAttribute("aria-invalid");
  };
  input.addEventListener("input", () => {
    input.dataset.typed = "yes";
    const wrong = input.validity.badInput || (input.value !== "" && !fits());
    if (wrong) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (fits()) description.set(one, input.valueAsNumber);
    else if (!wrong) description.reset(one);
  });
  input.addEventListener("change", () => {
    delete input.dataset.typed;
    follow(); // also takes back what does not fit
  });
  input.addEventListener("blur", () => {
    delete input.dataset.typed;
    follow();
  });
  return follow;
}

// Four steps in words, of which one may be chosen.
function levels(description, one, label) {
  const group = fresh("level");
  const all = STEPS.map(([word, part]) => {
    const input = el("input", { type: "radio", name: group });
    input.addEventListener("change", () => description.set(one, valueOf(one, part)));
    return { word, input, node: el("label", {}, input, el("span", {}, word)) };
  });
  const sync = () => {
    const now = description.isSet(one) ? levelOf(one, description.value(one)) : null;
    for (const { word, input } of all) input.checked = word === now;
  };
  const node = el("div", { class: "levels", role: "radiogroup", "aria-labelledby": label.id }, all.map(({ node }) => node));
  return { node, sync };
}

// A colour of a group as a button with a swatch: pressed, it is there; its chip says how much.
export function swatchControl(description, one, words) {
  const much = el("span", { class: "quiet" });
  const button = el("button", { type: "button", class: "paint" }, swatch(one), el("span", {}, words), much);
  button.addEventListener("click", () => (description.isSet(one) ? description.reset(one) : description.set(one, one.high)));
  const whole = control(description, one, words); // with numbers, a slider
  const item = el("li", {}, button, el("ul", { class: "attributes exact" }, whole.item));
  const sync = () => {
    whole.sync();
    const set = description.isSet(one);
    const level = set ? (one.binary ? stateOf(description, one) : levelOf(one, description.value(one))) : "";
    button.setAttribute("aria-pressed", String(set));
    much.textContent = level === "strongly" || level === "on" ? "" : level;
  };
  sync();
  return { item, sync };
}

// As a list item; `sync` brings it up to what the description says.
export function control(description, one, words) {
  const low = Math.min(one.low, one.mean);
  const high = Math.max(one.high, one.mean, low + 1e-6);
  const input = one.binary
    ? el("input", { type: "checkbox", class: "switch", id: fresh("attribute") })
    : el("input", { type: "range", min: low, max: high, step: "any", id: fresh("attribute") });
  const label = el("label", { for: input.id, id: fresh("label") }, swatch(one), words);
  const state = one.binary
    ? el("span", { class: "state" })
    : el("input", { type: "number", step: "any", class: "state", "aria-labelledby": label.id, autocomplete: "off" });
  const follow = one.binary
    ? [toggle(description, one, input), () => (state.textContent = stateOf(description, one))]
    : [slider(description, one, input), typing(description, one, { low, high }, state)];
  const reset = el(
    "button",
    { type: "button", class: "icon", "aria-label": `Reset ${words}`, title: "Back to the start" },
    "↺",
  );
  reset.addEventListener("click", () => {
    description.reset(one);
    input.focus();
  });
  const steps = one.binary ? null : levels(description, one, label);
  const item = el("li", { class: one.binary ? "attribute binary" : "attribute" }, label, steps?.node, input, state, reset);
  const sync = () => {
    steps?.sync();
    follow.forEach((each) => each());
    const changed = description.changed.has(one.name);
    const open = !description.isSet(one);
    state.title = open ? `Not set: ${number(one.mean)}, the mean of the trained classes` : "";
    item.classList.toggle("changed", changed);
    item.classList.toggle("unset", open);
    reset.classList.toggle("gone", !changed);
  };
  sync();
  return { item, sync };
}
