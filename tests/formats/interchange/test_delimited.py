"""Tables with a header: separators, quotes, lines; the fast path equals the module csv."""

from __future__ import annotations

import csv
import io

import pytest
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.interchange.names import QRELS, RUN, TOPICS, find_fields
from trectools_plus.formats.interchange.table_files import HeadedTable, find_header, read_table


def table_of(text: str) -> HeadedTable:
    text = text.removeprefix("\ufeff")
    header = find_header(text, lambda names: "query_id" in find_fields(names, TOPICS.fields))
    assert header is not None
    return read_table(text, header)


@pytest.mark.parametrize(
    ("text", "rows"),
    cases_of(__file__, "rows"),
)
def test_rows_and_their_lines(text: str, rows: list[tuple[object, ...]]) -> None:
    assert [list(row) for row in table_of(text).rows.rows()] == rows


@pytest.mark.parametrize(
    ("text", "line", "n_fields"),
    [
        ("qid,text\n1,a\n2,b,c\n", 3, 3),
        ('qid,text\n1,"a\n2,b\n', 2, 1),
        ('qid,text\n1,"a"b\n', 2, 1),
    ],
)
def test_rows_with_too_many_values_or_wrong_quotes(text: str, line: int, n_fields: int) -> None:
    assert table_of(text).misshapen.rows()[0][:2] == (line, n_fields)


HEADER = ["qid", "text", "note"]
VALUE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\t"), max_size=8).map(
    lambda text: text.strip(" \t")
)
ROWS = st.lists(st.tuples(VALUE.filter(bool).filter(lambda text: text[0] != "#"), VALUE, VALUE))


@given(rows=ROWS, separator=st.sampled_from(",;|"))
def test_a_written_table_is_read_back(rows: list[tuple[str, ...]], separator: str) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)
    assert [row[1:] for row in table_of(stream.getvalue()).rows.rows()] == rows


@given(rows=ROWS.filter(bool), separator=st.sampled_from("\t,;|"))
def test_rows_without_quotes_equal_those_with_quotes(
    rows: list[tuple[str, ...]], separator: str
) -> None:
    kept = [[value.replace('"', "").replace(separator, "") for value in row] for row in rows]
    kept = [HEADER, *(row for row in kept if row[0].strip() and row[0][0] != "#")]
    plain, quoted = (
        table_of("\n".join(separator.join(map(form.format, row)) for row in kept))
        for form in ("{}", '"{}"')
    )
    assert plain.rows.rows() == quoted.rows.rows()
    assert not plain.misshapen.rows() + quoted.misshapen.rows()


@pytest.mark.parametrize(
    ("names", "run", "qrels"),
    [
        ("query_id doc_id relevance", False, True),
        ("Query-ID,Corpus ID,Score", True, True),
        ("qid docid docno rank score query", True, False),
        ("topic item rating", False, True),
        ("q pid label", False, True),
        ("query document position", True, False),
        ("a b c", False, False),
        ("query_id text", False, False),
    ],
)
def test_names_of_columns(names: str, run: bool, qrels: bool) -> None:
    columns = names.split("," if "," in names else " ")
    assert (RUN.find(columns) is not None, QRELS.find(columns) is not None) == (run, qrels)


@pytest.mark.parametrize("line", ["\x1c", "\x85", "\u3000"])
def test_lines_of_other_white_space_are_no_header(line: str) -> None:
    assert find_header(f"{line}\nq1 d1 1\n", lambda _: False) is None
