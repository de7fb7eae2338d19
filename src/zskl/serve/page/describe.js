// The view Describe: invent a class by its attributes, in words or in a sentence, and watch what fits.
import { call, classPath, latestOnly } from "./api.js";
import { attributeList, isFew } from "./attributes.js";
import { chips } from "./chips.js";
import { Description } from "./description.js";
import { keep } from "./description_store.js";
import { classOf, classSelect, el, field, named, thing } from "./elements.js";
import { bestMatches } from "./best_matches.js";
import { classForm } from "./class_form.js";
import { examples } from "./examples.js";
import { fittingClasses } from "./fitting.js";
import { display, isDisplay } from "./segments.js";
import { sentenceBox } from "./sentence_box.js";
import { copyButton, inAddress, read } from "./share.js";
import { failed } from "./states.js";
import { inWords } from "./words.js";

const MANY = 60; // attributes that need a column of their own to scroll in

export function describe(section, context) {
  const { attributes } = context.model;
  const description = new Description(attributes);
  keep(description, context.model);
  const { sentences } = context.model;
  const bySentence = sentences !== null && sentences.missing === null;
  const [wordy, type] = inWords(description);
  const offered = bySentence ? null : examples(description, context.model.examples, type);
  const shared = inAddress(description);
  const message = el("div");
  const title = el("h2", { id: "describe-title", tabindex: "-1" }, "Describe a class");
  const fault = el("div");
  const select = el("select");
  const list = () =>
    classSelect(
      select,
      context.classes,
      [["", "nothing (the mean of the trained classes)"]],
      description.start === null ? "" : `=${description.start}`,
    );

  const ask = latestOnly((signal, name) => call(classPath(name), { signal }));
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
      const values = found.sentence === null ? Object.fromEntries(given) : {};
      description.from(name, values, editing && found.kind === "added", found.version, found.sentence ?? "");
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
  const [saving, fitting] = [classForm(description, context), fittingClasses(description, context)];
  const switches = attributes.every((one) => one.binary) && !attributes.every((one) => one.exclusive);
  const buttons = el("div", { class: "row" }, switches && lower, clear);
  const controls = el(
    "div",
    { class: "panel controls" },
    el("h3", {}, bySentence ? "The class" : "Attributes"),
    sentences?.missing && el("p", { class: "note" }, `Classes can be described by a sentence here, but ${sentences.missing}.`),
    bySentence && sentenceBox(description, sentences),
    field("Start from", select),
    fault,
    isDisplay(attributes) && display(description),
    !bySentence && buttons,
    saving.notes,
    !bySentence && attributeList(description),
  );
  const kept = el(
    "div",
    { class: "kept" },
    el("div", { class: "set" }, chips(description), fitting.wins),
    saving.form,
    el("div", { class: "row share" }, copyButton(shared)),
  );
  const stuck = () => (kept.hidden = description.empty);
  description.addEventListener("change", stuck);
  stuck();
  section.append(
    title,
    editing,
    el(
      "p",
      { class: "lead" },
      `Say what a class looks like. You see the classes and the ${thing.many} that fit, even if such a class is new to the model.`,
    ),
    offered ?? "",
    message,
    bySentence ? "" : el("div", { class: "panel said" }, wordy),
    kept,
    el(
      "div",
      { class: "columns describe" },
      el("div", { class: attributes.length > MANY && !isFew(description) ? "stays" : null }, controls, shown.strip),
      el("div", {}, fitting.panel, shown.node),
    ),
  );
  // What an address says: a shared one, or one that was looked at before.
  const open = async (hash) => {
    const { start, editing: edits, sentence, pairs, unknown } = read(hash, attributes);
    message.replaceChildren();
    if (unknown.length) {
      const words = `This link also sets what the model does not have: ${unknown.slice(0, 10).join(", ")}.`;
      message.replaceChildren(el("p", { class: "note fault", role: "alert" }, words));
    }
    shared.restoring();
    if (start !== null) await startFrom(start, edits);
    else if (sentence) description.say(sentence);
    else description.begin({});
    description.put(pairs);
    shared.settle();
  };
  return (values, moved) => {
    const walked = moved && history.state?.described;
    if (location.hash === shared.address()) return;
    if (values.size || walked) return open(location.hash);
    shared.settle(); // by a link of this page: what is described stays
  };
}
