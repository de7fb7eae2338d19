// A class described by a sentence alone, where the signatures of the model are sentence vectors.
import { el, field } from "./elements.js";

export function sentenceBox(description, { encoder, example }) {
  const input = el("textarea", { rows: 4, maxlength: 2000, required: true });
  const form = el(
    "form",
    {},
    field("In a sentence", input),
    el("p", { class: "quiet" }, `It is read by ${encoder}, as the sentences of the other classes were.`),
    example && el("p", { class: "quiet" }, `Such as: “${example}”`),
    el("div", { class: "row" }, el("button", { class: "main" }, "Show what fits")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    description.say(input.value.trim());
  });
  const sync = () => {
    if (document.activeElement !== input) input.value = description.sentence;
  };
  description.addEventListener("change", sync);
  sync();
  return form;
}
