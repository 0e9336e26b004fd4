// The table of all queries: only the rows of the current page are drawn.
const PAGE_SIZE = 25;

function startQueries(data) {
  const table = document.getElementById("query-table");
  const controls = document.getElementById("query-controls");
  const pages = document.getElementById("query-pages");
  const [search, measure, filter] = ["search", "measure", "filter"].map(
    (name) => document.getElementById(`query-${name}`));
  const failing = new Set(data.failing);
  const texts = data.queries.map(([id, text]) => `${id} ${text}`.toLowerCase());
  const state = { column: null, direction: null, page: 0, open: new Set() };
  let shown = [];

  const partsOf = (query) => data.values[measure.selectedIndex].map((values) => values[query]);
  const spreadOf = (query) => {
    const known = partsOf(query).filter((part) => part !== null);
    return known.length < 2 ? null : Math.max(...known) - Math.min(...known);
  };
  const columns = [
    { label: "Query", first: "ascending", valueOf: (query) => data.queries[query][0] },
    ...data.modes.map((label, mode) => ({
      label, first: "descending", valueOf: (query) => partsOf(query)[mode],
    })),
  ];
  if (data.modes.length > 1) {
    columns.push({ label: "Spread", first: "descending", valueOf: spreadOf });
  }

  function choose() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = [...data.queries.keys()].filter((query) =>
      words.every((word) => texts[query].includes(word))
      && (filter.value !== "fail" || failing.has(query))
      && (filter.value !== "differ" || spreadOf(query) > 0));
    if (state.column) {
      const keyed = shown.map((query) => [state.column.valueOf(query), query]);
      keyed.sort((one, other) => compareValues(one[0], other[0], state.direction)
        || one[1] - other[1]);
      shown = keyed.map(([, query]) => query);
    }
  }

  function makeHead(query) {
    const [id, text] = data.queries[query];
    const open = state.open.has(query);
    const button = make("button", { type: "button", className: "open", "aria-expanded": open,
      "aria-controls": `query-${query}` }, id);
    button.addEventListener("click", () => {
      state.open[open ? "delete" : "add"](query);
      draw();
      table.querySelector(`[aria-controls="query-${query}"]`).focus();
    });
    return make("th", { scope: "row" }, button, make("span", { className: "text" }, text));
  }

  function makeRows(query) {
    const parts = partsOf(query);
    const lower = data.lower[measure.selectedIndex];
    const best = bestOf(parts, lower);
    const cells = parts.map((part) => {
      const cell = make("td", { className: part !== null && part === best ? "best" : "" },
        showValue(data, part));
      if (!lower && part !== null) {
        cell.style.setProperty("--share", Math.max(0, part / data.tops[measure.selectedIndex]));
        cell.classList.add("bar");
      }
      return cell;
    });
    if (data.modes.length > 1) {
      cells.push(make("td", { className: "spread" }, showValue(data, spreadOf(query))));
    }
    const row = make("tr", { className: state.open.has(query) ? "opened" : "" }, makeHead(query), ...cells);
    const isOpen = state.open.has(query);
    const inside = make("td", { colspan: columns.length });
    if (isOpen) {
      inside.append(make("div", { className: "inside" }, ...makeDetails(data, query)));
    }
    return [row, make("tr", { id: `query-${query}`, className: "detail", hidden: !isOpen }, inside)];
  }

  function draw() {
    const last = Math.max(0, Math.ceil(shown.length / PAGE_SIZE) - 1);
    state.page = Math.min(Math.max(state.page, 0), last);
    const start = state.page * PAGE_SIZE;
    const page = shown.slice(start, start + PAGE_SIZE);
    table.tBodies[0].replaceChildren(...page.flatMap(makeRows));
    table.caption.textContent = `${measure.value} of each query`;
    const [previous, place, next] = pages.children;
    previous.disabled = state.page === 0;
    next.disabled = state.page === last;
    place.textContent = shown.length
      ? `${start + 1}–${start + page.length} of ${shown.length}` : "No query matches";
  }

  function update() {
    state.page = 0;
    choose();
    draw();
    announce(`${shown.length} of ${data.queries.length} queries`);
  }

  measure.append(...data.measures.map((name) => make("option", null, name)));
  for (const column of columns) {
    const header = make("th", { scope: "col", className: column.label === "Spread" ? "spread" : "" },
      column.label);
    table.tHead.rows[0].append(header);
    addSortButton(header, () => {
      state.column = column;
      state.direction = nextDirection(header, column.first);
      update();
      markSorted(header, state.direction);
    });
  }
  search.addEventListener("input", update);
  measure.addEventListener("change", update);
  filter.addEventListener("change", update);
  controls.addEventListener("submit", (event) => event.preventDefault());
  pages.addEventListener("click", (event) => {
    state.page += Number(event.target.dataset.step || 0);
    draw();
    announce(pages.children[1].textContent);
  });
  for (const link of document.querySelectorAll("[data-query]")) {
    link.addEventListener("click", () => {
      const query = data.queries.findIndex(([id]) => id === link.dataset.query);
      filter.value = "all";
      search.value = link.dataset.query;
      update();
      state.page = Math.floor(Math.max(0, shown.indexOf(query)) / PAGE_SIZE);
      state.open = new Set([query]);
      draw();
    });
  }
  update();
  announce("");
  for (const part of [table, controls, pages]) {
    part.hidden = false;
  }
}

const queryData = document.getElementById("query-data");
if (queryData) {
  startQueries(JSON.parse(queryData.textContent));
}
