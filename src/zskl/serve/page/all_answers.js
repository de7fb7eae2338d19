// The answers for all rows of a file: how many rows of each class, and the answers as a CSV file.
import { latestOnly } from "./api.js";
import { badge, bar, counted, el, named } from "./elements.js";
import { predicted } from "./sources.js";
import { failed } from "./states.js";

const AT_ONCE = 2000; // rows that are answered without being asked for
const SHOWN = 12; // classes that are counted on the page
const KINDS = { seen: "trained", unseen: "new", added: "added" }; // as badges call them

// A cell that a spreadsheet would take for a formula gets an apostrophe before it.
function cell(value) {
  if (typeof value !== "string") return String(value ?? "");
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
export function csvOf(lines) {
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

// How many rows fit into one request.
export const batch = ({ limits, features }, source) =>
  source.whole ? source.count : Math.max(1, Math.min(500, limits.rows, Math.floor(limits.json_values / features)));

// A row that cannot be answered says so, and the others are answered.
export async function answersOf(source, start, end, options, signal) {
  try {
    return await predicted(source, start, end, options, signal);
  } catch (fault) {
    if (fault.status !== 422 || source.whole) throw fault;
    if (end - start < 2) return [{ class: null, fault: fault.message }];
    const middle = Math.floor((start + end) / 2);
    const left = await answersOf(source, start, middle, options, signal);
    return [...left, ...(await answersOf(source, middle, end, options, signal))];
  }
}

function table(source, answers, kind) {
  const value = answers.some((one) => one.top?.[0].probability != null) ? "probability" : "score";
  const head = [source.names ? "photo" : "row", "class", value, "kind", "none_of_these"];
  const lines = answers.map((one, place) => {
    const first = source.names ? source.names[place] : place + 1;
    if (one.class === null) return [first, "", "", "cannot be read", ""];
    return [first, one.class, one.top[0][value], KINDS[kind(one.class)], one.none_of_these === null ? "" : one.none_of_these];
  });
  return csvOf([head, ...lines]);
}

function counts(answers, kind) {
  const found = new Map();
  for (const one of answers) {
    const name = one.class === null ? null : one.none_of_these ? "" : one.class;
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  const order = [...found].sort((a, b) => b[1] - a[1] || String(a[0]).localeCompare(String(b[0])));
  const rest = order.slice(SHOWN);
  const words = (name) => (name === null ? "cannot be read" : name === "" ? "none of these" : named(name));
  return [
    el(
      "ul",
      { class: "counts" },
      order.slice(0, SHOWN).map(([name, count]) =>
        el(
          "li",
          {},
          el("span", {}, words(name), " ", name && badge(kind(name))),
          bar(count / order[0][1]),
          el("span", { class: "number" }, String(count)),
        ),
      ),
    ),
    rest.length > 0 &&
      el("p", { class: "quiet" }, `And ${counted(rest.length, "more class", "more classes")}, all in the download.`),
  ].filter(Boolean);
}

// `options()`: those of /predict at this moment. The node, and what to call with a source, or null, when it changes.
export function allAnswers(context, options) {
  const place = el("div", { class: "all" });
  let source = null;
  const work = latestOnly(async (signal, report) => {
    const [mine, step, asked] = [source, batch(context.model, source), { top: 1, ...options() }];
    const found = [];
    for (let start = 0; start < mine.count; start += step) {
      report(start, mine.count);
      found.push(...(await answersOf(mine, start, Math.min(start + step, mine.count), asked, signal)));
    }
    return found;
  });
  const save = (text) => {
    const address = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    el("a", { href: address, download: `${source.label.replace(/\.\w+$/, "")} answers.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  const run = async () => {
    const mine = source;
    const bar_ = el("progress", { max: "1", value: "0", "aria-label": "Rows answered" });
    const words = el("span", { class: "quiet" });
    if (!place.querySelector(".counts")) place.replaceChildren(el("p", { class: "row" }, bar_, words));
    place.setAttribute("aria-busy", "true");
    try {
      const found = await work((done, total) => {
        bar_.value = done / total;
        words.textContent = `${done} of ${counted(total, "row")} answered`;
      });
      if (found === undefined || source !== mine) return; // other answers are wanted by now
      const button = el("button", { type: "button" }, "Download the answers (.csv)");
      button.addEventListener("click", () => save(table(mine, found, context.kind)));
      const title = `${counted(found.length, mine.names ? "photo" : "row")} by class`;
      place.replaceChildren(el("h4", {}, title), ...counts(found, context.kind), button);
    } catch (fault) {
      place.replaceChildren(failed(fault, run));
      if (!("status" in fault)) throw fault;
    }
    place.setAttribute("aria-busy", "false");
  };
  const show = (chosen) => {
    const other = chosen !== source;
    source = chosen;
    if (other || !source) {
      work.stop();
      place.replaceChildren();
      place.setAttribute("aria-busy", "false");
    }
    if (!source || source.count < 2) return; // one answer stands there in full
    if (source.count <= AT_ONCE || place.querySelector(".counts")) return run();
    const words = `Answer all ${counted(source.count, "row")}`;
    place.replaceChildren(el("button", { type: "button", onclick: run }, words));
  };
  return { node: place, show };
}
