// What is asked of the model for rows of the loaded data or of a file, in one way for all.
import { call } from "./api.js";

export const dataSource = (rows) => ({
  rows,
  request: (start, end) => ({ body: { data_rows: rows.slice(start, end).map((one) => one.row) } }),
});

// `options`: those of /predict. The predictions of the rows from `start` to `end` of a source.
export async function predicted(source, start, end, options, signal) {
  const { body, type } = source.request(start, end);
  const asked = type ? { body, type, query: options } : { body: { ...body, ...options } };
  const found = await call("predict", { method: "POST", signal, ...asked });
  return source.whole ? found.predictions.slice(start, end) : found.predictions;
}
