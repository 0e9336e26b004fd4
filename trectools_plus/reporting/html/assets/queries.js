const PAGE_SIZE = 25;
const MOST_PRINTED = 300;

/** The list of queries: only the rows of the current page are drawn. The map shows all of them. */
class QueryList {
  constructor(queries, page) {
    Object.assign(this, { queries, page, start: 0, shown: [], origin: null });
    this.table = find("query-table");
    this.pages = find("query-pages");
    [this.search, this.filter, this.order] = ["search", "filter", "order"].map(
      (name) => find(`query-${name}`));
    this.failing = new Set(queries.failing);
    this.texts = null;
    this.heatmap = new Heatmap(queries, page);
    this.addOrders();
    this.addHeader();
    this.search.addEventListener("input", () => this.update());
    this.filter.addEventListener("change", () => this.update());
    this.order.addEventListener("change", () => this.update());
    find("query-controls").addEventListener("submit", (event) => event.preventDefault());
    find("query-origin").querySelector("button").addEventListener("click", () => {
      this.setOrigin(null);
      this.update();
      this.search.focus();
    });
    this.pages.addEventListener("click", (event) => {
      this.start += PAGE_SIZE * Number(event.target.dataset.step || 0);
      this.drawRows();
      announce(this.pages.children[1].textContent);
    });
    for (const part of [this.table, find("query-controls"), this.pages]) {
      part.hidden = false;
    }
  }

  addOrders() {
    const { modes, noun } = this.queries;
    const orders = [["file", "order of the file"]];
    if (modes.length > 1) {
      orders.push(["mean:desc", `mean of the ${noun}s, highest first`], ["mean:asc", `mean of the ${noun}s, lowest first`],
        ["spread:desc", `spread of the ${noun}s, largest first`],
        ["difference:desc", "difference of the plot, largest first"],
        ["difference:asc", "difference of the plot, smallest first"]);
    }
    modes.forEach((label, mode) => orders.push(
      [`${mode}:desc`, `${label}, highest first`], [`${mode}:asc`, `${label}, lowest first`]));
    orders.push(["id:asc", "query id"], ["id:desc", "query id, backwards"]);
    this.order.append(...orders.map(([value, text]) => makeOption(value, text)));
    this.order.value = modes.length > 1 ? "mean:desc" : "0:desc";
  }

  addHeader() {
    const columns = [["id", "Query", "asc"], ...this.queries.modes.map((label, mode) => [mode, label, "desc"])];
    if (this.queries.modes.length > 1) {
      columns.push(["spread", "Spread", "desc"]);
    }
    for (const [key, label, first] of columns) {
      const header = make("th", { scope: "col", className: key === "spread" ? "spread" : "name" }, label);
      this.table.tHead.rows[0].append(header);
      addSortButton(header, () => {
        const opposite = { asc: "desc", desc: "asc" }[first];
        const back = this.order.value === `${key}:${first}` && key !== "spread";
        this.order.value = `${key}:${back ? opposite : first}`;
        this.update();
        announce(`Sorted by ${label}, ${this.order.value.endsWith("asc") ? "ascending" : "descending"}`);
      });
      header.dataset.key = key;
    }
  }

  get partial() {
    return this.queries.valuesOf(this.page.measure);
  }

  valuesOf(query) {
    return this.partial.map((values) => values[query]);
  }

  /** Show only these queries; words say where they are from. */
  setOrigin(queries, words) {
    this.origin = queries && new Set(queries);
    find("query-origin").hidden = !queries;
    if (queries) {
      find("query-origin").querySelector("span").textContent = `${countQueries(queries.length)}: ${words}.`;
      this.search.value = "";
      this.filter.value = "all";
    }
  }

  keyOf() {
    const [key] = this.order.value.split(":");
    const keys = {
      id: (query) => this.queries.queries[query][0],
      mean: (query) => meanOf(this.valuesOf(query)),
      spread: (query) => spreadOf(this.valuesOf(query)),
      difference: (query) => this.page.plot.differenceOf(query),
    };
    return keys[key] || ((query) => this.partial[Number(key)][query]);
  }

  choose() {
    const { queries } = this;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !this.texts) {
      this.texts = queries.queries.map(([id, text]) => `${id} ${text}`.toLowerCase());
    }
    this.shown = [...queries.queries.keys()].filter((query) =>
      words.every((word) => this.texts[query].includes(word))
      && (!this.origin || this.origin.has(query))
      && (this.filter.value !== "fail" || this.failing.has(query))
      && (this.filter.value !== "differ" || spreadOf(this.valuesOf(query)) > 0));
    if (this.order.value !== "file") {
      const keyOf = this.keyOf();
      const direction = this.order.value.endsWith(":asc") ? "ascending" : "descending";
      const known = (value) => (Number.isNaN(value) ? null : value);
      const keyed = this.shown.map((query) => [known(keyOf(query)), query]);
      keyed.sort((one, other) => compareValues(one[0], other[0], direction) || one[1] - other[1]);
      this.shown = keyed.map(([, query]) => query);
    }
    const [key, way] = this.order.value.split(":");
    for (const header of this.table.tHead.rows[0].cells) {
      header.ariaSort = header.dataset.key !== key ? "none" : way === "asc" ? "ascending" : "descending";
    }
  }

  /** Draw the section anew after a change of measure, filter or order. */
  update() {
    this.start = 0;
    this.choose();
    this.heatmap.update(this.page.measure, this.shown);
    this.drawRows();
    announce(countQueries(this.shown.length));
  }

  makeRow(query, top) {
    const [id, text] = this.queries.queries[query];
    const lower = this.queries.lower[this.page.measure];
    const button = make("button", { type: "button", className: "open" }, id);
    button.addEventListener("click", () => this.page.openQuery(query, this.shown));
    const values = this.valuesOf(query);
    const best = bestOf(values, lower);
    const cells = values.map((value) => {
      const cell = make("td", { className: value === best ? "best" : "" }, show(value));
      if (!lower) {
        cell.append(makeBar(value, top, value === best));
      }
      return cell;
    });
    if (values.length > 1) {
      cells.push(make("td", { className: "spread" }, show(spreadOf(values))));
    }
    return make("tr", null, make("th", { scope: "row" }, button,
      make("span", { className: "text" }, text)), ...cells);
  }

  drawRows(printed = false) {
    const total = this.shown.length;
    this.start = Math.min(Math.max(this.start, 0), Math.max(0, Math.ceil(total / PAGE_SIZE) - 1) * PAGE_SIZE);
    const [start, end] = printed ? [0, MOST_PRINTED] : [this.start, this.start + PAGE_SIZE];
    const rows = this.shown.slice(start, end);
    const top = this.queries.topOf(this.page.measure);
    this.table.tBodies[0].replaceChildren(...rows.map((query) => this.makeRow(query, top)));
    this.table.caption.textContent = `${this.queries.measures[this.page.measure]} of each query`;
    const [previous, place, next] = this.pages.children;
    previous.disabled = start === 0;
    next.disabled = end >= total;
    place.textContent = rows.length
      ? `${count(start + 1)}–${count(start + rows.length)} of ${count(total)}` : "No query matches";
    find("query-printed").textContent = rows.length < total
      ? `The list has the first ${count(rows.length)} of ${countQueries(total)}; all are in per_query.parquet.` : "";
  }
}
