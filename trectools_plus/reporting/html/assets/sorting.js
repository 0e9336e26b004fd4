// Tables that are complete in the page: they are sorted by the data-value of the cells.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const kind = header.dataset.sort;
    if (!kind) {
      return;
    }
    const valueOf = (row) => {
      const value = row.cells[column].dataset.value;
      if (value === undefined) {
        return null;
      }
      return kind === "text" ? value : Number(value);
    };
    addSortButton(header, () => {
      const direction = nextDirection(header, kind === "desc" ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [valueOf(row), row]);
      rows.sort((one, other) => compareValues(one[0], other[0], direction));
      body.append(...rows.map(([, row]) => row));
      markSorted(header, direction);
    });
  });
}
