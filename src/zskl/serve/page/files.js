// A file of samples as a source of rows. A source gives the body of /predict for the rows from `start` to `end`;
// `whole`: only all rows together can be sent. Bytes of .npy are cut row by row here, and read by the service.
import { readCsv } from "./csv.js";

const MAGIC = "\x93NUMPY";
export const LARGEST = 1e6; // bytes of a file that is sent whole for explanations

export const listSource = (label, rows, note = null) => ({
  label,
  note,
  count: rows.length,
  request: (start, end) => ({ body: { rows: rows.slice(start, end) } }),
});

const wrong = (text) => new Error(text);

function checked(rows, features, name) {
  if (!rows.length) throw wrong(`${name} has no rows.`);
  rows.forEach((row, place) => {
    if (row.length !== features)
      throw wrong(`Row ${place + 1} of ${name} has ${row.length} numbers, the model takes ${features}.`);
  });
  return rows;
}

export function readJson(text, features, name) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw wrong(`${name} is not JSON.`);
  }
  const rows = Array.isArray(found) ? found : found?.rows;
  const lists = Array.isArray(rows) && rows.every((row) => typeof row === "number") ? [rows] : rows;
  if (
    !Array.isArray(lists) ||
    !lists.every((row) => Array.isArray(row) && row.every((value) => typeof value === "number"))
  )
    throw wrong(`${name} should be a list of rows, each a list of numbers, or {"rows": …} with such a list.`);
  return checked(lists, features, name);
}

// The header of a .npy file: type of a number, shape, where the numbers begin.
export function npyHeader(buffer, name) {
  const bytes = new Uint8Array(buffer);
  if (String.fromCharCode(...bytes.slice(0, 6)) !== MAGIC) throw wrong(`${name} is not a .npy file.`);
  const view = new DataView(buffer);
  const [start, size] = bytes[6] === 1 ? [10, view.getUint16(8, true)] : [12, view.getUint32(8, true)];
  const text = new TextDecoder("latin1").decode(bytes.slice(start, start + size));
  const shape = /'shape':\s*\(([^)]*)\)/
    .exec(text)?.[1]
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean)
    .map(Number);
  const type = /'descr':\s*'([^']+)'/.exec(text)?.[1];
  if (!shape || !type) throw wrong(`${name} is not a plain table of numbers.`);
  return { shape, type, columnwise: /'fortran_order':\s*True/.test(text), begin: start + size };
}

function npyOf(bytes, type, shape) {
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`;
  const head = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + "\n";
  const start = new Uint8Array([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
  return new Blob([start, new TextEncoder().encode(head), bytes]);
}

export function npySource(label, buffer, features) {
  const { shape, type, columnwise, begin } = npyHeader(buffer, label);
  const [count, width] = shape.length === 1 ? [1, shape[0]] : shape;
  if (shape.length > 2 || width !== features)
    throw wrong(`${label} has the shape (${shape.join(", ")}); the model takes rows of ${features} numbers.`);
  if (!count) throw wrong(`${label} has no rows.`);
  const kind = "application/x-npy";
  const wide = (buffer.byteLength - begin) / count;
  const cut = (start, end) => npyOf(buffer.slice(begin + start * wide, begin + end * wide), type, [end - start, width]);
  return columnwise
    ? { label, count, whole: true, size: buffer.byteLength, request: () => ({ body: buffer, type: kind }) }
    : { label, count, request: (start, end) => ({ body: cut(start, end), type: kind }) };
}

// `model`: the answer of /model.
export async function readFile(file, model) {
  const { name } = file;
  const { features } = model;
  const limit = model.limits?.body_bytes;
  if (limit && file.size > limit) throw wrong(`${name} has ${file.size} bytes, the service takes at most ${limit}.`);
  if (/\.npy$/i.test(name)) return npySource(name, await file.arrayBuffer(), features);
  if (/\.json$/i.test(name)) return listSource(name, readJson(await file.text(), features, name));
  if (/\.(csv|tsv|txt)$/i.test(name)) {
    const { rows, note } = readCsv(await file.text(), model, name);
    return listSource(name, checked(rows, features, name), note);
  }
  throw wrong(`${name} cannot be read: choose a file that ends in .npy, .csv or .json.`);
}
