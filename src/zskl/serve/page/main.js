// The views and what they share: the model, its classes, the address, the token.
import { call, pictures, token } from "./api.js";
import { classes } from "./classes.js";
import { classify } from "./classify.js";
import { describe } from "./describe.js";
import { label } from "./label.js";
import { callThings, counted, el, field, later, natural, things } from "./elements.js";
import { failed } from "./states.js";

const VIEWS = { describe, classify, label, classes };
const TITLES = { describe: "Find", classify: "Identify", label: "Label", classes: "Classes" };
const find = (id) => document.getElementById(id);
const notice = find("notice");
const made = {}; // view → what shows it for values of the address

const say = later((words) => (find("live").textContent = words), 500); // not at every step of a slider

const context = Object.assign(new EventTarget(), {
  model: null,
  classes: [],
  say,
  kind: (name) => context.classes.find((one) => one.name === name)?.kind ?? "unseen",
  async refresh() {
    const [model, found] = await Promise.all([call("model"), call("classes")]);
    callThings(model.data?.item ?? (model.texts ? "text" : "row"));
    pictures.key = model.data?.picture_key ?? "";
    context.model = {
      ...model,
      attributes: model.attributes.map((one) => ({
        ...one,
        range: one.high - one.low,
        ...(one.binary ? { low: 0, high: 1 } : {}),
      })),
    };
    context.classes = found.classes.sort((a, b) => natural(a.name, b.name)); // also in every list to choose from
    header();
    context.dispatchEvent(new Event("classes"));
  },
});

function header() {
  const { file, seen, unseen, added, data } = context.model;
  const all = `${counted(seen + unseen + added, "class", "classes")}${unseen ? `, ${unseen} of them new to the model` : ""}${added ? `, ${added} added here` : ""}`;
  const parts = [all, data ? things(data.rows) : "no data loaded"];
  find("loaded").replaceChildren(el("b", {}, data?.name ?? file.replace(/\.zskl$/, "")), ...parts.flatMap((one) => [" · ", el("span", {}, one)]));
}

const canLabel = () => context.model.teaches && Boolean(context.model.data);
function address() {
  const [view, search] = location.hash.slice(1).split(/\?(.*)/s);
  const there = Object.hasOwn(VIEWS, view) && (view !== "label" || !context.model || canLabel());
  return { view: there ? view : "describe", values: new URLSearchParams(search ?? "") };
}

function show(moved) {
  const { view, values } = address();
  for (const one of document.querySelectorAll("nav a"))
    if (one.dataset.view === view) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  for (const name of Object.keys(VIEWS)) find(`view-${name}`).hidden = name !== view || !context.model;
  if (!context.model) return;
  document.querySelector("[data-view=label]").hidden = !canLabel();
  made[view] ??= VIEWS[view](find(`view-${view}`), context);
  made[view](values, moved);
  document.title = `${TITLES[view]} · zskl`;
  const stays = view === "describe" && history.state?.described; // walking through descriptions moves no focus
  if (moved && !stays) find(`${view}-title`)?.focus();
}

function askToken(wrong) {
  const input = el("input", {
    type: "password",
    required: true,
    pattern: "[!-~]+",
    title: "printable letters without blanks",
    autocomplete: "current-password",
  });
  const user = el("input", { autocomplete: "username", hidden: true }); // what a keeper of passwords looks for
  const words = wrong
    ? "The service does not accept this token. Try another one."
    : "The service asks for its token. It is kept until this tab is closed.";
  const form = el(
    "form",
    { class: "note ask" },
    el("p", {}, words),
    user,
    field("Token", input),
    el("button", { class: "main" }, "Continue"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    token.keep(input.value.trim());
    start();
  });
  find("loaded").textContent = "locked";
  notice.replaceChildren(form);
  for (const name of Object.keys(VIEWS)) find(`view-${name}`).hidden = true;
  input.focus();
}

async function start() {
  const had = token.get();
  find("main").setAttribute("aria-busy", "true");
  try {
    await context.refresh();
    notice.replaceChildren();
    show(false);
  } catch (fault) {
    if (fault.status === 401) askToken(Boolean(had));
    else {
      find("loaded").textContent = "not loaded";
      notice.replaceChildren(failed(fault, start));
      if (!("status" in fault)) throw fault;
    }
  } finally {
    find("main").setAttribute("aria-busy", "false");
  }
}

addEventListener("hashchange", () => show(true));
addEventListener("zskl-token-wanted", () => context.model && askToken(Boolean(token.get()))); // the token has changed since
find("skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("main").focus();
});
start();
