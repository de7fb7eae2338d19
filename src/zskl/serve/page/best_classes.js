// The best classes of a row: how they compare, what they look like, and what their numbers mean.
import { badge, bar, el, link, named, picture, score, share, thing } from "./elements.js";

const PICTURED = 3; // classes that are shown with photos

const likely = (prediction) => prediction.top.every(({ probability }) => typeof probability === "number");

// From the best class down: a probability as part of the best one; a score as part of the way from an average class.
function parts(prediction) {
  const [best] = prediction.top;
  if (likely(prediction)) return prediction.top.map(({ probability }) => probability / (best.probability || 1));
  const span = best.score - prediction.average;
  return prediction.top.map((one) => (span > 0 ? (one.score - prediction.average) / span : Number(one === best)));
}

// The rows of a class that are nearest to the one that was asked about.
function looks(prediction, name) {
  const rows = prediction.nearest?.find((one) => one.class === name)?.rows.filter((row) => row.picture) ?? [];
  const shown = rows.map((row) =>
    el(
      "a",
      { href: link("classify", { row: row.row }), title: `${thing.One} ${row.row}: classify it` },
      picture(row, `${thing.One} ${row.row}`),
    ),
  );
  return shown.length > 0 && el("span", { class: "looks" }, shown);
}

function meaning(prediction, model) {
  const words = likely(prediction)
    ? "The best class has a full bar; other bars are as long as their probability is, compared with it."
    : "The best class has a full bar; an empty bar is a class with an average score.";
  const mend = el("code", {}, "zskl fit … --calibrate");
  return [
    el("p", { class: "quiet meaning" }, words),
    !model.probabilities &&
      el(
        "p",
        { class: "quiet meaning" },
        "Scores put the classes in order, but do not say how sure the model is: it was not calibrated. Fit it with ",
        mend,
        " to see probabilities here.",
      ),
  ];
}

const NAMED = 8; // classes of a set that are named

// Said where `reject` or `min_probability` says so.
const none = (prediction, { reject, min_probability: least }) =>
  prediction.none_of_these === true &&
  el(
    "p",
    { class: "note" },
    el("b", {}, "Probably none of these. "),
    least === undefined
      ? `Only ${share(reject)} of the rows of these classes fit them as badly as this one.`
      : `The best class has a probability of ${share(prediction.top[0].probability)}, below the ${share(least)} asked for.`,
  );

// The set that holds the right class as often as was asked for.
const oneOf = ({ set }, { coverage }) => {
  if (!set || set.length < 2) return false;
  const more = set.length > NAMED ? ` and ${set.length - NAMED} more` : "";
  const words = `One of these ${set.length}, in ${share(coverage)} of cases: `;
  return el("p", { class: "note set" }, el("b", {}, words), `${set.slice(0, NAMED).map(named).join(", ")}${more}.`);
};

// `asked`: the options of doubt.js.
export function bestClasses(prediction, model, asked = {}) {
  const long = parts(prediction);
  const items = prediction.top.map((one, place) =>
    el(
      "li",
      { class: place ? "" : "first" },
      el("span", { class: "name" }, named(one.class)),
      badge(one.kind),
      bar(long[place]),
      el(
        "span",
        { class: "number figures", title: `score ${score(one.score)}` },
        likely(prediction) ? share(one.probability) : el("span", { class: "quiet" }, `score ${score(one.score)}`),
      ),
      place < PICTURED && looks(prediction, one.class),
    ),
  );
  return [none(prediction, asked), oneOf(prediction, asked), el("ol", { class: "top" }, items), meaning(prediction, model)].flat().filter(Boolean);
}
