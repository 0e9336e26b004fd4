const MOST_BARS = 500;
const MOST_SEPARATE = 200;
const [PLOT_WIDTH, PLOT_HEIGHT] = [1000, 200];

/**
 * Move along a plot with pointer and keyboard: arrows, page, home and end move, Enter opens.
 *
 * The plot is a slider for assistive technology: its value is the position, in words.
 */
function addCursor(area, plot) {
  let place = 0;
  const step = (delta) => moveTo(Math.min(Math.max(place + delta, 0), plot.size() - 1));
  function moveTo(next) {
    place = next;
    area.setAttribute("aria-valuemax", plot.size());
    area.setAttribute("aria-valuenow", place + 1);
    area.setAttribute("aria-valuetext", plot.size() ? plot.point(place) : "No queries");
  }
  area.tabIndex = 0;
  for (const [name, value] of Object.entries({ role: "slider", "aria-valuemin": 1,
    "aria-valuenow": 1, "aria-valuemax": Math.max(1, plot.size()), "aria-label": plot.label })) {
    area.setAttribute(name, value);
  }
  const under = (event) => {
    const box = area.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.min(Math.max(Math.floor(share * plot.size()), 0), plot.size() - 1);
  };
  area.addEventListener("pointermove", (event) => plot.size() && moveTo(under(event)));
  area.addEventListener("pointerleave", () => document.activeElement === area || plot.leave());
  area.addEventListener("blur", () => plot.leave());
  area.addEventListener("focus", () => area.matches(":focus-visible") && plot.size() && step(0));
  area.addEventListener("click", (event) => {
    if (plot.size()) {
      moveTo(under(event));
      plot.open(place);
    }
  });
  area.addEventListener("keydown", (event) => {
    const far = Math.max(1, Math.round(plot.size() / 10));
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: far,
      PageDown: -far, Home: -Infinity, End: Infinity };
    if (!plot.size() || !(event.key in moves || event.key === "Enter" || event.key === " ")) {
      return;
    }
    event.preventDefault();
    if (event.key in moves) {
      step(moves[event.key]);
    } else {
      plot.open(place);
    }
  });
}

/** The difference of two modes on every query, largest first. */
class DifferencePlot {
  constructor(data, queries, page) {
    Object.assign(this, { data, queries, page, order: [], values: [] });
    this.figure = find("plot");
    this.area = find("plot-area");
    this.readout = find("plot-readout");
    this.selects = [find("plot-contrast"), find("plot-baseline")];
    this.chosen = false;
    this.paths = Object.fromEntries(["band", "better", "worse", "zero", "average", "cursor"].map(
      (name) => [name, draw("path", { class: name, d: "" })]));
    this.area.append(draw("svg", { viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, "aria-hidden": "true",
      preserveAspectRatio: "none" }, ...Object.values(this.paths)));
    this.drawPath("zero", `M0 ${PLOT_HEIGHT / 2}H${PLOT_WIDTH}`);
    this.figure.hidden = false;
    for (const select of this.selects) {
      select.append(...queries.modes.map((label, mode) => makeOption(mode, label)));
      select.addEventListener("change", () => this.choose(select));
    }
    find("plot-pair").hidden = queries.modes.length < 3;
    find("plot-pair").addEventListener("submit", (event) => event.preventDefault());
    addCursor(this.area, {
      label: "Differences of the queries, largest first",
      size: () => this.order.length,
      point: (place) => this.point(place),
      leave: () => this.leave(),
      open: (place) => page.openQuery(this.order[place], this.order),
    });
  }

  drawPath(name, d) {
    this.paths[name].setAttribute("d", d);
  }

  get pair() {
    return this.queries.modes.length > 1 ? this.selects.map((select) => Number(select.value)) : [0, -1];
  }

  /** Exchange the modes if both selects have the same one. */
  choose(changed) {
    const other = this.selects.find((select) => select !== changed);
    if (changed.value === other.value) {
      other.value = String(this.last[this.selects.indexOf(changed)]);
    }
    this.chosen = true;
    this.update(this.page.measure);
    this.page.pairChanged();
  }

  /** Return the difference of a query; NaN if it is undefined. */
  differenceOf(query) {
    const [contrast, baseline] = this.pair;
    const values = this.queries.valuesOf(this.page.measure);
    return baseline < 0 ? values[contrast][query] : values[contrast][query] - values[baseline][query];
  }

