// The map of classes: alike ones are near each other. By mouse, touch and arrow keys; the list below says the same.
import { ORDER } from "./class_table.js";
import { badge, el, human, link, named, natural, share, svg } from "./elements.js";
import { classPhoto } from "./gallery.js";
import { labelled, nearestTo, placed, towards } from "./map_layout.js";

const KINDS = { seen: "the model was trained on it", unseen: "new to the model", added: "added here" };
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const SHAPES = {
  seen: () => svg("circle", { r: 4 }),
  unseen: () => svg("circle", { r: 5.5 }),
  added: () => svg("path", { d: "M-6,0H6M0,-6V6" }),
};
const toClass = (name) => el("a", { href: link("classes", { class: name }) }, named(name));

// The classes most like one, with how much, in words that the list shares.
const alike = (one) =>
  one.nearest.flatMap((other, place) => [place ? ", " : "", toClass(other.class), ` ${share(Math.max(0, other.similarity))}`]);

export function classMap(context) {
  const frame = el("div", { class: "map" });
  const told = el("div", { class: "pointed", role: "status" });
  const body = el("tbody");
  const lead = el("p", { class: "quiet" });
  const table = el(
    "table",
    { class: "mapped" },
    el("caption", { class: "hidden" }, "The map as a list: each class and the classes most like it"),
    el("thead", {}, el("tr", {}, ["Class", "Kind", "Most like it"].map((name) => el("th", { scope: "col" }, name)))),
    body,
  );
  const key = el(
    "p",
    { class: "quiet key" },
    Object.entries({ unseen: "new to the model", seen: "trained", added: "added" }).map(([kind, words]) =>
      el("span", {}, svg("svg", { viewBox: "-7 -7 14 14", class: "map-key", "aria-hidden": "true" }, svg("g", { class: `mark ${kind}` }, SHAPES[kind]())), words),
    ),
  );
  const node = el(
    "div",
    {},
    lead,
    key,
    frame,
    told,
    el("h3", {}, "The same as a list"),
    table,
  );
  let [found, hits, shown, chosen, here, marks] = [null, [], 50, null, null, []];
  let painted = null; // what is on show
  const known = () => new Map(context.classes.map((one) => [one.name, one]));

  const tell = (one) => {
    told.replaceChildren(
      el("span", { class: "thumb" }, classPhoto(known().get(one.class))),
      el("div", {}, el("b", {}, toClass(one.class)), " ", badge(one.kind), el("p", { class: "quiet" }, "Most like it: ", alike(one))),
    );
  };
  const nothing = () =>
    told.replaceChildren(el("p", { class: "quiet" }, "Point at a mark or tap near it. By keyboard: Tab to the map, then arrow keys; Enter opens the class."));
  const mark = (one, focus = false) => {
    if (here) here.node.setAttribute("tabindex", "-1");
    here?.node.classList.remove("here");
    here?.label?.classList.remove("gone");
    here = one;
    one.label?.classList.add("gone"); // the same stands beside it, larger
    one.node.setAttribute("tabindex", "0");
    one.node.classList.add("here");
    name.textContent = human(one.class);
    const end = one.at[0] > frame.clientWidth / 2;
    Object.entries({ x: one.at[0] + (end ? -10 : 10), y: one.at[1] - 8, "text-anchor": end ? "end" : "start" }).forEach(
      ([property, value]) => name.setAttribute(property, value),
    );
    tell(one);
    if (focus) one.node.focus();
  };
  const name = svg("text", { class: "name over", "aria-hidden": "true" });

  const paint = () => {
    const wide = Math.floor(frame.clientWidth);
    if (!found || wide < 100) return;
    const state = [found.version, wide, chosen, ...hits.map((one) => one.name)].join("\n");
    if (state === painted) return; // marks stay the same elements while nothing about them changes
    painted = state;
    const high = Math.round(wide < 500 ? wide * 1.15 : Math.min(wide * 0.72, 560));
    const before = here?.class ?? chosen;
    const passing = new Set(hits.map((one) => one.name));
    marks = placed(found.classes, wide, high, 16);
    const focused = frame.contains(document.activeElement);
    for (const one of marks) {
      one.node = svg(
        "a",
        {
          href: link("classes", { class: one.class }),
          class: `mark ${one.kind}${passing.has(one.class) ? "" : " faint"}${one.class === chosen ? " chosen" : ""}`,
          transform: `translate(${one.at.map((value) => value.toFixed(1)).join(" ")})`,
          "aria-label": `${human(one.class)}, ${KINDS[one.kind]}`,
          tabindex: "-1",
        },
        SHAPES[one.kind](),
      );
      one.node.addEventListener("focus", () => here !== one && mark(one));
    }
    const first = [...marks].sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || natural(a.class, b.class));
    const told = first.filter((one) => passing.has(one.class));
    told.sort((a, b) => (b.class === chosen) - (a.class === chosen));
    const names = labelled(told, (one) => human(one.class), wide, wide < 500 ? 12 : 28);
    const drawing = svg(
      "svg",
      { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": "Map of classes: alike ones are near each other" },
      [...marks].sort((a, b) => ORDER[b.kind] - ORDER[a.kind]).map((one) => one.node),
      names.map(({ one, side, x, y }) => (one.label = svg("text", { class: "name", x, y, "text-anchor": side, "aria-hidden": "true" }, human(one.class)))),
      name,
    );
    name.textContent = "";
    frame.replaceChildren(drawing);
    here = null;
    const again = marks.find((one) => one.class === before);
    if (again) mark(again, focused);
    else {
      told[0]?.node.setAttribute("tabindex", "0");
      nothing();
    }
  };
  const under = (event) => {
    const box = frame.firstChild.getBoundingClientRect();
    return nearestTo(marks, [event.clientX - box.left, event.clientY - box.top], event.pointerType === "touch" ? 40 : 16);
  };
  frame.addEventListener("pointermove", (event) => {
    const one = event.pointerType === "mouse" && frame.firstChild && under(event);
    if (one && one !== here) mark(one);
  });
  frame.addEventListener("click", (event) => {
    const touched = event.pointerType === "touch" || event.pointerType === "pen";
    if (event.detail === 0 || !frame.firstChild) return; // by keyboard
    const one = under(event);
    if (touched || !event.target.closest("a")) event.preventDefault(); // a finger first sees what it is near
    if (one && touched) mark(one);
    else if (one && event.target.closest("a") === null) location.hash = link("classes", { class: one.class });
  });
  frame.addEventListener("keydown", (event) => {
    const way = ARROWS[event.key];
    const one = way && here ? towards(marks, here, way) : null;
    if (!way) return;
    event.preventDefault(); // the page does not scroll away under the map
    if (one) mark(one, true);
  });
  new ResizeObserver(() => frame.clientWidth !== frame.firstChild?.width?.baseVal.value && paint()).observe(frame);

  const listed = () => {
    const passing = new Set(hits.map((one) => one.name));
    return (found?.classes ?? [])
      .filter((one) => passing.has(one.class))
      .sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || natural(a.class, b.class));
  };
  const draw = (now, most, open) => {
    [hits, shown, chosen] = [now, most, open];
    body.replaceChildren(
      ...listed()
        .slice(0, shown)
        .map((one) => el("tr", {}, el("th", { scope: "row" }, toClass(one.class)), el("td", {}, badge(one.kind)), el("td", {}, alike(one)))),
    );
    paint();
  };
  const take = (answer) => {
    found = answer;
    const kept = answer.kept[0] + answer.kept[1];
    lead.textContent = `Classes that are described alike are near each other. A flat map cannot show everything: this one shows ${share(kept)} of how the descriptions differ. The per cent beside a name say how alike two whole descriptions are.`;
  };
  return { node, draw, take, total: (now) => now.length };
}
