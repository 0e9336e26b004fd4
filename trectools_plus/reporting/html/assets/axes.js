const [AXIS_WIDTH, AXIS_EDGE, AXIS_HEIGHT] = [120, 14, 14];
const MOST_STEPS = 6;

/** Return the smallest axis of at most six round steps that contains all values; NaN is ignored. */
function makeScale(values, aroundZero = false) {
  let known = defined(values);
  if (aroundZero) {
    const furthest = Math.max(0, ...known.map(Math.abs));
    known = [-furthest, furthest];
  }
  let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  if (high - low < 1e-9) {
    [low, high] = [low - 0.05, high + 0.05];
  }
  const magnitude = 10 ** Math.floor(Math.log10((high - low) / MOST_STEPS));
  const ends = [1, 2, 2.5, 5, 10].map((factor) => {
    const step = factor * magnitude;
    return [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9), step];
  });
  const [first, last, step] = ends.find(([start, end]) => end - start <= MOST_STEPS) || ends.at(-1);
  return { low: first * step, high: last * step, step, count: last - first, aroundZero };
}

/** Return the position of a value on an axis, to a tenth. */
function placeOn(scale, value) {
  const share = (value - scale.low) / (scale.high - scale.low);
  return (AXIS_EDGE + share * (AXIS_WIDTH - 2 * AXIS_EDGE)).toFixed(1);
}

/** Return the values at the steps of an axis. */
function stepsOf(scale) {
  return [...Array(scale.count + 1).keys()].map((place) =>
    Number((scale.low + place * scale.step).toFixed(12)));
}

/** Return a value of an axis with as many decimals as its steps need. */
function labelOn(scale, value) {
  const decimals = [...Array(12).keys()].find(
    (digits) => Math.abs(Number(scale.step.toFixed(digits)) - scale.step) < 1e-12) ?? 12;
  return show(value + 0, decimals);
}

/** Return the labels at equal distances of an axis around zero, from its upper end. */
function labelsAround(scale) {
  return stepsOf(scale).reverse().map((value) => (value === 0 ? "0" : value.toLocaleString("en",
    { signDisplay: "always", maximumFractionDigits: 12 }).replace("-", "−")));
}

/** Draw a mean with its interval, next to which the same figures are text. */
function drawWhisker(svg, [mean, low, high], scale) {
  const middle = AXIS_HEIGHT / 2;
  const at = (value) => placeOn(scale, value);
  const paths = [["grid", stepsOf(scale).map((value) => `M${at(value)} 0V${AXIS_HEIGHT}`).join("")]];
  if (scale.aroundZero) {
    paths.push(["zero", `M${at(0)} 0V${AXIS_HEIGHT}`]);
  }
  if (!Number.isNaN(low) && !Number.isNaN(high)) {
    const ends = [low, high].map((end) => `M${at(end)} ${middle / 2}V${1.5 * middle}`);
    paths.push(["span", `M${at(low)} ${middle}H${at(high)}${ends.join("")}`]);
  }
  if (!Number.isNaN(mean)) {
    paths.push(["dot", `M${at(mean)} ${middle}h0`]);
  }
  svg.setAttribute("viewBox", `0 0 ${AXIS_WIDTH} ${AXIS_HEIGHT}`);
  svg.replaceChildren(...paths.map(([name, d]) => draw("path", { class: name, d })));
}

/** Label an axis at its ends and its middle. */
function labelAxis(axis, scale) {
  const steps = stepsOf(scale);
  const labelled = steps.filter((_, place) => [0, scale.count / 2, scale.count].includes(place));
  axis.setAttribute("viewBox", `0 0 ${AXIS_WIDTH} ${AXIS_HEIGHT}`);
  axis.replaceChildren(...labelled.map((value) => draw("text",
    { x: placeOn(scale, value), y: 11, "text-anchor": "middle" }, labelOn(scale, value))));
}

/** Return the numbers of an element to draw: NaN where one is undefined. */
function valuesIn(element) {
  const values = element.dataset.values;
  return values ? values.split(" ").map(Number) : [NaN, NaN, NaN];
}

/** Draw everything in a table: values with the same data-axis share an axis. */
function drawTable(table, given = {}) {
  const parts = [...table.querySelectorAll("[data-axis]")];
  for (const name of new Set(parts.map((part) => part.dataset.axis))) {
    const group = parts.filter((part) => part.dataset.axis === name);
    const [axes, whiskers] = [true, false].map(
      (kind) => group.filter((part) => part.classList.contains("axis") === kind));
    const scale = given[name] || makeScale(whiskers.flatMap(valuesIn));
    axes.forEach((axis) => labelAxis(axis, scale));
    whiskers.forEach((whisker) => drawWhisker(whisker, valuesIn(whisker), scale));
  }
}
