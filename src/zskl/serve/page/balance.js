// The balance of trained and new classes: a constant that is subtracted from the scores of trained ones, and what it does.
import { el, field, number, share, svg } from "./elements.js";

const [WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM] = [300, 260, 46, 14, 12, 42];
const x = (seen) => LEFT + seen * (WIDE - LEFT - RIGHT);
const y = (unseen) => HIGH - BOTTOM - unseen * (HIGH - TOP - BOTTOM);
const harmonic = ({ seen, unseen }) => (seen + unseen > 0 ? (2 * seen * unseen) / (seen + unseen) : 0);

// The last point whose constant is not above `value`: accuracies are steps between points.
export function pointAt(points, value) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (points[middle].calibration <= value) low = middle;
    else high = middle - 1;
  }
  return points[low];
}

function curve(points, current) {
  const ticks = [0, 0.5, 1];
  const grid = ticks.flatMap((at) => [
    svg("path", { class: "rule", d: `M${x(at)},${y(0)}V${y(1)}M${x(0)},${y(at)}H${x(1)}` }),
    svg("text", { x: x(at), y: y(0) + 16, "text-anchor": "middle" }, 100 * at),
    svg("text", { x: x(0) - 6, y: y(at) + 4, "text-anchor": "end" }, 100 * at),
  ]);
  const line = svg("path", {
    class: "line",
    d: "M" + points.map((one) => `${x(one.seen).toFixed(1)},${y(one.unseen).toFixed(1)}`).join("L"),
  });
  const model = pointAt(points, current);
  const own = svg("circle", { class: "own", cx: x(model.seen), cy: y(model.unseen), r: 6 });
  const dot = svg("circle", { class: "dot", r: 6 });
  const words = [
    svg("text", { class: "axis", x: x(0.5), y: HIGH - 6, "text-anchor": "middle" }, "accuracy of trained classes, %"),
    svg(
      "text",
      { class: "axis", x: 12, y: y(0.5), "text-anchor": "middle", transform: `rotate(-90 12 ${y(0.5)})` },
      "accuracy of new classes, %",
    ),
  ];
  const node = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "curve", role: "img" },
    svg("title", {}, "Accuracy of trained and new classes at every balance"),
    grid,
    words,
    line,
    own,
    dot,
  );
  return { node, dot };
}

// `balance`: the answer of /balance or null; `changed` is told the constant, null for the model's own.
export function balancePanel(balance, model, changed, words) {
  const own = balance?.current ?? model.calibration ?? 0;
  const points = balance?.points ?? [];
  const input = el("input", { type: "range", step: "any" });
  const state = el("p", { class: "strong" });
  const accuracies = el("p", {});
  const reset = el("button", { type: "button" }, "Back to the model’s own");
  const inner = points.length > 3 ? points.slice(1, -1) : points; // the ends stand for all that is further out
  const drawn = points.length > 1 ? curve(points, own) : null;
  const range = (low, high) => {
    const wide = high - low || 1;
    Object.assign(input, { min: Math.min(own, low - wide / 50), max: Math.max(own, high + wide / 50) });
    input.value = own;
  };
  if (drawn) range(inner[0].calibration, inner.at(-1).calibration);
  else range(-1, 1);

  let mine = null; // null: the model's own
  const sync = () => {
    const value = mine ?? own;
    state.textContent = mine === null ? `${number(value)}: the model’s own` : number(value);
    reset.disabled = mine === null;
    input.setAttribute("aria-valuetext", state.textContent);
    if (!drawn) return;
    const at = pointAt(points, value);
    drawn.dot.setAttribute("cx", x(at.seen));
    drawn.dot.setAttribute("cy", y(at.unseen));
    accuracies.textContent = `Trained ${share(at.seen)}, new ${share(at.unseen)}, harmonic mean ${share(harmonic(at))}.`;
  };
  input.addEventListener("input", () => {
    mine = Number(Number(input.value).toPrecision(5));
    sync();
    changed(mine);
  });
  reset.addEventListener("click", () => {
    mine = null;
    input.value = own;
    sync();
    changed(null);
    input.focus();
  });
  sync();
  const best =
    balance?.best &&
    el(
      "p",
      { class: "quiet" },
      `Best harmonic mean on the curve: ${share(balance.best.harmonic)} at ${number(balance.best.calibration)}.`,
    );
  const note = drawn
    ? el(
        "p",
        { class: "quiet" },
        "The hollow point is the model’s own balance. The curve shows test data: look at it, but do not choose by it.",
      )
    : el(
        "p",
        { class: "empty small" },
        "No test data are loaded, so there is no curve. The slider still works.",
      );
  const node = [
    drawn?.node,
    el(
      "div",
      { class: "field" },
      field("Subtracted from the scores of trained classes", input),
      el(
        "div",
        { class: "ends quiet", "aria-hidden": "true" },
        el("span", {}, "favours trained"),
        el("span", {}, "favours new"),
      ),
    ),
    state,
    accuracies,
    words,
    reset,
    best,
    note,
  ];
  return { node: node.filter(Boolean), widen: (span) => !drawn && mine === null && range(own - span, own + span) };
}
