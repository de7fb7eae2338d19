// The form that saves the description as a class.
import { call, classPath } from "./api.js";
import { fullName } from "./controls.js";
import { badge, counted, el, field, link, lookAlike, named } from "./elements.js";
import { failed } from "./states.js";

// The form, which stays in sight, and words on what is not set.
export function classForm(description, context) {
  const name = el("input", {
    required: true,
    placeholder: "Name",
    maxlength: context.model.limits?.name_length,
    autocomplete: "off",
  });
  const button = el("button", { class: "main" }, "Save");
  const unset = el("p", { class: "quiet" });
  const names = el("p", { class: "quiet" });
  const rest = el("details", { class: "plain" }, el("summary", {}, "Which ones?"), names);
  const message = el("div", { "aria-live": "polite" });
  const title = el("h3", {}, "Keep it as a class");
  const kept = el("p", { class: "quiet", role: "status" });
  const alike = el("div", { role: "status" });
  let last = null; // what the name was filled in for
  let busy = false;

  const edited = () => (description.editing ? description.start : null);
  const words = () => {
    const own = edited();
    const copy = own !== null && name.value.trim() !== own;
    title.textContent = own === null ? "Keep it as a class" : copy ? "Save as a new class" : `Edit the class ${own}`;
    const twin = name.value.trim() === own ? undefined : lookAlike(name.value.trim(), context.classes)[0];
    button.textContent = twin ? "Save all the same" : copy ? "Save as a new class" : "Save";
    alike.replaceChildren(
      ...(twin ? [el("p", { class: "note" }, "There is already ", el("b", {}, named(twin.name)), " ", badge(twin.kind), ", which is shown just like this name.")] : []),
    );
    kept.textContent = copy ? `The class ${own} stays as it is.` : "";
    button.disabled = busy || description.empty;
  };
  const sync = () => {
    if (edited() !== last) name.value = edited() ?? "";
    last = edited();
    const open = description.unset;
    const count = `${open.length} of ${counted(description.attributes.length, "attribute")}`;
    unset.textContent = open.length
      ? `${count} not set: the mean of the trained classes is used.`
      : "All attributes are set.";
    unset.hidden = Boolean(description.sentence);
    rest.hidden = unset.hidden || !open.length || description.empty;
    names.textContent =
      open.slice(0, 100).map(fullName).join(", ") + (open.length > 100 ? ` and ${open.length - 100} more` : "");
    message.replaceChildren();
    words();
  };

  const save = async () => {
    const [wanted, own] = [name.value.trim(), edited()];
    if (busy || !wanted) return;
    const replace = wanted === own;
    const [attributes, body, sentence] = [description.given(), description.body(), description.sentence];
    busy = true;
    words();
    try {
      const done = await call(replace ? classPath(wanted) : "classes", {
        method: replace ? "PUT" : "POST",
        body: replace ? body : { name: wanted, ...body },
        since: replace ? description.since : null,
      });
      description.saved = done.name; // beside itself it would win nothing
      await context.refresh().catch((fault) => context.say(fault.message)); // it is saved all the same
      if (own === null) name.value = "";
      else if (edited() === own) description.from(done.name, attributes, true, done.version, sentence); // what was saved is edited from now on
      const what = replace || own === null ? "." : ` as a new class; “${own}” is unchanged.`;
      const defaulted = done.defaulted.length
        ? ` ${counted(done.defaulted.length, "attribute")} not set: the mean is used.`
        : "";
      const there = el("a", { href: link("classes", { class: done.name }) }, "Show it in Classes");
      message.replaceChildren(
        el("p", { class: "note done" }, `Saved “${done.name}”${what}${defaulted} `, there),
      );
    } catch (fault) {
      message.replaceChildren(failed(fault));
      if (fault.status === 409) name.focus();
      if (!("status" in fault)) throw fault;
    } finally {
      busy = false;
      words();
    }
  };
  name.addEventListener("input", words);
  const form = el(
    "form",
    { class: "panel saving" },
    title,
    el("div", { class: "row" }, field("Name", name), button),
    alike,
    kept,
    message,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  description.addEventListener("change", sync);
  sync();
  return { form, notes: el("div", { class: "rest" }, unset, rest) };
}
