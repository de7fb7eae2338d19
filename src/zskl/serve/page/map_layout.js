// Where marks and names stand on the map, as numbers.

// Places in a box of `wide` by `high`, with `edge` kept free; both directions have the same scale.
export function placed(classes, wide, high, edge) {
  const [xs, ys] = [classes.map((one) => one.x), classes.map((one) => one.y)];
  const [left, right, low, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((wide - 2 * edge) / (right - left || 1), (high - 2 * edge) / (top - low || 1));
  return classes.map((one) => ({
    ...one,
    at: [wide / 2 + scale * (one.x - (left + right) / 2), high / 2 - scale * (one.y - (low + top) / 2)],
  }));
}

// The nearest other mark in a direction: within 45 degrees of it, else none.
export function towards(marks, from, [dx, dy]) {
  let [best, found] = [Infinity, null];
  for (const one of marks) {
    const [x, y] = [one.at[0] - from.at[0], one.at[1] - from.at[1]];
    const [along, aside] = [x * dx + y * dy, Math.abs(x * dy - y * dx)];
    if (one === from || along <= 0 || aside > along) continue;
    const far = along + 2 * aside;
    if (far < best) [best, found] = [far, one];
  }
  return found;
}

export function nearestTo(marks, [x, y], most) {
  let [best, found] = [most, null];
  for (const one of marks) {
    const far = Math.hypot(one.at[0] - x, one.at[1] - y);
    if (far < best) [best, found] = [far, one];
  }
  return found;
}

// Of the marks, in this order, those whose names fit without touching another name or mark: [{ one, x, y, side }].
export function labelled(marks, words, wide, most) {
  const boxes = marks.map(({ at: [x, y] }) => [x - 6, y - 6, x + 6, y + 6]);
  const found = [];
  for (const one of marks) {
    if (found.length >= most) break;
    const long = 6.6 * words(one).length + 4;
    const [x, y] = one.at;
    const sides = [["start", x + 8], ["end", x - 8 - long]];
    for (const [side, left] of sides) {
      const box = [left, y - 9, left + long, y + 9];
      if (box[0] < 2 || box[2] > wide - 2) continue;
      if (boxes.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      boxes.push(box);
      found.push({ one, side, x: side === "start" ? x + 8 : x - 8, y: y + 4 });
      break;
    }
  }
  return found;
}
