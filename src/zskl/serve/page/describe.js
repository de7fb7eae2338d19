// The view Find: say what something looks like, in words, by a photo or by hand, and see what fits.
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
import { photoBar } from "./photo_bar.js";
import { display, isDisplay } from "./segments.js";
import { sentenceBox } from "./sentence_box.js";
import { copyButton, inAddress, read } from "./share.js";
import { failed } from "./states.js";
import { inWords } from "./words.js";

export function describe(section, context) {
  const { attributes } = context.model;
  const description = new Description(attributes);
  keep(description, context.model);
  const { sentences } = context.model;
  const bySentence = sentences !== null && sentences.missing === null;
  const [wordy, told, type] = inWords(description, context, context.model.examples.find((one) => one.sentence)?.sentence);
  const offered = bySentence ? null : examples(description, context.model.examples, type);
  const shared = inAddress(description);
  const message = el("div");
  const title = el("h2", { id: "describe-title", tabindex: "-1", class: "hidden" }, "Find");
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

  // Photos are ranked by what the model sees in them, classes by what is written about them: they may differ.
  const differ = el("p", { class: "quiet differ-why", role: "status" });
  let [rows, fits] = [null, null];
  const compare = () => {
    const [one, best] = [rows?.[0]?.class, fits?.[0]?.class];
    if (!one || !best || one === best) return differ.replaceChildren();
    const pictured = context.classes.find(({ name }) => name === best)?.picture;
    const other = [`The words fit `, el("b", {}, named(best)), " best, "];
    const none = !Number.isInteger(pictured) && context.model.data?.pictures;
    const why = none
      ? [`but there is no ${thing.one} of it to show.`]
      : [`but of the ${thing.many} here the model is surer of those of `, el("b", {}, named(one)), `: the classes go by what is written about them, the ${thing.many} by what the model sees in them.`];
    differ.replaceChildren(...other, ...why);
  };
  const shown = bestMatches(description, context, (found) => compare((rows = found)));
  const fitting = fittingClasses(description, context, (found) => compare((fits = found)));
  const saving = classForm(description, context);
  const switches = attributes.every((one) => one.binary) && !attributes.every((one) => one.exclusive);
  const buttons = el("div", { class: "row" }, switches && lower, clear);
  const again = el("button", { type: "button", onclick: () => startFrom(null) }, "Start again");
  const kept = el("div", { class: "kept" }, chips(description, () => startFrom(null)), fitting.same);
  const after = el("div", { class: "after" }, saving.form, el("div", { class: "row share" }, copyButton(shared), again));
  const stuck = () => (kept.hidden = after.hidden = description.empty);
  description.addEventListener("change", stuck);
  stuck();
  const controls = el(
    "details",
    { class: "panel controls", open: isFew(description) && !bySentence },
    el("summary", {}, el("h3", {}, bySentence ? "Start from a class" : "Set it by hand")),
    field("Start from", select),
    fault,
    isDisplay(attributes) && display(description),
    !bySentence && buttons,
    !bySentence && attributeList(description),
  );
  const experts = el(
    "details",
    { class: "panel experts" },
    el("summary", {}, el("h3", {}, "For experts")),
    shown.filters,
    saving.notes,
    fitting.wins,
  );
  const hand = (files) => {
    context.handed = files;
    location.hash = "#classify";
  };
  const photos = photoBar(section, context.model, hand, "Or drop a photo");
  section.append(
    title,
    editing,
    el(
      "div",
      { class: "asking" },
      bySentence ? sentenceBox(description, sentences) : wordy,
      photos,
    ),
    sentences?.missing ? el("p", { class: "note" }, `Classes can be described by a sentence here, but ${sentences.missing}.`) : "",
    el("p", { class: "quiet" }, `Say it in words${context.model.photos ? ", or show a photo" : ""}. The model also finds what it was never shown a ${thing.one} of.`),
    told,
    offered ?? "",
    message,
    kept,
    shown.node,
    differ,
    fitting.panel,
    after,
    controls,
    experts,
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
