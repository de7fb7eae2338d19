// Why, in sentences: the three strongest reasons for a class against the runner-up, then what spoke against it.
import { areDegrees, levelOf } from "./levels.js";
import { el, human, named, number, phrase, thing } from "./elements.js";

const MOST = 3;
const list = new Intl.ListFormat("en", { type: "conjunction" });

// What an attribute says for the first class: its value there, and in the other one. A row speaks for a class that has
// much of what it shows, and for one that has little of what it lacks.
function reason(one, about, degrees) {
  const words = about ? phrase(about) : one.attribute;
  const [here, there] = [one.value, one.value_against];
  if (!about || here === null || there === null) return words;
  const less = here < there;
  if (about.binary) return less ? `no ${words}` : words;
  if (!degrees) return `${words} ${number(here)}, not ${number(there)}`;
  return less ? (levelOf(about, here) === "no" ? `no ${words}` : `less ${words}`) : levelOf(about, there) === "no" ? words : `more ${words}`;
}

export function reasons(found, byName) {
  const degrees = areDegrees([...byName.values()]);
  const [mine, other] = [el("b", {}, named(found.class)), human(found.against)];
  const said = (one) =>
    found.by === "classes" ? `it is ${one.like ? "like" : "unlike"} ${human(one.attribute)}` : reason(one, byName.get(one.attribute), degrees);
  const order = [...found.attributes].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const pro = order.filter((one) => one.contribution > 0).slice(0, MOST);
  const con = order.filter((one) => one.contribution < 0).slice(0, MOST);
  const told = found.evidence.filter((one) => one.class === found.class).reduce((sum, one) => sum + one.adds, 0);
  const whole = found.attributes.reduce((sum, one) => sum + one.contribution, found.rest);
  const seen = told > 0 && told > whole;
  return [
    pro.length > 0
      ? el("p", { class: "for" }, `What speaks for `, mine, ` over ${other}: ${list.format(pro.map(said))}.`)
      : el("p", { class: "for" }, `Nothing in the descriptions speaks for `, mine, ` over ${other}.`),
    seen && el("p", {}, pro.length ? "More than that, " : "Mostly, ", `the ${thing.one} looks like the examples of it that the model learned from.`),
    con.length > 0 && el("p", { class: "quiet" }, `What speaks for ${other}: ${list.format(con.map(said))}.`),
    found.calibration < 0 && el("p", { class: "quiet" }, `A class that the model was trained on needs a clearer lead.`),
  ].filter(Boolean);
}
