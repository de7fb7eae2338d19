// The seven-segment display of digits: a picture of the description whose segments can be clicked.
// The switches beside it are what keyboards and screen readers use; this only mirrors them.
import { el, svg } from "./elements.js";

const across = (y) => `16,${y} 22,${y - 6} 58,${y - 6} 64,${y} 58,${y + 6} 22,${y + 6}`;
const down = (x, y) =>
  `${x},${y} ${x + 6},${y + 6} ${x + 6},${y + 36} ${x},${y + 42} ${x - 6},${y + 36} ${x - 6},${y + 6}`;
const SHAPES = {
  top: across(10),
  "upper right": down(67, 13),
  "lower right": down(67, 61),
  bottom: across(106),
  "lower left": down(13, 61),
  "upper left": down(13, 13),
  middle: across(58),
};

export const isDisplay = (attributes) =>
  attributes.length === 7 && attributes.every((one) => Object.hasOwn(SHAPES, one.name) && one.binary);

export function display(description) {
  const shapes = description.attributes.map((one) => {
    const shape = svg("polygon", { points: SHAPES[one.name] }, svg("title", {}, one.name));
    shape.addEventListener("click", () => {
      const on = description.isSet(one) && description.value(one) === one.high;
      description.set(one, on ? one.low : one.high);
    });
    return { one, shape };
  });
  const sync = () => {
    for (const { one, shape } of shapes) {
      const state = !description.isSet(one) ? "unset" : description.value(one) === one.high ? "on" : "off";
      shape.setAttribute("class", `segment ${state}`);
    }
  };
  description.addEventListener("change", sync);
  sync();
  const drawing = svg(
    "svg",
    { viewBox: "0 0 80 116", class: "display", "aria-hidden": "true", focusable: "false" },
    shapes.map(({ shape }) => shape),
  );
  return el(
    "div",
    { class: "displaybox" },
    drawing,
    el("p", { class: "quiet" }, "Click the segments, or use the switches. Dashed: not set."),
  );
}
