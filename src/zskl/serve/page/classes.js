// The view Classes: all classes as a table, and one of them in detail.
import { call, classPath, newest } from "./api.js";
import { details } from "./class_details.js";
import { badge, counted, el, field, later, link, named, natural, share } from "./elements.js";
import { empty, failed, filled } from "./states.js";

const PAGE = 50;
const NARROW = matchMedia("(max-width: 56rem)"); // where all is one below the other, as in page.css
const ORDER = { added: 0, unseen: 1, seen: 2 };
const COLUMNS = [
  { name: "Class", of: (one) => one.name },
  { name: "Kind", of: (one) => ORDER[one.kind] ?? 3 },
  { name: "Rows", title: "All rows of the data, training rows too", number: true, of: (one) => one.rows },
  { name: "Accuracy on test rows", number: true, of: (one) => one.test?.accuracy },
  { name: "Most often mistaken for", of: (one) => one.test?.wrong[0]?.class },
];

function compare(a, b, column, down) {
  const [x, y] = [column.of(a), column.of(b)];
  const [no, none] = [x ?? null, y ?? null].map((one) => one === null);
  if (no || none) return no - none; // gaps last, whichever way
  const found = typeof x === "number" ? x - y : natural(x, y);
  return down ? -found : found;
}

export function classes(section, context) {
  const filter = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const kind = el(
    "select",
    {},
    ["all", "added", "unseen", "seen"].map((one) => el("option", {}, one)),
  );
  const body = el("tbody");
  const words = el("p", { class: "quiet", role: "status" });
  const more = el("button", { type: "button" }, `Show ${PAGE} more`);
  const none = el("div");
  const panel = el("div", { class: "panel detail" });
  const note = el("div");
  let [shown, column, down, chosen, confusion] = [PAGE, 1, false, null, null];

  const rows = new Map(); // name → its row, which stays the same element: a click on it is not lost when figures come
  const row = (one) => {
    if (!rows.has(one.name)) {
      const name = el("a", { href: link("classes", { class: one.name }) }, named(one.name));
      rows.set(
        one.name,
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          ["", "number", "number", ""].map((kind) => el("td", { class: kind })),
        ),
      );
    }
    const found = rows.get(one.name);
    const wrong = one.test?.wrong[0];
    const cells = [
      badge(one.kind),
      String(one.rows ?? "–"),
      share(one.test?.accuracy),
      wrong ? named(`${wrong.class} (${share(wrong.share)})`) : "–",
    ];
    cells.forEach((cell, place) => found.cells[place + 1].replaceChildren(...[cell].flat()));
    found.classList.toggle("chosen", one.name === chosen);
    const here = found.querySelector("a");
    if (one.name === chosen) here.setAttribute("aria-current", "true");
    else here.removeAttribute("aria-current");
    return found;
  };
  const draw = () => {
    const letters = filter.value.trim().toLowerCase();
    const hits = context.classes
      .filter((one) => (kind.value === "all" || one.kind === kind.value) && one.name.toLowerCase().includes(letters))
      .map((one) => ({ ...one, test: confusion?.get(one.name) }))
      .sort((a, b) => compare(a, b, COLUMNS[column], down) || natural(a.name, b.name));
    const wanted = hits.slice(0, shown).map(row);
    if (wanted.length !== body.rows.length || wanted.some((one, place) => one !== body.rows[place]))
      body.replaceChildren(...wanted);
    more.hidden = hits.length <= shown;
    words.textContent =
      hits.length === context.classes.length
        ? counted(hits.length, "class", "classes")
        : `${hits.length} of ${counted(context.classes.length, "class", "classes")}`;
    const added = kind.value === "added" && !letters;
    const way = el("p", {}, el("a", { href: "#describe" }, "Describe a class"), " and save it.");
    none.replaceChildren(
      ...(hits.length
        ? []
        : [added ? empty("No class has been added yet.", way) : empty("No class has these letters in its name.")]),
    );
    table.hidden = !hits.length;
  };

  const heads = COLUMNS.map(({ name, title, number }, place) => {
    const button = el("button", { type: "button", title }, name);
    button.addEventListener("click", () => {
      down = column === place ? !down : Boolean(number);
      column = place;
      mark();
      draw();
    });
    return el("th", { scope: "col", class: number ? "number" : null }, button);
  });
  const mark = () =>
    heads.forEach((head, place) =>
      place === column
        ? head.setAttribute("aria-sort", down ? "descending" : "ascending")
        : head.removeAttribute("aria-sort"),
    );
  const table = el(
    "table",
    { class: "sortable" },
    el("caption", { class: "hidden" }, "Classes of the model"),
    el("thead", {}, el("tr", {}, heads)),
    body,
  );

  const reset = () => {
    shown = PAGE;
    draw();
  };
  filter.addEventListener("input", later(reset, 60));
  kind.addEventListener("change", reset);
  more.addEventListener("click", () => {
    const before = shown;
    shown += PAGE;
    draw();
    body.rows[before]?.querySelector("a").focus();
  });

  const ask = newest((signal, name) => call(classPath(name), { signal }));
  let figures = () => {}; // shows the figures of test rows in the panel, when they come
  const nothing = () => {
    chosen = null;
    figures = () => {};
    panel.replaceChildren(empty("Choose a class in the table to see more."));
    draw();
  };
  const open = async (name) => {
    chosen = name;
    draw();
    const gone = () => {
      nothing();
      history.replaceState(null, "", "#classes"); // the address does not name what is not there
      filter.focus();
    };
    const back = () => (body.querySelector("tr.chosen a") ?? filter).focus();
    await filled(
      panel,
      "the class",
      () => ask(name),
      (found) => {
        const one = details(found, context, gone, back);
        figures = one.figures;
        figures(confusion);
        return one.shown;
      },
    );
    const title = document.getElementById("class-title");
    title?.focus({ preventScroll: true });
    if (NARROW.matches) title?.scrollIntoView({ block: "start" }); // there it stands below the table
  };
  const load = async () => {
    note.replaceChildren();
    if (!context.model.data) return;
    try {
      const found = await call("confusion");
      confusion = new Map(found.classes.map((one) => [one.class, one]));
    } catch (fault) {
      if (fault.status !== 409) note.replaceChildren(failed(fault, load));
      return;
    }
    draw();
    figures(confusion);
  };

  context.addEventListener("classes", () => (context.classes.some((one) => one.name === chosen) ? draw() : nothing()));
  mark();
  section.append(
    el("h2", { id: "classes-title", tabindex: "-1" }, "Classes"),
    el(
      "p",
      { class: "lead" },
      context.model.data
        ? "“Rows” counts all rows of the data. Accuracy is measured on test rows only, with all classes of the model file as candidates."
        : "No data is loaded, so rows and accuracy are not known.",
    ),
    note,
    el(
      "div",
      { class: "columns classes" },
      el(
        "div",
        { class: "panel" },
        el("div", { class: "row filters" }, field("Filter by name", filter), field("Kind", kind)),
        words,
        el("div", { class: "box" }, table),
        none,
        more,
      ),
      panel,
    ),
  );
  nothing();
  load();
  return (values) => {
    const name = values.get("class");
    if (name !== null) open(name);
    else if (chosen !== null) nothing(); // one went back to the table
  };
}
