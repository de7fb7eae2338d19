// Keeps the description through a reload of the tab, for the model it was made with.
const KEY = "zskl-description";

export function keep(description, { file, estimator }) {
  const of = JSON.stringify([file, estimator, description.attributes.map((one) => one.name)]);
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY));
    if (found?.of === of) description.restore(found.plain);
  } catch {
    // what cannot be read is not restored
  }
  description.addEventListener("change", () => {
    try {
      if (description.empty) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, JSON.stringify({ of, plain: description.plain }));
    } catch {
      // no room: nothing is kept
    }
  });
}