  update(measure) {
    if (!this.chosen) {
      this.data.pairs[measure].forEach((mode, place) => { this.selects[place].value = String(mode); });
    }
    this.last = this.pair;
    const { queries } = this;
    const sign = queries.lower[measure] ? -1 : 1;
    const all = [...queries.queries.keys()].map((query) => [query, this.differenceOf(query)]);
    const known = all.filter(([, value]) => !Number.isNaN(value));
    known.sort((one, other) => other[1] - one[1] || one[0] - other[0]);
    this.order = known.map(([query]) => query);
    this.values = known.map(([, value]) => value);
    this.sides = [1, 0, -1].map((side) => this.order.filter(
      (_, place) => Math.sign(Math.round(this.values[place] * queries.parts)) === side * sign));
    this.drawBars(measure, sign);
    this.drawTexts(measure);
  }

  /** Draw the bars on the axis that contains the differences of all pairs of modes. */
  drawBars(measure, sign) {
    const scale = makeScale([this.queries.furthestOf(measure) || 1], true);
    const middle = PLOT_HEIGHT / 2;
    const yOf = (value) => (middle - (value / scale.high) * middle).toFixed(1);
    const count = Math.min(this.values.length, MOST_BARS);
    const width = PLOT_WIDTH / Math.max(1, count);
    const filled = width * (count > MOST_SEPARATE ? 1 : 0.8);
    const paths = { better: "", worse: "" };
    for (let bar = 0; bar < count; bar += 1) {
      const start = Math.floor((bar * this.values.length) / count);
      const end = Math.floor(((bar + 1) * this.values.length) / count);
      const value = meanOf(this.values.slice(start, end));
      if (Math.abs(value) > 1e-9) {
        paths[value * sign > 0 ? "better" : "worse"]
          += `M${(bar * width).toFixed(1)} ${middle}V${yOf(value)}h${filled.toFixed(2)}V${middle}`;
      }
    }
    const [difference, low, high] = this.comparison(measure);
    this.drawPath("better", paths.better);
    this.drawPath("worse", paths.worse);
    this.drawPath("average", difference === null ? "" : `M0 ${yOf(difference)}H${PLOT_WIDTH}`);
    this.drawPath("band", low === null ? "" : `M0 ${yOf(high)}H${PLOT_WIDTH}V${yOf(low)}H0z`);
    const mark = [difference, low, high].map((end) => end ?? NaN);
    drawWhisker(find("plot-mean"), mark, this.page.differenceScale(measure));
    find("plot-mean").toggleAttribute("hidden", difference === null);
    find("plot-scale").replaceChildren(...labelsAround(scale).map((label) => make("span", null, label)));
    this.leave();
  }

  /** Return [difference, low, high, result in words] of the pair, or nulls. */
  comparison(measure) {
    const [contrast, baseline] = this.pair;
    for (const [one, other, difference, low, high, result] of this.data.comparisons[measure]) {
      if (one === contrast && other === baseline) {
        return [difference, low, high, result];
      }
      if (one === baseline && other === contrast && difference !== null) {
        const turn = (end) => (end === null ? null : 0 - end);
        return [turn(difference), turn(high), turn(low), result];
      }
    }
    return [null, null, null, ""];
  }

  drawTexts(measure) {
    const { modes } = this.queries;
    const [contrast, baseline] = this.pair;
    const name = this.queries.measures[measure];
    find("plot-title").textContent = baseline < 0
      ? `${modes[contrast]} on each query: ${name}`
      : `${modes[contrast]} − ${modes[baseline]} on each query: ${name}`;
    const [difference, low, high, result] = this.comparison(measure);
    const interval = low === null ? "" : ` [${show(low, 4, true)}, ${show(high, 4, true)}]`;
    find("plot-result").textContent = difference === null ? ""
      : `Mean difference ${show(difference, 4, true)}${interval}; ${result}.`;
    if (baseline >= 0) {
      const texts = [`${modes[contrast]} better`, "equal", `${modes[baseline]} better`];
      const kinds = ["side-better", "", "side-worse"];
      find("plot-sides").replaceChildren(...this.sides.map((side, place) => {
        const text = `${texts[place]}: ${count(side.length)}`;
        const button = make("button", { type: "button", className: kinds[place],
          disabled: !side.length }, text);
        button.addEventListener("click", () => this.page.showQueries(side,
          `${texts[place]} on ${name} (${modes[contrast]} − ${modes[baseline]})`));
        return button;
      }));
    }
  }

