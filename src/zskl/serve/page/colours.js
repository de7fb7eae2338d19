// Colours that attributes are named by, to be shown beside their words.
import { el } from "./elements.js";

const RAINBOW = "linear-gradient(135deg, #2a9d8f, #4361ee 45%, #9d4edd 70%, #e9c46a)";
const COLOURS = {
  black: "#111", white: "#fff", grey: "#8d8d8d", gray: "#8d8d8d", brown: "#7a4a21", red: "#c81e1e", rufous: "#a8431c",
  orange: "#f28c1b", yellow: "#f5d60a", olive: "#75762b", green: "#2e8b3d", blue: "#2262c9", purple: "#7b3aa6",
  pink: "#f29cb7", buff: "#e3c48d", iridescent: RAINBOW, "multi colored": RAINBOW, tan: "#c9a36b", gold: "#d4a017",
}; // prettier-ignore

export const isColour = ({ label }) => Object.hasOwn(COLOURS, label.toLowerCase());

// A swatch, or nothing. The word always stands beside it.
export function swatch(one) {
  if (!isColour(one)) return null;
  const found = el("span", { class: "swatch", "aria-hidden": "true" });
  found.style.background = COLOURS[one.label.toLowerCase()];
  return found;
}
