"""Which texts are numbers in a run or qrels file, and what they are worth.

The grammar is ASCII only: ``0x1p3``, ``1_000``, ``9,5``, ``nan`` and full-width digits are read
as something by one evaluator and as something else, or not at all, by the next.
"""

from __future__ import annotations

import polars as pl

DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INTEGER = r"^[+-]?[0-9]+$"
INTEGRAL = r"^[+-]?[0-9]+\.0*$"


def parse_decimals(texts: pl.Series) -> pl.Series:
    """Parse scores: ``[+-]digits[.digits][e[+-]digits]``, digits on one side of the point enough.

    Returns:
        Float64, exactly what Python's ``float()`` gives, so infinite where the text says more
        than a double holds; null where the text is no decimal.
    """
    return texts.set(~texts.str.contains(DECIMAL), None).cast(pl.Float64, strict=False)


def parse_integers(texts: pl.Series) -> pl.Series:
    """Parse grades: ``[+-]digits``.

    Returns:
        Int64; null where the text is no integer, or is one beyond 64 bits.
    """
    return texts.set(~texts.str.contains(INTEGER), None).cast(pl.Int64, strict=False)


def parse_ranks(texts: pl.Series) -> pl.Series:
    """Parse ranks: integers, also written ``1.0`` or ``1.``; as :func:`parse_integers` else."""
    integral = texts.str.contains(INTEGRAL)
    return parse_integers(texts.zip_with(~integral, texts.str.replace(r"\.0*$", "")))
