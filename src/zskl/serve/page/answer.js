// The answer for one row: its best classes, and what decided between two of them.
import { bestClasses } from "./best_classes.js";
import { fullName } from "./controls.js";
import { areDegrees, levelOf } from "./levels.js";
import { wordsWhy } from "./text_bar.js";
import { reasons } from "./reasons.js";
import { badge, balanceBar, classSelect, el, field, human, link, named, number, partName, picture, signs, thing, whyTable } from "./elements.js";

const value = (attribute, number_) =>
  attribute?.binary && number_ === attribute.high
    ? "on"
    : attribute?.binary && number_ === attribute.low
      ? "off"
      : number(number_);

// The values of two classes, in words where these differ.
function attributeText(attribute, one, degrees) {
  const both = [one.value, one.value_against];
  const words = both.map((each) => (each === null ? "no description" : value(attribute, each)));
  if (!attribute || attribute.binary || both.includes(null) || !degrees) return words;
  const levels = both.map((each) => levelOf(attribute, each));
  return same(one) || levels[0] !== levels[1] ? levels : [`${levels[0]}, ${words[0]}`, words[1]];
}

const BALANCE = "balance of trained and new";
// What no attribute carries, and the line below its name.
const TERMS = {
  "training rows": "what the examples that the model was trained on say beyond the description",
  examples: "what the examples that it was taught later say beyond the description",
  "unlabelled rows": "what examples without a class say beyond the description",
  crowding: "how many training examples are close to each of the two",
  "the description itself": "as an example among the others",
  "a description that only one has": "there is nothing to compare it with",
};
const byClass = (found) => found.by === "classes";
const terms = (found) => Object.entries(found.terms);
const sources = (found) => new Set(found.evidence.map((one) => one.source));
// Which rows of which class make up a term: "144 training rows of 9".
const rowsOf = ({ class: name, source, rows }) =>
  `${rows === null ? "" : `${number(rows)} `}${rows === 1 ? source.slice(0, -1) : source} of ${human(name)}`;
const numbers = (found) => [
  ...own(found),
  ...Object.values(found.terms),
  found.rest,
  found.calibration,
];
const written = (found) => signs([...numbers(found), found.difference]);
const same = (one) =>
  one.value !== null &&
  one.value_against !== null &&
  Math.abs(one.value - one.value_against) <= 1e-6 * Math.max(Math.abs(one.value), Math.abs(one.value_against));

// Terms that no attribute carries can be far larger than each attribute. They are folded, so that the bars of the
// attributes are seen.
const folded = (found) => terms(found).length > 0;
const LISTED = 8; // attributes in the table
const listed = (found) => found.attributes.slice(0, LISTED);
const own = (found) => listed(found).map((one) => one.contribution);

function bars(found, byName) {
  const size = (values) => Math.max(...values.map(Math.abs));
  const largest = size(folded(found) ? own(found) : numbers(found));
  const signed = written(found);
  const degrees = areDegrees([...byName.values()]);
  const line = (name, below, adds, kind, most = largest) =>
    el(
      "tr",
      { class: kind },
      el("th", { scope: "row" }, name, below && el("span", { class: "quiet" }, below)),
      el("td", {}, balanceBar(adds, most)),
      el("td", { class: "number" }, signed(adds)),
    );
  const rows = listed(found).map((one) => {
    const attribute = byClass(found) ? undefined : byName.get(one.attribute);
    const words = attributeText(attribute, one, degrees);
    const values = same(one) ? `${words[0]} in both` : `${words[0]} against ${words[1]}`;
    const name = byClass(found) ? named(`${one.like ? "like" : "unlike"} ${one.attribute}`) : one.attribute;
    return line(attribute ? fullName(attribute) : name, values, one.contribution);
  });
  const counted = found.evidence.map((one) => one.adds);
  const most = folded(found) ? size([...numbers(found).slice(rows.length), ...counted]) : largest;
  const beyond = found.attributes.slice(LISTED).reduce((sum, one) => sum + one.contribution, found.rest);
  const others = (found.others > 0 || found.attributes.length > LISTED) && line("all other attributes", null, beyond, "rest", most);
  const unlisted = terms(found).filter(([name]) => !sources(found).has(name));
  const further = [
    ...found.evidence.map((one) => line(rowsOf(one), TERMS[one.source], one.adds, "term", most)),
    ...unlisted.map(([name, adds]) => line(name, TERMS[name], adds, "term", most)),
  ];
  const seen = found.calibration < 0 ? found.class : found.against;
  const balance =
    found.calibration !== 0 && line(BALANCE, named(`subtracted from ${seen}, which the model was trained on`), found.calibration, "balance", most);
  const [each, below] = byClass(found)
    ? ["being like a trained class or not", "how similar to it each of the two classes is described"]
    : ["each attribute", "its value for each of the two classes"];
  const caption = `How much ${each} adds to the score of ${human(found.class)} over that of ${human(found.against)}. Below its name: ${below}`;
  const heads = [byClass(found) ? `This ${thing.one} is` : "Attribute", "◂ against", "for ▸", "adds"];
  if (!folded(found)) return [whyTable(caption, heads, el("tbody", {}, rows, others, balance)), sum(found)];
  const rest = found.difference + found.calibration - own(found).reduce((total, one) => total + one, 0);
  const fold = whyTable("What else counts", ["What else counts", ...heads.slice(1)], el("tbody", {}, others, further, balance));
  return [
    whyTable(caption, heads, el("tbody", {}, rows)),
    el("details", { class: "plain else" }, el("summary", {}, `Everything else adds ${signed(rest)}`), fold, sum(found)),
  ];
}

