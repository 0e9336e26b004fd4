/** The page: the switch of the measure, and everything that follows it. */
class ReportPage {
  constructor(data, queries) {
    this.data = data;
    this.queries = queries;
    this.measure = 0;
    this.select = find("measure");
    document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
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
    this.select.append(...this.data.measures.map((name, place) => makeOption(place, name)));
    this.select.value = "0";
    this.select.addEventListener("change", () => {
      this.change(Number(this.select.value));
      announce(`Measure: ${this.data.measures[this.measure]}`);
    });
    find("bar").hidden = false;
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
    find("verdict").textContent = this.data.verdicts[measure]?.text ?? "";
    find("measure-shown").textContent = name;
    this.markColumn(name);
    if (this.queries && measure < this.queries.measures.length) {
      this.plot?.update(measure);
      this.stale = true;
      if (find("queries").open) {
        this.refresh();
      }
    }
  }

  /** Mark the column of the measure. */
  markColumn(name) {
    for (const table of document.querySelectorAll("#result table")) {
      const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === name);
      for (const { cells } of table.rows) {
        [...cells].forEach((cell, place) => cell.classList.toggle("chosen", place === column));
      }
    }
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

function readData(id) {
  const element = find(id);
  return element && JSON.parse(element.textContent);
}

const queryData = readData("query-data");
const reportPage = new ReportPage(readData("switch-data"), queryData && new Queries(queryData));
