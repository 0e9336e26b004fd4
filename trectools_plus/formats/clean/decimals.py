"""Decimal numbers, eight digits at a time, with exactly the values of Python's ``float()``.

Numbers of up to 18 digits are parsed with arrays. The digits make a whole number, which is divided
or multiplied by a power of ten up to 10^22, which is exact in 64 bits. If the whole number is below
2^53, one rounding gives the correct value (Clinger 1990). Otherwise the quotient is computed with
twice the precision (Dekker 1971), and accepted if its error cannot change the rounding (Ziv 1991).
``float()`` parses all other numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.clean.words import Flags, Ids, Rows, Text, Word

Floats = npt.NDArray[np.float64]

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MAX_LENGTH = 400
"""The greatest length of a number; 64 bits need up to 325 digits."""

_MAX_POWER = 22
_POWERS: Floats = np.array([10.0**power for power in range(_MAX_POWER + 1)])
_EXACT = 1 << 53
_DISTINCT = 10**15
_N_WORDS = 3
_MAX_THIRD = np.uint64(99)  # the digits of the first of three words, so that all are below 10^18
_SPLITTER = float((1 << 27) + 1)
_MARGIN = 1 + 2.0**-40

_LAST = np.array([(((1 << 8 * n) - 1) << 8 * (8 - n)) for n in range(9)], np.uint64)
"""The mask of the last ``n`` bytes of a word."""

_ONE = np.uint64(1)
_EIGHT = np.uint64(8)
_ONES = np.uint64(0x0101010101010101)
_ZEROS = _ONES * np.uint64(ord("0"))
_POINTS = _ONES * np.uint64(ord(".") ^ ord("0"))
_LETTERS_E = _ONES * np.uint64(ord("e"))
_LOWER = _ONES * np.uint64(0x20)
_HIGH = _ONES * np.uint64(0x80)
_ABOVE_NINE = _ONES * np.uint64(0x7F - 9)

# The number of bits below the mark of a byte, from 7 to 63, decides the number of bytes after it;
# 64 means that there is no mark.
_N_AFTER = np.array([7 - (bits >> 3) if bits < 64 else 0 for bits in range(65)])


@dataclass(frozen=True, eq=False)
class Decimals:
    """Decimal numbers.

    Attributes:
        values: The values (float64, finite).
    """

    values: Floats
    _digits: Word
    _text: Text
    _before: Rows
    _ends: Rows

    def may_differ(self, rows: Rows) -> bool:
        """Return whether a number may differ from the previous one that has the same value.

        Two numbers of up to 15 digits have the same value only if they are equal.
        """
        known = self._digits < _DISTINCT
        unknown = rows[~(known[rows] & known[rows - 1])]
        if not len(unknown):
            return False
        fields = [
            Ids.of(self._text, self._before[at] + 1, self._ends[at])
            for at in (unknown, unknown - 1)
        ]
        here, before = fields
        return here is None or before is None or not here.equal(before).all()


def parse_decimals(text: Text, before: Rows, ends: Rows) -> Decimals | None:
    """Parse ``[+-]digits[.digits][e[+-]digits]``; one side of the point may be empty.

    Args:
        text: The text.
        before: The byte before each number.
        ends: The byte after its last one, greater than ``before``.

    Returns:
        ``None`` if a field is not such a number, is too large for 64 bits, or becomes 0 although
        it is not 0.
    """
    digits, n_after, is_regular = _read(text, before, ends)
    values, is_sure = _scale(digits, -n_after)
    is_regular &= is_sure
    if not is_regular.all():
        rows = np.flatnonzero(~is_regular)
        values[rows], digits[rows], is_regular = _parse_signed(text, before[rows], ends[rows])
        for row in rows[~is_regular].tolist():
            value = _parse_one(text.cut(int(before[row]) + 1, int(ends[row])))
            if value is None:
                return None
            values[row], digits[row] = value, _DISTINCT
    return Decimals(values, digits, text, before, ends)


def _parse_one(field: bytes) -> float | None:
    if len(field) > _MAX_LENGTH or _DECIMAL.fullmatch(field) is None:
        return None
    value = float(field)
    is_lost = value == 0 and field.lower().partition(b"e")[0].strip(b"+-.0")
    return None if is_lost or abs(value) == np.inf else value


def _parse_signed(text: Text, before: Rows, ends: Rows) -> tuple[Floats, Word, Flags]:
    """Parse numbers with signs and exponents; return values, digits, and whether each is sure."""
    sign = text.data.take(before + 1)
    is_negative = sign == ord("-")
    before = before + (is_negative | (sign == ord("+")))
    n_exponent, exponent, is_valid = _read_exponents(text, before, ends)
    digits, n_after, is_regular = _read(text, before, ends - n_exponent)
    values, is_sure = _scale(digits, exponent - n_after)
    np.negative(values, out=values, where=is_negative)
    return values, digits, is_regular & is_sure & is_valid


def _read_exponents(text: Text, before: Rows, ends: Rows) -> tuple[Rows, Rows, Flags]:
    """Read the exponents of some numbers.

    Returns:
        The number of bytes from each ``e`` to the end, 0 without one; the exponent; whether it is
        a whole number.
    """
    last = text.words_at(ends, -8)
    mark = ((last | _LOWER) ^ _LETTERS_E) - _ONES
    mark &= _HIGH
    mark &= _LAST.take(ends - before - 1, mode="clip")
    mark &= np.negative(mark)  # the first one; later ones may be wrong
    has_exponent = mark != 0
    n_digits = _bytes_after(mark)
    sign = text.data.take(ends - n_digits, mode="clip")
    is_negative = sign == ord("-")
    n_exponent = np.where(has_exponent, n_digits + 1, 0)
    n_digits -= is_negative | (sign == ord("+"))
    last ^= _ZEROS
    last &= _LAST.take(n_digits, mode="clip")
    exponent = _eight_digits(last).astype(np.int64)
    np.negative(exponent, out=exponent, where=is_negative)
    is_valid = (_not_digits(last) == 0) & (n_digits > 0)
    exponent[~has_exponent] = 0
    return n_exponent, exponent, is_valid | ~has_exponent


def _scale(digits: Word, power: Rows) -> tuple[Floats, Flags]:
    """Return digits times a power of ten, and whether each value is correctly rounded."""
    values = digits.view(np.int64).astype(np.float64)
    exact = values
    divisors: Floats = _POWERS.take(-power, mode="clip")
    values = values / divisors
    if power.max() > 0:
        values *= _POWERS.take(power, mode="clip")
    is_sure = np.abs(power) <= _MAX_POWER
    large = np.flatnonzero(digits >= _EXACT)
    if len(large):
        rest = digits[large].view(np.int64) - exact[large].astype(np.int64)
        values[large], good = _divide(exact[large], rest.astype(np.float64), divisors[large])
        is_sure[large] &= good & (power[large] <= 0)
    return values, is_sure


def _divide(high: Floats, low: Floats, divisor: Floats) -> tuple[Floats, Flags]:
    """Divide sums of two numbers, and return whether each quotient is correctly rounded."""
    quotient = high / divisor
    product = quotient * divisor
    # The error of the product, from the products of the halves of both factors.
    one, two = (_split(factor) for factor in (quotient, divisor))
    error = ((one[0] * two[0] - product) + one[0] * two[1] + one[1] * two[0]) + one[1] * two[1]
    correction = ((high - product) - error + low) / divisor
    values = quotient + correction
    rest = (quotient - values) + correction
    return values, values + rest * _MARGIN == values


def _split(values: Floats) -> tuple[Floats, Floats]:
    """Split numbers into two of at most 26 bits."""
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high


def _read(text: Text, before: Rows, ends: Rows) -> tuple[Word, Rows, Flags]:
    """Read fields as digits with at most one point.

    Returns:
        The digits as whole numbers below 10^18, the number of digits after the point, and whether
        each field has this form.
    """
    lengths = ends - before
    lengths -= 1
    longest = int(lengths.max())
    words = []
    for number in range(min(_N_WORDS, max(1, (longest + 7) >> 3))):
        # Bytes before the field become the digit 0.
        word = text.words_at(ends, -8 * (number + 1))
        word ^= _ZEROS
        word &= _LAST.take(lengths - 8 * number if number else lengths, mode="clip")
        words.append(word)
    n_after, has_point, invalid = _remove_points(words)
    digits = _eight_digits(words[0])
    for number, word in enumerate(words[1:], 1):
        part = _eight_digits(word)
        if number == _N_WORDS - 1:
            invalid |= np.where(part > _MAX_THIRD, _HIGH, np.uint64(0))
        part *= np.uint64(10 ** (8 * number))
        digits += part
    is_regular = invalid == 0
    is_regular &= lengths > has_point
    if longest > 8 * _N_WORDS:
        is_regular &= lengths <= 8 * _N_WORDS
    if not is_regular.all():
        digits[~is_regular] = 0
    return digits, n_after, is_regular


def _remove_points(words: list[Word]) -> tuple[Rows, Flags, Word]:
    """Remove the point of each number in place, and move the bytes before it.

    Args:
        words: The last word of each number, then the words before it.

    Returns:
        The number of bytes after the point, whether there is one, and a word other than 0 for
        numbers with two points or with a byte above 9.
    """
    has_point = np.zeros(len(words[0]), np.bool_)
    n_after = np.zeros(len(words[0]), np.int64)
    invalid = np.zeros(len(words[0]), np.uint64)
    for number, word in enumerate(words):
        point = _find_points(word)
        is_here = point != 0
        if number:
            # Bytes before a point move to the next one.
            word <<= np.where(has_point, _EIGHT, np.uint64(0))
        if is_here.any():
            several = point & (point - _ONE)
            invalid |= np.where(is_here & has_point, _HIGH, several) if number else several
            found = _bytes_after(point)
            n_after = np.where(is_here, found + 8 * number, n_after) if number else found
            has_point |= is_here
            _remove_point(word, point, is_here)
        if number + 1 < len(words):
            before = words[number + 1] >> np.uint64(56)
            before *= has_point
            word |= before
        invalid |= _not_digits(word)
    return n_after, has_point, invalid


def _find_points(word: Word) -> Word:
    """Return words with the highest bit of each byte that is a point; digits do not have it."""
    point = word ^ _POINTS
    point -= _ONES
    point &= _HIGH
    return point


def _bytes_after(mark: Word) -> Rows:
    """Return the number of bytes after the marked one of each word; 0 without a mark."""
    n_bytes: Rows = _N_AFTER.take(np.bitwise_count(mark - _ONE))
    return n_bytes


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
