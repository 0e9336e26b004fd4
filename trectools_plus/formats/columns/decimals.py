"""Decimal numbers, eight digits at a time, with exactly the values of Python's ``float()``.

Only ASCII digits in decimal notation are accepted, because evaluation tools disagree on ``0x1p3``,
``1_000``, ``9,5``, ``nan`` and full-width digits.

The digits before and after the point make a whole number. If it is below 2^53, its division by a
power of ten is correctly rounded (Clinger 1990). Otherwise it is divided with more precision, and
the quotient is accepted if its error cannot change the rounding (Ziv 1991). Polars or
Python parses all other numbers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.ids import Flags, Ids, Rows, Text, Word

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]
WholeNumbers = npt.NDArray[np.int64 | np.float64]
"""Whole numbers: int64, or float64 with NaN if some are not whole numbers of 64 bits."""

DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INTEGER = r"^[+-]?[0-9]+$"

_WHOLE = re.compile(r"([+-]?[0-9]{1,4000})(\.0*)?")  # Python refuses to convert more digits

_POWERS: Floats = np.array([10.0**power for power in range(20)])
_FEW = 1000
"""The number of texts that Python parses faster than Polars is imported."""
_SHORT = 1e15

_LAST = np.array([(((1 << 8 * n) - 1) << 8 * (8 - n)) for n in range(9)], np.uint64)
"""The mask of the last ``n`` bytes of a word."""

_PAIRINGS: Word = np.array(
    [
        (2561, 8, 0x00FF00FF00FF00FF),
        (6553601, 16, 0x0000FFFF0000FFFF),
        (42949672960001, 32, 0xFFFFFFFF),
    ],
    np.uint64,
)
"""Factor, shift and mask that join each two numbers of one, two and four digits."""


def parse_decimals(text: Text, starts: Rows, ends: Rows) -> tuple[Floats, Flags]:
    """Parse ``[+-]digits[.digits][e[+-]digits]``; one side of the point may be empty.

    Args:
        text: The text.
        starts: The first byte of each number.
        ends: The byte after its last one.

    Returns:
        The values: infinite if a number is too large, NaN for what is not a number, and both for
        the words for them. Whether each has at most 15 digits, so that another short one with the
        same value is the same number.
    """
    sign = text.data.take(starts)
    is_negative = sign == ord("-")
    begins = starts + (is_negative | (sign == ord("+")))
    points = np.append(np.flatnonzero(text.data == ord(".")), len(text.data))
    point = np.minimum(points[np.searchsorted(points, begins)], ends)
    n_after = np.maximum(ends - point - 1, 0)
    whole, is_regular = _read_digits(text, point - begins, point, 8)
    fraction, is_fraction = _read_digits(text, n_after, ends, 19)
    divisors: Floats = _POWERS.take(n_after, mode="clip")
    digits = whole * divisors + fraction
    values = digits / divisors
    is_regular &= is_fraction & (point - begins + n_after > 0)
    rows = np.flatnonzero(digits >= 2.0**53)
    if len(rows):
        values[rows], is_sure = _divide(whole[rows], fraction[rows], divisors[rows])
        is_regular[rows] &= is_sure
    np.negative(values, out=values, where=is_negative)
    rows = np.flatnonzero(~is_regular)
    if len(rows):  # numbers with an exponent or many digits, and words for NaN and infinity
        words, values[rows], digits[rows] = Ids.of(text, starts[rows], ends[rows]), np.nan, _SHORT
        if len(rows) > _FEW:
            values[rows] = parse_column(words.series()).to_numpy()
        unread = np.flatnonzero(np.isnan(values[rows]))
        values[rows[unread]] = [parse_decimal(word) for word in words.texts(unread)]
    return values, digits < _SHORT


def parse_whole_numbers(text: Text, starts: Rows, ends: Rows) -> tuple[WholeNumbers, Flags]:
    """Parse ``[+-]digits``, optionally followed by a point and zeros.

    Args:
        text: The text.
        starts: The first byte of each number.
        ends: The byte after its last one.

    Returns:
        The values, and whether each is a whole number that is written with a point.
    """
    digits, is_number = _read_digits(text, ends - starts, ends, 8)
    values, has_point = digits.view(np.int64), np.zeros(len(digits), np.bool_)
    if is_number.all():
        return values, has_point
    rows = np.flatnonzero(~is_number)
    words = Ids.of(text, starts[rows], ends[rows])
    number, first = words.numbered()
    parsed = [_parse_whole_number(word) for word in words.texts(first)]
    values[rows] = np.array([value or 0 for value, _ in parsed], np.int64)[number]
    is_number[rows] = np.array([value is not None for value, _ in parsed])[number]
    has_point[rows] = np.array([point for _, point in parsed])[number]
    return values if is_number.all() else np.where(is_number, values, np.nan), has_point


def _parse_whole_number(text: str) -> tuple[int | None, bool]:
    """Return the value, ``None`` if there is none in 64 bits, and whether there is a point."""
    found = _WHOLE.fullmatch(text)
    if found is None or not -(1 << 63) <= int(found[1]) < 1 << 63:
        return None, False
    return int(found[1]), bool(found[2])


def parse_decimal(text: str) -> float:
    """Return the value of a decimal number, or of a word for NaN or infinity; NaN for others."""
    number = re.fullmatch(DECIMAL, text) or re.fullmatch("(?i)[+-]?(nan|inf|infinity)", text)
    return float(text) if number else np.nan


def _divide(whole: Word, fraction: Word, divisors: Floats) -> tuple[Floats, Flags]:
    """Return numbers from the digits around the point, and whether each is correctly rounded."""
    exact = divisors.astype(np.longdouble)  # on some machines not longer than float64
    digits = whole * exact + fraction
    quotient = digits / exact
    margin = quotient * np.finfo(np.longdouble).eps
    values = (quotient - margin).astype(np.float64)
    return values, (digits < 2.0**63) & (values == (quotient + margin).astype(np.float64))


def _read_digits(text: Text, lengths: Rows, ends: Rows, longest: int) -> tuple[Word, Flags]:
    """Read digits before some places.

    Args:
        text: The text.
        lengths: The number of digits.
        ends: The byte after the last one.
        longest: The number of digits that are read at most.

    Returns:
        The number, and whether it has only digits and is not longer.
    """
    number, other = np.zeros(len(ends), np.uint64), np.zeros(len(ends), np.uint64)
    for at in range((min(longest, int(lengths.max(initial=0))) + 7) // 8):
        word = text.words_at(ends, -8 * (at + 1))
        word ^= np.uint64(0x3030303030303030)
        word &= _LAST.take(lengths - 8 * at, mode="clip")
        other |= (word + np.uint64(0x7676767676767676)) | word
        for factor, bits, mask in _PAIRINGS:
            word *= factor
            word >>= bits
            word &= mask
        number += word * np.uint64(10 ** (8 * at))
    return number, ((other & np.uint64(0x8080808080808080)) == 0) & (lengths <= longest)


def parse_column(texts: pl.Series) -> pl.Series:
    """Parse a column of decimal numbers.

    Returns:
        Float64: infinite if a number is too large; null if a text is not a decimal number.
    """
    import polars as pl

    return texts.set(~texts.str.contains(DECIMAL), None).cast(pl.Float64, strict=False)