function sum(found) {
  const signed = written(found);
  const shown = own(found).reduce((total, one) => total + one, 0);
  const parts = [`These ${byClass(found) ? "trained classes" : "attributes"} add ${signed(shown)}`];
  const beyond = found.attributes.slice(LISTED).reduce((sum, one) => sum + one.contribution, found.rest);
  if (found.others > 0 || found.attributes.length > LISTED) parts.push(`all others ${signed(beyond)}`);
  parts.push(...terms(found).map(([name, adds]) => `${name} ${signed(adds)}`));
  if (found.calibration) parts.push(`the ${BALANCE} ${signed(found.calibration)}`);
  const whole = signed(found.difference + found.calibration);
  return el("p", { class: "sum" }, `${parts.join(", ")}: ${whole} for ${human(found.class)} over ${human(found.against)}.`);
}

// What the values of trained classes are.
const similar = (found) =>
  byClass(found) &&
  el(
    "p",
    { class: "quiet" },
    `Below a trained class: how similar to it ${human(found.class)} and ${human(found.against)} are described, from 0 to 1.`,
  );

// The same difference by features, where these come from several networks.
function byFeatures(found) {
  const each = Object.entries(found.blocks);
  const signed = signs(each.map(([, adds]) => adds));
  return each.length > 0 && el("p", { class: "quiet" }, `By features: ${each.map(([name, adds]) => `${name} ${signed(adds)}`).join(", ")}.`);
}

// Classes to compare with: the second best unless another one is chosen; if the answer is wrong, the true class comes first.
function comparing(prediction, against, row, classes, chosen) {
  const second = against === null ? prediction.explanation.against : prediction.top[1]?.class;
  const wrong = row && row.class !== prediction.class && classes.some((one) => one.name === row.class);
  const truth = wrong && row.class !== second ? row.class : null;
  const known = second === undefined ? "" : ` (${human(second)}${wrong && truth === null ? ", the true class" : ""})`;
  const first = [["", `second best${known}`]];
  if (truth !== null) first.unshift([`=${truth}`, `true class (${human(truth)})`]);
  const others = classes.filter((one) => one.name !== prediction.class && one.name !== truth);
  const select = classSelect(el("select"), others, first, against === null ? "" : `=${against}`);
  select.addEventListener("change", () => chosen(select.value ? select.value.slice(1) : null));
  return field("Compare with", select, { class: "field inline" });
}

let numbersOpen = false; // from one answer to the next

// The first: { row, label, photo, asked, against }. `chosen` gets the class to compare with, null for the second best.
export function answerCard({ row, label, photo, asked, against }, prediction, context, chosen, feedback = "") {
  const { model, classes } = context;
  const byName = new Map(model.attributes.map((one) => [one.name, one]));
  const right =
    row &&
    (row.class === prediction.class
      ? el("span", { class: "right" }, "✓ right")
      : el("span", { class: "wrong" }, "✗ wrong"));
  const truth = row && el("p", {}, "True class: ", el("b", {}, named(row.class)), " ", badge(row.kind), " ", right);
  const part = row && el("p", { class: "quiet" }, named([row.part && partName(row.part), row.id].filter(Boolean).join(" · ")));
  const called = row ? `${thing.One} ${row.row}` : label;
  const shown = row?.picture ? picture(row, called) : photo && el("img", { src: photo, alt: called, class: "picture" });
  const kept = photo && el("p", { class: "quiet" }, "This photo is not kept by the service.");
  const head = el("div", { class: "sample" }, shown, el("div", {}, el("p", { class: "strong" }, called), part, truth, kept));
  const found = prediction.explanation;
  const why = found
    ? [
        el(
          "div",
          { class: "head" },
          el("h4", {}, "Why ", named(found.class), " and not ", named(found.against), "?"),
          comparing(prediction, against, row, classes, chosen),
        ),
        ...reasons(found, byName),
        el(
          "details",
          { class: "plain numbers", open: numbersOpen, ontoggle: (event) => (numbersOpen = event.target.open) },
          el("summary", {}, "For experts: how much each reason counts"),
          ...bars(found, byName),
          similar(found),
          byFeatures(found),
        ),
      ]
    : prediction.words
      ? wordsWhy(prediction.words, named)
      : [
          el(
            "p",
            { class: "quiet" },
            model.explains
              ? "No explanation: this file is stored by columns and too large for one. Save it by rows, or as .csv or .json."
              : "This model cannot say which attributes decided.",
          ),
        ];
  const about = el("a", { href: link("classes", { class: prediction.class }) }, "About ", named(prediction.class));
  return [head, el("h4", {}, "Best classes"), bestClasses(prediction, model, asked), feedback, why, el("p", {}, about)];
}
