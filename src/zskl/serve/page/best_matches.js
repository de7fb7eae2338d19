// The rows of the data that match the description best, as pictures or as cards.
import { call, latestOnly } from "./api.js";
import { badge, el, field, human, later, link, named, onlyPictures, picture, score as written, thing, things, wordy } from "./elements.js";
import { empty, failed, waiting } from "./states.js";
import { describedMarking } from "./teach.js";

const STEP = 24;
const NARROW = matchMedia("(max-width: 56rem)"); // where a strip of the best stays in sight, as in page.css

function card(row, marks) {
  const words = el("span", { class: "words" }, el("b", {}, named(row.class)), " ", badge(row.kind));
  const about = [`${thing.One} ${row.row}`, row.id].filter(Boolean).join(", ");
  const way = el("a", { class: "card", href: link("classify", { row: row.row }) }, picture(row, `${thing.One} ${row.row}`), words);
  const item = el("li", { class: "marked" }, way, marks?.buttons(row));
  return { item, put: (score) => (way.title = `${about}, score ${score}: classify it`) };
}

function summary(rows) {
  const counts = new Map();
  for (const { class: name } of rows) counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  const parts = most
    .slice(0, 4)
    .map(([name, count]) => `${count} × ${human(name)}`)
    .join(", ");
  return `Of these ${rows.length}: ${parts}${most.length > 4 ? " and others" : ""}.`;
}

export function bestMatches(description, context, startFrom) {
  const { model, classes } = context;
  const cards = new Map(); // row → card, so that a picture that stays is not loaded again
  const list = el("ol", { class: `grid${model.data?.pictures ? " pictures" : ""}${wordy(classes) ? " wordy" : ""}` });
  const place = el("div", { class: "results" });
  const words = el("p", { class: "quiet" });
  const strip = el("ol", { class: "strip", "aria-hidden": "true" });
  const part = el(
    "select",
    {},
    el("option", { value: "" }, "all"),
    Object.keys(model.data?.parts ?? {}).map((name) => el("option", {}, name)),
  );
  const more = el("button", { type: "button" }, "Show more");
  const [only, pictured] = onlyPictures(model.data);
  const marks = describedMarking(description, context);
  let top = STEP;

  const show = (rows) => {
    for (const row of rows) if (!cards.has(row.row)) cards.set(row.row, card(row, marks));
    list.replaceChildren(...rows.map((row) => cards.get(row.row).item));
    rows.forEach((row) => cards.get(row.row).put(written(row.score)));
    if (cards.size > 2000) cards.clear();
    if (NARROW.matches)
      strip.replaceChildren(
        ...rows.slice(0, 5).map((row) => el("li", {}, picture(row, ""), el("span", {}, human(row.class)))),
      );
    more.hidden = rows.length < top || top >= 240;
    words.textContent = rows.length ? summary(rows) : "";
    context.say(
      rows.length
        ? `${things(rows.length)} ranked. Best: ${thing.one} ${rows[0].row} of class ${human(rows[0].class)}. ${words.textContent}`
        : `No ${thing.one} matches.`,
    );
    return rows.length
      ? [list, more]
      : [empty(pictured.checked ? "Nothing of this part can be shown." : `This part of the data has no ${thing.many}.`)];
  };

  const hint = () => {
    const tries = classes.filter((one) => one.kind === "unseen").slice(0, 4);
    const buttons = tries.map(({ name }) => el("button", { type: "button", onclick: () => startFrom(name) }, human(name)));
    const offer = buttons.length > 0 && el("p", {}, "Or start from a class that is new to the model:");
    const place = el("div", { class: "welcome" });
    gallery(place);
    const first = empty(`Set an attribute to see the ${thing.many} that match best.`, offer, el("div", { class: "row" }, buttons));
    return el("div", {}, first, place);
  };
  // A few photos of classes that are new to the model, so that nobody begins with nothing; one of each class.
  const gallery = async (into) => {
    if (!model.data.pictured) return;
    const part = Object.hasOwn(model.data.parts, "test_unseen") ? "test_unseen" : null;
    try {
      const found = await call("rows", { query: { count: 240, part, pictures: true } });
      const each = [...new Map(found.rows.map((row) => [row.class, row])).values()].slice(0, 12);
      if (!each.length) return;
      const cards = each.map((row) => card(row).item);
      const heading = part ? "Some that are new to the model" : `Some ${thing.many} of the data`;
      into.replaceChildren(el("h4", {}, heading), el("ul", { class: list.className }, cards));
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
      words.textContent = "";
      strip.replaceChildren();
      place.replaceChildren(hint());
      return;
    }
    place.setAttribute("aria-busy", "true");
    if (!list.isConnected) place.replaceChildren(waiting(`the ${thing.many}`));
    try {
      const found = await ask();
      if (found === undefined || description.empty) return; // a newer request is under way, or none is wanted
      place.replaceChildren(...show(found));
    } catch (fault) {
      words.textContent = "";
      strip.replaceChildren();
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
      top = STEP;
      if (description.empty) update();
      else {
        place.setAttribute("aria-busy", "true"); // what is on show is of another description by now
        soon();
      }
    });
    for (const one of [part, pictured])
      one.addEventListener("change", () => {
        top = STEP;
        update();
      });
    context.addEventListener("taught", update);
    more.addEventListener("click", () => {
      top += STEP;
      update();
    });
    update();
  }
  const head = el(
    "div",
    { class: "head" },
    el("h3", {}, "Best matches"),
    only,
    model.data && field("Part of the data", part, { class: "field inline" }),
  );
  return { node: el("div", { class: "panel" }, head, words, marks?.node, place), strip };
}
