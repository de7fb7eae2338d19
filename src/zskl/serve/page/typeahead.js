// Choose a class by typing some of its name: a box and a list below it. Whatever fits no class can become a new one.
import { badge, el, field, fresh, human, named } from "./elements.js";

const SHOWN = 9; // as many as there are keys 1 to 9
const KEYS = { ArrowDown: 1, ArrowUp: -1 };

const plain = (text) => human(text).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
// Classes with these letters: first those whose words begin with them.
function matching(letters, classes) {
  const words = plain(letters).split(/\s+/).filter(Boolean);
  const hits = classes.filter(({ name }) => words.every((word) => plain(name).includes(word)));
  const exact = ({ name }) => human(name).toLowerCase().includes(letters.toLowerCase());
  const begins = ({ name }) => words.every((word) => ` ${plain(name).replaceAll("-", " ")}`.includes(` ${word}`));
  const place = (one) => 2 * Number(!exact(one)) + Number(!begins(one));
  return hits.sort((a, b) => place(a) - place(b) || a.name.length - b.name.length);
}

// `suggested`: names to offer while nothing is typed. `chosen` is told a name, and whether it is of a new class.
// `keys`: whether 1 to 9 choose while nothing is typed. The node, the input, and what shows other suggestions.
export function typeahead(words, context, chosen, { suggested = [], keys = false, fresh: mayBeNew = true } = {}) {
  const id = fresh("classes");
  const input = el("input", {
    role: "combobox", autocomplete: "off", spellcheck: "false", "aria-expanded": "true", "aria-controls": id, "aria-autocomplete": "list",
  }); // prettier-ignore
  const list = el("ul", { id, role: "listbox", "aria-label": words, class: "options" });
  let [offers, at, first] = [[], 0, suggested];
  const mark = () =>
    [...list.children].forEach((one, place) => {
      one.setAttribute("aria-selected", String(place === at));
      if (place === at) input.setAttribute("aria-activedescendant", one.id);
    });
  const take = (place) => {
    const offer = offers[place];
    if (!offer) return;
    input.value = "";
    chosen(offer.name, Boolean(offer.added));
  };
  const draw = () => {
    const typed = input.value.trim();
    const known = new Map(context.classes.map((one) => [one.name, one]));
    const found = typed ? matching(typed, context.classes) : first.map((name) => known.get(name)).filter(Boolean);
    offers = found.slice(0, SHOWN);
    const same = context.classes.some(({ name }) => plain(name) === plain(typed));
    if (typed && mayBeNew && !same) offers = [...offers.slice(0, SHOWN - 1), { name: typed, added: true }];
    at = 0;
    list.replaceChildren(
      ...offers.map((one, place) =>
        el(
          "li",
          { role: "option", id: fresh("option"), onpointerdown: (event) => { event.preventDefault(); take(place); } },
          keys && !typed && el("kbd", { "aria-hidden": "true" }, String(place + 1)),
          one.added ? el("span", {}, "A new class: ", el("b", {}, one.name)) : el("span", {}, named(one.name)),
          !one.added && badge(one.kind),
        ),
      ),
    );
    list.hidden = !offers.length;
    mark();
  };
  input.addEventListener("input", draw);
  input.addEventListener("keydown", (event) => {
    if (KEYS[event.key]) {
      event.preventDefault();
      at = (at + KEYS[event.key] + offers.length) % (offers.length || 1);
      mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(at);
    } else if (keys && !input.value && /^[1-9]$/.test(event.key)) {
      event.preventDefault();
      take(Number(event.key) - 1);
    }
  });
  const suggest = (names) => {
    first = names;
    draw();
  };
  draw();
  return { node: el("div", { class: "typeahead" }, field(words, input), list), input, suggest };
}
