// The classes that fit the description, as cards: their best photos, how well they fit, and why. And what the
// description would be as a class: what it would win, and the class that it may be already.
import { call, latestOnly } from "./api.js";
import { badge, bar, el, human, later, link, named, phrase, picture, share, things } from "./elements.js";
import { levelOf } from "./levels.js";
import { failed } from "./states.js";

const CARDS = 6;
const SAME = 0.98; // cosine from which two descriptions are all but the same

// `fitted` is told the classes on show, or null.
export function fittingClasses(description, context, fitted) {
  const list = el("ol", { class: "grid fits" });
  const place = el("div");
  const panel = el("div", { class: "panel fitting" }, el("h3", {}, "What it may be"), place);
  const wins = el("p", { class: "quiet wins", role: "status" });
  const same = el("p", { class: "same", role: "status" });
  const attributes = new Map(context.model.attributes.map((one) => [one.name, one]));

  const card = (one) => {
    const reason = ({ attribute, value }) => {
      const about = attributes.get(attribute);
      const much = about.binary ? (value > 0.5 ? "" : "no") : levelOf(about, value); // as the class has it
      return much === "strongly" || much === "" ? phrase(about) : `${much} ${phrase(about)}`;
    };
    const why = one.why.map(reason);
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
        el("span", { class: "score" }, `${share(one.fit)}${why.length ? ": " : ""}${why.join(", ")}`),
      ),
    );
  };
  const ask = latestOnly((signal) =>
    call("fits", { method: "POST", body: { ...description.body(), top: CARDS, replaces: edited() }, signal }),
  );
  const edited = () => {
    const own = description.saved ?? (description.editing ? description.start : null);
    return context.kind(own) === "added" ? own : null; // it may be gone by now
  };
  const before = (found) => {
    const near = found.nearest !== null && found.nearest.similarity > SAME ? found.nearest.class : null;
    wins.replaceChildren(
      found.wins === null ? "" : `${found.wins || "None"} of the ${things(context.model.data.rows)} would be taken for this, as a class of its own.`,
    );
    same.replaceChildren(near === null ? "" : el("b", {}, `This describes almost exactly ${human(near)}.`));
  };
  const update = async () => {
    panel.hidden = description.empty;
    if (description.empty) {
      ask.stop();
      wins.replaceChildren();
      same.replaceChildren();
      fitted(null);
      return;
    }
    try {
      const found = await ask();
      if (found === undefined) return;
      list.replaceChildren(...found.classes.map(card));
      before(found);
      fitted(found.classes);
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
  return { panel, wins, same };
}
