"""Rule R115: ids that other programs change."""

from __future__ import annotations

import numpy as np

from trectools_plus.formats.columns.words import Ids, Rows
from trectools_plus.text import number, on, quoted, visible
from trectools_plus.validation.fragile_ids import READ_AS_MISSING, is_fragile, may_be_fragile
from trectools_plus.validation.places import Places
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views.runs import RunView


def _fragile_places(run: RunView) -> Places:
    """Rows with a document id, or the first with a query id, that other programs change."""
    queries = np.array([is_fragile(one) for one in run.query_ids], np.bool_)
    of_query = run.blocks.first_rows[queries]
    rows = np.union1d(of_query, _fragile_rows(run.doc_ids))
    if not len(rows):
        return Places()
    is_query = bool(rows[0] in of_query)
    text = run.query_id(rows[0]) if is_query else run.doc_id(rows[0])
    return run.places(rows, 1 if is_query else 3, text=text, is_query=is_query)


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
    collect=_fragile_places,
)
def fragile_id(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """Other programs change an id."""
    text = str(found["text"])
    is_query = bool(found["is_query"])
    return found.hit(
        f"{'query' if is_query else 'document'} id {quoted(text)} {_read_as(text)}"
        f"{on(found.count)}",
        doc_id=None if is_query else text,
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
