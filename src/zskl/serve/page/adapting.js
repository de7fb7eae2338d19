// Adapting the model to all rows that nobody has labelled.
import { call } from "./api.js";
import { el, thing, things } from "./elements.js";
import { filled } from "./states.js";
import { tell } from "./teach.js";

const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)} points`;
// What validation classes say: classes that the model knows and that were set aside to try this on.
function verdict(told) {
  if (told.clear === null)
    return `Nobody has tried with this model whether adapting to so many ${thing.many} helps.`;
  const tried = `Tried on classes that were set aside, it changed the share of right answers by ${points(told.gain)} (at worst ${points(told.least)})`;
  return `${tried}: ${told.clear ? "it helps." : "no clear gain."}`;
}

export function adapting(context) {
  const place = el("div", { "aria-live": "polite" });
  const show = (told) => {
    const button = (words, work) => el("button", { type: "button", onclick: () => run(work) }, words);
    const adapt = (force) => () => call("adapt", { method: "POST", body: { force } });
    const undone = async () => {
      await call("adapt", { method: "DELETE" });
      return call("adapt");
    };
    const done = told.adapted && [
      el("p", {}, `Adapted to ${things(told.rows)}: ${told.changed} of them get another answer now.`),
      told.converged === false && el("p", {}, "The answers had not settled when it stopped: check them."),
    ];
    const offer = told.adapted
      ? button("Undo", undone)
      : told.clear
        ? button(`Adapt to these ${thing.many}`, adapt(false))
        : button(`Adapt to these ${thing.many} all the same`, adapt(true));
    return [done, el("p", { class: "verdict" }, verdict(told)), offer];
  };
  const run = async (work, changes = true) => {
    await filled(place, "the verdict", work, show);
    if (changes && !place.querySelector(".fault")) tell(context);
  };
  run(() => call("adapt"), false);
  const words = `The model may learn from all ${thing.many} that it was not trained on, without knowing what they show.`;
  return el("div", { class: "adapting" }, el("h4", {}, `Adapt to these ${thing.many}`), el("p", { class: "quiet" }, words), place);
}
