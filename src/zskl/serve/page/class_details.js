// All about one class: photos, nearest classes, what sets it apart, what its photos are mistaken for.
import { call, classPath } from "./api.js";
import { sideBySide } from "./class_pairs.js";
import { fullName } from "./controls.js";
import { badge, balanceBar, bar, counted, el, human, link, named, number, picture, share, signed, thing, things, whyTable } from "./elements.js";
import { keptPhoto } from "./lessons.js";
import { failed } from "./states.js";
import { classTeaching } from "./teach.js";

const SHOWN = 10;
const PHOTOS = 6;
const toClass = (name) => el("a", { href: link("classes", { class: name }) }, named(name));

function nearest(found) {
  if (!found.nearest.length) return el("p", { class: "quiet" }, "There is no other class.");
  const items = found.nearest.map((one) =>
    el(
      "li",
      {},
      el("span", { class: "name" }, toClass(one.class), " ", badge(one.kind)),
      bar(one.similarity),
      el("span", { class: "number" }, one.similarity.toFixed(2).replace("-", "−")),
    ),
  );
  return el("ol", { class: "top near" }, items);
}

// Attributes may be in different units: how far one is from the mean is told by its range over all classes.
function attributes(found, model) {
  const defaulted = new Set(found.defaulted);
  const all = model.attributes
    .filter(({ range }) => range > 0)
    .map((one) => ({ one, value: found.attributes[one.name], by: found.attributes[one.name] - one.mean }))
    .map((each) => ({ ...each, part: each.by / each.one.range }))
    .sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
  if (!all.length) return [el("p", { class: "quiet" }, "All classes have the same attributes.")];
  const largest = Math.abs(all[0].part);
  const row = ({ one, value, by, part }) => {
    const words = defaulted.has(one.name) ? `${number(value)}, not set` : number(value);
    const name = el("th", { scope: "row" }, fullName(one), el("span", { class: "quiet" }, words));
    return el("tr", {}, name, el("td", {}, balanceBar(part, largest)), el("td", { class: "number" }, signed(by)));
  };
  const body = el("tbody", {}, all.slice(0, SHOWN).map(row));
  const caption =
    "Attributes by how far they are from the mean of the trained classes, as a part of their range. " +
    "Below each name: its value";
  const table = whyTable(caption, ["Attribute", "◂ below", "above ▸", "by"], body);
  const more = all.length > SHOWN && el("button", { type: "button" }, `Show all ${all.length}`);
  if (more)
    more.addEventListener("click", () => {
      body.append(...all.slice(SHOWN).map(row));
      more.remove();
    });
  return [table, more];
}

function mistakes(found, confusion, context) {
  const one = confusion?.get(found.name);
  if (!one || one.accuracy === null) {
    const waits = context.model.data ? `Asking the model about the test ${thing.many} …` : "No data is loaded.";
    return el("p", { class: "quiet" }, confusion ? `The data have no test ${thing.many} of this class.` : waits);
  }
  const right = `${share(one.accuracy)} of its ${things(one.rows)} for testing get the right name.`;
  if (!one.wrong.length) return [el("p", {}, right), el("p", { class: "quiet" }, "None is mistaken for another class.")];
  const pairs = one.wrong.map((other) => {
    const words = `${share(other.share)} of the ${thing.many} on the left are taken for the class on the right.`;
    return el("li", {}, sideBySide([found.name, other.class], other.differ, words, context, found.name));
  });
  return [
    el("p", {}, right),
    el("ol", { class: "pairs" }, pairs),
    el("p", { class: "quiet" }, "To look at only: nothing is chosen by it."),
  ];
}

// Photos of the class; of a class that was added here, those that fit its description best.
async function photos(found, context, place) {
  const { data, attributes, teaches } = context.model;
  if (!data) return;
  const taught = teaches ? (await call(`${classPath(found.name)}/examples`).catch(() => ({ examples: [] }))).examples : [];
  const mine = taught.filter((one) => one.right && (one.picture || keptPhoto(one.id)));
  const shown = mine.map((one) => {
    const words = `${human(found.name)}, as you said`;
    return el("li", {}, one.picture ? picture(one, words) : el("img", { class: "picture", alt: words, src: keptPhoto(one.id) }));
  });
  if (shown.length) {
    place.replaceChildren(el("ul", { class: "grid pictures shots taught-photos" }, shown));
    if (found.kind === "added") return;
  }
  if (!data.pictured) return;
  const own = Number.isInteger(context.classes.find((one) => one.name === found.name)?.picture);
  const unset = new Set(found.defaulted);
  const given = Object.fromEntries(attributes.map(({ name }) => [name, found.attributes[name]]).filter(([name]) => !unset.has(name)));
  const ask = () =>
    own
      ? call("rows", { query: { class: found.name, pictures: true, count: PHOTOS } })
      : call("rank", { method: "POST", body: { attributes: given, top: PHOTOS, pictures: true } });
  if (!own && found.kind !== "added") {
    place.replaceChildren(el("p", { class: "nophoto wide" }, `No ${thing.one} of this class can be shown.`));
    return;
  }
  try {
    const { rows } = await ask();
    const items = rows.map((row, place) => {
      const words = own ? `${human(found.name)}, ${thing.one} ${place + 1}` : `${human(row.class)}`;
      const title = `${thing.One} ${row.row}: what does the model say?`;
      return el("li", {}, el("a", { href: link("classify", { row: row.row }), title }, picture(row, words)));
    });
    place.replaceChildren(
      ...(shown.length ? [place.firstChild] : []),
      ...(own ? [] : [el("p", { class: "quiet" }, `${thing.Many} that fit its description best:`)]),
      el("ul", { class: "grid pictures shots" }, items),
    );
  } catch (fault) {
    place.replaceChildren(failed(fault, () => photos(found, context, place)));
    if (!("status" in fault)) throw fault;
  }
}

