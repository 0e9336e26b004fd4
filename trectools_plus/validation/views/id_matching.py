"""Match ids that are the same apart from their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trectools_plus.formats.columns.ids import Ids

INVISIBLE = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
"""Characters without width, removed before two ids are compared."""

MAX_NORMALISED_LENGTH = 1000
"""Longest id, in characters, to which Unicode normalisation is applied."""

_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")


def _unify(text: str) -> str:
    """Return an id in one spelling, without leading zeros, and numbers in one form.

    ``q007`` becomes ``q7``, and ``1e1`` becomes ``10``.
    """
    text = unify_spelling(text)
    if _PLAIN_NUMBER.fullmatch(text):
        return f"{Decimal(text).normalize():f}"
    return re.sub(r"(?<![0-9.])0+(?=[0-9])", "", text)


def near_matches(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Pair ids of two files that are equal apart from their spelling.

    An id in ``ours`` that is in both files is never paired. An id in ``theirs`` that is in both
    files can be paired with another one in ``ours``, for example ``3`` with ``03``.

    Args:
        ours: All ids of one file.
        theirs: All ids of the other file.

    Returns:
        For each id in ``ours`` that is in ``theirs`` only in another spelling: the id in
        ``theirs``, preferably one that is not in ``ours``.
    """
    ours, theirs = dict.fromkeys(ours), dict.fromkeys(theirs)
    by_spelling = {_unify(text): text for text in sorted(theirs, key=lambda text: text not in ours)}
    pairs = {text: by_spelling.get(_unify(text)) for text in ours if text not in theirs}
    return {
        text: other
        for text, other in pairs.items()
        # If both 1.1 and 1.10 are ids, they are section numbers, not decimal numbers.
        if other is not None and not (other in ours and "." in text and "." in other)
    }


def unify_spelling(text: str) -> str:
    """Return an id in lower case and NFC, without invisible characters.

    Very long ids are not normalised, because many combining marks take quadratic time.
    """
    if text.isascii():
        return text.lower()
    plain = re.sub(INVISIBLE, "", text).casefold()
    return plain if len(text) > MAX_NORMALISED_LENGTH else unicodedata.normalize("NFC", plain)


def unify_spellings(doc_ids: Ids) -> Ids:
    """Apply :func:`unify_spelling` to all document ids."""
    import numpy as np  # only this function needs NumPy

    others = np.flatnonzero(flags := doc_ids.beyond_ascii())
    if not len(others):
        return doc_ids.lower()
    plain = np.flatnonzero(~flags)
    number, first = doc_ids.take(others).numbered()
    folds = [unify_spelling(text) for text in doc_ids.take(others).texts(first)]
    of_others = type(doc_ids).of_texts(folds).take(number)
    parts = type(doc_ids).joined([doc_ids.take(plain).lower(), of_others])
    return parts.take(np.argsort(np.concatenate([plain, others])))
