// A group of attributes of which every class has at most one: a letter is an o or a p. To pick one releases the last.
import { el, fresh } from "./elements.js";

const WHOLE = 1 - 1e-6; // the means of a group of which every class has one add up to 1, but for rounding

// The attribute of the group that applies, null if none does, undefined if that is not said.
export function chosen(description, members) {
  const on = members.filter((one) => description.isSet(one) && description.value(one) === 1);
  if (on.length) return on.length === 1 ? on[0] : undefined;
  return members.every((one) => description.isSet(one) && description.value(one) === 0) ? null : undefined;
}

// As a row of radio buttons; `sync` brings it up to what the description says.
export function choice(description, name, members) {
  const group = fresh("choice");
  const offer = (words, pick, kind) => {
    const input = el("input", { type: "radio", name: group });
    input.addEventListener("change", pick);
    return { input, node: el("label", { class: kind }, input, el("span", {}, words)) };
  };
  const open = offer("not set", () => description.reset(members[0]), "apart");
  const none = offer("none", () => description.lower(members), "apart");
  const all = members.map((one) => ({ one, ...offer(one.label, () => description.set(one, 1)) }));
  const total = members.reduce((sum, one) => sum + one.mean, 0);
  const item = el(
    "div",
    { class: "choice", role: "radiogroup", "aria-label": name },
    open.node,
    total < WHOLE && none.node, // some classes have none of them
    all.map(({ node }) => node),
  );
  const sync = () => {
    const now = chosen(description, members);
    open.node.hidden = members.some((one) => description.base.has(one.name)); // the class it starts from says it
    open.input.checked = now === undefined;
    none.input.checked = now === null;
    for (const { one, input } of all) input.checked = one === now;
  };
  sync();
  return { item, sync };
}
