"""Tables: numbers are aligned on the right, with the same decimals and separators."""

import io

import pytest

from trectools_plus.display import TextTable
from trectools_plus.reporting import print_blocks
from trectools_plus.reporting.document import markdown_table, numeric_columns, show

ROWS = [
    ["lexical", "0.3417", "+0.0190", "[+0.001, +0.038]", "1,400", "<0.001", "nDCG@10", "*"],
    ["vector", "12.5000 (n = 19)", "−0.1000", "–", "90", "0.0312", "10 queries each", ""],
    ["hybrid", "–", "∞", "[−0.001, +0.038]", "7", "–", "RR", ""],
]


def numeric(rows):
    return numeric_columns(TextTable.of([""] * len(rows[0]), rows))


def test_columns_of_numbers_are_found():
    assert numeric(ROWS) == [False, True, True, True, True, True, False, False]


@pytest.mark.parametrize("nothing", ["", "–"])
def test_a_column_without_values_is_text(nothing):
    assert numeric([["a", nothing], ["b", nothing]]) == [False, False]
    assert numeric([["1", nothing], ["2", "3"]]) == [False, True]


def test_the_terminal_and_markdown_align_the_same_columns():
    header = ["Mode", "Mean", "Difference", "Interval", "Rows", "p", "Measure", ""]
    table = TextTable.of(header, ROWS)
    stream = io.StringIO()
    print_blocks([table], stream, width=120)
    lines = [line for line in stream.getvalue().splitlines() if "lexical" in line or "vec" in line]
    for text in ("1,400", "<0.001", "+0.0190"):
        end = lines[0].index(text) + len(text)
        assert lines[1][end - 1] != " ", "the numbers of both rows end in the same column"
        assert lines[1][end] == " "
    marks = markdown_table(table).splitlines()[1].strip("| ").split(" | ")
    assert [mark == "---:" for mark in marks] == numeric(ROWS)


def test_figures_have_four_decimals_and_separators():
    assert [show(one) for one in (0.5, 1234.56789, None)] == ["0.5000", "1,234.5679", "–"]
    assert show(1234.5, "+") == "+1,234.5000"
