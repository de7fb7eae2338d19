// Descriptions that the service offers to begin with, each with a sentence on what it shows.
import { el } from "./elements.js";

// The first one is set if nothing is described yet.
export function examples(description, given) {
  if (!given.length) return null;
  if (description.empty) description.begin(given[0].attributes);
  const words = el("p");
  const offers = given.map((one) => {
    const button = el("button", { type: "button" }, one.title);
    button.addEventListener("click", () => description.begin(one.attributes));
    return { one, button };
  });
  const sync = () => {
    const shown = offers.find(({ one }) => description.describes(one.attributes));
    for (const offer of offers) offer.button.setAttribute("aria-pressed", String(offer === shown));
    words.textContent = shown?.one.words ?? "";
    words.hidden = !shown;
  };
  description.addEventListener("change", sync);
  sync();
  const buttons = offers.map(({ button }) => button);
  return el("div", { class: "note examples" }, el("div", { class: "row" }, el("b", {}, "Examples"), buttons), words);
}