// What brings a deleted class back: its description, then what it was taught.
function restorer(found, examples, context) {
  const place = el("div", { class: "note row" }, el("span", {}, `Deleted “${human(found.name)}”.`));
  const unset = new Set(found.defaulted);
  const given = Object.fromEntries(Object.entries(found.attributes).filter(([name]) => !unset.has(name)));
  const body = found.sentence === null ? { attributes: given } : { sentence: found.sentence };
  const undo = el("button", { type: "button" }, "Undo");
  undo.addEventListener("click", async () => {
    undo.disabled = true;
    try {
      await call("classes", { method: "POST", body: { name: found.name, ...body } });
      for (const { row, features, right } of examples)
        await call(`${classPath(found.name)}/examples`, { method: "POST", body: { ...(row === null ? { features } : { row }), right } });
      await context.refresh();
      place.remove();
      location.hash = link("classes", { class: found.name });
    } catch (fault) {
      undo.disabled = false;
      place.append(failed(fault));
      if (!("status" in fault)) throw fault;
    }
  });
  place.append(undo);
  return place;
}

function remover(found, context, gone) {
  const message = el("div");
  const cancel = el("button", { type: "button" }, "Keep it");
  const sure = el("button", { type: "button", class: "danger" }, "Delete");
  const dialog = el(
    "dialog",
    { "aria-label": "Delete a class" },
    el("p", {}, `Delete the class “${human(found.name)}”? You can undo it right after.`),
    message,
    el("div", { class: "row" }, sure, cancel),
  );
  cancel.addEventListener("click", () => dialog.close());
  sure.addEventListener("click", async () => {
    sure.disabled = true; // a second click would find no such class
    try {
      const { examples } = await call(`${classPath(found.name)}/examples`, { query: { features: true } });
      await call(classPath(found.name), { method: "DELETE", since: found.version });
      dialog.close();
      await context.refresh().catch((fault) => context.say(fault.message)); // it is deleted all the same
      context.say(`Deleted ${human(found.name)}.`);
      gone(restorer(found, examples, context));
    } catch (fault) {
      message.replaceChildren(failed(fault));
      sure.disabled = false;
      if (!("status" in fault)) throw fault;
    }
  });
  const open = el("button", { type: "button", class: "danger", onclick: () => dialog.showModal() }, "Delete …");
  return [open, dialog];
}

// What is known of a class, and a function that shows figures of test rows once they have come: in place, so that
// neither the focus nor an open dialog is lost.
export function details(found, context, gone, back) {
  const added = found.kind === "added";
  const start = el("a", { class: "button", href: link("describe", { class: found.name }) }, "Describe from it");
  const edit =
    added && el("a", { class: "button", href: link("describe", { class: found.name, edit: "yes" }) }, "Edit");
  const way = el("button", { type: "button", class: "narrow", onclick: back }, "Back to all classes");
  const rows = context.classes.find((one) => one.name === found.name)?.rows;
  const counts = el("p", { class: "quiet" });
  const taken = el("div");
  const figures = (confusion) => {
    const tested = confusion?.get(found.name)?.rows;
    counts.textContent = [
      rows !== null && rows !== undefined && things(rows),
      tested && `${counted(tested, "of them", "of them")} for testing`,
      added && `${counted(found.defaulted.length, "attribute")} not set`,
    ]
      .filter(Boolean)
      .join(" · ");
    taken.replaceChildren(...[mistakes(found, confusion, context)].flat());
  };
  const album = el("div");
  photos(found, context, album);
  const shown = [
    el("h3", { id: "class-title", tabindex: "-1" }, named(found.name), " ", badge(found.kind)),
    counts,
    album,
    el("div", { class: "row" }, start, edit, added && remover(found, context, gone), way),
    ...classTeaching(found, context),
    el("h4", {}, "Described most like it"),
    nearest(found),
    el("h4", {}, "What sets it apart"),
    ...attributes(found, context.model),
    el("h4", {}, `What its ${thing.many} are mistaken for`),
    taken,
  ].flat();
  return { shown, figures };
}
