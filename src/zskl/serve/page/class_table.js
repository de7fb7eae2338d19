// All classes as a table that can be sorted by any column.
import { badge, el, link, named, natural, share, thing } from "./elements.js";

export const ORDER = { added: 0, unseen: 1, seen: 2 };

function compare(a, b, column, down) {
  const [x, y] = [column.of(a), column.of(b)];
  const [no, none] = [x ?? null, y ?? null].map((one) => one === null);
  if (no || none) return no - none; // gaps last, whichever way
  const found = typeof x === "number" ? x - y : natural(x, y);
  return down ? -found : found;
}

// `again` is called when another order is chosen; `draw` takes all classes that pass the filter, and how many to show.
export function classTable(again) {
  const columns = [
    { name: "Class", of: (one) => one.name },
    { name: "Kind", of: (one) => ORDER[one.kind] ?? 3 },
    { name: thing.Many, title: `All ${thing.many} of the data, those for training too`, number: true, of: (one) => one.rows },
    { name: "Recognised", title: `Share of its test ${thing.many} that get the right answer`, number: true, of: (one) => one.test?.accuracy },
    { name: "Most often mistaken for", of: (one) => one.test?.wrong[0]?.class },
  ];
  let [column, down] = [1, false];
  const body = el("tbody");
  const rows = new Map(); // name → its row, which stays the same element: a click on it is not lost when figures come
  const row = (one, chosen) => {
    if (!rows.has(one.name)) {
      const name = el("a", { href: link("classes", { class: one.name }) }, named(one.name));
      const cells = ["", "number", "number", ""].map((kind) => el("td", { class: kind }));
      rows.set(one.name, el("tr", {}, el("th", { scope: "row" }, name), cells));
    }
    const found = rows.get(one.name);
    const wrong = one.test?.wrong[0];
    const cells = [
      badge(one.kind),
      String(one.rows ?? "–"),
      share(one.test?.accuracy),
      wrong ? [...named(wrong.class), ` (${share(wrong.share)})`] : "–",
    ];
    cells.forEach((cell, place) => found.cells[place + 1].replaceChildren(...[cell].flat()));
    found.classList.toggle("chosen", one.name === chosen);
    const here = found.querySelector("a");
    if (one.name === chosen) here.setAttribute("aria-current", "true");
    else here.removeAttribute("aria-current");
    return found;
  };
  const heads = columns.map(({ name, title, number }, place) => {
    const button = el("button", { type: "button", title }, name);
    button.addEventListener("click", () => {
      down = column === place ? !down : Boolean(number);
      column = place;
      mark();
      again();
    });
    return el("th", { scope: "col", class: number ? "number" : null }, button);
  });
  const mark = () =>
    heads.forEach((head, place) =>
      place === column
        ? head.setAttribute("aria-sort", down ? "descending" : "ascending")
        : head.removeAttribute("aria-sort"),
    );
  mark();
  const table = el(
    "table",
    { class: "sortable" },
    el("caption", { class: "hidden" }, "Classes of the model"),
    el("thead", {}, el("tr", {}, heads)),
    body,
  );
  const draw = (hits, shown, chosen) => {
    const sorted = [...hits].sort((a, b) => compare(a, b, columns[column], down) || natural(a.name, b.name));
    const wanted = sorted.slice(0, shown).map((one) => row(one, chosen));
    if (wanted.length !== body.rows.length || wanted.some((one, place) => one !== body.rows[place]))
      body.replaceChildren(...wanted);
  };
  return { node: el("div", { class: "box" }, table), draw, total: (hits) => hits.length };
}
