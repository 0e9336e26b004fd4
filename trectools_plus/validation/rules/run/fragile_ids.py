"""Rule R115: ids that other programs change."""

from __future__ import annotations

import numpy as np

from trectools_plus.formats.clean.words import Ids, Rows
from trectools_plus.text import number, on, quoted, visible
from trectools_plus.validation.fragile_ids import READ_AS_MISSING, is_fragile, may_be_fragile
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views.runs import RunView


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
    queries = np.array([is_fragile(one) for one in run.query_ids], np.bool_)
    of_query = np.sort(run.blocks.first_rows[queries])
    of_document = _fragile_rows(run.doc_ids)
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


def _fragile_rows(doc_ids: Ids) -> Rows:
    """Return the rows whose document id is fragile."""
    suspects = np.flatnonzero(may_be_fragile(doc_ids))
    fragile = [is_fragile(one) for one in doc_ids.texts(suspects)]
    return suspects[np.array(fragile, np.bool_)]
