// To tell the model what something is: an example of a class, which may be a new one.
import { call, classPath } from "./api.js";
import { el, human } from "./elements.js";
import { failed } from "./states.js";
import { tell } from "./teach.js";
import { typeahead } from "./typeahead.js";

// A new class begins with the description of the one that the model took it for: its examples do the rest.
async function begin(name, like, context) {
  const { attributes } = await call(classPath(like));
  const made = await call("classes", { method: "POST", body: { name, attributes } });
  await context.refresh();
  return made.name;
}

// Teach that a row, { row } or { features }, is of a class. What was taught, with what takes it back.
export async function teachClass(name, isNew, like, body, context) {
  const own = isNew ? await begin(name, like, context) : name;
  const path = `${classPath(own)}/examples`;
  const made = await call(path, { method: "POST", body: { ...body, right: true } });
  if (isNew) await context.refresh();
  tell(context);
  const undo = async () => {
    if (isNew) await call(classPath(own), { method: "DELETE" });
    else await call(path, { method: "DELETE", query: { id: made.id } });
    if (isNew) await context.refresh();
    tell(context);
  };
  return { name: made.name, id: made.id, undo };
}

// Small pictures of the user's own photos that were taught stay in this browser; the service keeps none.
const KEY = "zskl-taught-photos";
const kept = () => {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
};
export const keptPhoto = (id) => kept()[id];
export function keepPhoto(id, address) {
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", { width: 160, height: 160 });
    const side = Math.min(image.naturalWidth, image.naturalHeight);
    const [x, y] = [(image.naturalWidth - side) / 2, (image.naturalHeight - side) / 2];
    canvas.getContext("2d").drawImage(image, x, y, side, side, 0, 0, 160, 160);
    try {
      const all = Object.entries({ ...kept(), [id]: canvas.toDataURL("image/jpeg", 0.8) });
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(all.slice(-200))));
    } catch {
      // no room: it is taught all the same
    }
  };
  image.src = address;
}

// "Right" and "No, it is …" below an answer. `body()`: the row as an example, a promise; `photo`: its address, if any.
export function feedback(prediction, body, photo, context) {
  if (!context.model.teaches) return "";
  const place = el("div", { class: "feedback" });
  const buttons = () => {
    const right = el("button", { type: "button", onclick: () => teach(prediction.class, false) }, "✓ Right");
    const wrong = el("button", { type: "button", onclick: other }, "✗ No, it is …");
    return el("div", { class: "row" }, right, wrong);
  };
  const said = (done) => {
    const undo = el("button", { type: "button" }, "Undo");
    undo.addEventListener("click", () => run(async () => {
      delete place.dataset.done;
      await done.undo();
      place.replaceChildren(buttons());
    }));
    const thanks = el("p", { role: "status" }, "Learned: this is ", el("b", {}, human(done.name)), ". ");
    place.replaceChildren(el("div", { class: "row" }, thanks, undo));
    undo.focus();
  };
  const run = async (work) => {
    try {
      await work();
    } catch (fault) {
      delete place.dataset.done;
      place.replaceChildren(buttons(), failed(fault));
      if (!("status" in fault)) throw fault;
    }
  };
  const teach = (name, isNew) =>
    run(async () => {
      place.dataset.done = "yes"; // it stays when the answer is asked for again
      const done = await teachClass(name, isNew, prediction.class, await body(), context);
      if (photo) keepPhoto(done.id, photo);
      said(done);
    });
  const close = () => {
    delete place.dataset.done;
    place.replaceChildren(buttons());
  };
  const other = () => {
    place.dataset.done = "yes"; // nor does it close under the hands of who types
    const others = prediction.top.slice(1).map((one) => one.class);
    const box = typeahead("It is", context, teach, { suggested: others });
    const cancel = el("button", { type: "button", onclick: close }, "Cancel");
    place.replaceChildren(box.node, cancel);
    box.input.focus();
  };
  place.replaceChildren(buttons());
  return place;
}
