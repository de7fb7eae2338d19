// Rows of numbers out of the text of a CSV file: by the names of its columns if both sides have names, else by place.
const MISSING = /^(|na|n\/a|nan|null|none|\?)$/i;
const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
const isWord = (cell) => !isNumber(cell) && !MISSING.test(cell);
const quoted = (cell) => `“${cell.slice(0, 40)}”`;
const listed = (all) => all.slice(0, 5).map(quoted).join(", ") + (all.length > 5 ? ` and ${all.length - 5} more` : "");

function split(line, mark) {
  if (!line.includes('"')) return line.split(mark).map((cell) => cell.trim());
  const plain = typeof mark === "string" ? mark : " ";
  const cells = [""];
  let inside = false;
  for (const letter of line)
    if (letter === '"') inside = !inside;
    else if (letter === plain && !inside) cells.push("");
    else cells[cells.length - 1] += letter;
  return cells.map((cell) => cell.trim());
}

// The numbers 0, 1, 2 … that a table without names is written with, perhaps beside an id or a label.
const isCounted = (row) => {
  const numbers = row.filter(isNumber);
  return numbers.length > 2 && numbers.every((cell, place) => cell === String(place));
};
const isHead = (row, next, names) =>
  names?.every((name) => row.includes(name)) ||
  (next && (isCounted(row) || row.some((cell, place) => isWord(cell) && isNumber(next[place] ?? ""))));

// Where the features stand: [places, names of columns that are not used].
function columns(head, names, file) {
  const twice = names.find((name) => head.indexOf(name) !== head.lastIndexOf(name));
  if (twice !== undefined) throw new Error(`${file} has the column ${quoted(twice)} twice.`);
  const places = names.map((name) => head.indexOf(name));
  const missing = names.filter((_, place) => places[place] < 0);
  if (missing.length)
    throw new Error(`${file} lacks ${missing.length > 1 ? "the columns" : "the column"} ${listed(missing)}.`);
  return [places, head.filter((name) => !names.includes(name))];
}

// Columns beyond the features, such as an id or a label: says which ones to drop.
function refuseExtra(cells, head, features, file) {
  const wide = cells[0][0].length;
  const extra = wide - features;
  if (extra !== 1 && extra !== 2) return;
  const column = (place) => `column ${place + 1}${head?.[place] ? ` (${quoted(head[place])})` : ""}`;
  const places = Array.from({ length: wide }, (_, place) => place);
  const words = places.filter((place) => cells.some(([row]) => isWord(row[place] ?? "")));
  const start = `${file} has ${wide} columns, the model takes ${features}: drop`;
  if (words.length === extra)
    throw new Error(`${start} ${words.map(column).join(" and ")}, which ${extra > 1 ? "have" : "has"} no numbers.`);
  if (head) throw new Error(`${start} ${extra} of ${column(0)} to ${column(wide - 1)}.`);
}

// { rows, note }: `note` says which columns are not used.
export function readCsv(text, { features, feature_names: names }, file) {
  const lines = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .map((line, place) => [line.trimEnd(), place + 1])
    .filter(([line]) => line.trim());
  const first = lines[0]?.[0].replace(/"[^"]*"/g, "") ?? "";
  const mark = [",", ";", "\t"].find((one) => first.includes(one)) ?? /\s+/;
  const cells = lines.map(([line, place]) => [split(typeof mark === "string" ? line : line.trim(), mark), place]);
  const head = cells.length && isHead(cells[0][0], cells[1]?.[0], names) ? cells.shift()[0] : null;
  let [places, left] = [null, []];
  if (head && names && (!isCounted(head) || names.every((name) => head.includes(name))))
    [places, left] = columns(head, names, file);
  else if (cells.length) refuseExtra(cells, head, features, file);
  const rows = cells.map(([row, line]) => {
    const value = (place) => {
      const cell = row[place] ?? "";
      if (isNumber(cell)) return Number(cell);
      const where = head?.[place] ? `column ${quoted(head[place])}` : `column ${place + 1}`;
      const fault = cell === "" ? `${where} is empty` : `${quoted(cell)} in ${where} is not a number`;
      throw new Error(`Line ${line} of ${file}: ${fault}.`);
    };
    return places ? places.map(value) : row.map((_, place) => value(place));
  });
  return { rows, note: left.length ? `Columns were found by their names. Not used: ${listed(left)}.` : null };
}
