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
      open: (place) => page.dialog.open(this.order[place], this.order),
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
  }

  /** Return the difference of a query; NaN if it is undefined. */
  differenceOf(query) {
    const [contrast, baseline] = this.pair;
    const values = this.queries.valuesOf(this.page.measure);
    return baseline < 0 ? values[contrast][query] : values[contrast][query] - values[baseline][query];
  }

  update(measure) {
    if (!this.chosen) {
      this.pairOf(measure).forEach((mode, place) => { this.selects[place].value = String(mode); });
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
      (_, place) => Math.sign(Math.round(this.values[place] * 1e6)) === side * sign));
    this.drawBars(measure, sign);
    this.drawTexts(measure);
  }

  /** Draw the bars on the axis that contains the differences of all pairs of modes. */
  drawBars(measure, sign) {
    const scale = makeScale(this.queries.furthestOf(measure) || 1);
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
    find("plot-scale").replaceChildren(...labelsAround(scale).map((label) => make("span", null, label)));
    this.leave();
  }

  /** Return the places of the modes of the verdict; without one, of the first two, or 0 and -1. */
  pairOf(measure) {
    const { best, second } = this.data.verdicts[measure] ?? {};
    if (best && second) {
      return [best, second].map((mode) => this.data.modes.indexOf(mode));
    }
    return this.data.modes.length > 1 ? [1, 0] : [0, -1];
  }

  /** Return [difference, low, high, result in words] of the pair, or nulls. */
  comparison(measure) {
    const [contrast, baseline] = this.pair;
    const names = [this.data.modes[contrast], this.data.modes[baseline]];
    const entry = this.data.comparisons[measure].find(
      ([one, other]) => names.includes(one) && names.includes(other));
    if (entry) {
      const [first, , difference, low, high, adjusted, significant] = entry;
      const p = adjusted !== null && adjusted < 0.0001 ? "<0.0001" : show(adjusted);
      const result = `p ${p} adjusted; ${significant ? "" : "not "}significant`;
      const turn = (end) => (end === null ? null : 0 - end);
      return first === names[0] ? [difference, low, high, result]
        : [turn(difference), turn(high), turn(low), result];
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
