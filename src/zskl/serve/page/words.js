// A description in words: what the service understands is set, and can be changed or undone like anything else.
import { call, latestOnly } from "./api.js";
import { fullName } from "./controls.js";
import { el, field } from "./elements.js";
import { failed } from "./states.js";

// [nodes, what types a sentence and has it understood].
export function inWords(description) {
  const input = el("input", { autocomplete: "off", maxlength: 2000, required: true });
  const told = el("div", { role: "status" });
  const ask = latestOnly((signal, text) => call("words", { method: "POST", body: { text }, signal }));
  const form = el(
    "form",
    { class: "row inwords" },
    field("In words", input),
    el("button", { type: "submit" }, "Understand"),
  );
  const understand = async () => {
    try {
      const found = await ask(input.value);
      if (found === undefined) return; // newer words are under way
      const named = new Map(description.attributes.map((one) => [one.name, one]));
      description.put(found.attributes.map(({ attribute, value }) => [named.get(attribute), value]));
      const meant = new Map(); // each phrase once, with all that it means
      for (const { attribute, words, guessed } of found.attributes) {
        const said = `“${words}” ${guessed ? "may be" : "is"} `;
        meant.set(said, [...(meant.get(said) ?? []), fullName(named.get(attribute))]);
      }
      const lines = [...meant].map(([said, names]) => said + names.join(", "));
      const rest = found.unknown.length > 0 && `Not among the attributes: ${found.unknown.join(", ")}.`;
      told.replaceChildren(
        el("p", { class: "quiet" }, lines.length ? `${lines.join("; ")}.` : "No attribute was recognised.", rest && ` ${rest}`),
      );
    } catch (fault) {
      told.replaceChildren(failed(fault));
      if (!("status" in fault)) throw fault;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    understand();
  });
  const type = (sentence) => {
    input.value = sentence;
    description.begin({});
    understand();
  };
  return [[form, told], type];
}
