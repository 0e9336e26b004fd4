"""Lines and numbers as C's printf writes them."""

from __future__ import annotations

import ctypes
import math
import struct

import pytest
from harness.tables import cases_of
from hypothesis import example, given
from hypothesis import strategies as st

from trectools_plus.trec_eval.output import format_real

PRINTF = ctypes.CDLL(None).snprintf
QRELS = "2 0 a 1\n10 0 a 1\n10 0 b 0\n1 0 a 1\n"
RUN = "2 Q0 a 1 2.0 first\n1 Q0 b 1 2.0 other\n10 Q0 a 1 2.0 last\n"


@given(st.floats() | st.floats(-2, 2))
@example(math.nan)
@example(struct.unpack("<d", b"\0\0\0\0\0\0\xf8\xff")[0])
@example(-0.0)
@example(0.00005)
def test_numbers_are_those_of_printf(value):
    buffer = ctypes.create_string_buffer(400)
    PRINTF(buffer, ctypes.c_size_t(400), b"%6.4f", ctypes.c_double(value))
    assert format_real(value) == buffer.value.decode()


@pytest.mark.parametrize(
    ("qrels", "run", "flags", "expected"), cases_of(__file__, "lines", QRELS=QRELS, RUN=RUN)
)
def test_lines(printed, qrels, run, flags, expected):
    """With -c trec_eval counts every grade above 0 as relevant, whatever the level."""
    lines = printed(qrels, run, *flags.split())
    assert [" ".join(line.split()) for line in lines] == expected
    assert all(line.index("\t") == 22 for line in lines)


def test_without_a_summary_only_queries_are_printed(printed):
    assert all("\tall\t" not in line for line in printed(QRELS, RUN, "-nq"))
