// One box and one button: what the service understands of a description in words is set, and can be changed or undone.
import { call, latestOnly } from "./api.js";
import { el, field, fresh, human, link, named, phrase } from "./elements.js";
import { failed } from "./states.js";

const list = new Intl.ListFormat("en", { type: "conjunction" });

// What was understood, each phrase once, and what was not.
function reply(found, named, before) {
  const guesses = new Map();
  for (const { attribute, words, guessed } of found.attributes)
    if (guessed) guesses.set(words, [...(guesses.get(words) ?? []), phrase(named.get(attribute))]);
  const maybe = [...guesses].map(([words, names]) => `“${words}” may mean ${list.format(names)}`);
  const lines = [
    !found.attributes.length && `None of these words says what the model knows about. Try colours, sizes and parts.${before ? " Below is still what you said before." : ""}`,
    maybe.length > 0 && `${maybe.join("; ")}.`,
    found.unknown.length > 0 && `Not used: ${found.unknown.join(", ")}.`,
  ];
  return lines.filter(Boolean).map((words) => el("p", { class: "quiet" }, words));
}

// Somebody may type a name: the classes that have all its words.
function calledSo(text, classes) {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);
  const has = ({ name }) => words.length > 0 && words.every((word) => ` ${human(name).toLowerCase().replaceAll("-", " ")} `.includes(` ${word} `));
  const found = classes.filter(has).slice(0, 5);
  if (!found.length) return "";
  const links = found.flatMap(({ name }, place) => [place ? ", " : "", el("a", { href: link("classes", { class: name }) }, named(name))]);
  return el("p", {}, "By its name: ", links, ".");
}

// [the form, what it says, what types a sentence and has it understood].
export function inWords(description, context, example) {
  const input = el("input", { autocomplete: "off", maxlength: 2000, required: true, placeholder: example ? `such as: ${example}` : null });
  const told = el("div", { class: "understood", role: "status" });
  const more = el("input", { type: "checkbox", id: fresh("more") });
  const adding = el("div", { class: "check" }, more, el("label", { for: more.id }, "Add to what is there"));
  const ask = latestOnly((signal, text) => call("words", { method: "POST", body: { text }, signal }));
  const form = el("form", { class: "inwords" }, field("What does it look like?", input, { class: "field hero" }), el("button", { type: "submit", class: "main" }, "Find"), adding);
  const understand = async () => {
    try {
      const found = await ask(input.value);
      if (found === undefined) return; // newer words are under way
      const named = new Map(description.attributes.map((one) => [one.name, one]));
      const pairs = found.attributes.map(({ attribute, value }) => [named.get(attribute), value]);
      if (more.checked) description.put(pairs);
      else if (pairs.length) description.replace(pairs);
      told.replaceChildren(calledSo(input.value, context.classes), ...reply(found, named, !description.empty));
    } catch (fault) {
      told.replaceChildren(failed(fault));
      if (!("status" in fault)) throw fault;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    understand();
  });
  const sync = () => {
    adding.hidden = description.empty;
    if (description.empty) [more.checked] = [false, told.replaceChildren()];
  };
  description.addEventListener("change", sync);
  sync();
  const type = (sentence) => {
    input.value = sentence;
    more.checked = false;
    understand();
  };
  return [form, told, type];
}
