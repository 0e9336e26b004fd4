/** Return the number that a cell shows, or null: "<0.0001" is 0.0001. */
function numberIn(cell) {
  const shown = cell.textContent.replace(/[,<\s]/g, "").replace(/−/g, "-");
  const number = parseFloat(shown);
  return Number.isNaN(number) ? null : number;
}

/** Return the value by which a cell is sorted: its data-value, or what it shows. */
function sortValue(cell, isText) {
  const value = cell.dataset.value;
  if (isText) {
    return value ?? cell.textContent;
  }
  return value === undefined ? numberIn(cell) : Number(value);
}

/** Sort tables that are complete in the page by a click on the header of a column. */
function makeSortable(table) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((header) => {
    const kind = header.dataset.sort;
    if (!kind || header.querySelector("button")) {
      return;
    }
    addSortButton(header, () => {
      const direction = nextDirection(header, kind === "desc" ? "descending" : "ascending");
      const column = header.cellIndex;
      const rows = [...body.rows].map((row) => [sortValue(row.cells[column], kind === "text"), row]);
      rows.sort((one, other) => compareValues(one[0], other[0], direction));
      body.append(...rows.map(([, row]) => row));
      markSorted(header, direction);
    });
  });
}
