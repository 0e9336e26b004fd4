"""Rule R115: ids that other programs change."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.text import number, on, quoted, visible
from trectools_plus.validation.fragile_ids import NUMBER, READ_AS_MISSING, UNCHANGED_NUMBER
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views.order import Flags, Rows, find_rows, row_slices
from trectools_plus.validation.views.runs import RunView

_LONGEST_WORD = max(len(word) for word in READ_AS_MISSING)


@rule(
    "R115",
    "fragile-id",
    on="run",
    scope="row",
    severity="info",
    fix="no",
    checks="id like NA, null, nan, 1e5 or 007 that pandas-based readers change",
    rationale="pandas reads NA as a missing value, and 007 or 1e5 as numbers if the whole column "
    "looks numeric; spreadsheets convert single cells. They then write a different id.",
    example="run.txt:4: info R115: document id 'NA' is read as missing by pandas-based tools. "
    "Read the columns of ids as text in such tools.",
    remedy="Read the columns of ids as text in such tools",
)
def fragile_id(run: RunView) -> Hit | None:
    """Other programs change an id."""
    if run.columns is None or run.n_rows == 0:
        return None
    queries = np.flatnonzero(_is_fragile(run.blocks.query_ids))
    of_query = np.sort(run.blocks.first_rows[queries])
    of_document = _fragile_rows(run.frame["doc_id"])
    if len(of_query) == 0 and len(of_document) == 0:
        return None
    rows = np.union1d(of_query, of_document)
    row = int(rows[0])
    is_query = row in of_query
    text = run.query_id(row) if is_query else run.doc_id(row)
    return Hit(
        f"{'query' if is_query else 'document'} id {quoted(text)} {_read_as(text)}{on(len(rows))}",
        run.lines(rows),
        len(rows),
        run.column(row, 1 if is_query else 3),
        run.query_id(row),
        None if is_query else text,
    )


def _read_as(text: str) -> str:
    if text in READ_AS_MISSING:
        return "is read as missing by pandas-based tools"
    value = number(float(text)) if len(text) < 300 else "a number"
    return f"is read as {visible(value)} by spreadsheets and pandas-based tools"


def _fragile_rows(doc_ids: pl.Series) -> Rows:
    """Return the rows whose document id is fragile."""

    def find(begin: int, end: int) -> Rows:
        part = doc_ids[begin:end]
        suspects = np.flatnonzero(_is_suspect(part))
        found: Rows = suspects[_is_fragile(part.gather(suspects))] if len(suspects) else suspects
        return found + begin

    return find_rows(find, row_slices(doc_ids.len()))


def _is_suspect(ids: pl.Series) -> Flags:
    """Flag ids that may be fragile; a quick test that excludes most ids."""
    flags: Flags
    begins_with_digit = (ids >= "1") & (ids < ":")
    if begins_with_digit.all():
        flags = ids.cast(pl.Int64, strict=False).is_null().to_numpy()
        return flags
    # '#', '+', '-', '.' and zeros sort before "1".
    suspects = begins_with_digit | ((ids >= "#") & (ids < "1"))
    for start, end in (("<", "="), ("N", "O"), ("n", "o")):
        word = (ids >= start) & (ids < end)
        if word.any():
            suspects |= word & (ids.str.len_bytes() <= _LONGEST_WORD)
    flags = suspects.to_numpy()
    return flags


def _is_fragile(ids: pl.Series) -> Flags:
    missing = ids.is_in(READ_AS_MISSING)
    changed = ids.str.contains(NUMBER) & ~ids.str.contains(UNCHANGED_NUMBER)
    flags: Flags = (missing | changed).to_numpy()
    return flags
