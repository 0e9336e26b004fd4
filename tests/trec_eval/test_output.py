"""Lines and numbers as C's printf writes them."""

from __future__ import annotations

import ctypes
import math
import struct

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


def test_queries_in_byte_order_and_the_last_tag(printed):
    lines = printed(QRELS, RUN, "-q", "-m", "runid", "-m", "map")
    assert lines == [
        "map                   \t1\t0.0000",
        "map                   \t10\t1.0000",
        "map                   \t2\t1.0000",
        "runid                 \tall\tlast",
        "map                   \tall\t0.6667",
    ]


def test_only_in_the_summary_or_only_per_query(printed):
    flags = (
        "-q",
        "-m",
        "runid",
        "-m",
        "num_q",
        "-m",
        "gm_map",
        "-m",
        "gm_bpref",
        "-m",
        "relstring",
    )
    lines = [line.split("\t") for line in printed(QRELS, RUN, *flags)]
    assert {name.strip() for name, query, _ in lines if query != "all"} == {"relstring"}
    assert [name.strip() for name, query, _ in lines if query == "all"] == [
        "runid",
        "num_q",
        "gm_map",
        "gm_bpref",
    ]


def test_without_summary_and_without_queries(printed):
    assert printed(QRELS, RUN, "-n", "-m", "map") == []
    assert all("\tall\t" not in line for line in printed(QRELS, RUN, "-nq"))
    assert printed(QRELS, RUN, "-q", "-m", "num_q") == ["num_q                 \tall\t3"]


def test_one_query_alone_still_averages_over_all_with_c(printed):
    assert printed(QRELS, RUN, "-D1.2", "-m", "map") == ["map                   \tall\t1.0000"]
    assert printed(QRELS, RUN, "-cD0.2", "-m", "map") == ["map                   \tall\t0.3333"]


def test_nothing_left_to_rank_is_not_a_number(printed):
    lines = printed(
        "1 0 a 1\n", "1 Q0 b 1 1 t\n1 Q0 a 2 0 t\n", "-qJM1", "-m", "iprec_at_recall.0,1"
    )
    assert lines[:2] == [
        "iprec_at_recall_0.00  \t1\t  -nan",
        "iprec_at_recall_1.00  \t1\t0.0000",
    ]


def test_sums_and_the_count_of_relevant_under_c(printed):
    qrels, run = "1 0 a 1\n1 0 b 3\n2 0 a 1\n", "1 Q0 a 1 1 t\n"
    flags = ("-l2", "-m", "num_rel", "-m", "num_q")
    assert [line.split()[-1] for line in printed(qrels, run, *flags)] == ["1", "1"]
    # With -c trec_eval counts every grade above 0, whatever the level.
    assert [line.split()[-1] for line in printed(qrels, run, "-c", *flags)] == ["2", "3"]
