// Which rows to label next, and adapting to all rows that nobody has labelled.
import { call, classPath } from "./api.js";
import { classOf, classSelect, counted, el, field, human, named, picture, share, thing, things } from "./elements.js";
import { empty, failed, filled } from "./states.js";
import { tell } from "./teach.js";

const COUNT = 10;

function toLabel(one, context) {
  const guesses = one.guesses.map((guess) => guess.class);
  const said = one.guesses.map(({ class: name, probability }) => [
    `=${name}`,
    `${human(name)}${probability === null ? "" : ` (${share(probability)})`}`,
  ]);
  const others = context.classes.filter(({ name }) => !guesses.includes(name));
  const select = classSelect(el("select"), others, said, `=${guesses[0]}`);
  const teach = el("button", { type: "button", "aria-label": `Teach ${thing.one} ${one.row}` }, "Teach");
  const choice = el("div", {}, field(`${thing.One} ${one.row} is`, select), teach);
  const place = el("div", {}, choice);
  const work = (doing) => async () => {
    teach.disabled = true;
    try {
      await doing();
      tell(context);
    } catch (fault) {
      place.replaceChildren(choice, failed(fault));
      if (!("status" in fault)) throw fault;
    } finally {
      teach.disabled = false;
    }
  };
  teach.addEventListener(
    "click",
    work(async () => {
      const path = `${classPath(classOf(select))}/examples`;
      const made = await call(path, { method: "POST", body: { row: one.row } });
      const undo = el("button", { type: "button", "aria-label": `Undo ${thing.one} ${one.row}` }, "Undo");
      undo.addEventListener(
        "click",
        work(async () => {
          await call(path, { method: "DELETE", query: { id: made.id } });
          place.replaceChildren(choice);
          select.focus();
        }),
      );
      place.replaceChildren(el("p", {}, "Taught: ", el("b", {}, named(made.name)), " · "), undo);
      undo.focus();
    }),
  );
  return el("li", { class: "card" }, picture(one, `${thing.One} ${one.row}`), place);
}

function labelNext(context) {
  const place = el("div");
  const ask = el("button", { type: "button" }, `Show ${counted(COUNT, thing.one, thing.many)}`);
  ask.addEventListener("click", () =>
    filled(
      place,
      thing.many,
      () => call("label-next", { query: { count: COUNT, pictures: context.model.data.pictured > 0 } }),
      ({ rows }) => {
        ask.textContent = "Show the next";
        return rows.length
          ? el(
              "ol",
              { class: "grid tolabel" },
              rows.map((one) => toLabel(one, context)),
            )
          : empty(`There is no ${thing.one} left to label.`);
      },
    ),
  );
  const words = `The model is least sure of these ${thing.many}. Say what they are, and it learns the most.`;
  return el("div", { class: "panel" }, el("h3", {}, "Which should I label next?"), el("p", { class: "quiet" }, words), ask, place);
}

const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)} points`;
// What validation classes say: classes that the model knows and that were set aside to try this on.
function verdict(told) {
  if (told.clear === null)
    return `Nobody has tried with this model whether adapting to so many ${thing.many} helps.`;
  const tried = `Tried on classes that were set aside, it changed the share of right answers by ${points(told.gain)} (at worst ${points(told.least)})`;
  return `${tried}: ${told.clear ? "it helps." : "no clear gain."}`;
}

function adapting(context) {
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
  return el("div", { class: "panel" }, el("h3", {}, `Adapt to these ${thing.many}`), el("p", { class: "quiet" }, words), place);
}

// Both panels; nothing where the model cannot be taught or no data are loaded.
export function teachPanels(context) {
  if (!context.model.teaches || !context.model.data) return "";
  return el("div", { class: "columns teach" }, labelNext(context), adapting(context));
}
