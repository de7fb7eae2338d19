// The rows of the data that match the description best, as pictures or as cards.
import { call, newest } from "./api.js";
import { badge, counted, el, field, later, link, named, onlyPictures, picture, score as written, wordy } from "./elements.js";
import { empty, failed, waiting } from "./states.js";
import { describedMarking } from "./teach.js";

const STEP = 24;
const NARROW = matchMedia("(max-width: 56rem)"); // where a strip of the best stays in sight, as in page.css

function card(row, marks) {
  const score = el("span", { class: "score" });
  const words = el("span", { class: "words" }, el("b", {}, named(row.class)), " ", badge(row.kind));
  const about = [`Row ${row.row}`, row.id].filter(Boolean).join(", ");
  const item = el(
    "li",
    { class: "marked" },
    el(
      "a",
      { class: "card", href: link("classify", { row: row.row }), title: `${about}: classify it` },
      picture(row, `Row ${row.row}`),
      words,
      score,
    ),
    marks?.buttons(row),
  );
  return { item, score };
}

function summary(rows) {
  const counts = new Map();
  for (const { class: name } of rows) counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  const told = most
    .slice(0, 4)
    .map(([name, count]) => `${count} × ${name}`)
    .join(", ");
  return `Of these ${rows.length}: ${told}${most.length > 4 ? " and others" : ""}.`;
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
    rows.forEach((row) => (cards.get(row.row).score.textContent = written(row.score)));
    if (cards.size > 2000) cards.clear();
    if (NARROW.matches)
      strip.replaceChildren(
        ...rows.slice(0, 5).map((row) => el("li", {}, picture(row, ""), el("span", {}, row.class))),
      );
    more.hidden = rows.length < top || top >= 240;
    words.textContent = rows.length ? summary(rows) : "";
    context.say(
      rows.length
        ? `${counted(rows.length, "row")} ranked. Best: row ${rows[0].row} of class ${rows[0].class}. ${words.textContent}`
        : "No row matches.",
    );
    return rows.length
      ? [list, more]
      : [empty(pictured.checked ? "No row of this part has a picture." : "This part of the data has no rows.")];
  };

  const hint = () => {
    const tries = classes.filter((one) => one.kind === "unseen").slice(0, 4);
    const buttons = tries.map(({ name }) => el("button", { type: "button", onclick: () => startFrom(name) }, name));
    const offer = buttons.length > 0 && el("p", {}, "Or start from a class that is new to the model:");
    return empty("Set an attribute to see the rows that match best.", offer, el("div", { class: "row" }, buttons));
  };

  const ask = newest(async (signal) => {
    const body = { attributes: description.given(), class: marks?.target(), top, part: part.value || null, pictures: pictured.checked };
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
    if (!list.isConnected) place.replaceChildren(waiting("the rows"));
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
        "No data is loaded, so there are no rows to rank.",
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
