"""Numbers in runs and qrels compared with Python's ``float()`` and ``int()``."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.columns.numbers import parse_decimals, parse_integers, parse_ranks
from trectools_plus.formats.files.source import Source

DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
TEXT = (
    st.from_regex(DECIMAL, fullmatch=True)
    | st.floats(allow_nan=False).map(repr)
    | st.text(st.sampled_from("0123456789+-.eE_xinfaNty,%٣1"), min_size=1)
)


@given(texts=st.lists(TEXT, min_size=1))
@example(["1e400", "-1e400", "1e-400", "4.9e-324", "2.4703282292062328e-324"])
@example(["nan", "inf", "Infinity", "-inf", "1_0", "0x1p3", "٣", "1", "1,5", "1%", ".", "e5", "+"])
@example([".5", "5.", "+.5e+03", "00012", "9007199254740993", "1.7976931348623159e308"])
def test_decimals_equal_pythons(texts: list[str]) -> None:
    expected = [float(text) if DECIMAL.fullmatch(text) else None for text in texts]
    assert parse_decimals(pl.Series(texts)).to_list() == expected


@given(texts=st.lists(st.from_regex(DECIMAL, fullmatch=True), min_size=1))
def test_the_typed_parse_reads_the_same_decimals(texts: list[str]) -> None:
    data = "".join(f"x {text}\n" for text in texts).encode()
    typed = scan_columns(Source("x", data), 2).typed({"x": pl.String, "score": pl.Float64})
    assert typed is not None
    assert typed["score"].to_list() == [float(text) for text in texts]


@given(text=st.text(st.sampled_from("0123456789+-.eE_x,%٣1\x1c\xa0"), min_size=1, max_size=6))
def test_the_typed_parse_accepts_no_finite_number_beyond_the_grammar(text: str) -> None:
    columns = scan_columns(Source("x", f"x {text}\n".encode()), 2)
    typed = columns.typed({"x": pl.String, "score": pl.Float64})
    assert (typed is not None) == bool(DECIMAL.fullmatch(text))
    integers = columns.typed({"x": pl.String, "rank": pl.Int64})
    assert (integers is not None) == bool(re.fullmatch("[+-]?[0-9]+", text, re.ASCII))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("+7", 7),
        ("-2", -2),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1e2", None),
        ("0x2", None),
        ("1_0", None),
        ("２", None),
        ("+", None),
        ("1\n", None),
    ],
)
def test_integers(text: str, value: int | None) -> None:
    assert parse_integers(pl.Series([text])).to_list() == [value]


@pytest.mark.parametrize(
    ("text", "value"), [("1.0", 1), ("-3.", -3), ("12.000", 12), ("1.5", None), (".0", None)]
)
def test_ranks_may_be_written_with_a_point(text: str, value: int | None) -> None:
    assert parse_ranks(pl.Series([text, "2"])).to_list() == [value, 2]
