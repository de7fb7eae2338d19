// One attribute as a switch, or as a slider with a field for its number.
import { el, fresh, number } from "./elements.js";

const BEYOND = 10; // a number may be beyond the slider by so many times its range, or its end if that is more

export const fullName = ({ label, group }) => (group ? `${group}: ${label}` : label);
export const stateOf = (description, one) => {
  if (!description.isSet(one)) return "not set";
  const value = description.value(one);
  return one.binary && value === one.high ? "on" : one.binary && value === one.low ? "off" : exact(one, value);
};
// To a hundredth of its range.
const exact = ({ low, high }, value) =>
  value.toFixed(Math.min(8, Math.max(0, Math.ceil(2 - Math.log10(high - low || 1))))).replace("-", "−");

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
      description.isSet(one) ? number(description.value(one)) : `${number(one.mean)}, the mean: not set`,
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

// As a list item; `sync` brings it up to what the description says.
export function control(description, one, words) {
  const low = Math.min(one.low, one.mean);
  const high = Math.max(one.high, one.mean, low + 1e-6);
  const input = one.binary
    ? el("input", { type: "checkbox", class: "switch", id: fresh("attribute") })
    : el("input", { type: "range", min: low, max: high, step: "any", id: fresh("attribute") });
  const label = el("label", { for: input.id, id: fresh("label") }, words);
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
  const item = el("li", { class: one.binary ? "attribute binary" : "attribute" }, label, input, state, reset);
  const sync = () => {
    follow.forEach((each) => each());
    const changed = description.changed.has(one.name);
    const open = !description.isSet(one);
    state.title = open ? `Not set: ${number(one.mean)}, the mean of the seen classes` : "";
    item.classList.toggle("changed", changed);
    item.classList.toggle("unset", open);
    reset.classList.toggle("gone", !changed);
  };
  sync();
  return { item, sync };
}
