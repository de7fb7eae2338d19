// The rows of the data that fit the description, as pictures or as cards: six of them first.
import { call, latestOnly } from "./api.js";
import { badge, el, field, human, later, link, named, onlyPictures, partName, picture, score as written, thing, things, wordy } from "./elements.js";
import { empty, failed, waiting } from "./states.js";
import { describedMarking } from "./teach.js";

const FIRST = 6;
const STEP = 18;

function card(row, marks) {
  const words = el("span", { class: "words" }, el("b", {}, named(row.class)), " ", badge(row.kind));
  const about = [`${thing.One} ${row.row}`, row.id].filter(Boolean).join(", ");
  const way = el("a", { class: "card", href: link("classify", { row: row.row }) }, picture(row, `${thing.One} ${row.row}`), words);
  const item = el("li", { class: "marked" }, way, marks?.buttons(row));
  return { item, put: (score) => (way.title = `${about}, score ${score}: what does the model say?`) };
}

// `ranked` is told the rows on show, or null.
export function bestMatches(description, context, ranked) {
  const { model, classes } = context;
  const cards = new Map(); // row → card, so that a picture that stays is not loaded again
  const list = el("ol", { class: `grid${model.data?.pictures ? " pictures" : ""}${wordy(classes) ? " wordy" : ""}` });
  const place = el("div", { class: "results" });
  const part = el(
    "select",
    {},
    el("option", { value: "" }, "all"),
    Object.keys(model.data?.parts ?? {}).map((name) => el("option", { value: name }, partName(name))),
  );
  const title = el("h3", {}, `${thing.Many} that fit`);
  const more = el("button", { type: "button" }, "Show more");
  const [only, pictured] = onlyPictures(model.data);
  const marks = describedMarking(description, context);
  let top = FIRST;

  const show = (rows) => {
    for (const row of rows) if (!cards.has(row.row)) cards.set(row.row, card(row, marks));
    list.replaceChildren(...rows.map((row) => cards.get(row.row).item));
    rows.forEach((row) => cards.get(row.row).put(written(row.score)));
    if (cards.size > 2000) cards.clear();
    more.hidden = rows.length < top || top >= 240;
    ranked(rows);
    context.say(
      rows.length
        ? `${things(rows.length)} ranked. Best: ${thing.one} ${rows[0].row} of class ${human(rows[0].class)}.`
        : `No ${thing.one} matches.`,
    );
    return rows.length
      ? [list, more]
      : [empty(pictured.checked ? "Nothing of this part can be shown." : `This part of the data has no ${thing.many}.`)];
  };

  // A few photos of classes that are new to the model, so that nobody begins with nothing; one of each class.
  const hint = async () => {
    const part = Object.hasOwn(model.data.parts, "test_unseen") ? "test_unseen" : null;
    title.textContent = part ? `Some that the model was never shown a ${thing.one} of` : `Some of the ${thing.many}`;
    try {
      const found = await call("rows", { query: { count: 240, part, pictures: model.data.pictured > 0 } });
      if (!description.empty) return;
      const each = [...new Map(found.rows.map((row) => [row.class, row])).values()].slice(0, FIRST);
      place.replaceChildren(el("ul", { class: list.className }, each.map((row) => card(row).item)));
    } catch {
      // it only decorates: what fails here is said where it matters
    }
  };

  const ask = latestOnly(async (signal) => {
    const body = { ...description.body(), class: marks?.target(), top, part: part.value || null, pictures: pictured.checked };
    return (await call("rank", { method: "POST", body, signal })).rows;
  });
  const update = async () => {
    if (description.empty) {
      ranked(null);
      place.replaceChildren();
      place.setAttribute("aria-busy", "false");
      hint();
      return;
    }
    title.textContent = `${thing.Many} that fit`;
    place.setAttribute("aria-busy", "true");
    if (!list.isConnected) place.replaceChildren(waiting(`the ${thing.many}`));
    try {
      const found = await ask();
      if (found === undefined || description.empty) return; // a newer request is under way, or none is wanted
      place.replaceChildren(...show(found));
    } catch (fault) {
      ranked(null);
      place.replaceChildren(failed(fault, update));
      if (!("status" in fault)) throw fault;
    }
    place.setAttribute("aria-busy", "false");
  };
  if (!model.data)
    place.replaceChildren(
      empty(
        "No data is loaded, so there is nothing to show.",
        el("p", {}, "Start the service with --data to see matches. You can still save a class."),
      ),
    );
  else {
    const soon = later(update, 80);
    description.addEventListener("change", () => {
      top = FIRST;
      if (description.empty) update();
      else {
        place.setAttribute("aria-busy", "true"); // what is on show is of another description by now
        soon();
      }
    });
    for (const one of [part, pictured])
      one.addEventListener("change", () => {
        top = FIRST;
        update();
      });
    context.addEventListener("taught", update);
    more.addEventListener("click", () => {
      top += STEP;
      update();
    });
    update();
  }
  const filters = model.data && el("div", { class: "row" }, field("Which of the data", part, { class: "field inline" }), only);
  return { node: el("div", { class: "found" }, title, marks?.node, place), filters };
}
