// The view Classify: photos or rows, their answers, why, and the balance of trained and new classes.
import { allAnswers, answersOf } from "./all_answers.js";
import { call, latestOnly } from "./api.js";
import { answerCard } from "./answer.js";
import { balancePanel } from "./balance.js";
import { LARGEST } from "./files.js";
import { doubt } from "./doubt.js";
import { badge, el, human, later, link, named, picture, thing, things } from "./elements.js";
import { feedback } from "./lessons.js";
import { photoBar } from "./photo_bar.js";
import { rowPicker } from "./row_picker.js";
import { predicted } from "./sources.js";
import { empty, filled } from "./states.js";
import { textBar } from "./text_bar.js";

const REASONS = 24; // attributes in an explanation
const LOOKS = 3; // photos of each of the best classes
const NARROW = matchMedia("(max-width: 56rem)"); // where all is one below the other, as in page.css
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

const said = (one) => (one.none_of_these ? "probably none of these" : `class ${human(one.class)}`);

export function classify(section, context) {
  const { model } = context;
  const answer = el("div", { class: "answer" });
  const side = el("div");
  const title = el("h3", { tabindex: "-1" }, "Answer");
  const back = () => items[place]?.button.focus();
  const way = el("button", { type: "button", class: "narrow", onclick: back }, `Back to the ${thing.many}`);
  const told = el("p", { class: "told" });
  const missing = el("div", { role: "status" });
  let shown = null; // the rows on show, as `row_picker` tells them
  let [place, against, calibration] = [0, null, null];
  let own = false; // whether the row was chosen by someone
  let lessonOf = null; // what was said about the answer on show, and of which row
  let [coming, missed] = [false, false]; // whether someone comes for a row; whether the answers could not be had
  let [items, answers, widen] = [[], [], () => {}];

  const nameOf = (index) =>
    shown.source.names?.[shown.start + index] ?? `Row ${shown.start + index + 1} of ${shown.source.label}`;
  const unsure = doubt(model, () => soon());
  const common = () => ({ calibration, ...unsure.options() });
  const all = allAnswers(context, common);
  const tell = () => {
    const one = answers[place];
    const rows = shown?.rows;
    const right =
      rows && answers.length === rows.length
        ? rows.filter((row, index) => row.class === answers[index].class).length
        : null;
    told.replaceChildren();
    if (one?.class)
      told.append(
        rows ? `${thing.One} ${rows[place].row}: ` : `${nameOf(place)}: `,
        el("b", {}, named(one.class)),
        " ",
        badge(context.kind(one.class)),
        ".",
      );
    if (right !== null && rows.length) {
      const trained = rows.some((row) => row.part === "trainval") ? ` (${thing.many} that it learned from among them)` : "";
      told.append(` Right for ${right} of the ${things(rows.length)} shown${trained}.`);
    }
  };

  const askAnswers = latestOnly(async (signal) => {
    const { source, start, end } = shown;
    return answersOf(source, start, end, { top: 1, ...common() }, signal);
  });
  const updateAnswers = async () => {
    if (!shown || shown.end <= shown.start) return;
    const mine = shown;
    missed = false;
    const found = await askAnswers().catch(() => void (missed = true)); // said where the answer of the row stands
    if (!found || shown !== mine) return; // other rows are shown by now, or none
    answers = found;
    items.forEach(({ words }, index) => {
      const row = shown.rows?.[index];
      if (found[index].class === null) {
        words.replaceChildren(el("span", { class: "wrong", title: found[index].fault }, "✗ cannot be read"));
        return;
      }
      const mark =
        row &&
        (row.class === found[index].class
          ? el("span", { class: "right" }, "✓", el("span", { class: "hidden" }, "right"))
          : el("span", { class: "wrong" }, "✗", el("span", { class: "hidden" }, "wrong")));
      words.replaceChildren(
        found[index].none_of_these ? el("span", { class: "quiet" }, "none of these?") : "",
        el("b", {}, named(found[index].class)),
        " ",
        mark ?? badge(context.kind(found[index].class)),
      );
    });
    tell();
  };

  const askOne = latestOnly(async (signal) => {
    const mine = shown;
    const explain =
      model.explains &&
      !(shown.source.whole && !(shown.source.size <= LARGEST && shown.source.count <= model.limits.explained_rows));
    const other = against !== null && answers[place]?.class !== against ? against : null;
    const nearest = model.data?.pictures ? LOOKS : 0;
    const options = { top: 5, explain, against: other, attributes: REASONS, nearest, ...common(), ...unsure.one() };
    const found = await predicted(shown.source, shown.start + place, shown.start + place + 1, options, signal);
    return shown === mine ? found[0] : undefined;
  });
  const updateOne = () =>
    filled(answer, "the answer", askOne, (one) => {
      if (missed) updateAnswers(); // trying again has helped
      const photo = shown.source.photos?.[shown.start + place];
      const head = shown.rows ? { row: shown.rows[place] } : { label: nameOf(place), photo };
      const scores = one.top.map(({ score }) => score);
      widen(2 * Math.max(Math.abs(model.calibration ?? 0), Math.max(...scores) - Math.min(...scores), 1e-6));
      context.say(`${head.label ?? `${thing.One} ${head.row.row}`}: ${said(one)}.`);
      const kept = against === one.class ? null : against;
      const [mine, at] = [shown, shown.start + place]; // the row of this answer, whatever is on show later
      const lesson = mine.rows ? { row: mine.rows[place].row } : null;
      const example = async () => {
        if (lesson) return lesson;
        const { body, type } = mine.source.request(at, at + 1);
        if (body.texts) return { text: body.texts[0] };
        if (body.rows) return { features: body.rows[0] };
        const { features } = await call("predict", { method: "POST", body, type, query: { top: 1, features: true } });
        return { features: features[mine.source.whole ? at : 0] };
      };
      const same = lessonOf?.of === mine && lessonOf.at === at && lessonOf.node.dataset?.done;
      lessonOf = same ? lessonOf : { of: mine, at, node: feedback(one, example, photo, context) };
      const hands = document.activeElement;
      if (same && lessonOf.node.contains(hands)) queueMicrotask(() => requestAnimationFrame(() => hands.focus())); // it moves with the card
      return answerCard({ ...head, against: kept, asked: unsure.one() }, one, context, (name) => {
        against = name;
        updateOne().then(() => answer.querySelector("select")?.focus());
      }, lessonOf.node);
    });

  const again = () => {
    if (!shown) return;
    updateAnswers();
    if (!lessonOf?.node.isConnected || !lessonOf.node.querySelector("input")) updateOne(); // not while somebody types there
    all.show(shown.rows ? null : shown.source);
  };
  // On a phone the answer stands below the rows: bring whoever chose one there.
  const reveal = () => {
    if (!NARROW.matches || section.hidden) return;
    title.focus({ preventScroll: true });
    title.scrollIntoView({ behavior: STILL.matches ? "auto" : "smooth", block: "start" });
  };
  // The row that was chosen, not merely shown first, is kept in the address, for a reload or a link.
  const keepRow = () => {
    const row = own ? shown?.rows?.[place]?.row : undefined;
    if (!section.hidden) history.replaceState(null, "", link("classify", row === undefined ? {} : { row }));
  };
  const choose = (index) => {
    place = index;
    own = true;
    keepRow();
    items.forEach(({ button }, one) => button.setAttribute("aria-pressed", one === index ? "true" : "false"));
    tell();
    updateOne();
    reveal();
  };
  const draw = (count) => {
    items = Array.from({ length: count }, (_, index) => {
      const row = shown.rows?.[index];
      const words = el("span", { class: "words" }, "…");
      const label = row ? `${thing.One} ${row.row}` : (shown.source.names?.[index] ?? `Row ${shown.start + index + 1}`);
      const mine = shown.source.photos?.[shown.start + index];
      const own = mine && el("img", { src: mine, alt: label, class: "picture" });
      const image = row?.picture ? picture(row, label) : (own ?? el("span", { class: "quiet" }, label));
      const button = el(
        "button",
        {
          type: "button",
          class: "card",
          "aria-pressed": index === place ? "true" : "false",
          onclick: () => choose(index),
        },
        image,
        words,
      );
      return { button, words };
    });
    shown.grid.replaceChildren(...items.map(({ button }) => el("li", {}, button)));
  };

  const pick = rowPicker(context, (found) => {
    shown = found;
    answers = [];
    place = Math.max(0, found?.chosen ?? 0);
    own = (found?.chosen ?? -1) >= 0;
    keepRow();
    told.replaceChildren();
    if (!found || found.end <= found.start) {
      items = [];
      all.show(null);
      answer.replaceChildren(empty(`Choose a ${thing.one} or a file to see its classes.`));
      return;
    }
    draw(found.end - found.start);
    again();
    if (coming || found.source.photos) reveal();
    coming = false;
  });

  const soon = later(again, 60);
  const put = (balance) => {
    const panel = balancePanel(
      balance,
      model,
      (value) => {
        calibration = value;
        soon();
      },
      told,
    );
    widen = panel.widen;
    return panel.node;
  };
  if (model.data)
    filled(
      side,
      "the curve",
      () => call("balance").catch((fault) => (fault.status === 409 ? null : Promise.reject(fault))),
      put,
    );
  else side.append(...put(null));
  let stale = false; // whether classes changed while another view was on show
  context.addEventListener("classes", () => {
    if (!context.classes.some((one) => one.name === against)) against = null;
    stale = section.hidden;
    if (!stale) again();
  });

  section.append(
    el("h2", { id: "classify-title", tabindex: "-1" }, model.photos ? `What is in your ${thing.one}?` : `What are these ${thing.many}?`),
    el(
      "p",
      { class: "lead" },
      `Choose a ${thing.one} to see what the model takes it for, and why. Tell it if it is wrong: it learns at once.`,
    ),
    missing,
    photoBar(section, model, pick.open, ""),
    textBar(model, pick.open),
    el(
      "div",
      { class: "columns classify" },
      el("div", { class: "panel pick" }, el("h3", {}, model.photos ? "Photos" : thing.Many), pick.node, all.node),
      el("div", { class: "panel reply" }, el("div", { class: "head" }, title, way), answer),
    ),
    el("details", { class: "panel experts" }, el("summary", {}, el("h3", {}, "For experts")), el("div", { class: "side" }, unsure.node, el("h3", {}, "Balance of trained and new"), side, told)),
  );
  return (values) => {
    if (context.handed) {
      pick.open(context.handed); // photos that were dropped on the first view
      context.handed = null;
    }
    const row = values.get("row");
    const there = row === null || Number(row) === shown?.rows?.[place]?.row;
    const sought = !there && pick.seek(Number(row)); // which tells the rows, and so the address, later
    const rows = model.data?.rows;
    const lost = !there && !sought && `There is no ${thing.one} ${row}: ${rows ? `${thing.many} are numbered from 0 to ${rows - 1}` : "no data is loaded"}.`;
    missing.replaceChildren(...(lost ? [el("p", { class: "note" }, lost)] : []));
    coming = sought;
    if (!sought && stale) again();
    if (!sought) keepRow();
    stale = false;
  };
}
