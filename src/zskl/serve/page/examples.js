// Descriptions that the service offers to begin with, each with a sentence on what it shows.
import { el } from "./elements.js";

// The first one is set if nothing is described yet, unless it is a sentence: `type` types one.
export function examples(description, given, type) {
  if (!given.length) return null;
  if (description.empty && !given[0].sentence) description.begin(given[0].attributes);
  let typed = null;
  const words = el("p", { class: "quiet" });
  const offers = given.map((one) => {
    const button = el("button", { type: "button" }, one.sentence ? `“${one.title}”` : one.title);
    button.addEventListener("click", () => {
      typed = one.sentence ? one : null;
      if (one.sentence) type(one.sentence);
      else description.begin(one.attributes);
    });
    return { one, button };
  });
  const sync = () => {
    const shown = offers.find(({ one }) => (one.sentence ? one === typed : description.describes(one.attributes)));
    for (const offer of offers) offer.button.setAttribute("aria-pressed", String(offer === shown));
    words.textContent = shown?.one.words ?? "";
    words.hidden = !shown;
  };
  description.addEventListener("change", sync);
  sync();
  const buttons = offers.map(({ button }) => button);
  return el("div", { class: "examples" }, el("div", { class: "row" }, el("span", { class: "quiet" }, "Try"), buttons), words);
}
