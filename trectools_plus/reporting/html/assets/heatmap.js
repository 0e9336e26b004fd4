const MOST_COLUMNS = 300;
const SHADES = 10;

/** A map of modes by queries. With very many queries, a column is the mean of several. */
class Heatmap {
  constructor(queries, page) {
    Object.assign(this, { queries, page, columns: [], shown: [] });
    this.figure = find("heatmap");
    this.figure.hidden = false;
    this.area = this.figure.querySelector(".area");
    this.readout = this.figure.querySelector(".readout");
    addCursor(this.area, {
      label: "Queries of the map",
      size: () => this.columns.length,
      point: (place) => this.point(place),
      leave: () => this.leave(),
      open: (place) => this.open(place),
    });
  }

  update(measure, shown) {
    const { queries } = this;
    this.shown = shown;
    const columns = Math.min(shown.length, MOST_COLUMNS);
    this.columns = [...Array(columns).keys()].map((column) => shown.slice(
      Math.floor((column * shown.length) / columns), Math.floor(((column + 1) * shown.length) / columns)));
    const values = queries.valuesOf(measure);
    const top = queries.topOf(measure);
    const width = Math.max(1, columns);
    const filled = columns > 100 ? 1 : 0.94;
    const paths = new Map();
    this.means = queries.modes.map((_, mode) => this.columns.map((column, place) => {
      const mean = meanOf(column.map((query) => values[mode][query]));
      const shade = Number.isNaN(mean) ? "none" : Math.round(Math.max(0, mean / top) * SHADES);
      paths.set(shade, `${paths.get(shade) || ""}M${place} ${mode}h${filled}v.92h-${filled}z`);
      return mean;
    }));
    this.area.replaceChildren(draw("svg", { viewBox: `0 0 ${width} ${queries.modes.length}`,
      preserveAspectRatio: "none", "aria-hidden": "true" },
    ...[...paths].sort().map(([shade, d]) => draw("path", { class: `shade-${shade}`, d })),
    draw("path", { class: "cursor", d: "" })));
    this.area.style.height = `${queries.modes.length * 1.9}rem`;
    this.figure.querySelector(".labels").replaceChildren(
      ...queries.modes.map((label) => make("span", { title: label }, label)));
    const each = this.columns.some((column) => column.length > 1)
      ? ` A column is the mean of up to ${Math.max(...this.columns.map((one) => one.length))} queries; open it to see them.`
      : " A column is a query; open it with a click or Enter.";
    this.figure.querySelector("figcaption").textContent =
      `${queries.measures[measure]} of ${countQueries(shown.length)} by ${queries.noun}, in the order of the list.${each}`;
    const key = [...Array(SHADES + 1).keys()].map((shade) =>
      draw("rect", { class: `shade-${shade}`, x: shade, y: 0, width: 1, height: 1 }));
    this.figure.querySelector(".key").replaceChildren(make("span", null, "0"),
      draw("svg", { viewBox: `0 0 ${SHADES + 1} 1`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...key),
      make("span", null, show(top, top > 1 ? 2 : 0)));
    this.leave();
  }

  point(place) {
    const column = this.columns[place];
    this.area.querySelector(".cursor").setAttribute("d",
      `M${place} 0h1v${this.queries.modes.length}h-1z`);
    const values = this.queries.modes.map((label, mode) => `${label} ${show(this.means[mode][place])}`);
    const [id, text] = this.queries.queries[column[0]];
    const words = column.length > 1
      ? `${countQueries(column.length)} from ${id}, mean: ${values.join(", ")}`
      : `${id}: ${values.join(", ")}${text ? ` · ${text}` : ""}`;
    this.readout.textContent = words;
    return `${words}, ${place + 1} of ${this.columns.length}`;
  }

  leave() {
    const cursor = this.area.querySelector(".cursor");
    if (cursor) {
      cursor.setAttribute("d", "");
    }
    this.readout.textContent = "";
  }

  open(place) {
    const column = this.columns[place];
    if (column.length === 1) {
      this.page.openQuery(column[0], this.shown);
    } else {
      this.page.showQueries(column, "one column of the map");
    }
  }
}
