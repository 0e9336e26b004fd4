/** Return the number that a cell shows, or null: "<0.0001" is 0.0001. */
function numberIn(cell) {
  const shown = cell.textContent.replace(/[,<\s]/g, "").replace(/−/g, "-");
  const number = parseFloat(shown);
  return Number.isNaN(number) ? null : number;
}

/** Sort tables that are complete in the page by a click on the header of a column. */
function makeSortable(table) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((header) => {
    const isText = header.classList.contains("text");
    addSortButton(header, () => {
      const direction = nextDirection(header, isText ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => {
        const cell = row.cells[header.cellIndex];
        return [isText ? cell.textContent : numberIn(cell), row];
      });
      rows.sort((one, other) => compareValues(one[0], other[0], direction));
      body.append(...rows.map(([, row]) => row));
      markSorted(header, direction);
    });
  });
}
