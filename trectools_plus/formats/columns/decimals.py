"""Decimal numbers, eight digits at a time, with exactly the values of Python's ``float()``.

Only ASCII digits in decimal notation are accepted, because evaluation tools disagree on ``0x1p3``,
``1_000``, ``9,5``, ``nan`` and full-width digits.

Numbers of up to 18 digits are parsed with arrays. The digits make a whole number, which is divided
by a power of ten up to 10^22, which is exact in 64 bits. If the whole number is below 2^53, one
rounding gives the correct value (Clinger 1990). Otherwise the quotient is computed with twice the
precision (Dekker 1971), and accepted if its error cannot change the rounding (Ziv 1991). Polars
parses all other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.ids import Flags, Ids, Rows, Text, Word

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]

DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INTEGER = r"^[+-]?[0-9]+$"
INTEGRAL = r"^[+-]?[0-9]+\.0*$"
_DECIMAL = re.compile(DECIMAL)
_NOT_FINITE = re.compile(r"(?i)[+-]?(?:nan|inf|infinity)")

_WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")
_MAX_DIGITS = 4000  # Python refuses to convert more by default

_MAX_POWER = 22
_POWERS: Floats = np.array([10.0**power for power in range(_MAX_POWER + 1)])
_EXACT = 1 << 53
_LONG = 10**15
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
_HIGH = _ONES * np.uint64(0x80)
_ABOVE_NINE = _ONES * np.uint64(0x7F - 9)

# The number of bits below the mark of a byte, from 7 to 63, decides the number of bytes after it;
# 64 means that there is no mark.
_N_AFTER = np.array([7 - (bits >> 3) if bits < 64 else 0 for bits in range(65)])


@dataclass(frozen=True, eq=False)
class Decimals:
    """Decimal numbers.

    Attributes:
        values: The values (float64): infinite if a number is too large, NaN for what is not a
            number, and both for the words for them.
        is_short: Whether each has at most 15 digits and an exact value, so that another short one
            with the same value is the same number.
    """

    values: Floats
    is_short: Flags

    @classmethod
    def joined(cls, parts: Sequence[Decimals]) -> Decimals:
        """Return the numbers of some parts."""
        return cls(
            np.concatenate([np.zeros(0), *(part.values for part in parts)]),
            np.concatenate([np.zeros(0, np.bool_), *(part.is_short for part in parts)]),
        )


def parse_decimals(text: Text, starts: Rows, ends: Rows) -> Decimals:
    """Parse ``[+-]digits[.digits][e[+-]digits]``; one side of the point may be empty.

    Args:
        text: The text.
        starts: The first byte of each number.
        ends: The byte after its last one.
    """
    if not len(starts):
        return Decimals(np.zeros(0), np.zeros(0, np.bool_))
    sign = text.data.take(starts)
    is_negative = sign == ord("-")
    digits, n_after, is_regular = _read(text, starts - 1 + (is_negative | (sign == ord("+"))), ends)
    values, is_sure = _scale(digits, n_after)
    np.negative(values, out=values, where=is_negative)
    rows = np.flatnonzero(~(is_regular & is_sure))
    if len(rows):  # numbers with an exponent or many digits, and words for NaN and infinity
        texts, digits[rows] = Ids.of(text, starts[rows], ends[rows]).series(), _LONG
        values[rows] = parse_column(texts).to_numpy()
        words = np.flatnonzero(np.isnan(values[rows]))
        values[rows[words]] = [parse_decimal(one) for one in texts.gather(words)]
    return Decimals(values, digits < _LONG)


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Whole numbers, for example ranks.

    Attributes:
        values: The values; 0 for what is not a whole number of 64 bits.
        is_number: Whether each is one; ``1.0`` is one.
        has_point: Whether each is one that is written with a point.
    """

    values: Rows
    is_number: Flags
    has_point: Flags

    @classmethod
    def joined(cls, parts: Sequence[WholeNumbers]) -> WholeNumbers:
        """Return the numbers of some parts."""
        none = np.zeros(0, np.bool_)
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.values for part in parts)]),
            np.concatenate([none, *(part.is_number for part in parts)]),
            np.concatenate([none, *(part.has_point for part in parts)]),
        )

    @classmethod
    def of(cls, values: Rows) -> WholeNumbers:
        """Return some numbers."""
        flags = (np.broadcast_to(np.bool_(flag), len(values)) for flag in (True, False))
        return cls(values, *flags)

    @cached_property
    def are_numbers(self) -> bool:
        """True if all are whole numbers."""
        return bool(self.is_number.all())

    @property
    def floats(self) -> Floats:
        """The values as floats, rounded to 53 bits; NaN for what is not a whole number."""
        return np.where(self.is_number, self.values.astype(np.float64), np.nan)


