"""Ids that pandas and spreadsheets change: words for missing values, and some numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trectools_plus.formats.columns.words import Ids

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
    import numpy as np  # only this function needs NumPy

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
    import numpy as np  # only this function needs NumPy

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
