"""Decimal numbers, eight digits at a time, with exactly the values of Python's ``float()``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.clean.words import Flags, Rows, Text, Word

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_POWERS = 10.0 ** np.arange(23)  # exact in 64 bits
_EXACT = np.uint64(1) << np.uint64(53)
_LAST = np.array([(((1 << 8 * n) - 1) << 8 * (8 - n)) for n in range(9)], np.uint64)
"""The mask of the last ``n`` bytes of a word."""

_ONES = 0x0101010101010101
_ZEROS = np.uint64(_ONES * ord("0"))
_POINTS = np.uint64(_ONES * (ord(".") ^ ord("0")))
_HIGH = np.uint64(_ONES * 0x80)
_ABOVE_NINE = np.uint64(_ONES * (0x7F - 9))
_EIGHT = np.uint64(8)
_POINT_LENGTH = 16


@dataclass(frozen=True, eq=False)
class Decimals:
    """Decimal numbers.

    Attributes:
        values: The values (float64, finite).
        are_distinct: For each number, whether it has so few digits that no other such number has
            the same value.
    """

    values: npt.NDArray[np.float64]
    are_distinct: Flags


def parse_decimals(text: Text, starts: Rows, ends: Rows) -> Decimals | None:
    """Parse ``[+-]digits[.digits][e[+-]digits]``; one side of the point may be empty.

    Numbers of up to 16 characters without exponent are parsed with arrays: their digits make a
    whole number below 2^53, which is divided by a power of ten up to 10^22. Both are exact in 64
    bits, so the quotient is correctly rounded. ``float()`` parses the others.

    Args:
        text: The text.
        starts: The first byte of each number.
        ends: The byte after its last one, greater than its start.

    Returns:
        ``None`` if a field is not such a number, is too large for 64 bits, or becomes 0 although
        it is not 0.
    """
    mantissa, n_decimals, regular = _read(text, starts, ends)
    values = mantissa.astype(np.float64)
    values /= _POWERS.take(n_decimals)
    if regular is None:
        return Decimals(values, mantissa < 10**15)
    # Usually all irregular numbers have a sign.
    irregular = np.flatnonzero(~regular)
    distinct = mantissa < 10**15
    negative = irregular[text.data.take(starts[irregular]) == ord("-")]
    negative = negative[ends[negative] - starts[negative] > 1]
    if len(negative):
        mantissa, n_decimals, good = _read(text, starts[negative] + 1, ends[negative])
        values[negative] = -(mantissa / _POWERS.take(n_decimals))
        distinct[negative] = mantissa < 10**15
        regular[negative] = True if good is None else good
        irregular = np.flatnonzero(~regular)
    for row in irregular.tolist():
        field = text.cut(int(starts[row]), int(ends[row]))
        if _DECIMAL.fullmatch(field) is None:
            return None
        value = float(field)
        mantissa_text = field.lower().partition(b"e")[0]
        if value in (np.inf, -np.inf) or (value == 0 and mantissa_text.strip(b"+-.0")):
            return None
        values[row], distinct[row] = value, False
    return Decimals(values, distinct)


def _read(text: Text, starts: Rows, ends: Rows) -> tuple[Word, Rows, Flags | None]:
    """Read fields as digits with at most one point.

    Returns:
        The digits as a whole number, the number of digits after the point, and whether each field
        is regular and below 2^53; ``None`` if all are.
    """
    lengths = ends - starts
    longest = int(lengths.max(initial=1))
    # Of the last eight bytes, those before the field become the digit 0.
    last = (text.words_at(ends, -8) ^ _ZEROS) & _LAST.take(lengths, mode="clip")
    first = None
    if longest > 8:
        kept = _LAST.take(np.maximum(lengths - 8, 0), mode="clip")
        first = (text.words_at(ends, -16) ^ _ZEROS) & kept
    # A byte that is a point gets its highest bit set; digits do not.
    point = ((last ^ _POINTS) - np.uint64(_ONES)) & _HIGH
    has_point = point != 0
    if first is None:
        last, n_decimals = _without_point(last, point, np.uint64(0))
        invalid = _not_digits(last)
        mantissa = _eight_digits(last)
        n_points = has_point
    else:
        point_before = ((first ^ _POINTS) - np.uint64(_ONES)) & _HIGH
        in_first = point_before != 0
        last, n_decimals = _without_point(last, point, first >> np.uint64(56))
        shifted, n_before = _without_point(first, point_before, np.uint64(0))
        # If the point is in the last word, all bytes before that word move too.
        first = np.where(has_point, first << _EIGHT, shifted)
        n_decimals = np.where(in_first, n_before + 8, n_decimals)
        invalid = _not_digits(last) | _not_digits(first)
        mantissa = _eight_digits(first) * np.uint64(10**8) + _eight_digits(last)
        invalid |= np.where(has_point & in_first, _HIGH, np.uint64(0))
        invalid |= point_before & (point_before - np.uint64(1))
        n_points = has_point | in_first
    is_regular = invalid == 0
    is_regular &= point & (point - np.uint64(1)) == 0
    is_regular &= lengths > n_points
    if longest > 15:
        is_regular &= (lengths <= _POINT_LENGTH) & (mantissa < _EXACT)
    return mantissa, n_decimals, None if is_regular.all() else is_regular


def _without_point(word: Word, point: Word, before: Word | np.uint64) -> tuple[Word, Rows]:
    """Remove the point of each word, moving the bytes before it; ``before`` moves in.

    Returns:
        The words, and the number of bytes after the point (0 without a point).
    """
    has_point = point != 0
    mark = point >> np.uint64(7)
    below = mark - np.uint64(1)
    moved = ((word & below) << _EIGHT) | before | (word & ~(below | (mark * np.uint64(0xFF))))
    n_after = 7 - (np.bitwise_count(point - np.uint64(1)) >> 3).astype(np.int64)
    return np.where(has_point, moved, word), np.where(has_point, n_after, 0)


def _not_digits(word: Word) -> Word:
    """Return a value other than 0 for words with a byte above 9."""
    return ((word + _ABOVE_NINE) | word) & _HIGH


def _eight_digits(word: Word) -> Word:
    """Return the number of eight digits, the first in the lowest byte."""
    pairs = ((word * np.uint64(2561)) >> _EIGHT) & np.uint64(0x00FF00FF00FF00FF)
    fours = ((pairs * np.uint64(6553601)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    number: Word = (fours * np.uint64(42949672960001)) >> np.uint64(32)
    return number
