"""Numbers in run and qrels files.

Only ASCII digits in decimal notation are accepted, because evaluation tools disagree on ``0x1p3``,
``1_000``, ``9,5``, ``nan`` and full-width digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INTEGER = r"^[+-]?[0-9]+$"
INTEGRAL = r"^[+-]?[0-9]+\.0*$"


def parse_decimals(texts: pl.Series) -> pl.Series:
    """Parse scores: ``[+-]digits[.digits][e[+-]digits]``; one side of the point may be empty.

    Returns:
        Float64 with the values of Python's ``float()``: infinite if the number is too large; null
        if the text is not a decimal number.
    """
    import polars as pl

    return texts.set(~texts.str.contains(DECIMAL), None).cast(pl.Float64, strict=False)
