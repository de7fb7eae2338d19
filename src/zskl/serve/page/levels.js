// How much of an attribute a class has, in words: four steps from the lowest value of any class to the highest. A value
// is called by the step that is nearest, so the cuts are at 1/6, 1/2 and 5/6 of the range.
export const STEPS = [
  ["no", 0],
  ["a little", 1 / 3],
  ["typical", 2 / 3],
  ["strongly", 1],
];

export const valueOf = ({ low, high }, part) => (part === 1 ? high : low + part * (high - low));
export const levelOf = ({ low, high }, value) => {
  const part = high > low ? (value - low) / (high - low) : 1;
  return STEPS.reduce((best, one) => (Math.abs(one[1] - part) <= Math.abs(best[1] - part) ? one : best))[0];
};
// The step that a value is exactly, or null.
export const stepOf = (one, value) => STEPS.find(([, part]) => valueOf(one, part) === value)?.[0] ?? null;

// Whether values are degrees of having something, from 0 to 1 or 100. A speed or an age needs its number.
export const areDegrees = (attributes) => {
  const rest = attributes.filter((one) => !one.binary);
  const highest = Math.max(0, ...rest.map((one) => one.high));
  return rest.length > 0 && highest <= 100 && rest.every((one) => one.low >= 0 && (highest <= 1 || one.high > 1));
};
