// The classes that fit the description, as cards: their best photos, how well they fit, and why.
import { call, newest } from "./api.js";
import { fullName } from "./controls.js";
import { badge, bar, el, later, link, named, picture, share } from "./elements.js";
import { failed } from "./states.js";

const CARDS = 6;

export function fittingClasses(description, context) {
  const list = el("ol", { class: "grid fits" });
  const place = el("div");
  const panel = el("div", { class: "panel" }, el("h3", {}, "Classes that fit"), place);
  const attributes = new Map(context.model.attributes.map((one) => [one.name, one]));

  const card = (one) => {
    const told = ({ attribute, agreement }) => {
      const about = attributes.get(attribute);
      const wanted = description.value(about) > (about.low + about.high) / 2;
      return `${wanted === agreement > 0.5 ? "" : "not "}${fullName(about)}`; // as the class has it
    };
    const why = one.why.map(told);
    const photos = one.rows.filter((row) => row.picture).map((row) => picture(row, ""));
    return el(
      "li",
      {},
      el(
        "a",
        { class: "card", href: link("classes", { class: one.class }) },
        photos.length > 0 && el("span", { class: "photos" }, photos),
        el("span", { class: "words" }, el("b", {}, named(one.class)), " ", badge(one.kind)),
        bar(one.fit),
        el("span", { class: "score" }, `fits to ${share(one.fit)}: ${why.join(", ")}`),
      ),
    );
  };
  const ask = newest((signal) =>
    call("fits", { method: "POST", body: { attributes: description.given(), top: CARDS }, signal }),
  );
  const update = async () => {
    panel.hidden = description.empty;
    if (description.empty) return;
    try {
      const found = await ask();
      if (found === undefined) return;
      list.replaceChildren(...found.classes.map(card));
      place.replaceChildren(list);
    } catch (fault) {
      place.replaceChildren(failed(fault, update));
      if (!("status" in fault)) throw fault;
    }
  };
  const soon = later(update, 80);
  description.addEventListener("change", () => (description.empty ? update() : soon()));
  context.addEventListener("classes", update);
  update();
  return panel;
}
