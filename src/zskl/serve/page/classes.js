// The view Classes: photos of all classes, the same as a table, pairs that are mistaken, a map; and one class in detail.
import { call, classPath, latestOnly } from "./api.js";
import { details } from "./class_details.js";
import { classMap } from "./class_map.js";
import { classPairs } from "./class_pairs.js";
import { classTable } from "./class_table.js";
import { counted, el, field, human, later, link, thing } from "./elements.js";
import { gallery } from "./gallery.js";
import { empty, failed, filled } from "./states.js";

const PAGE = 50;
const NARROW = matchMedia("(max-width: 56rem)"); // where all is one below the other, as in page.css
const KINDS = { all: "all", added: "added here", unseen: "new to the model", seen: "trained" };
const WAYS = { photos: "Photos", table: "Table", pairs: "Often mistaken", map: "Map" };

export function classes(section, context) {
  const { data } = context.model;
  const filter = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const kind = el(
    "select",
    {},
    Object.entries(KINDS).map(([value, words]) => el("option", { value }, words)),
  );
  const words = el("p", { class: "quiet", role: "status" });
  const more = el("button", { type: "button" }, `Show ${PAGE} more`);
  const none = el("div");
  const place = el("div");
  const panel = el("div", { class: "panel detail" });
  const note = el("div");
  let [shown, chosen, confusion] = [PAGE, null, null];

  const ways = { table: classTable(() => draw()), map: classMap(context) };
  if (data?.pictured) ways.photos = gallery();
  if (data) ways.pairs = classPairs(context);
  let way = ways.photos ? "photos" : "table";
  const tabs = Object.entries(WAYS)
    .filter(([name]) => ways[name])
    .map(([name, text]) => ({ name, node: el("a", {}, name === "photos" ? thing.Many : text) }));
  const nav = el("nav", { class: "ways", "aria-label": "Ways to look at the classes" }, tabs.map(({ node }) => node));

  const draw = () => {
    const letters = filter.value.trim().toLowerCase();
    const fits = ({ name }) => name.toLowerCase().includes(letters) || human(name).toLowerCase().includes(letters);
    const hits = context.classes
      .filter((one) => (kind.value === "all" || one.kind === kind.value) && fits(one))
      .map((one) => ({ ...one, test: confusion?.get(one.name) }));
    for (const one of tabs) // another way to look keeps the class that is open
      one.node.href = link("classes", chosen === null ? { show: one.name } : { show: one.name, class: chosen });
    const now = ways[way];
    const total = now.total(hits);
    if (place.firstChild !== now.node) place.replaceChildren(now.node);
    now.draw(hits, shown, chosen);
    more.hidden = total <= shown;
    words.textContent =
      way === "pairs"
        ? confusion && `${counted(total, "pair")} of classes`
        : hits.length === context.classes.length
          ? counted(hits.length, "class", "classes")
          : `${hits.length} of ${counted(context.classes.length, "class", "classes")}`;
    const added = kind.value === "added" && !letters;
    const describe = el("p", {}, el("a", { href: "#describe" }, "Describe a class"), " and save it.");
    const lacking = () => {
      if (way === "pairs" && hits.length)
        return empty(confusion ? "None of these classes is mistaken for another." : `Asking the model about the test ${thing.many} …`);
      return added ? empty("No class has been added yet.", describe) : empty("No class has these letters in its name.");
    };
    none.replaceChildren(...(total ? [] : [lacking()]));
    place.hidden = !total;
  };
  const turn = (name) => {
    if (name && ways[name]) way = name;
    for (const one of tabs)
      if (one.name === way) one.node.setAttribute("aria-current", "true");
      else one.node.removeAttribute("aria-current");
    if (way === "map") map();
    reset();
  };
  const reset = () => {
    shown = PAGE;
    draw();
  };
  filter.addEventListener("input", later(reset, 60));
  kind.addEventListener("change", reset);
  more.addEventListener("click", () => {
    const before = [...place.querySelectorAll("tr, li")].length;
    shown += PAGE;
    draw();
    place.querySelectorAll("tr, li")[before]?.querySelector("a").focus();
  });

  const ask = latestOnly((signal, name) => call(classPath(name), { signal }));
  let figures = () => {}; // shows the figures of test rows in the panel, when they come
  const nothing = () => {
    chosen = null;
    figures = () => {};
    panel.replaceChildren(empty("Choose a class to see more."));
    draw();
  };
  const open = async (name) => {
    chosen = name;
    draw();
    const gone = (restored) => {
      nothing();
      note.replaceChildren(restored);
      history.replaceState(null, "", "#classes"); // the address does not name what is not there
      filter.focus();
    };
    const back = () => (place.querySelector("tr.chosen a, .card [aria-current], .mark.chosen") ?? filter).focus();
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
    if (NARROW.matches) title?.scrollIntoView({ block: "start" }); // there it stands below the others
  };
  const load = async () => {
    note.replaceChildren();
    if (!data) return;
    try {
      const found = await call("confusion");
      confusion = new Map(found.classes.map((one) => [one.class, one]));
      ways.pairs.take(found.pairs);
    } catch (fault) {
      if (fault.status !== 409) note.replaceChildren(failed(fault, load));
      return;
    }
    draw();
    figures(confusion);
  };
  let drawn = null; // the classes that the map shows
  const map = async () => {
    if (drawn === context.classes) return;
    const mine = (drawn = context.classes);
    try {
      const found = await call("map");
      if (mine !== drawn) return; // the classes have changed since
      ways.map.take(found);
      note.replaceChildren();
      draw();
    } catch (fault) {
      drawn = null;
      note.replaceChildren(failed(fault, map));
      if (!("status" in fault)) throw fault;
    }
  };

  context.addEventListener("classes", () => {
    if (way === "map") map();
    if (context.classes.some((one) => one.name === chosen)) draw();
    else nothing();
  });
  section.append(
    el("h2", { id: "classes-title", tabindex: "-1" }, "Classes"),
    el(
      "p",
      { class: "lead" },
      data
        ? `What the model knows. How well it recognises a class is counted on test ${thing.many}, with all classes of the model file to choose from.`
        : "No data is loaded, so the page cannot show photos or how well classes are recognised.",
    ),
    note,
    el(
      "div",
      { class: "columns classes" },
      el(
        "div",
        { class: "panel" },
        nav,
        el("div", { class: "row filters" }, field("Filter by name", filter), field("Kind", kind)),
        words,
        place,
        none,
        more,
      ),
      panel,
    ),
  );
  nothing();
  load();
  return (values) => {
    const turned = values.has("show") && values.get("show") !== way;
    if (values.has("show") || !nav.querySelector("[aria-current]")) turn(values.get("show"));
    const name = values.get("class");
    if (name !== null && !values.has("show"))
      history.replaceState(null, "", link("classes", { show: way, class: name })); // so that coming back shows the same
    if (name === null && chosen !== null) nothing(); // one went back
    else if (name !== null && !(turned && name === chosen)) open(name); // also again: it may have been edited
  };
}
