// The view Label: one large photo at a time, the one that teaches the model most; say what it is, and the next one comes.
import { call } from "./api.js";
import { counted, el, human, picture, share, svg, thing, things } from "./elements.js";
import { adapting } from "./adapting.js";
import { teachClass } from "./lessons.js";
import { empty, failed, waiting } from "./states.js";
import { typeahead } from "./typeahead.js";

const GOAL = 50;
const [WIDE, HIGH] = [240, 48];
const TOUCH = matchMedia("(hover: none) and (pointer: coarse)");

// How the share of right answers on rows that are kept back has grown.
function curve(points) {
  if (points.length < 2) return "";
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const span = Math.max(high - low, 0.02);
  const at = (value, place) => `${((place / (points.length - 1)) * (WIDE - 6) + 3).toFixed(1)},${(HIGH - 5 - ((value - low) / span) * (HIGH - 10)).toFixed(1)}`;
  return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "growth", "aria-hidden": "true" }, svg("polyline", { points: points.map(at).join(" ") }));
}

export function label(section, context) {
  const { data, pictures = data.pictured > 0 } = context.model;
  const photo = el("div", { class: "subject" });
  const message = el("div", { "aria-live": "polite" });
  const progress = el("progress", { max: String(GOAL), value: "0", "aria-label": "Labelled" });
  const counts = el("p", { class: "strong" });
  const growth = el("div", { class: "grows" });
  const undo = el("button", { type: "button" }, "Undo");
  const skip = el("button", { type: "button" }, "Skip");
  const [done, skipped, points] = [[], new Set(), []];
  let [current, busy, waitsFor] = [null, false, null];

  const tally = () => {
    counts.textContent = `${counted(done.length, thing.one, thing.many)} labelled${done.length < GOAL ? ` of ${GOAL}` : ""}`;
    progress.value = Math.min(done.length, GOAL);
    undo.disabled = !done.length;
    const last = points.at(-1);
    growth.replaceChildren(
      curve(points),
      el("p", { class: "quiet", role: "status" }, last === undefined ? "" : `${share(last)} of ${things(current?.kept ?? 0)} kept back are named right${points.length > 1 ? `, ${share(points[0])} at first` : ""}.`),
    );
  };
  const box = typeahead(`What is in this ${thing.one}?`, context, (name, isNew) => teach(name, isNew), { keys: true });
  const show = (one) => {
    current = one;
    photo.replaceChildren(one.picture ? picture({ row: one.row, picture: true }, `${thing.One} ${one.row}`) : el("p", { class: "empty" }, `${thing.One} ${one.row}`));
    box.suggest(one.guesses);
    if (!TOUCH.matches) box.input.focus(); // there a keyboard would cover the photo
    tally();
  };
  // What to label next, from the model as it is now; and how good it is.
  const next = async () => {
    if (!photo.childElementCount) photo.replaceChildren(waiting(`a ${thing.one}`));
    const found = await call("label-next", { query: { count: Math.min(100, skipped.size + 1), pictures } });
    const row = found.rows.find((one) => !skipped.has(one.row));
    if (found.accuracy !== null && (!points.length || waitsFor === "taught")) points.push(found.accuracy);
    waitsFor = null;
    if (!row) {
      current = null;
      photo.replaceChildren(empty(`There is no ${thing.one} left to label.`));
      return tally();
    }
    const answer = await call("predict", { method: "POST", body: { data_rows: [row.row], top: 9 } });
    show({ row: row.row, picture: row.picture, kept: found.kept_back, guesses: answer.predictions[0].top.map((one) => one.class) });
  };
  const run = async (work) => {
    if (busy) return;
    busy = true;
    message.replaceChildren();
    try {
      await work();
    } catch (fault) {
      message.replaceChildren(failed(fault, () => run(next)));
      if (!("status" in fault)) throw fault;
    } finally {
      busy = false;
    }
  };
  const teach = (name, isNew) =>
    run(async () => {
      if (!current) return;
      const taught = await teachClass(name, isNew, current.guesses[0], { row: current.row }, context);
      done.push({ ...taught, shown: current });
      waitsFor = "taught";
      context.say(`${human(taught.name)}. ${counted(done.length, thing.one, thing.many)} labelled.`);
      await next();
    });
  undo.addEventListener("click", () =>
    run(async () => {
      const last = done.at(-1);
      await last.undo();
      done.pop();
      if (points.length > 1) points.pop();
      show(last.shown);
    }),
  );
  skip.addEventListener("click", () =>
    run(async () => {
      if (current) skipped.add(current.row);
      await next();
    }),
  );
  section.append(
    el("h2", { id: "label-title", tabindex: "-1" }, `Label ${thing.many}`),
    el("p", { class: "lead" }, `These are the ${thing.many} that teach the model most. Type a name, or press a number.`),
    el(
      "div",
      { class: "labelling" },
      photo,
      el("div", { class: "panel naming" }, box.node, el("div", { class: "row" }, undo, skip), message, counts, progress, growth),
    ),
    el("details", { class: "panel experts" }, el("summary", {}, el("h3", {}, "For experts")), adapting(context)),
  );
  tally();
  run(next);
  return () => current && !TOUCH.matches && box.input.focus();
}
