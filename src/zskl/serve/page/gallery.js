// Classes as photos, new ones first; and the photo that stands for a class wherever one does.
import { ORDER } from "./class_table.js";
import { badge, el, link, named, natural, picture, thing } from "./elements.js";

// A photo of a class, or a calm place where one would be. Its name always stands beside it, so it says nothing.
export const classPhoto = (one) =>
  Number.isInteger(one?.picture)
    ? picture({ row: one.picture, picture: true }, "")
    : el("span", { class: "picture nophoto", "aria-hidden": "true" }, `no ${thing.one} yet`);

export function gallery() {
  const list = el("ul", { class: "grid gallery" });
  const cards = new Map(); // name → its card, so that a photo that stays is not loaded again
  const card = (one, chosen) => {
    if (!cards.has(one.name)) {
      const way = el("a", { href: link("classes", { class: one.name }) }, classPhoto(one), el("b", {}, named(one.name)));
      cards.set(one.name, el("li", { class: "card" }, way, badge(one.kind)));
    }
    const way = cards.get(one.name).firstChild;
    if (one.name === chosen) way.setAttribute("aria-current", "true");
    else way.removeAttribute("aria-current");
    return cards.get(one.name);
  };
  const draw = (hits, shown, chosen) => {
    const sorted = [...hits].sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || natural(a.name, b.name));
    const wanted = sorted.slice(0, shown).map((one) => card(one, chosen));
    if (wanted.length !== list.children.length || wanted.some((one, place) => one !== list.children[place]))
      list.replaceChildren(...wanted);
  };
  return { node: list, draw, total: (hits) => hits.length };
}
