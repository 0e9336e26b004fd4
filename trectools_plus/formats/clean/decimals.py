"""Decimal numbers, eight digits at a time, with exactly the values of Python's ``float()``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.clean.words import Flags, Rows, Text, Word

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_POWERS = 10.0 ** np.arange(23)  # exact in 64 bits
_EXACT = 1 << 53
_DISTINCT = 10**15
_LAST = np.array([(((1 << 8 * n) - 1) << 8 * (8 - n)) for n in range(9)], np.uint64)
"""The mask of the last ``n`` bytes of a word."""

_ONE = np.uint64(1)
_EIGHT = np.uint64(8)
_ONES = np.uint64(0x0101010101010101)
_ZEROS = _ONES * np.uint64(ord("0"))
_POINTS = _ONES * np.uint64(ord(".") ^ ord("0"))
_HIGH = _ONES * np.uint64(0x80)
_ABOVE_NINE = _ONES * np.uint64(0x7F - 9)
_LONGEST = 16

# The number of bits below the mark of a point, from 7 to 63, decides the number of digits after it;
# 64 means that there is no point.
_N_AFTER = np.array([7 - (bits >> 3) if bits < 64 else 0 for bits in range(65)])


@dataclass(frozen=True, eq=False)
class Decimals:
    """Decimal numbers.

    Attributes:
        values: The values (float64, finite).
        digits: Their digits as whole numbers; at least ``_DISTINCT`` where they are unknown.
    """

    values: npt.NDArray[np.float64]
    digits: Word

    def are_distinct(self, rows: Rows) -> Flags:
        """Return, for some numbers, whether another such number has another value.

        Two numbers of up to 15 digits have the same value only if they are equal.
        """
        flags: Flags = self.digits.take(rows) < _DISTINCT
        return flags


def parse_decimals(text: Text, before: Rows, ends: Rows) -> Decimals | None:
    """Parse ``[+-]digits[.digits][e[+-]digits]``; one side of the point may be empty.

    Numbers of up to 16 characters without exponent are parsed with arrays: their digits make a
    whole number below 2^53, which is divided by a power of ten up to 10^22. Both are exact in 64
    bits, so the quotient is correctly rounded. ``float()`` parses the others.

    Args:
        text: The text.
        before: The byte before each number.
        ends: The byte after its last one, greater than ``before``.

    Returns:
        ``None`` if a field is not such a number, is too large for 64 bits, or becomes 0 although
        it is not 0.
    """
    values, digits, regular = _read(text, before, ends)
    if regular is None:
        return Decimals(values, digits)
    # Usually all irregular numbers have a sign.
    irregular = np.flatnonzero(~regular)
    signs = text.data.take(before[irregular] + 1) == ord("-")
    negative = irregular[signs & (ends[irregular] - before[irregular] > 2)]
    if len(negative):
        found, digits[negative], good = _read(text, before[negative] + 1, ends[negative])
        values[negative] = -found
        regular[negative] = True if good is None else good
        irregular = np.flatnonzero(~regular)
    for row in irregular.tolist():
        value = _parse_one(text.cut(int(before[row]) + 1, int(ends[row])))
        if value is None:
            return None
        values[row], digits[row] = value, _DISTINCT
    return Decimals(values, digits)


def _parse_one(field: bytes) -> float | None:
    if _DECIMAL.fullmatch(field) is None:
        return None
    value = float(field)
    is_lost = value == 0 and field.lower().partition(b"e")[0].strip(b"+-.0")
    return None if is_lost or abs(value) == np.inf else value


def _read(
    text: Text, before: Rows, ends: Rows
) -> tuple[npt.NDArray[np.float64], Word, Flags | None]:
    """Read fields as digits with at most one point.

    Returns:
        The values, the digits as whole numbers, and whether each field is regular; ``None`` if all
        are.
    """
    lengths = ends - before
    lengths -= 1
    longest = int(lengths.max())
    # Of the last eight bytes, those before the field become the digit 0.
    last = text.words_at(ends, -8)
    last ^= _ZEROS
    last &= _LAST.take(lengths, mode="clip")
    point = _find_points(last)
    has_point = point != 0
    if longest <= 8:
        n_after = _n_after(point)
        _remove_point(last, point, has_point)
        invalid = _not_digits(last)
        digits = _eight_digits(last)
        n_points = has_point
    else:
        first = text.words_at(ends, -16)
        first ^= _ZEROS
        first &= _LAST.take(np.maximum(lengths - 8, 0), mode="clip")
        n_after = _n_after(point)
        _remove_point(last, point, has_point)
        # If the point is in the last word, the byte before that word moves into it.
        last |= np.where(has_point, first >> np.uint64(56), np.uint64(0))
        point_before = _find_points(first)
        in_first = point_before != 0
        invalid = point & (point - _ONE)
        if in_first.any():
            invalid |= np.where(in_first & has_point, _HIGH, point_before & (point_before - _ONE))
            n_after = np.where(in_first, _n_after(point_before) + 8, n_after)
            _remove_point(first, point_before, in_first)
        first <<= np.where(has_point, _EIGHT, np.uint64(0))
        invalid |= _not_digits(last)
        invalid |= _not_digits(first)
        digits = _eight_digits(first)
        digits *= np.uint64(10**8)
        digits += _eight_digits(last)
        n_points = has_point | in_first
    invalid |= point & (point - _ONE)
    is_regular = invalid == 0
    is_regular &= lengths > n_points
    if longest >= _LONGEST:
        is_regular &= (lengths <= _LONGEST) & (digits < _EXACT)
    values = digits.view(np.int64).astype(np.float64)
    values /= _POWERS.take(n_after)
    return values, digits, None if is_regular.all() else is_regular


def _find_points(word: Word) -> Word:
    """Return words with the highest bit of each byte that is a point; other digits have none."""
    point = word ^ _POINTS
    point -= _ONES
    point &= _HIGH
    return point


def _n_after(point: Word) -> Rows:
    """Return the number of bytes after the point of each word; 0 without a point."""
    return _N_AFTER.take(np.bitwise_count(point - _ONE))


def _remove_point(word: Word, point: Word, has_point: Flags) -> None:
    """Remove the point of each word, moving the bytes before it."""
    # The bits after the byte of the point are those of the negative number.
    after = np.negative(point << _ONE)
    after &= word
    moved = (point >> np.uint64(7)) - _ONE
    moved &= word
    moved <<= _EIGHT
    moved |= after
    np.copyto(word, moved, where=has_point)


def _not_digits(word: Word) -> Word:
    """Return a value other than 0 for words with a byte above 9."""
    other = word + _ABOVE_NINE
    other |= word
    other &= _HIGH
    return other


def _eight_digits(word: Word) -> Word:
    """Return the number of eight digits, the first in the lowest byte."""
    number = word * np.uint64(2561)
    number >>= _EIGHT
    number &= np.uint64(0x00FF00FF00FF00FF)
    number *= np.uint64(6553601)
    number >>= np.uint64(16)
    number &= np.uint64(0x0000FFFF0000FFFF)
    number *= np.uint64(42949672960001)
    number >>= np.uint64(32)
    return number
