// Your own texts, one in each line, of a model that reads texts.
import { el, field } from "./elements.js";

const SHOWN = 60; // letters of a text in a list

const shorten = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);

const textSource = (texts) => ({
  label: "your texts",
  word: "text",
  names: texts.map(shorten),
  count: texts.length,
  request: (start, end) => ({ body: { texts: texts.slice(start, end) } }),
});

// `opened` is told the source. Nothing to see if the service reads no texts.
export function textBar(model, opened) {
  if (!model.texts) return "";
  const input = el("textarea", { rows: 3, required: true });
  const form = el(
    "form",
    { class: "textbar" },
    field("Your texts, one in each line", input),
    el("p", { class: "quiet" }, `They are read by ${model.texts}. The service keeps nothing of them.`),
    el("div", { class: "row" }, el("button", { class: "main" }, "Classify")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const texts = input.value.split("\n").map((line) => line.trim());
    const given = texts.filter(Boolean);
    if (given.length) opened(textSource(given));
  });
  return form;
}

// Why a text is of its class: `words` of the answer.
export const wordsWhy = (found, named) => [
  el("h4", {}, "Why ", named(found.class), " and not ", named(found.against), "?"),
  found.words.length > 0 && el("p", { class: "quiet" }, "By how much the lead falls without each word:"),
  found.words.length > 0 && el("ul", { class: "plain words" }, found.words.map(([word, fall]) => el("li", {}, `${word}: ${fall.toFixed(3)}`))),
  found.examples.length > 0 && el("p", { class: "quiet" }, "The training texts that are most like it:"),
  found.examples.length > 0 && el("ul", { class: "plain" }, found.examples.map(([text, label]) => el("li", {}, `“${shorten(text)}” (`, named(label), ")"))),
];
