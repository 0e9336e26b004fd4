"""Rules on the ids of a run: which of them other programs change, and their order (R115, R128)."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from trectools_plus.text import number, on, quoted, visible
from trectools_plus.validation.order import Flags, Rows
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.sweep import over, pieces

_WORDS = "NA N/A n/a NULL null NaN nan -NaN -nan None <NA> #NA #N/A"
READ_AS_MISSING = (*_WORDS.split(" "), "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN")
"""Texts that pandas takes for a missing value."""

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_WRITTEN_BACK = r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,3}[1-9])$"
_LONGEST_WORD = max(len(word) for word in READ_AS_MISSING)


@rule(
    "R115",
    "fragile-id",
    on="run",
    scope="row",
    severity="info",
    fix="no",
    checks="id such as NA, null, nan, 1e5, 007 that pandas readers change",
    rationale="pandas reads NA as a missing value, and 007 or 1e5 as numbers where a whole column "
    "looks like numbers; spreadsheets do so cell by cell. What they write is another id.",
    example="run.txt:4: info R115: document id 'NA' is read as missing by pandas-based tools. Keep "
    "such ids away from them, or read them as text.",
    remedy="Keep such ids away from them, or read them as text",
)
def fragile_id(run: RunView) -> Hit | None:
    """An id does not survive in other programs."""
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
    """Rows whose document id is fragile."""

    def look(begin: int, end: int) -> Rows:
        piece = doc_ids[begin:end]
        suspects = np.flatnonzero(_is_suspect(piece))
        found: Rows = suspects[_is_fragile(piece.gather(suspects))] if len(suspects) else suspects
        return found + begin

    return np.concatenate([np.empty(0, np.int64), *over(look, pieces(doc_ids.len()))])


def _is_suspect(ids: pl.Series) -> Flags:
    """Which ids may be fragile by their first character; of whole numbers, only the odd ones."""
    flags: Flags
    begins_with_digit = (ids >= "1") & (ids < ":")
    if begins_with_digit.all():
        flags = ids.cast(pl.Int64, strict=False).is_null().to_numpy()
        return flags
    # '#', '+', '-', '.' and zeros sort before "1".
    suspects = begins_with_digit | ((ids >= "#") & (ids < "1"))
    for start, behind in (("<", "="), ("N", "O"), ("n", "o")):
        word = (ids >= start) & (ids < behind)
        if word.any():
            suspects |= word & (ids.str.len_bytes() <= _LONGEST_WORD)
    flags = suspects.to_numpy()
    return flags


def _is_fragile(ids: pl.Series) -> Flags:
    missing = ids.is_in(READ_AS_MISSING)
    changed = ids.str.contains(_NUMBER) & ~ids.str.contains(_WRITTEN_BACK)
    flags: Flags = (missing | changed).to_numpy()
    return flags


@rule(
    "R128",
    "query-order",
    on="run",
    scope="file",
    severity="info",
    fix="safe",
    optional=True,
    checks="query ids not ascending (off unless selected)",
    rationale="No evaluator minds the order of the queries. Some tracks ask for it, and sorted "
    "files can be compared line by line.",
    example="run.txt: info R128: query 2 (line 4) comes after query 3. Sort the queries.",
    remedy="Sort the queries",
)
def query_order(run: RunView) -> Hit | None:
    """The queries are not in ascending order."""
    if run.columns is None:
        return None
    ids: list[str] = run.blocks.query_ids.to_list()
    places = _descents([(text,) for text in ids])
    # Both "q10" before "q9" and behind it are orders that people call ascending.
    places = places and _descents([_natural(text) for text in ids])
    if not places:
        return None
    at = places[0]
    row = int(run.blocks.first_rows[at])
    more = f" ({len(places):,} such places in all)" if len(places) > 1 else ""
    return Hit(
        f"query {visible(ids[at])} ({run.at_line(row)}) comes after query {visible(ids[at - 1])}"
        f"{more}",
        count=len(places),
        query_id=ids[at],
        fix="ask",  # who did not ask for this rule does not want his queries sorted
    )


def _descents(keys: list[tuple[object, ...]]) -> list[int]:
    return [at for at in range(1, len(keys)) if keys[at] < keys[at - 1]]


def _natural(text: str) -> tuple[object, ...]:
    """A sort key that takes numbers within the text as numbers; numbers come before words."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)
