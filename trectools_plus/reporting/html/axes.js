const MOST_STEPS = 6;

/** Return the smallest axis around zero of at most six round steps that contains a value. */
function makeScale(furthest) {
  const [low, high] = furthest < 1e-9 ? [-0.05, 0.05] : [-furthest, furthest];
  const magnitude = 10 ** Math.floor(Math.log10((high - low) / MOST_STEPS));
  const ends = [1, 2, 2.5, 5, 10].map((factor) => {
    const step = factor * magnitude;
    return [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9), step];
  });
  const [first, last, step] = ends.find(([start, end]) => end - start <= MOST_STEPS) || ends.at(-1);
  return { low: first * step, high: last * step, step, count: last - first };
}

/** Return the values at the steps of an axis. */
function stepsOf(scale) {
  return [...Array(scale.count + 1).keys()].map((place) =>
    Number((scale.low + place * scale.step).toFixed(12)));
}

/** Return the labels at equal distances of an axis around zero, from its upper end. */
function labelsAround(scale) {
  return stepsOf(scale).reverse().map((value) => (value === 0 ? "0" : value.toLocaleString("en",
    { signDisplay: "always", maximumFractionDigits: 12 }).replace("-", "−")));
}
