"""Numbers are those of ``float()`` and ``int()``."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trectools_plus.formats.columns.decimals import parse_decimals, parse_whole_numbers
from trectools_plus.formats.columns.ids import Text

DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
OTHER = ["x", "-", ".", "1.2.3", "--1", "0x2", "0x1p3", "1,5", "1_0", "1e", "1%"]
OTHER += ["é", "1é", "１", "٣", "1 5", "e5", "+"]
NOT_FINITE = ["nan", "-NaN", "inf", "+Infinity", "1e999", "-1e999", "1e-999"]
DIGITS = st.from_regex(r"[+-]?[0-9]{0,18}\.?[0-9]{0,18}([eE][+-]?[0-9]{1,3})?", fullmatch=True)
NUMBER = DIGITS.filter(bool) | st.sampled_from([*OTHER, *NOT_FINITE, "0" * 500 + "1.5"])


def bounds(texts: list[str]) -> tuple[Text, np.ndarray, np.ndarray]:
    data = [text.encode() for text in texts]
    ends = np.cumsum([len(one) + 1 for one in data]) - 1
    return Text(b" ".join(data)), ends - [len(one) for one in data], ends


def expected(text: str) -> float:
    return float(text) if DECIMAL.fullmatch(text) or text in NOT_FINITE else math.nan


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20),
    st.sampled_from(
        ["{!r}", "{:.17e}", "{:.3f}", "{:.0f}", "{:+.5f}", "{:.20f}", "{:g}", "{:.15g}"]
    ),
)
@example([5e-324, 1.7976931348623157e308, -0.0, 9007199254740993.0, 0.1], "{!r}")
@example([9007199254740992.0, 9007199254740993.0, 1234567890123456.0], "{:.0f}")
def test_scores_are_those_of_float(values: list[float], form: str) -> None:
    texts = [form.format(value) for value in values]
    values, _ = parse_decimals(*bounds(texts))
    assert values.tobytes() == np.array(list(map(float, texts))).tobytes()


@given(st.lists(NUMBER, min_size=1, max_size=8))
@example(["123456789.123456789", "00000000000000000001.5", "12345678.", ".12345678", "1234567.8"])
@example(["1e400", "-1e400", "4.9e-324", "2.4703282292062328e-324", "+.5e+03", "5."])
@pytest.mark.parametrize("few", [0, 1000], ids=["polars", "python"])
def test_any_text_is_read_as_float_reads_it(few: int, texts: list[str]) -> None:
    with patch("trectools_plus.formats.columns.decimals._FEW", few):
        values, are_short = parse_decimals(*bounds(texts))
    np.testing.assert_array_equal(values, [expected(text) for text in texts])
    assert np.signbit(values[np.isfinite(values)]).tolist() == [
        text.startswith("-") for text in texts if math.isfinite(expected(text))
    ]
    short = [text for text, is_short in zip(texts, are_short, strict=True) if is_short]
    for one in short:
        for other in short:
            if float(one) == float(other):
                assert Decimal(one) == Decimal(other)


@given(
    st.lists(
        st.integers(-(1 << 64), 1 << 64).map(str)
        | st.from_regex(r"[+-]?[0-9]{1,12}(\.0{0,3})?", fullmatch=True)
        | st.sampled_from([*OTHER, "1.5", "-1", "007"]),
        min_size=1,
    )
)
def test_whole_numbers_are_those_of_int(texts: list[str]) -> None:
    values, has_point = parse_whole_numbers(*bounds(texts))
    numbers = list[float]()
    for text, is_pointed in zip(texts, has_point, strict=True):
        match = re.fullmatch(r"([+-]?[0-9]+)(\.0*)?", text)
        is_number = match and -(1 << 63) <= int(match[1]) < 1 << 63
        numbers.append(int(match[1]) if match and is_number else math.nan)
        assert is_pointed == bool(is_number and match and match[2])
    np.testing.assert_array_equal(values, np.array(numbers), strict=True)
