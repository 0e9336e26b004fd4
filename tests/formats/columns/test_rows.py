"""The rows of a file as arrays are those of a plain splitter."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.columns.test_columns import split_plainly
from trectools_plus.formats.columns import columns as columns_module
from trectools_plus.formats.columns.decimals import parse_decimal
from trectools_plus.formats.columns.lexer import scan_columns
from trectools_plus.formats.columns.rows import RunRows
from trectools_plus.formats.files.content import FileContent

QUERY = st.sampled_from(["1", "q10", "é", "x" * 130, "1\0"])
WORD = st.sampled_from(["Q0", "Q0", "Q0", "0", "\x01"])
DOCUMENT = st.sampled_from(["d1", "D1", "clueweb12-0000tw-00-00013", "中", "y" * 200, "\u2028"])
RANK = st.sampled_from(["1", "2", "0", "-", "1.0", "10000000000", "+3", "99999999999999999999"])
SCORE = st.sampled_from(["1.5", "2e-3", "nan", "1e999", "x", "-0", ".5", "12345678901234567890"])
BLANK = st.sampled_from([" ", " ", " ", "\t", "  ", "\v"])
END = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n", "\n# comment\n"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    parts = [draw(one) for one in (QUERY, WORD, DOCUMENT, RANK, SCORE, WORD)]
    if draw(st.sampled_from([False] * 9 + [True])):
        parts.pop()
    blank = draw(BLANK)
    return blank.join(parts) + draw(END)


@pytest.mark.parametrize("chunk_bytes", [1, 100, 1 << 20])
@given(text=st.lists(lines(), max_size=12).map("".join), has_header=st.booleans())
def test_columns_are_those_of_a_plain_splitter(
    chunk_bytes: int, text: str, has_header: bool
) -> None:
    data = text.encode()
    expected = [row[1:] for row in split_plainly(data, 6).rows]
    has_header = has_header and bool(expected)
    expected = expected[int(has_header) :]
    columns = scan_columns(FileContent("run", data), 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_module, "CHUNK_BYTES", chunk_bytes)
        rows = RunRows.of(columns, has_header=has_header)
        for number in (1, 3, 5):
            found = columns.texts(number, _reversed(len(expected)) + int(has_header))
            assert found == [row[number - 1] for row in reversed(expected)]
    blocks = rows.blocks
    assert [blocks.query_ids[number] for number in blocks.query] == [row[0] for row in expected]
    assert blocks.query_ids == list(dict.fromkeys(row[0] for row in expected))
    assert rows.second.texts() == [row[1] for row in expected]
    assert rows.doc_ids.texts() == [row[2] for row in expected]
    assert rows.tags.texts() == [row[5] for row in expected]
    assert [_shown(value) for value in rows.scores.values] == [
        _shown(parse_decimal(row[4])) for row in expected
    ]
    of_text = {"1": 1, "2": 2, "0": 0, "1.0": 1, "10000000000": 10**10, "+3": 3}
    assert [
        int(value) if is_number else None
        for value, is_number in zip(rows.ranks.values, rows.ranks.is_number, strict=True)
    ] == [of_text.get(row[3]) for row in expected]


def _reversed(n_rows: int):
    import numpy as np

    return np.arange(n_rows)[::-1]


def _shown(value: float) -> str:
    return "nan" if math.isnan(value) else repr(float(value))
