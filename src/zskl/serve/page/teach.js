// Rows marked as right or wrong for a class: they become its examples, and every answer knows them at once.
import { call, classPath } from "./api.js";
import { el, field, human, named, picture, thing } from "./elements.js";
import { failed } from "./states.js";

const BEST = 8; // in the detail of a class
const path = (name) => `${classPath(name)}/examples`;

// Tell everybody that answers are other ones now.
export function tell(context) {
  context.dispatchEvent(new Event("taught"));
  context.dispatchEvent(new Event("classes"));
}

// What was marked for one class at a time. `target`: the class, null if there is none yet; then `create` makes one and
// tells its name, or null if nobody wants to.
export function marking(context, target, create = async () => null) {
  const marked = new Map(); // row → the example
  const shown = new Map(); // row → its two buttons
  const words = el("span");
  const undo = el("button", { type: "button" }, "Undo");
  const fault = el("div");
  const note = el("div", { class: "row taught" }, words, undo);
  const node = el("div", { class: "teaching" }, note, fault);
  let [examples, name, busy] = [[], null, false];

  const press = (row) => {
    const right = marked.get(row)?.right;
    shown.get(row)?.forEach((button, place) => button.setAttribute("aria-pressed", String(right === !place)));
  };
  const draw = () => {
    marked.clear();
    for (const one of examples) if (one.row !== null) marked.set(one.row, one);
    for (const row of shown.keys()) press(row);
    const right = examples.filter((one) => one.right).length;
    undo.hidden = !examples.length;
    words.replaceChildren(
      ...(examples.length
        ? [`Taught: ${right} right, ${examples.length - right} wrong for `, el("b", {}, named(name)), " ·"]
        : [`✓ and ✗ below a ${thing.one} teach the model: this is one, this is not.`]),
    );
  };
  const load = async () => {
    const wanted = target();
    if (wanted !== name) examples = [];
    name = wanted;
    const found = name === null ? [] : (await call(path(name))).examples;
    if (name !== wanted) return; // another class was chosen since
    examples = found;
    draw();
  };
  // Do something with the examples of the class, once at a time.
  const change = async (work) => {
    if (busy) return;
    busy = true;
    fault.replaceChildren();
    try {
      const own = target() ?? (await create());
      if (own === null) return;
      await work(own);
      await load();
      context.say(words.textContent);
      tell(context);
    } catch (wrong) {
      fault.replaceChildren(failed(wrong));
      if (!("status" in wrong)) throw wrong;
    } finally {
      busy = false;
    }
  };
  const remove = (own, id) => call(path(own), { method: "DELETE", query: { id } });
  const mark = (row, right) =>
    change((own) => {
      const before = marked.get(row);
      if (before?.right === right) return remove(own, before.id);
      return call(path(own), { method: "POST", body: { row, right } });
    });
  undo.addEventListener("click", () => change((own) => remove(own, examples.at(-1).id)));

  const buttons = ({ row }) => {
    const each = [
      ["✓", "Right", true],
      ["✗", "Not this", false],
    ].map(([sign, word, right]) =>
      el(
        "button",
        {
          type: "button",
          class: `icon ${right ? "yes" : "no"}`,
          title: word,
          "aria-label": `${word}: ${thing.one} ${row}`,
          onclick: () => mark(row, right),
        },
        sign,
      ),
    );
    shown.set(row, each);
    press(row);
    return el("span", { class: "marks" }, each);
  };
  draw();
  const refresh = () =>
    load().catch((wrong) => {
      if (!("status" in wrong)) throw wrong;
      fault.replaceChildren(failed(wrong, refresh));
    });
  return { node, buttons, refresh };
}

// Ask for a name and save the description under it, so that marks have a class to belong to.
function nameDialog(description, context) {
  const name = el("input", { required: true, maxlength: context.model.limits?.name_length, autocomplete: "off" });
  const message = el("div");
  const cancel = el("button", { type: "button" }, "Not now");
  const form = el(
    "form",
    {},
    el("p", {}, `A mark belongs to a class. Give what you describe a name: it is saved, and the ${thing.one} is marked.`),
    field("What is it called?", name),
    message,
    el("div", { class: "row" }, el("button", { class: "main" }, "Save and mark"), cancel),
  );
  const dialog = el("dialog", { "aria-label": "Save what you describe" }, form);
  let settle = () => {};
  const end = (found) => {
    dialog.close();
    settle(found);
  };
  cancel.addEventListener("click", () => end(null));
  dialog.addEventListener("cancel", () => settle(null));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [attributes, body, sentence] = [description.given(), description.body(), description.sentence];
    try {
      const done = await call("classes", { method: "POST", body: { name: name.value.trim(), ...body } });
      await context.refresh();
      description.from(done.name, attributes, true, done.version, sentence); // what was saved is edited from now on
      end(done.name);
    } catch (fault) {
      message.replaceChildren(failed(fault));
      if (!("status" in fault)) throw fault;
    }
  });
  const ask = () =>
    new Promise((resolve) => {
      settle = resolve;
      message.replaceChildren();
      name.value = "";
      dialog.showModal();
    });
  return { dialog, ask };
}

// Marks for what is described: the class that is edited, or that it starts from unchanged. A new description is saved
// under a name first.
export function describedMarking(description, context) {
  if (!context.model.teaches || !context.model.data) return null;
  const target = () => (description.editing || !description.changed.size ? description.start : null);
  const { dialog, ask } = nameDialog(description, context);
  const marks = marking(context, target, ask);
  marks.node.append(dialog);
  let last = null;
  description.addEventListener("change", () => {
    marks.node.hidden = description.empty;
    if (target() !== last) marks.refresh();
    last = target();
  });
  marks.node.hidden = description.empty;
  marks.refresh();
  return { ...marks, target };
}

// The rows that fit a class best, to be marked; and how many were.
export function classTeaching(found, context) {
  if (!context.model.teaches || !context.model.data) return [];
  const marks = marking(context, () => found.name);
  const list = el("ol", { class: "grid teachable" });
  const defaulted = new Set(found.defaulted);
  const given = Object.entries(found.attributes).filter(([name]) => !defaulted.has(name));
  const draw = async () => {
    const body = { attributes: Object.fromEntries(given), top: BEST, class: found.name };
    const best = await call("rank", { method: "POST", body: { ...body, pictures: context.model.data.pictured > 0 } });
    list.replaceChildren(
      ...best.rows.map((row) =>
        el("li", { class: "card" }, picture(row, `${thing.One} ${row.row}`), marks.buttons(row)),
      ),
    );
  };
  const again = () =>
    draw().catch((fault) => {
      if (!("status" in fault)) throw fault;
      list.replaceChildren(el("li", {}, failed(fault, again)));
    });
  const heard = () => (list.isConnected ? again() : context.removeEventListener("taught", heard));
  context.addEventListener("taught", heard);
  again();
  marks.refresh();
  return [el("h4", {}, `Which of these are ${human(found.name)}?`), marks.node, list];
}

