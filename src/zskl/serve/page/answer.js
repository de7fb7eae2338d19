// The answer for one row: its best classes, and which attributes decided between two of them.
import { fullName } from "./attributes.js";
import {
  badge,
  balanceBar,
  bar,
  classSelect,
  el,
  field,
  link,
  named,
  number,
  picture,
  score,
  share,
  signs,
  whyTable,
} from "./pieces.js";

function topList(top, probabilities) {
  const scores = top.map((one) => one.score);
  const low = Math.min(0, ...scores);
  const span = Math.max(...scores) - low || 1;
  return el(
    "ol",
    { class: "top" },
    top.map((one, place) =>
      el(
        "li",
        { class: place ? "" : "first" },
        el("span", { class: "name" }, named(one.class)),
        badge(one.kind),
        bar(probabilities ? one.probability : (one.score - low) / span),
        el(
          "span",
          { class: "number figures" },
          probabilities ? share(one.probability) : "",
          el("span", { class: "quiet" }, ` score ${score(one.score)}`),
        ),
      ),
    ),
  );
}

const value = (attribute, number_) =>
  attribute?.binary && number_ === attribute.high
    ? "on"
    : attribute?.binary && number_ === attribute.low
      ? "off"
      : number(number_);

const written = (found) => signs([...found.contributions.map((one) => one.contribution), found.rest, found.difference]);

function bars(found, byName) {
  const largest = Math.max(...found.contributions.map((one) => Math.abs(one.contribution)), Math.abs(found.rest));
  const signed = written(found);
  const line = (name, below, adds, kind) =>
    el(
      "tr",
      { class: kind },
      el("th", { scope: "row" }, name, below),
      el("td", {}, balanceBar(adds, largest)),
      el("td", { class: "number" }, signed(adds)),
    );
  const rows = found.contributions.map((one) => {
    const attribute = byName.get(one.attribute);
    const values = `${value(attribute, one.value)} against ${value(attribute, one.value_against)}`;
    return line(
      attribute ? fullName(attribute) : one.attribute,
      el("span", { class: "quiet" }, values),
      one.contribution,
    );
  });
  const others = found.contributions.length < byName.size && line("all others", null, found.rest, "rest");
  const caption =
    `What each attribute adds to the score of ${found.class} over that of ${found.against}; ` +
    "below its name, its value for the one and for the other class";
  return whyTable(caption, ["Attribute", "◂ against", "for ▸", "adds"], el("tbody", {}, rows, others));
}

function sum(found, all) {
  const signed = written(found);
  const shown = found.contributions.reduce((total, one) => total + one.contribution, 0);
  const others = found.contributions.length < all ? `, all others ${signed(found.rest)}` : "";
  const both = `for ${found.class} over ${found.against}`;
  const first = `These attributes add ${signed(shown)}${others}: ${signed(found.difference)} ${both}.`;
  const whole = signed(found.difference + found.calibration);
  const seen = found.calibration
    ? ` The balance of seen and unseen classes adds ${signed(found.calibration)}: ${whole} in all.`
    : "";
  return el("p", { class: "sum" }, first + seen);
}

// `chosen`: told the class to compare with, null for the second best.
export function answerCard({ row, label }, prediction, against, context, chosen) {
  const { model, classes } = context;
  const probabilities =
    model.probabilities && prediction.top.every((one) => one.probability !== null && one.probability !== undefined);
  const byName = new Map(model.attributes.map((one) => [one.name, one]));
  const right =
    row &&
    (row.class === prediction.class
      ? el("span", { class: "right" }, "✓ right")
      : el("span", { class: "wrong" }, "✗ wrong"));
  const truth = row && el("p", {}, "True class: ", el("b", {}, named(row.class)), " ", badge(row.kind), " ", right);
  const part = row && el("p", { class: "quiet" }, named([row.part, row.id].filter(Boolean).join(" · ")));
  const head = el(
    "div",
    { class: "sample" },
    row?.picture && picture(row, `Row ${row.row}`),
    el("div", {}, el("p", { class: "strong" }, row ? `Row ${row.row}` : label), part, truth),
  );
  const found = prediction.explanation;
  const select = el("select");
  classSelect(
    select,
    classes.filter((one) => one.name !== prediction.class),
    [["", found && against === null ? `second best (${found.against})` : "second best"]],
    against === null ? "" : `=${against}`,
  );
  select.addEventListener("change", () => chosen(select.value ? select.value.slice(1) : null));
  const why = found
    ? [
        el(
          "div",
          { class: "head" },
          el("h4", {}, named(`Why ${found.class} and not ${found.against}?`)),
          field("Compare with", select, { class: "field inline" }),
        ),
        bars(found, byName),
        sum(found, byName.size),
      ]
    : [
        el(
          "p",
          { class: "quiet" },
          model.explains
            ? "No explanation: a whole file of this size is sent without. Use .npy, .csv or .json."
            : "This model does not say which attributes decided.",
        ),
      ];
  return [
    head,
    el("h4", {}, "Best classes"),
    topList(prediction.top, probabilities),
    why,
    el("p", {}, el("a", { href: link("classes", { class: prediction.class }) }, `About the class ${prediction.class}`)),
  ];
}
