"""Topics and test sets as tables with a header."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus import load_test_set, load_topics
from trectools_plus.validation import FindingsError, validate_topics

ROWS = """\
query_id,query_text,query_type,doc_id,relevance
q1,"low blood sugar, in newborns",paraphrase,d17,3
q1,,,d40,1
q2,seizure,exact_term,d2,0
q2,seizure,exact_term,d3,2
"""


def test_test_sets(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text(ROWS, "utf-8")
    queries = load_test_set(path).queries
    assert [(one.query_id, one.text, one.query_type) for one in queries] == [
        ("q1", "low blood sugar, in newborns", "paraphrase"),
        ("q2", "seizure", "exact_term"),
    ]
    judged = [[(term.doc_id, term.grade) for term in one.relevant] for one in queries]
    assert judged == [[("d17", 3), ("d40", 1)], [("d2", 0), ("d3", 2)]]
    assert validate_topics(path).errors == ()


def test_ids_can_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "cases.tsv"
    path.write_text("query\texpected_hpo_id\nseizure\tHP:1\nfever\tHP:3\n", "utf-8")
    queries = load_test_set(path).queries
    assert [one.query_id for one in queries] == ["case-001", "case-002"]
    judged = [[(term.doc_id, term.grade) for term in one.relevant] for one in queries]
    assert judged == [[("HP:1", 1)], [("HP:3", 1)]]


@pytest.mark.parametrize(
    ("rows", "code", "line"),
    [
        ("q1,a,d1,x\n", "Q110", 2),
        ("q1,a,d1,1\n\nq2,,d1,1\n", "T105", 4),
        ("q1,a,d1,1\nq1,b,d2,1\n", "T112", 3),
        ("q1,a,d1,1,7\n", "T104", 2),
        ('q1,"a,d1,1\n', "T104", 2),
        ("q1,a,,\n", "T131", 2),
        ("q1,a,d1,1\nq1,a,d1,2\n", "Q142", 3),
    ],
)
def test_findings_have_the_lines_of_the_table(
    tmp_path: Path, rows: str, code: str, line: int
) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("query_id,text,doc_id,grade\n" + rows, "utf-8")
    assert (code, line) in {(one.code, one.line) for one in validate_topics(path).findings}


@pytest.mark.parametrize(
    "text",
    [
        'query_id,text\n1,two words\n2,"a, b"\n',
        "Topic ID;Query;Note\r\n1;two words;x\r\n2;a, b;\r\n",
        "qid\ttitle\tlang\n1\ttwo words\ten\n2\ta, b\ten\n",
    ],
)
def test_topics(tmp_path: Path, text: str) -> None:
    path = tmp_path / "topics.csv"
    path.write_bytes(text.encode())
    assert load_topics(path).to_dict() == {"1": "two words", "2": "a, b"}


def test_an_empty_table_has_no_topics(tmp_path: Path) -> None:
    path = tmp_path / "topics.csv"
    path.write_text("query_id,text\n", "utf-8")
    with pytest.raises(FindingsError, match="T105"):
        load_topics(path)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=9)
CASES = st.dictionaries(
    st.from_regex(r"[a-z]{1,4}", fullmatch=True),
    st.tuples(
        TEXT.map(str.strip).filter(bool),
        st.dictionaries(
            st.from_regex(r"[A-Z]{1,4}", fullmatch=True), st.integers(1, 3), min_size=1, max_size=4
        ),
    ),
    min_size=1,
    max_size=4,
)


@given(cases=CASES)
def test_written_cases_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, cases: dict[str, tuple[str, dict[str, int]]]
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["query_id", "text", "doc_id", "grade"])
    for query_id, (text, judged) in cases.items():
        writer.writerows([query_id, text, *row] for row in judged.items())
    path = tmp_path_factory.mktemp("cases") / "cases.csv"
    path.write_text(stream.getvalue(), "utf-8", newline="")
    read = load_test_set(path).queries
    assert {
        one.query_id: (one.text, {term.doc_id: term.grade for term in one.relevant}) for one in read
    } == cases
