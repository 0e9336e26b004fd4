/** Make the cells of values, of which the best is emphasised. */
function makeValues(values, best) {
  return values.map((value) => make("td", { className: value === best ? "best" : "" }, show(value)));
}

/** Make the table of all measures of one query, by mode; the chosen measure is the first row. */
function makeMeasures(queries, query, measure) {
  const header = make("tr", null, make("th", { scope: "col" }, "Measure"),
    ...queries.modes.map((mode) => make("th", { scope: "col", className: "name" }, mode)));
  const others = [...queries.measures.keys()].filter((one) => one !== measure);
  const rows = [measure, ...others].map((one) => {
    const values = queries.valuesOf(one).map((ofMode) => ofMode[query]);
    const cells = makeValues(values, bestOf(values, queries.lower[one]));
    return make("tr", { className: one === measure ? "chosen" : "" },
      make("th", { scope: "row" }, queries.measures[one]), ...cells);
  });
  const table = make("table", null, make("caption", { className: "unseen" }, "All measures of this query"),
    make("thead", null, header), make("tbody", null, ...rows));
  return make("div", { className: "scroll", role: "group", tabIndex: 0,
    "aria-label": "All measures of this query" }, table);
}

/** Make the mark of a document's grade, with hidden text for screen readers. */
function makeGrade(level, grade) {
  const [kind, text, words] = grade === null
    ? ["unjudged", "?", "not judged"]
    : [grade >= level ? "relevant" : "rejected", String(grade).replace("-", "−"), `grade ${grade}`];
  return make("span", { className: `grade ${kind}`, title: words },
    make("span", { "aria-hidden": "true" }, text), make("span", { className: "unseen" }, words));
}

/** Make the list of the first results of one mode for a query. */
function makeResults(queries, query, mode) {
  const items = queries.resultsOf(mode, query).map(([docId, title, grade]) =>
    make("li", null, makeGrade(queries.level, grade),
      make("span", { className: "document" }, make("code", null, docId), title ? ` ${title}` : "")));
  return make("div", { className: "results" }, make("h3", null, queries.modes[mode]),
    items.length ? make("ol", null, ...items) : make("p", null, "No results."));
}

/** The dialog with one query: values of all measures, and the first results of each mode. */
class QueryDialog {
  constructor(queries, page) {
    Object.assign(this, { queries, page, order: [] });
    this.dialog = find("query-dialog");
    this.dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) {
        this.dialog.close();
      }
    });
    this.dialog.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && !event.target.closest(".scroll")) {
        this.step(step);
      }
    });
    addEventListener("hashchange", () => this.follow());
  }

  /** Open the query that the address names. */
  follow() {
    if (location.hash.startsWith("#q=")) {
      this.openId(decodeURIComponent(location.hash.slice(3)));
    }
  }

  openId(id) {
    const query = this.queries.queries.findIndex(([one]) => one === id);
    if (query >= 0) {
      this.open(query, [...this.queries.queries.keys()]);
    }
  }

  /** Open a query; previous and next follow the order. */
  open(query, order) {
    this.order = order;
    this.query = query;
    this.draw();
    if (!this.dialog.open) {
      this.dialog.showModal();
    }
    this.dialog.scrollTop = 0;
    history.replaceState(null, "", `#q=${encodeURIComponent(this.queries.queries[query][0])}`);
  }

  step(delta) {
    const next = this.order[this.order.indexOf(this.query) + delta];
    if (next !== undefined) {
      const focused = document.activeElement.textContent;
      this.open(next, this.order);
      const same = [...this.dialog.querySelectorAll("button")].find(
        (button) => button.textContent === focused && !button.disabled);
      (same || this.dialog.querySelector("button.close")).focus();
    }
  }

  draw() {
    const { queries, query } = this;
    const [id, text] = queries.queries[query];
    const place = this.order.indexOf(query);
    const button = (label, className, onClick, disabled) => {
      const made = make("button", { type: "button", className, disabled }, label);
      made.addEventListener("click", onClick);
      return made;
    };
    const head = make("div", { className: "head" },
      make("h2", { id: "query-heading" }, make("a", { href: `#q=${encodeURIComponent(id)}`,
        title: "Link to this query" }, id)),
      make("span", { className: "facts" }, `${count(place + 1)} of ${count(this.order.length)}`),
      button("Previous", "", () => this.step(-1), place <= 0),
      button("Next", "", () => this.step(1), place === this.order.length - 1),
      button("Close", "close", () => this.dialog.close(), false));
    const parts = [head];
    if (text) {
      parts.push(make("p", { className: "text" }, text));
    }
    parts.push(makeMeasures(queries, query, this.page.measure));
    if (queries.depth) {
      parts.push(make("p", { className: "hint" }, queries.depth > 1
        ? `First ${queries.depth} results with their grades. ?: not judged.`
        : "First result with its grade. ?: not judged."));
      parts.push(make("div", { className: "side" },
        ...queries.modes.map((_, mode) => makeResults(queries, query, mode))));
    }
    this.dialog.replaceChildren(...parts);
  }
}