  point(place) {
    const query = this.order[place];
    const values = this.queries.valuesOf(this.page.measure);
    const [contrast, baseline] = this.pair;
    const [id, text] = this.queries.queries[query];
    const width = PLOT_WIDTH / this.order.length;
    this.drawPath("cursor", `M${((place + 0.4) * width).toFixed(1)} 0V${PLOT_HEIGHT}`);
    const shown = baseline < 0 ? show(values[contrast][query])
      : `${show(this.values[place], 4, true)} (${show(values[contrast][query])} − ${show(values[baseline][query])})`;
    const words = `${id}: ${shown}${text ? ` · ${text}` : ""}`;
    this.readout.textContent = words;
    return `${words}, ${place + 1} of ${this.order.length}`;
  }

  leave() {
    this.drawPath("cursor", "");
    this.readout.textContent = "Point at a bar, or use the arrow keys; click or press Enter to open the query.";
  }
}

/** Return the bars of a histogram as [label, contains]; ten ranges, or few distinct values. */
function binsOf(values, top) {
  const distinct = [...new Set(values)].sort((one, other) => one - other);
  const short = (value) => String(Number(value.toFixed(top > 1 ? 1 : 2)));
  if (distinct.length <= 11) {
    return distinct.map((value) => [short(value), `${show(value)}`, (each) => each === value]);
  }
  return [...Array(10).keys()].map((place) => {
    const [low, high] = [(place * top) / 10, ((place + 1) * top) / 10];
    return [short(low), `${short(low)} to ${short(high)}`,
      (value) => value >= low && (value < high || (place === 9 && value <= high))];
  });
}

const RANKS = [[1, 1], [2, 2], [3, 3], [4, 5], [6, 10], [11, 20], [21, 50], [51, 100], [101, Infinity]];

/** The bars of the ranks of first relevant results, as far as the runs go. */
function rankBins(deepest) {
  const bins = RANKS.filter(([low]) => low <= deepest).map(([low, high]) => {
    const label = low === high ? String(low) : high === Infinity ? `${low}+` : `${low}–${high}`;
    return [label, `rank ${label}`, (rank) => rank >= low && rank <= high];
  });
  return [...bins, ["none", "not found", (rank) => rank === 0]];
}

/** Draw the histogram of one mode. Each bar is a button that lists its queries. */
function drawHistogram(mode, bins, counts, most, choose) {
  const [width, height, floor, letter] = [260, 118, 86, 5.6];
  const step = width / bins.length;
  const isCrowded = bins.some(([label]) => label.length * letter > step);
  const texts = draw("g", { class: "texts", "aria-hidden": "true" });
  const bars = bins.map(([label, words], place) => {
    const size = counts[place].length;
    const tall = most ? (size / most) * 66 : 0;
    const x = place * step;
    const bar = draw("g", { class: "bar", role: "button", tabindex: place ? -1 : 0,
      "aria-label": `${countQueries(size)}: ${words}` },
    draw("title", null, `${countQueries(size)}: ${words}`),
    draw("rect", { class: "hit", x, y: 0, width: step, height }),
    draw("rect", { class: "fill", x: x + step * 0.1, y: floor - tall, width: step * 0.8, height: tall }));
    texts.append(
      draw("text", { class: "number", x: x + step / 2, y: floor - tall - 4, "text-anchor": "middle" },
        size ? count(size) : ""),
      draw("text", { x: x + step / 2, y: floor + (isCrowded && place % 2 ? 27 : 13), "text-anchor": "middle" }, label));
    const chosen = () => size && choose(counts[place], words);
    bar.addEventListener("click", chosen);
    bar.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        chosen();
      } else if (move) {
        const next = bars[(place + move + bars.length) % bars.length];
        bars.forEach((one) => one.setAttribute("tabindex", one === next ? 0 : -1));
        next.focus();
      }
    });
    return bar;
  });
  const base = draw("path", { class: "zero", d: `M0 ${floor}H${width}` });
  return make("figure", { className: "histogram" }, make("figcaption", null, mode),
    draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "toolbar", "aria-label": mode }, base, ...bars, texts));
}

/** Draw the histograms of all modes with one scale. */
function drawHistograms(target, queries, bins, valueOf, choose) {
  const counts = queries.modes.map((_, mode) => {
    const found = bins.map(() => []);
    for (let query = 0; query < queries.size; query += 1) {
      const place = bins.findIndex(([, , contains]) => contains(valueOf(mode, query)));
      if (place >= 0) {
        found[place].push(query);
      }
    }
    return found;
  });
  const most = Math.max(...counts.flat().map((found) => found.length));
  target.replaceChildren(...queries.modes.map((label, mode) =>
    drawHistogram(label, bins, counts[mode], most, (found, words) => choose(found, mode, words))));
}
