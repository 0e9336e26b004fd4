"""Numbers in runs and qrels compared with Python's ``float()``."""

from __future__ import annotations

import re

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from trectools_plus.formats.columns.decimals import parse_column

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
    assert parse_column(pl.Series(texts)).to_list() == expected
