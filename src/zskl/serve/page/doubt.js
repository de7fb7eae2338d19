// From which probability on a class is an answer; below it, the answer is none of these.
import { el, field } from "./elements.js";

const USUAL = 10; // per cent

// A calibrated model can tell; for others there is nothing to see.
export function doubt(model, changed) {
  if (!model.probabilities) return { node: [], options: () => ({}) };
  const input = el("input", { type: "number", min: "0", max: "100", step: "1", value: String(USUAL) });
  const limit = () => Math.min(100, Math.max(0, Number(input.value) || 0)) / 100;
  input.addEventListener("input", changed);
  const node = [
    el("h3", {}, "None of these"),
    field("Say so where the best class has a probability below (%)", input),
    el("p", { class: "quiet" }, "0 always names a class."),
  ];
  return { node, options: () => ({ reject: limit() }) };
}
