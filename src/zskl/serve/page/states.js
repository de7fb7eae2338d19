// What stands in a place while it is loaded, when that failed, and when there is nothing.
import { el } from "./elements.js";

export const empty = (title, ...words) => el("div", { class: "empty" }, el("p", { class: "strong" }, title), ...words);

export function failed(fault, again) {
  const retry = again && el("button", { type: "button", onclick: again }, "Try again");
  return el("div", { class: "note fault", role: "alert" }, el("p", {}, fault.message), retry);
}

export const waiting = (words, rows = 3) =>
  el(
    "div",
    { class: "waiting" },
    el("p", { class: "quiet" }, `Loading ${words} …`),
    Array.from({ length: rows }, () => el("span", { class: "skeleton", "aria-hidden": "true" })),
  );

// Fill `place` with what `show` makes of the answer of `work`; on a fault say so, with a button that tries again.
// `words`: what is loaded, said while the place is empty; a place that is filled stays so, and is only marked busy.
export async function filled(place, words, work, show) {
  place.setAttribute("aria-busy", "true");
  if (!place.childElementCount || place.querySelector(":scope > .fault, :scope > .empty"))
    place.replaceChildren(waiting(words));
  try {
    const found = await work();
    if (found === undefined) return; // a newer request is under way
    place.replaceChildren(...[show(found)].flat(2).filter(Boolean));
  } catch (fault) {
    if (fault.name === "AbortError") return;
    place.replaceChildren(failed(fault, () => filled(place, words, work, show)));
    if (!("status" in fault)) throw fault; // a fault of the page itself: also to the console
  }
  place.setAttribute("aria-busy", "false");
}
