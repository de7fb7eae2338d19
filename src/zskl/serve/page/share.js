// The description in the address: #describe?class=NAME&a=crown=strongly,size=0.3. To share it, to reload it, and to walk
// back and forward through what was looked at.
import { el, later } from "./elements.js";
import { STEPS, stepOf, valueOf } from "./levels.js";

const plain = (text) => encodeURIComponent(text).replaceAll("%20", "+").replaceAll("%3A", ":").replaceAll("%2F", "/");
const decoded = (text) => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // a % that means itself
  }
};

function written(description) {
  const { start, editing, sentence, changed, attributes, groups } = description;
  const set = attributes.filter(({ name }) => changed.has(name));
  const follows = (one) =>
    one.exclusive && changed.get(one.name) === 0 && groups.get(one.group).some(({ name }) => changed.get(name) === 1);
  const pairs = set
    .filter((one) => !follows(one))
    .map((one) => [one, changed.get(one.name)])
    .map(([one, value]) => `${plain(one.name)}=${one.binary ? value : plain(stepOf(one, value) ?? String(value))}`);
  const all = [
    start !== null && `class=${plain(start)}`,
    start !== null && editing && "edit=yes",
    sentence && `sentence=${plain(sentence)}`,
    pairs.length > 0 && `a=${pairs.join(",")}`,
  ].filter(Boolean);
  return `#describe${all.length ? `?${all.join("&")}` : ""}`;
}

// What an address says: the class to start from, the values, and the attributes that the model does not have.
export function read(hash, attributes) {
  const search = hash.split(/\?(.*)/s)[1] ?? "";
  const given = new Map(search.split("&").map((part) => [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)]));
  const known = new Map(attributes.map((one) => [one.name, one]));
  const [pairs, unknown] = [[], []];
  for (const part of (given.get("a") ?? "").split(",").filter(Boolean)) {
    const cut = part.lastIndexOf("=");
    const [name, text] = [decoded(part.slice(0, cut)), decoded(part.slice(cut + 1))];
    const one = known.get(name);
    const step = STEPS.find(([word]) => word === text);
    const value = one && step ? valueOf(one, step[1]) : text === "" ? Number.NaN : Number(text);
    if (one && Number.isFinite(value)) pairs.push([one, value]);
    else unknown.push(one ? `${name} as ${text}` : name);
  }
  const text = (key) => (given.has(key) ? decoded(given.get(key)) : null);
  return { start: text("class"), editing: text("edit") === "yes", sentence: text("sentence") ?? "", pairs, unknown };
}

export function inAddress(description) {
  const values = () => new Map([...description.changed, ["\n", `${description.start} ${description.sentence}`]]);
  let [before, last, silent, ours] = [values(), null, false, location.hash];
  const here = () => location.hash === ours && /^#?(describe([?].*)?)?$/s.test(ours); // not one that is still to be opened
  const write = () => {
    if (!here() || (location.hash || "#describe") === written(description)) return; // a bare address, too
    const now = values();
    const other = [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name));
    const same = other.length === 1 && other[0] === last && last !== "\n"; // a slider on its way is one step
    if (same || silent) history.replaceState({ described: true }, "", written(description));
    else history.pushState({ described: true }, "", written(description));
    [before, last, silent, ours] = [now, other.length === 1 ? other[0] : null, false, location.hash];
  };
  description.addEventListener("change", later(write, 60));
  return {
    address: () => written(description),
    write,
    settle() {
      [before, last, silent] = [values(), null, false];
      const bare = description.empty && !location.hash.includes("?");
      history.replaceState({ described: true }, "", bare ? location.href : written(description));
      ours = location.hash;
    },
    restoring() {
      silent = true; // what comes next is in the address already
    },
  };
}

export function copyButton(shared) {
  const told = el("span", { class: "quiet", role: "status" });
  const button = el("button", { type: "button" }, "Copy link");
  button.addEventListener("click", async () => {
    shared.write();
    const address = new URL(shared.address(), location.href).href;
    try {
      await navigator.clipboard.writeText(address);
      told.replaceChildren("The link is copied.");
    } catch {
      const input = el("input", { readonly: true, value: address, "aria-label": "The link" });
      told.replaceChildren("This browser copies nothing by itself: ", input);
      input.select();
    }
  });
  return [button, told];
}
