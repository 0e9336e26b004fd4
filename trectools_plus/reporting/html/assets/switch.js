/** The page: the switch of the measure, and everything that follows it. */
class ReportPage {
  constructor(data, queries) {
    this.data = data;
    this.queries = queries;
    this.measure = 0;
    this.select = find("measure");
    this.filled = [...document.querySelectorAll("[data-fill]")].map((part) => [
      part.dataset.fill,
      part.hasAttribute("data-f") ? [part] : [...part.querySelectorAll("[data-f]")]]);
    this.table = document.querySelector("#result table");
    this.headlines = new Set([...this.table.tHead.rows[0].cells].map((cell) => cell.dataset.measure));
    document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
    document.querySelectorAll("table.means").forEach((table) => drawTable(table));
    this.addSwitch();
    this.dialog = queries && new QueryDialog(queries, this);
    this.plot = queries && find("plot") && new DifferencePlot(data, queries, this);
    this.list = queries && new QueryList(queries, this);
    this.stale = false;
    this.addSections();
    this.change(0);
    this.dialog?.follow();
  }

  addSwitch() {
    const groups = [["Headline", []], ["Other", []]];
    this.data.measures.forEach((name, place) => {
      groups[this.headlines.has(name) ? 0 : 1][1].push(makeOption(place, name));
    });
    for (const [label, options] of groups.filter(([, found]) => found.length)) {
      this.select.append(make("optgroup", { label }, ...options));
    }
    this.select.value = "0";
    this.select.addEventListener("change", () => {
      this.change(Number(this.select.value));
      announce(`Measure: ${this.data.measures[this.measure]}`);
    });
    find("bar").hidden = false;
    for (const header of document.querySelectorAll("th[data-measure]")) {
      header.dataset.place = this.data.measures.indexOf(header.dataset.measure);
    }
  }

  addSections() {
    const sections = [...document.querySelectorAll("details.section")];
    find("queries")?.addEventListener("toggle", () => find("queries").open && this.refresh());
    find("unfold").addEventListener("click", () => {
      const open = find("unfold").getAttribute("aria-pressed") !== "true";
      sections.forEach((section) => { section.open = open; });
      find("unfold").setAttribute("aria-pressed", String(open));
      find("unfold").textContent = open ? "Close all sections" : "Open all sections";
    });
    if (this.dialog) {
      document.querySelectorAll("details.section table").forEach((table) => this.linkQueries(table));
    }
    addEventListener("beforeprint", () => this.unfoldForPrint());
    addEventListener("afterprint", () => this.foldAfterPrint());
  }

  /** Make the ids in the first column of a table open their queries, if they are ids of queries. */
  linkQueries(table) {
    if (table.tHead.rows[0].cells[0]?.textContent !== "Query" || table === this.list.table) {
      return;
    }
    for (const { cells: [cell] } of table.tBodies[0].rows) {
      const id = cell.textContent;
      const link = make("a", { href: "#queries", "data-query": id }, id);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.dialog.openId(id);
      });
      cell.replaceChildren(link);
    }
  }

  /** Show another measure everywhere. */
  change(measure) {
    this.measure = measure;
    const name = this.data.measures[measure];
    for (const [part, elements] of this.filled) {
      fill(elements, this.data.fills[part][measure]);
    }
    const given = { difference: this.differenceScale(measure) };
    document.querySelectorAll("table.differences, table.strata").forEach((table) => drawTable(table, given));
    for (const shown of document.querySelectorAll("[data-shown], #measure-shown")) {
      shown.textContent = name;
    }
    this.markColumn(name);
    if (this.queries && measure < this.queries.measures.length) {
      this.plot?.update(measure);
      this.stale = true;
      if (find("queries").open) {
        this.refresh();
      }
    }
  }

  /** Return the axis of the mean differences of all pairs on a measure. */
  differenceScale(measure) {
    const ends = this.data.comparisons[measure].flatMap((entry) => entry.slice(2, 5));
    return makeScale(ends.map((end) => end ?? NaN), true);
  }

  /** Mark the column of the measure; add it to the headline table if it is not one of them. */
  markColumn(name) {
    this.table.querySelectorAll("[data-added]").forEach((cell) => cell.remove());
    if (!this.headlines.has(name)) {
      const source = [...document.querySelectorAll("#others table")].find(
        (table) => [...table.tHead.rows[0].cells].some((cell) => cell.dataset.measure === name));
      this.addColumn(source, name);
    }
    for (const cell of document.querySelectorAll("[data-measure]")) {
      cell.classList.toggle("chosen", cell.dataset.measure === name);
    }
  }

  addColumn(source, name) {
    const labelOf = (row) => row.cells[0].dataset.value ?? row.parentElement.tagName;
    const rows = new Map([...source.rows].map((row) => [labelOf(row), row]));
    for (const row of this.table.rows) {
      const cell = [...rows.get(labelOf(row)).cells].find((one) => one.dataset.measure === name).cloneNode(true);
      cell.dataset.added = "";
      const button = cell.querySelector("button.sort");
      if (button) {
        cell.replaceChildren(...button.childNodes);
        cell.removeAttribute("aria-sort");
      }
      row.cells[0].after(cell);
    }
    makeSortable(this.table);
  }

  /** Draw the list of queries, if it is not up to date. */
  refresh() {
    if (this.stale) {
      this.stale = false;
      this.list.update();
    }
  }

  /** List the queries behind a bar. */
  showQueries(queries, words) {
    this.list.setOrigin(queries, words);
    this.stale = true;
    find("queries").open = true;
    this.refresh();
    find("query-origin").scrollIntoView({ block: "start" });
    find("query-origin").querySelector("button").focus({ preventScroll: true });
  }

  unfoldForPrint() {
    this.refresh();
    this.list?.drawRows(true);
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      details.dataset.folded = "";
    }
  }

  foldAfterPrint() {
    for (const details of document.querySelectorAll("details[data-folded]")) {
      details.open = false;
      delete details.dataset.folded;
    }
    this.list?.drawRows();
  }
}

/** Set texts, values to draw and classes of elements. */
function fill(elements, contents) {
  elements.forEach((element, place) => {
    const content = contents[place];
    switch (element.dataset.f) {
      case "v":
        element.dataset.values = content;
        break;
      case "c":
        element.className = content;
        break;
      default:
        element.textContent = content;
    }
  });
}

function readData(id) {
  const element = find(id);
  return element && JSON.parse(element.textContent);
}

const queryData = readData("query-data");
const reportPage = new ReportPage(readData("switch-data"), queryData && new Queries(queryData));
