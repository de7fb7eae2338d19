// When the answer is none of these, and of how many classes one is the right one.
import { el, field } from "./elements.js";

const USUAL = 5; // per cent of rows of known classes that may be called none of these
const UNLIKELY = 10; // per cent: the probability of an answer, for models of earlier versions
const COVERAGE = 0.9;

// A calibrated model can tell; for others there is nothing to see.
export function doubt(model, changed) {
  if (!model.probabilities) return { node: [], options: () => ({}), one: () => ({}) };
  const fitted = model.decides;
  const most = fitted ? 99 : 100;
  const value = String(fitted ? USUAL : UNLIKELY);
  const input = el("input", { type: "number", min: "0", max: String(most), step: "1", value });
  const limit = () => Math.min(most, Math.max(0, Number(input.value) || 0)) / 100;
  input.addEventListener("input", changed);
  const words = fitted
    ? "Say so for this share of rows that are of these classes (%)"
    : "Say so where the best class has a probability below (%)";
  const more = fitted
    ? "The more of these you accept, the more rows of no class are found. 0 always names a class."
    : "0 always names a class.";
  const node = [el("h3", {}, "None of these"), field(words, input), el("p", { class: "quiet" }, more)];
  const options = () => (fitted ? { reject: limit() } : { min_probability: limit() });
  // Sets are for a single row: of many rows they would be long.
  return { node, options, one: () => ({ ...options(), ...(fitted ? { coverage: COVERAGE } : {}) }) };
}
