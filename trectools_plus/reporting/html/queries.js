const PAGE_SIZE = 25;
const MOST_PRINTED = 300;

/** The list of queries: only the rows of the current page are drawn. */
class QueryList {
  constructor(queries, page) {
    Object.assign(this, { queries, page, start: 0, shown: [], origin: null });
    this.table = find("query-table");
    this.pages = find("query-pages");
    [this.search, this.filter] = ["search", "filter"].map((name) => find(`query-${name}`));
    [this.key, this.direction] = [queries.modes.length > 1 ? "spread" : 0, "descending"];
    this.texts = null;
    this.addHeader();
    this.search.addEventListener("input", () => this.update());
    this.filter.addEventListener("change", () => this.update());
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

  addHeader() {
    const columns = [["id", "Query", "ascending"],
      ...this.queries.modes.map((label, mode) => [mode, label, "descending"])];
    if (this.queries.modes.length > 1) {
      columns.push(["spread", "Spread", "descending"]);
    }
    for (const [key, label, first] of columns) {
      const header = make("th", { scope: "col", className: key === "spread" ? "spread" : "name" }, label);
      this.table.tHead.rows[0].append(header);
      addSortButton(header, () => {
        [this.key, this.direction] = [key, nextDirection(header, first)];
        this.update();
        markSorted(header, this.direction);
      });
      header.ariaSort = key === this.key ? this.direction : "none";
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

  /** Return the value by which a query is sorted; null if it is undefined. */
  sortValue(query) {
    if (this.key === "id") {
      return this.queries.queries[query][0];
    }
    const value = this.key === "spread" ? spreadOf(this.valuesOf(query)) : this.partial[this.key][query];
    return Number.isNaN(value) ? null : value;
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
      && (this.filter.value !== "fail" || this.valuesOf(query).every((value) => value === 0))
      && (this.filter.value !== "differ" || spreadOf(this.valuesOf(query)) > 0));
    const keyed = this.shown.map((query) => [this.sortValue(query), query]);
    keyed.sort((one, other) => compareValues(one[0], other[0], this.direction) || one[1] - other[1]);
    this.shown = keyed.map(([, query]) => query);
  }

  /** Draw the section anew after a change of measure, filter or order. */
  update() {
    this.start = 0;
    this.choose();
    this.drawRows();
    announce(countQueries(this.shown.length));
  }

  makeRow(query) {
    const [id, text] = this.queries.queries[query];
    const button = make("button", { type: "button", className: "open" }, id);
    button.addEventListener("click", () => this.page.dialog.open(query, this.shown));
    const values = this.valuesOf(query);
    const cells = makeValues(values, bestOf(values, this.queries.lower[this.page.measure]));
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
    this.table.tBodies[0].replaceChildren(...rows.map((query) => this.makeRow(query)));
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
