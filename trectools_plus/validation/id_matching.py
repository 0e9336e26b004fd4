"""Matching of ids that are spelled differently."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal

import numpy as np
import polars as pl

INVISIBLE = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
"""Characters without width, removed before two ids are compared."""

LONGEST_NORMALISED = 1000
"""Longest id, in characters, that is normalised."""

VOTERS = 200
"""Number of ids that are searched for a common prefix or suffix."""

_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")


def without_zeros(text: str) -> str:
    """``text`` without leading zeros of numbers: ``q007`` becomes ``q7``."""
    return re.sub(r"(?<![0-9.])0+(?=[0-9])", "", text)


def _as_number(text: str) -> str:
    return str(Decimal(text).normalize()) if _PLAIN_NUMBER.fullmatch(text) else text


def _bare(text: str) -> str:
    return text if text.isascii() else re.sub(INVISIBLE, "", text)


def normal_form(text: str) -> str:
    """NFC of an id; very long ids stay, because Python sorts their marks in quadratic time."""
    if text.isascii() or len(text) > LONGEST_NORMALISED:
        return text
    return unicodedata.normalize("NFC", text)


FOLDS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("leading zeros", without_zeros),
    ("upper and lower case", str.casefold),
    ("Unicode normal form", normal_form),
    ("invisible characters", _bare),
    ("number form", _as_number),
    ("spelling", lambda text: without_zeros(_as_number(normal_form(_bare(text)).casefold()))),
)
"""Causes of different spellings, each with a function that removes it; the last removes all."""

_NUMBER_CAUSES = ("number form", "spelling")


def near_matches(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Pair ids of two sides that are equal apart from a difference in spelling.

    An id of ours that is on both sides is never paired. An id of theirs that is on both sides can
    be paired with another one of ours, for example ``03`` with ``3``.

    Args:
        ours: All ids of our side.
        theirs: All ids of the other side.

    Returns:
        For each id of ours that the other side has only in another spelling: the id of theirs,
        preferably one that our side lacks, and the cause.
    """
    ours, theirs = dict.fromkeys(ours), dict.fromkeys(theirs)
    extra = [text for text in ours if text not in theirs]
    found: dict[str, tuple[str, str]] = {}
    if not extra or not theirs:
        return found
    lacking = [text for text in theirs if text not in ours]
    _pair(extra, lacking, found)
    if len(found) < len(extra):
        shared = [text for text in theirs if text in ours]
        _pair([text for text in extra if text not in found], shared, found, both_in_use=True)
    return found


def _pair(
    ours: Iterable[str],
    theirs: Iterable[str],
    found: dict[str, tuple[str, str]],
    *,
    both_in_use: bool = False,
) -> None:
    """Add the pairs of two lists, each with the first cause that explains it."""
    for cause, fold in FOLDS:
        by_fold = {fold(text): text for text in reversed(list(theirs))}
        for text in ours:
            other = by_fold.get(fold(text))
            if text in found or other is None:
                continue
            # If both 1.1 and 1.10 are in use, they are numbers of sections.
            sections = both_in_use and "." in text and "." in other
            if not (sections and cause in _NUMBER_CAUSES):
                found[text] = (other, cause)


def folded(doc_ids: pl.Series) -> pl.Series:
    """Document ids in lower case and normal form without invisible characters, for comparison."""
    if doc_ids.str.len_bytes().sum() != doc_ids.str.len_chars().sum():
        doc_ids = doc_ids.str.replace_all(INVISIBLE, "").str.normalize("NFC")
    return doc_ids.str.to_lowercase()


def folds_to_itself(doc_ids: pl.Series) -> bool:
    """Return true if :func:`folded` changes no id; a quick test that may return false instead."""
    text = doc_ids.str.join("").item()
    if not text.isascii():
        return False
    data = np.frombuffer(text.encode(), np.uint8)
    # Unsigned subtraction wraps around, so that one comparison tests both ends of a range.
    return not bool((data - np.uint8(ord("A")) < 26).any())


def common_affix(ours: pl.Series, theirs: pl.Series) -> tuple[str, str] | None:
    """Find a prefix or suffix that the ids of one side have and the ids of the other lack.

    Args:
        ours: Distinct ids of one side.
        theirs: Distinct ids of the other.

    Returns:
        ``("prefix", text)`` or ``("suffix", text)``, if at least half of the sampled ids of ours
        are ids of theirs without it; otherwise ``None``.
    """
    known = set(theirs.to_list())
    sample = ours.head(VOTERS).to_list()
    votes: Counter[tuple[str, str]] = Counter()
    for text in sample:
        for cut in range(1, min(len(text), 200)):
            if text[cut:] in known:
                votes["prefix", text[:cut]] += 1
            if text[:cut] in known:
                votes["suffix", text[cut:]] += 1
    if not votes:
        return None
    affix, count = votes.most_common(1)[0]
    # An id with an additional digit is another number.
    return affix if count * 2 >= len(sample) and not affix[1].isdigit() else None
