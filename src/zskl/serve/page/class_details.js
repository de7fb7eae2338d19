// All about one class: nearest classes, what sets it apart, what its rows are mistaken for.
import { call, classPath } from "./api.js";
import { fullName } from "./controls.js";
import { badge, balanceBar, bar, counted, el, link, named, number, share, signed, whyTable } from "./elements.js";
import { failed } from "./states.js";
import { classTeaching } from "./teach.js";

const SHOWN = 10;
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
    "Attributes by how far they are from the mean of the seen classes, as a part of their range. " +
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

function mistakes(found, confusion, data) {
  const one = confusion?.get(found.name);
  if (!one || one.accuracy === null) {
    const waits = data ? "Loading the answers for test rows …" : "No data is loaded.";
    return el("p", { class: "quiet" }, confusion ? "No test rows of this class." : waits);
  }
  const first = el("p", {}, `${share(one.accuracy)} of ${counted(one.rows, "test row")} right.`);
  const items = one.wrong.map((other) =>
    el(
      "li",
      {},
      el("span", { class: "name" }, toClass(other.class)),
      bar(other.share, "minus"),
      el("span", { class: "number" }, share(other.share)),
    ),
  );
  return [
    first,
    items.length
      ? el("ol", { class: "top near" }, items)
      : el("p", { class: "quiet" }, "No row is mistaken for another class."),
  ];
}

function remover(found, context, gone) {
  const message = el("div");
  const cancel = el("button", { type: "button" }, "Keep it");
  const sure = el("button", { type: "button", class: "danger" }, "Delete");
  const dialog = el(
    "dialog",
    { "aria-label": "Delete a class" },
    el("p", {}, `Delete the class “${found.name}”? This cannot be undone.`),
    message,
    el("div", { class: "row" }, sure, cancel),
  );
  cancel.addEventListener("click", () => dialog.close());
  sure.addEventListener("click", async () => {
    sure.disabled = true; // a second click would find no such class
    try {
      await call(classPath(found.name), { method: "DELETE", since: found.version });
      dialog.close();
      await context.refresh().catch((fault) => context.say(fault.message)); // it is deleted all the same
      context.say(`Deleted ${found.name}.`);
      gone();
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
  const way = el("button", { type: "button", class: "narrow", onclick: back }, "Back to the table");
  const rows = context.classes.find((one) => one.name === found.name)?.rows;
  const counts = el("p", { class: "quiet" });
  const taken = el("div");
  const figures = (confusion) => {
    const tested = confusion?.get(found.name)?.rows;
    counts.textContent = [
      rows !== null && rows !== undefined && counted(rows, "row"),
      tested && counted(tested, "test row"),
      added && `${counted(found.defaulted.length, "attribute")} not set`,
    ]
      .filter(Boolean)
      .join(" · ");
    taken.replaceChildren(...[mistakes(found, confusion, context.model.data)].flat());
  };
  const shown = [
    el("h3", { id: "class-title", tabindex: "-1" }, named(found.name), " ", badge(found.kind)),
    counts,
    el("div", { class: "row" }, start, edit, added && remover(found, context, gone), way),
    ...classTeaching(found, context),
    el("h4", {}, "Nearest classes"),
    nearest(found),
    el("h4", {}, "What sets it apart"),
    ...attributes(found, context.model),
    el("h4", {}, "What its rows are mistaken for"),
    taken,
  ].flat();
  return { shown, figures };
}
