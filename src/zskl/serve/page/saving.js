// The form that saves the description as a class.
import { call, classPath } from "./api.js";
import { fullName } from "./attributes.js";
import { counted, el, field, link } from "./pieces.js";
import { failed } from "./states.js";

export function saving(description, context) {
  const name = el("input", { required: true, maxlength: context.model.limits?.name_length, autocomplete: "off" });
  const button = el("button", { class: "main" }, "Save");
  const unset = el("p", { class: "quiet" });
  const names = el("p", { class: "quiet" });
  const rest = el("details", { class: "plain" }, el("summary", {}, "Which ones?"), names);
  const message = el("div", { "aria-live": "polite" });
  const title = el("h3", {}, "Save as a class");
  let last = null; // what the name was filled in for

  const sync = () => {
    const editing = description.editing ? description.start : null;
    if (editing !== last) name.value = editing ?? "";
    last = editing;
    title.textContent = editing === null ? "Save as a class" : `Edit the class ${editing}`;
    const open = description.unset;
    const count = `${open.length} of ${counted(description.attributes.length, "attribute")}`;
    unset.textContent = open.length
      ? `${count} not set: the mean of the seen classes is used.`
      : "All attributes are set.";
    rest.hidden = !open.length || description.empty;
    names.textContent =
      open.slice(0, 100).map(fullName).join(", ") + (open.length > 100 ? ` and ${open.length - 100} more` : "");
    button.disabled = description.empty;
    message.replaceChildren();
  };

  const save = async () => {
    const wanted = name.value.trim();
    const replace = description.editing && wanted === description.start;
    const attributes = description.given();
    const path = replace ? classPath(wanted) : "classes";
    button.disabled = true;
    try {
      const done = await call(path, {
        method: replace ? "PUT" : "POST",
        body: replace ? { attributes } : { name: wanted, attributes },
      });
      await context.refresh();
      const defaulted = done.defaulted.length
        ? ` ${counted(done.defaulted.length, "attribute")} not set: the mean was taken.`
        : "";
      const there = el("a", { href: link("classes", { class: done.name }) }, "Show it in Classes");
      message.replaceChildren(el("p", { class: "note done" }, `Saved “${done.name}”.${defaulted} `, there));
      if (!replace) name.value = "";
    } catch (fault) {
      message.replaceChildren(failed(fault));
      if (fault.status === 409) name.focus();
      if (!("status" in fault)) throw fault;
    } finally {
      button.disabled = description.empty;
    }
  };
  const form = el(
    "form",
    { class: "panel" },
    title,
    unset,
    rest,
    el("div", { class: "row" }, field("Name", name), button),
    message,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  description.addEventListener("change", sync);
  sync();
  return form;
}
