"""Rule R115: ids that other programs change: words for missing values, and some numbers."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.ids import Ids, Rows
from trectools_plus.text import number, on, quoted, visible
from trectools_plus.validation.registry import Hit, Places, rule
from trectools_plus.validation.views.runs import RunView

_WORDS = "NA N/A n/a NULL null NaN nan -NaN -nan None <NA> #NA #N/A"
READ_AS_MISSING = (*_WORDS.split(" "), "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN")
"""Texts that pandas reads as a missing value."""

NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
"""Texts that look like a number."""

UNCHANGED_NUMBER = r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,3}[1-9])$"
"""Numbers that are written as they were read."""

_is_number = re.compile(NUMBER, re.ASCII).match
_is_unchanged = re.compile(UNCHANGED_NUMBER, re.ASCII).match
_MISSING = frozenset(READ_AS_MISSING)


def is_fragile(text: str) -> bool:
    """Return whether other programs change an id."""
    if text in _MISSING:
        return True
    return _is_number(text) is not None and _is_unchanged(text) is None


def may_be_fragile(ids: Ids) -> npt.NDArray[np.bool_]:
    """Flag ids for which :func:`is_fragile` may be true: a quick test of ASCII ids.

    Fragile ids begin with a sign, a digit, a point or a letter of a word for a missing value.
    Numbers of up to 16 digits that do not begin with 0 are not fragile.
    """
    first = (ids.words[0] & np.uint64(0xFF)).astype(np.uint8)
    begins = np.zeros(256, np.bool_)
    begins[list(b"+-.0123456789" + b"".join(text[:1].encode() for text in READ_AS_MISSING))] = True
    flags: npt.NDArray[np.bool_] = begins.take(first)
    suspects = np.flatnonzero(flags)
    if len(suspects):
        found = ids if len(suspects) == len(flags) else ids.take(suspects)
        flags[suspects] = ~_is_plain_number(found)
    return flags


def _is_plain_number(ids: Ids) -> npt.NDArray[np.bool_]:
    """Flag ids of up to 16 digits that begin with 1 to 9."""
    other = np.zeros(len(ids), np.uint64)
    for word in ids.words[:2]:
        # The highest bit of each byte: the byte is not 0; it is at least "0"; it is above "9".
        is_used = word + np.uint64(0x5F5F5F5F5F5F5F5F)
        from_zero = word + np.uint64(0x5050505050505050)
        above_nine = word + np.uint64(0x4646464646464646)
        other |= (is_used ^ from_zero) | above_nine
    is_plain: npt.NDArray[np.bool_] = other & np.uint64(0x8080808080808080) == 0
    is_plain &= ids.words[0] & np.uint64(0xFF) != ord("0")
    for word in ids.words[2:]:
        is_plain &= word == 0
    return is_plain


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
