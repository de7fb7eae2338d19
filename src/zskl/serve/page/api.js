// Requests to the service. Addresses are relative, so that the page also works behind a path of a proxy.
const KEY = "zskl-token";

export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0: no answer at all
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  keep: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

const authorised = () => (token.get() ? { Authorization: `Bearer ${token.get()}` } : {});

async function answered(path, options) {
  try {
    return await fetch(path, { ...options, headers: { ...options.headers, ...authorised() } });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new ServiceError("The service does not answer. Is it still running?", 0);
  }
}

// `body`: a value to send as JSON, or bytes of the type `type`; `query`: names and values, a list for several; `since`:
// the version that was looked at, for a change that is refused if somebody else was faster.
export async function call(path, { method = "GET", body, type, query = {}, since = null, signal } = {}) {
  const pairs = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const search = new URLSearchParams(
    pairs.filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
  const headers = body === undefined ? {} : { "Content-Type": type ?? "application/json" };
  if (since !== null && since !== undefined) headers["If-Match"] = `"${since}"`;
  const sent = body === undefined || type ? body : JSON.stringify(body);
  const response = await answered(search.size ? `${path}?${search}` : path, { method, body: sent, headers, signal });
  if (response.status === 204) return null;
  const found = await response.json().catch((fault) => {
    if (fault.name === "AbortError") throw fault;
    return null;
  });
  if (response.status === 401) dispatchEvent(new Event("zskl-token-wanted"));
  if (!response.ok || found === null)
    throw new ServiceError(
      found?.error ?? `The service answered with status ${response.status} and no reason.`,
      response.status,
    );
  return found;
}

export const classPath = (name) => `classes/${encodeURIComponent(name)}`;

// An <img> cannot send a token: with one, pictures are fetched and shown as blobs, which are kept for a while.
const blobs = new Map();
export const pictures = { key: "" }; // of the data that are served: other data have other addresses
async function blob(path) {
  const response = await answered(path, {});
  if (!response.ok) throw new ServiceError("There is no picture.", response.status);
  return URL.createObjectURL(await response.blob());
}
export async function fillPicture(image, row) {
  const path = `rows/${row}/picture?key=${pictures.key}`;
  if (!token.get()) {
    image.src = path;
    return;
  }
  if (!blobs.has(path)) blobs.set(path, blob(path));
  const [oldest, address] = blobs.entries().next().value;
  if (blobs.size > 2000) {
    blobs.delete(oldest);
    address.then(URL.revokeObjectURL, () => {});
  }
  try {
    image.src = await blobs.get(path);
  } catch {
    blobs.delete(path);
    image.dispatchEvent(new Event("error"));
  }
}

// Only the latest of several requests counts: a new one aborts the one under way, whose promise then never settles
// a view. `work` gets a signal and what the call was given; `stop` of what is returned aborts without a new one.
export function latestOnly(work) {
  let control = null;
  const run = async (...given) => {
    control?.abort();
    const mine = (control = new AbortController());
    try {
      const found = await work(mine.signal, ...given);
      return mine.signal.aborted ? undefined : found;
    } catch (fault) {
      if (mine.signal.aborted) return undefined;
      throw fault;
    }
  };
  return Object.assign(run, { stop: () => control?.abort() });
}
