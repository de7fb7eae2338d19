// The view Describe: invent a class by its attributes and watch which rows match.
import { call, classPath, newest } from "./api.js";
import { attributeList, changedList, isFew } from "./attributes.js";
import { Description } from "./description.js";
import { keep } from "./description_store.js";
import { classOf, classSelect, el, field, named } from "./elements.js";
import { bestMatches } from "./best_matches.js";
import { classForm } from "./class_form.js";
import { examples } from "./examples.js";
import { fittingClasses } from "./fitting.js";
import { display, isDisplay } from "./segments.js";
import { failed } from "./states.js";
import { inWords } from "./words.js";

const MANY = 60; // attributes that need a column of their own to scroll in

export function describe(section, context) {
  const { attributes } = context.model;
  const description = new Description(attributes);
  keep(description, context.model);
  const offered = examples(description, context.model.examples);
  const title = el("h2", { id: "describe-title", tabindex: "-1" }, "Describe a class");
  const fault = el("div");
  const select = el("select");
  const list = () =>
    classSelect(
      select,
      context.classes,
      [["", "nothing (the mean of seen classes)"]],
      description.start === null ? "" : `=${description.start}`,
    );

  const ask = newest((signal, name) => call(classPath(name), { signal }));
  const startFrom = async (name, editing = false) => {
    fault.replaceChildren();
    if (name === null) {
      ask.stop();
      description.from(null);
      return;
    }
    try {
      const found = await ask(name);
      if (found === undefined) return; // another class was chosen since
      const defaulted = new Set(found.defaulted);
      const given = Object.entries(found.attributes).filter(([attribute]) => !defaulted.has(attribute));
      description.from(name, Object.fromEntries(given), editing && found.kind === "added", found.version);
    } catch (wrong) {
      fault.replaceChildren(failed(wrong, () => startFrom(name, editing)));
      list();
      if (!("status" in wrong)) throw wrong;
    }
  };
  select.addEventListener("change", () => startFrom(classOf(select)));
  const relist = () => {
    const { start } = description;
    if (start !== null && !context.classes.some((one) => one.name === start)) description.stopEditing(true);
    list();
  };
  context.addEventListener("classes", relist);
  relist();

  const which = el("span");
  const stop = el("button", { type: "button" }, "Stop editing");
  stop.addEventListener("click", () => {
    description.stopEditing();
    title.focus();
  });
  const editing = el("div", { class: "note row editing" }, which, stop);

  const clear = el("button", { type: "button", onclick: () => description.clear() }, "Reset all");
  const lower = el("button", { type: "button", onclick: () => description.lowerRest() }, "Turn the rest off");
  const sync = () => {
    if (classOf(select) !== description.start) list();
    editing.hidden = !description.editing;
    which.replaceChildren("Editing the class ", el("b", {}, named(description.start ?? "")), ".");
    clear.disabled = !description.changed.size;
    lower.disabled = description.empty || description.unset.every((one) => one.exclusive); // all off describes nothing
  };
  description.addEventListener("change", sync);
  sync();

  const shown = bestMatches(description, context, startFrom);
  const switches = attributes.every((one) => one.binary) && !attributes.every((one) => one.exclusive);
  const buttons = el("div", { class: "row" }, switches && lower, clear);
  const controls = el(
    "div",
    { class: "panel controls" },
    el("h3", {}, "Attributes"),
    inWords(description),
    field("Start from", select),
    fault,
    isDisplay(attributes) && display(description),
    !isFew(description) && changedList(description),
    buttons,
    attributeList(description),
  );
  section.append(
    title,
    editing,
    el(
      "p",
      { class: "lead" },
      "Say what a class looks like. The model ranks the rows that match, even if such a class is new to it.",
    ),
    offered ?? "",
    el(
      "div",
      { class: "columns describe" },
      el("div", { class: attributes.length > MANY && !isFew(description) ? "stays" : null }, controls, shown.strip),
      el("div", {}, classForm(description, context), fittingClasses(description, context), shown.node), // Save stays in sight, above many photos
    ),
  );
  return (values) => {
    if (values.has("class")) startFrom(values.get("class"), values.get("edit") === "yes");
    if (values.size) history.replaceState(null, "", "#describe"); // so that coming back keeps what was changed
  };
}
