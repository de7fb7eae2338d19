// Choose rows of the loaded data, or files of your own; a page of them at a time.
import { call, latestOnly } from "./api.js";
import { classOf, classSelect, counted, el, field, fresh, onlyPictures, partName, thing, things, wordy } from "./elements.js";
import { readFile } from "./files.js";
import { isPhoto, readPhotos } from "./photo_files.js";
import { dataSource } from "./sources.js";
import { failed, filled } from "./states.js";

export const PAGE = 24;

// `picked` is told { source, start, end, rows, chosen }: rows are null for a file, chosen is −1 unless a row was sought.
export function rowPicker(context, picked) {
  const { data, features, feature_names: names, photos } = context.model;
  const place = el("div");
  const grid = el("ul", {
    class: `grid small${data?.pictures ? " pictures" : ""}${wordy(context.classes) ? " wordy" : ""}`,
  });
  const words = el("span", { class: "quiet", role: "status" });
  const back = el("button", { type: "button", class: "icon", "aria-label": `Earlier ${thing.many}` }, "‹");
  const on = el("button", { type: "button", class: "icon", "aria-label": `Later ${thing.many}` }, "›");
  const pager = el("div", { class: "pager" }, back, words, on);
  const kind = el("select");
  const part = el(
    "select",
    {},
    el("option", { value: "" }, "all"),
    Object.keys(data?.parts ?? {}).map((name) => el("option", { value: name }, partName(name))),
  );
  const list = () =>
    classSelect(
      kind,
      context.classes.filter((one) => one.rows),
      [["", "all"]],
    );
  const [only, pictured] = onlyPictures(data);
  let [start, total, file, wanted] = [0, 0, null, null];

  const paged = () => {
    const all = !file ? things(total) : counted(total, file.word ?? (file.names ? "photo" : "row"));
    words.textContent = total ? `${start + 1}–${Math.min(start + PAGE, total)} of ${all}` : `no ${thing.many}`;
    back.disabled = start === 0;
    on.disabled = start + PAGE >= total;
    pager.hidden = false;
  };
  const rows = latestOnly(async (signal) => {
    const query = { count: PAGE, class: classOf(kind), part: part.value, pictures: pictured.checked };
    if (wanted === null) return call("rows", { query: { ...query, start }, signal });
    try {
      return await call("rows", { query: { ...query, around: wanted }, signal });
    } catch (fault) {
      if (fault.status !== 422 || !pictured.checked) throw fault;
      pictured.checked = false; // the row has no picture
      return call("rows", { query: { ...query, pictures: false, around: wanted }, signal });
    }
  });
  const showData = () =>
    filled(place, thing.many, rows, (found) => {
      [total, start] = [found.total, found.start];
      paged();
      const source = dataSource(found.rows);
      const chosen = found.rows.findIndex((one) => one.row === wanted);
      wanted = null;
      picked({ source, start: 0, end: found.rows.length, rows: found.rows, grid, chosen });
      return found.rows.length
        ? [grid]
        : [el("p", { class: "empty" }, `No ${thing.one} of the data ${pictured.checked ? "that can be shown " : ""}is of this class and part.`)];
    });
  const showFile = () => {
    place.replaceChildren(grid);
    total = file.count;
    paged();
    picked({ source: file, start, end: Math.min(start + PAGE, total), rows: null, grid, chosen: -1 });
  };
  const show = () => (file ? showFile() : data && showData());

  const input = el("input", { type: "file", accept: ".npy,.csv,.tsv,.txt,.json" });
  const message = el("div", { "aria-live": "polite" });
  const progress = (done, count) => {
    const words = count > 1 ? `Reading photo ${done + 1} of ${count} …` : "Reading the photo …";
    message.replaceChildren(el("p", { class: "quiet" }, words));
  };
  const read = latestOnly((signal, chosen) => {
    if (chosen.every(isPhoto)) return readPhotos(chosen, context.model, signal, progress);
    if (chosen.length === 1) return readFile(chosen[0], context.model);
    throw new Error("Choose photos, or one file of numbers.");
  });
  const forget = () => {
    file?.photos?.forEach((address) => URL.revokeObjectURL(address));
    file = null;
  };
  const nothing = () => {
    rows.stop(); // rows of the data that come now would stand where a file is expected
    read.stop();
    place.setAttribute("aria-busy", "false");
    forget();
    pager.hidden = true;
    place.replaceChildren();
    picked(null);
  };
  // Files that somebody chose, took or dropped; or a source of rows.
  const open = async (chosen) => {
    choice.querySelector("[value=file]").checked = true;
    if (drop.hidden) turn(false);
    message.replaceChildren();
    try {
      const found = Array.isArray(chosen) ? await read(chosen) : chosen;
      if (found === undefined || drop.hidden) return; // a newer file is read, or none is wanted any more
      forget();
      [file, start] = [found, 0];
      message.replaceChildren(...(found.note ? [el("p", { class: "quiet" }, found.note)] : []));
      show();
    } catch (wrong) {
      if (drop.hidden) return;
      nothing(); // the answers of an earlier file are not those of this one
      message.replaceChildren(failed(wrong));
    }
  };
  input.addEventListener("change", () => input.files[0] && open([input.files[0]]));
  const numbers = [
    field("A file of samples", input),
    el("p", { class: "quiet" }, `.npy, .csv or .json: rows of ${features} numbers. Or drop it on this page.`),
    names && el("p", { class: "quiet" }, "Columns of .csv are found by their names, in any order."),
  ];
  const drop = el(
    "div",
    { class: "drop" },
    photos ? el("details", { class: "plain" }, el("summary", {}, "Or a file of numbers"), numbers) : numbers,
    message,
  );

  const filters = el("div", { class: "row filters" }, field("Class", kind), field("Which", part), only);
  const group = fresh("from");
  const radio = (value, text, checked) =>
    el("label", {}, el("input", { type: "radio", name: group, value, checked }), el("span", {}, text));
  const choice = el(
    "fieldset",
    { class: "segmented" },
    el("legend", { class: "hidden" }, `Where the ${thing.many} come from`),
    radio("data", "Loaded data", true),
    radio("file", photos ? "Your own" : "A file", false),
  );
  const turn = (own) => {
    filters.hidden = !own;
    drop.hidden = own;
    forget();
    start = 0;
    input.value = ""; // so that the same file can be chosen again
    message.replaceChildren();
    if (own) show();
    else nothing();
  };
  choice.addEventListener("change", (event) => turn(event.target.value === "data"));
  for (const one of [kind, part, pictured])
    one.addEventListener("change", () => {
      start = 0;
      show();
    });
  back.addEventListener("click", () => {
    start = Math.max(0, start - PAGE);
    show();
  });
  on.addEventListener("click", () => {
    start += PAGE;
    show();
  });
  context.addEventListener("classes", list);
  list();
  turn(Boolean(data));
  // Show the page of rows with this one, of pictures only if those are on show; false where there is no such row.
  const seek = (row) => {
    if (!data || !Number.isInteger(row) || row < 0 || row >= data.rows) return false;
    choice.querySelector("input").checked = true;
    [kind.value, part.value, wanted] = ["", "", row];
    filters.hidden = false;
    drop.hidden = true;
    read.stop();
    forget();
    show();
    return true;
  };
  return { node: [data && choice, filters, drop, place, pager].filter(Boolean), seek, open };
}
