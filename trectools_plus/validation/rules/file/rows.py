"""Shared by rules and fixes of runs and of qrels: their first places, and repeated rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.text import in_all, number, visible
from trectools_plus.validation.places import Places, Value
from trectools_plus.validation.views.order import Repeats
from trectools_plus.validation.views.tables import Numbers, TableView


def places_of(
    table: TableView, rows: Rows, field: int | None = None, **first: Callable[[int], Value]
) -> Places:
    """Return some rows, ascending, as places.

    Args:
        table: The file.
        rows: The rows.
        field: The field of the first row that has the fault.
        **first: What the message says about the first row, as functions of it.
    """
    if not len(rows):
        return Places()
    row = int(rows[0])
    return table.places(rows, field, **{name: value(row) for name, value in first.items()})


def number_text(table: TableView, row: int, field: int, value: float) -> str:
    """Return a number of a row as the file writes it, or a ``value`` of a table."""
    return number(value) if table.columns is None else table.text(row, field)


def returning_queries(table: TableView) -> Places:
    """Return the rows at which a query continues after another."""
    if not table.blocks.interleaved:
        return Places()
    rows = table.blocks.repeated_starts
    return places_of(table, rows, before=lambda row: table.query_id(row - 1))


def continues_after(found: Places) -> str:
    """Return the message on :func:`returning_queries`."""
    query_id, before = visible(str(found.query_id)), visible(str(found["before"]))
    return f"query {query_id} continues after query {before}{in_all(found.count, 'such place')}"


def of_same_document(repeats: Repeats, flags: Flags) -> Flags:
    """Flag all repeats of a document that has a flagged one."""
    return np.isin(repeats.first, repeats.first[flags])


def all_but_one(repeats: Repeats, how: str, values: Numbers) -> Rows:
    """Return the rows to drop so that one row of each repeated document stays.

    Args:
        repeats: All repeats of some documents.
        how: The row to keep: the one with the highest value (``best`` or ``max``), with the lowest
            (``min``), the ``first`` or the ``last``. Of rows with equal values, the first stays.
        values: The score or grade of each row of the file.
    """
    firsts = np.unique(repeats.first)
    rows = np.concatenate([firsts, repeats.row])
    document = np.concatenate([firsts, repeats.first])
    keys = {"min": values[rows], "first": rows, "last": -rows}
    order = np.lexsort((rows, keys.get(how, -values[rows]), document))
    _, first = np.unique(document[order], return_index=True)
    dropped: Rows = np.delete(rows, order[first])
    return dropped
