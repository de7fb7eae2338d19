// Photos as a source of rows. The network of the service turns each into features once; everything else asks about these.
import { call } from "./api.js";
import { el } from "./elements.js";
import { listSource } from "./files.js";

const MOST = 100; // photos at once
const PICTURES = /\.(jpe?g|png|webp|heic|heif|avif|gif|tiff?|bmp|svg)$/i;
export const isPhoto = (file) => /^image\//.test(file.type) || PICTURES.test(file.name);

// What the first bytes say, whatever the name says: a photo of an iPhone may be HEIC inside and .jpg outside.
function kindOf(bytes) {
  const text = String.fromCharCode(...bytes);
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("\x89PNG")) return "image/png";
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "image/webp";
  return /^.{4}ftyp(hei|hev|mif|msf)/s.test(text) ? "heic" : null;
}

// The network looks at few pixels: a photo of a phone goes over the line many times smaller, and the right way up.
const SIDE = 1024;
const SMALL = 512 * 1024; // bytes that are sent as they are
export async function shrink(file) {
  if (file.size <= SMALL) return file;
  try {
    const image = await createImageBitmap(file, { imageOrientation: "from-image" });
    const scale = Math.min(1, SIDE / Math.min(image.width, image.height));
    const canvas = el("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    const made = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.92));
    return made && made.size < file.size ? made : file;
  } catch {
    return file; // the service says what is wrong with it
  }
}

async function features(file, { limits }, signal) {
  const kind = kindOf(new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  if (kind === "heic" || (!kind && /\.hei[cf]$/i.test(file.name)))
    throw new Error(
      `${file.name} is a HEIC photo, which cannot be read here: share or export it as JPEG, and choose that. ` +
        "On an iPhone, Settings › Camera › Formats › Most Compatible makes it take JPEG photos.",
    );
  if (!kind) throw new Error(`${file.name} is not a JPEG, PNG or WebP photo: save it as one of these, and choose that.`);
  const sent = await shrink(file);
  if (sent.size > limits.photo_bytes)
    throw new Error(
      `${file.name} has ${Math.ceil(file.size / 2 ** 20)} MiB, a photo may have ${limits.photo_bytes / 2 ** 20}: ` +
        "make it smaller, and choose it again.",
    );
  const query = { top: 1, features: true };
  return (await call("predict", { method: "POST", body: sent, type: sent === file ? kind : sent.type, query, signal })).features[0];
}

// `photos` are addresses under which the page shows them. One that cannot be read is told in `note`, and left out.
export async function readPhotos(files, model, signal, progress) {
  if (!model.photos)
    throw new Error(
      `${files[0].name} is a photo, and this service has no network to read it: start it with --backbone.`,
    );
  if (files.length > MOST) throw new Error(`These are ${files.length} photos: choose at most ${MOST} at once.`);
  const [read, rows, faults] = [[], [], []];
  for (const [place, file] of files.entries()) {
    progress(place, files.length);
    try {
      rows.push(await features(file, model, signal));
      read.push(file);
    } catch (fault) {
      if (signal.aborted || ![undefined, 413, 422].includes(fault.status)) throw fault;
      faults.push(fault.status ? `${file.name}: ${fault.message}.` : fault.message);
    }
  }
  if (!read.length) throw new Error(faults.join(" "));
  const label = read.length === 1 ? read[0].name : `${read.length} photos`;
  const source = listSource(label, rows, faults.join(" ") || null);
  return { ...source, names: read.map(({ name }) => name), photos: read.map((file) => URL.createObjectURL(file)) };
}
