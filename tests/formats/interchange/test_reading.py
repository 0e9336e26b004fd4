"""Runs and qrels in other formats: detected, arranged as TREC's columns, and converted."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from harness.files import write
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.lexing import lex
from trectools_plus.formats.writing import write_qrels, write_run
from trectools_plus.validation.loading import convert_qrels, convert_run, load_qrels, load_run

Rows = list[tuple[str, ...]]


def run_rows(text: str) -> Rows:
    return lex(FileContent("base.csv", text.encode()), "run").rows.drop("line").rows()


def qrels_rows(text: str) -> Rows:
    return lex(FileContent("q.csv", text.encode()), "qrels").rows.drop("line").rows()


RUN_ROWS = [
    ("1", "Q0", "d1", "1", "2.5", "base"),
    ("1", "Q0", "d2", "2", "1", "base"),
    ("2", "Q0", "d3", "1", "3", "base"),
]


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,score\n1,d1,2.5\n1,d2,1\n2,d3,3\n",
        "qid\tdocno\tscore\n1\td1\t2.5\n1\td2\t1\n2\td3\t3\n",
        "Query ID;Document ID;Similarity\r\n1;d1;2.5\r\n1;d2;1\r\n2;d3;3\r\n",
        ",qid,docid,docno,rank,score,query\n0,1,7,d1,1,2.5,x y\n1,1,8,d2,2,1,x y\n2,2,9,d3,1,3,z\n",
        'score,doc_id,query_id\n2.5,d1,1\n"1",d2,1\n3,"d3",2\n',
        "qid docid score\n1 d1 2.5\n1 d2 1\n2 d3 3\n",
        "qid\trank\tdocid\tscore\tq0\ttag\n1\t1\td1\t2.5\tQ0\tbase\n1\t2\td2\t1\tQ0\tbase\n"
        "2\t1\td3\t3\tQ0\tbase\n",
        '{"1": {"d1": 2.5, "d2": 1}, "2": {"d3": 3}}',
        '{"1": [["d1", 2.5], ["d2", 1]], "2": [["d3", 3]]}',
        '[{"qid": 1, "docno": "d1", "score": 2.5}, {"qid": 1, "docno": "d2", "score": 1},'
        ' {"qid": 2, "docno": "d3", "score": 3}]',
        '{"query_id": "1", "doc_id": "d1", "score": 2.5}\n{"query_id": "1", "doc_id": "d2", '
        '"score": 1}\n{"query_id": "2", "doc_id": "d3", "score": "3"}\n',
    ],
)
def test_runs_that_every_command_reads(text: str) -> None:
    assert run_rows(text) == RUN_ROWS


def test_ranks_follow_the_scores_if_there_are_none() -> None:
    rows = run_rows("qid,docid,score\n1,a,1\n2,x,5\n1,b,2\n1,c,2\n")
    assert [(row[2], row[3]) for row in rows] == [("a", "3"), ("x", "1"), ("b", "1"), ("c", "2")]


@pytest.mark.parametrize("names", ["query_id,doc_id,rank", "qid,pid,position"])
def test_ranks_are_negated_if_there_are_no_scores(names: str) -> None:
    rows = run_rows(f"{names}\n1,a,2\n1,b,1\n")
    assert [row[2:5] for row in rows] == [("a", "2", "-2"), ("b", "1", "-1")]


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,relevance\n1,d1,2\n1,d2,0\n",
        "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n",
        "Topic;Document;Rating;Comment\n1;d1;2;ja, sehr\n1;d2;0;\n",
        '{"1": {"d1": 2, "d2": 0}}',
        '[{"qid": "1", "docid": "d1", "label": 2}, {"qid": "1", "docid": "d2", "label": 0}]',
    ],
)
def test_qrels_that_every_command_reads(text: str) -> None:
    assert qrels_rows(text) == [("1", "0", "d1", "2"), ("1", "0", "d2", "0")]


@pytest.mark.parametrize(
    "text",
    [
        "1 Q0 d1 1 9.5 base\n",
        "qid Q0 docno rank score tag\n1 Q0 d1 1 9.5 base\n",
        "1,Q0,d1,1,9.5,base\n",
        "query_id,text\n1,two words\n",
        '{"a": 1}',
        '{"run1": {"1": {"d": 1}}}',
        "{}",
        "",
    ],
)
def test_other_files_are_split_at_blanks(text: str) -> None:
    assert lex(FileContent("f", text.encode()), "run").origin is None


@pytest.mark.parametrize(
    ("text", "name", "rows"),
    cases_of(__file__, "further"),
)
def test_runs_that_are_converted(
    tmp_path: Path, text: str, name: str, rows: list[tuple[str, str, float]]
) -> None:
    path = write(tmp_path / "base.txt", text)
    for source_format in (None, name):
        converted = convert_run(path, source_format=source_format)
        frame = converted.table.frame.select("query_id", "doc_id", "score")
        assert [list(row) for row in frame.rows()] == rows
        assert converted.table.name == "base"


@pytest.mark.parametrize(
    ("text", "name", "rows"),
    cases_of(__file__, "rows"),
)
def test_qrels_that_are_converted(
    tmp_path: Path, text: str, name: str, rows: list[tuple[str, str, str, int]]
) -> None:
    path = write(tmp_path / "q.txt", text)
    for source_format in (None, name):
        frame = convert_qrels(path, source_format=source_format).table.frame
        assert [list(row) for row in frame.rows()] == rows


def test_lost_information_is_noted(tmp_path: Path) -> None:
    prels = write(tmp_path / "prels", "1 a 1 1 0.4\n1 b 0 1 0.4\n")
    assert "sampling probabilities" in convert_qrels(prels).notes[0]
    table = write(tmp_path / "q.csv", "qid,docid,grade,annotator\n1,a,1,x\n1,b,0,y\n")
    assert convert_qrels(table).notes == ("not converted: annotator",)
    assert "ranks" in convert_run(write(tmp_path / "r.csv", "qid,docid,rank\n1,a,1\n")).notes[0]


ID = st.text(
    st.characters(codec="ascii", categories=["L", "N"], include_characters="-_."),
    min_size=1,
    max_size=6,
).map("x{}".format)
RUNS = st.dictionaries(
    ID,
    st.dictionaries(ID, st.floats(-1e6, 1e6).map(lambda x: x + 0.0), min_size=2, max_size=5),
    min_size=1,
    max_size=4,
).filter(lambda run: all(len(set(scores.values())) > 1 for scores in run.values()))
QRELS = st.dictionaries(
    ID, st.dictionaries(ID, st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=4
)


def as_csv(header: str, rows: list[tuple[object, ...]], separator: str, quoting: int) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator="\r\n")  # type: ignore[arg-type]
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return stream.getvalue()


@given(
    scores=RUNS,
    separator=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_runs_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    scores: dict[str, dict[str, float]],
    separator: str,
    quoting: int,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    rows: list[tuple[object, ...]] = [
        (q, d, score) for q, documents in scores.items() for d, score in documents.items()
    ]
    texts = (as_csv("qid,docid,score", rows, separator, quoting), json.dumps(scores))
    for text in texts:
        run = load_run(write(folder / "r", text))
        assert run.to_dict() == scores
        write_run(run, folder / "out.run")
        assert load_run(folder / "out.run").frame.equals(run.frame)


@given(grades=QRELS, separator=st.sampled_from(",;\t|"))
def test_qrels_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, grades: dict[str, dict[str, int]], separator: str
) -> None:
    folder = tmp_path_factory.mktemp("qrels")
    rows: list[tuple[object, ...]] = [
        (q, d, grade) for q, documents in grades.items() for d, grade in documents.items()
    ]
    for text in (as_csv("q,doc,rel", rows, separator, csv.QUOTE_MINIMAL), json.dumps(grades)):
        qrels = load_qrels(write(folder / "q", text))
        assert qrels.to_dict() == grades
        write_qrels(qrels, folder / "out")
        assert load_qrels(folder / "out").frame.equals(qrels.frame)