def parse_whole_numbers(text: Text, starts: Rows, ends: Rows) -> WholeNumbers:
    """Parse ``[+-]digits``, optionally followed by a point and zeros.

    Args:
        text: The text.
        starts: The first byte of each number.
        ends: The byte after its last one.
    """
    lengths = ends - starts
    word = text.words_at(ends, -8)
    word ^= _ZEROS
    word &= _LAST.take(lengths, mode="clip")
    is_number = (_not_digits(word) == 0) & (lengths <= 8)
    values = _eight_digits(word).view(np.int64)
    has_point = np.zeros(len(values), np.bool_)
    if not is_number.all():
        rows = np.flatnonzero(~is_number)
        fields = Ids.of(text, starts[rows], ends[rows])
        number, first = fields.numbered()
        parsed = [_parse_whole_number(one) for one in fields.texts(first)]
        values[rows] = np.array([value or 0 for value, _ in parsed], np.int64)[number]
        is_number[rows] = np.array([value is not None for value, _ in parsed])[number]
        has_point[rows] = np.array([point for _, point in parsed])[number]
    return WholeNumbers(values, is_number, has_point)


def _parse_whole_number(text: str) -> tuple[int | None, bool]:
    """Return the value, ``None`` if there is none in 64 bits, and whether there is a point."""
    found = _WHOLE.fullmatch(text)
    if found is None or len(found[1]) > _MAX_DIGITS or not -(1 << 63) <= int(found[1]) < 1 << 63:
        return None, False
    return int(found[1]), bool(found[2])


def parse_decimal(text: str) -> float:
    """Return the value of a decimal number, or of a word for NaN or infinity; NaN for others."""
    is_number = _DECIMAL.fullmatch(text) is not None or _NOT_FINITE.fullmatch(text) is not None
    return float(text) if is_number else np.nan


def _scale(digits: Word, n_after: Rows) -> tuple[Floats, Flags]:
    """Return digits divided by a power of ten, and whether each value is correctly rounded."""
    exact = digits.view(np.int64).astype(np.float64)
    divisors: Floats = _POWERS.take(n_after, mode="clip")
    values = exact / divisors
    is_sure = n_after <= _MAX_POWER
    large = np.flatnonzero(digits >= _EXACT)
    if len(large):
        rest = digits[large].view(np.int64) - exact[large].astype(np.int64)
        values[large], good = _divide(exact[large], rest.astype(np.float64), divisors[large])
        is_sure[large] &= good
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
    other = [] if text.is_ascii else [word & _HIGH for word in words]
    n_after, has_point, invalid = _remove_points(words)
    for high in other:
        invalid |= high
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
        point = word ^ _POINTS  # then the highest bit of each byte that is a point
        point -= _ONES
        point &= _HIGH
        is_here = point != 0
        if number:
            # Bytes before a point move to the next one.
            word <<= np.where(has_point, _EIGHT, np.uint64(0))
        if is_here.any():
            several = point & (point - _ONE)
            invalid |= np.where(is_here & has_point, _HIGH, several) if number else several
            found = _N_AFTER.take(np.bitwise_count(point - _ONE))
            n_after = np.where(is_here, found + 8 * number, n_after) if number else found
            has_point |= is_here
            _remove_point(word, point, is_here)
        if number + 1 < len(words):
            before = words[number + 1] >> np.uint64(56)
            before *= has_point
            word |= before
        invalid |= _not_digits(word)
    return n_after, has_point, invalid


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


def parse_column(texts: pl.Series) -> pl.Series:
    """Parse a column of decimal numbers.

    Returns:
        Float64: infinite if a number is too large; null if a text is not a decimal number.
    """
    import polars as pl

    return texts.set(~texts.str.contains(DECIMAL), None).cast(pl.Float64, strict=False)
