"""Forms that commands read or convert, or of which they say precisely what is missing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from harness.files import write
from harness.tables import cases_of

from trectools_plus import load_run
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.interchange.names import column_names
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import FindingsError, validate_qrels, validate_run
from trectools_plus.validation.loading import convert_qrels, convert_run

PAIRS = [(q, f"d{d}") for q in ("1", "2") for d in range(q == "2", 5)]


def message(path: Path, code: str) -> str:
    validate = validate_run if code.startswith("R") else validate_qrels
    (found,) = (one for one in validate(path).findings if one.code == code)
    return f"{found.message}. {found.remedy}"


def test_two_possible_grades_are_named(tmp_path: Path) -> None:
    lines = (f"{q} 0 {d} {n % 3} {n % 2}\n" for n, (q, d) in enumerate(PAIRS))
    path = write(tmp_path / "file", "".join(lines))
    assert "5 columns" in message(path, "Q102")
    with pytest.raises(FindingsError):
        convert_qrels(path)
    blank = [f"{q} 0 doc {n} {n % 2}\n" for n, (q, _) in enumerate(PAIRS)]
    with pytest.raises(FindingsError):
        convert_qrels(write(tmp_path / "file", "".join(blank)))


@pytest.mark.parametrize("form", ["{} {} 0 0.000000", "{}\t{}\t0\t0", "{:>6} {:>6}  0 0"])
def test_relevant_documents_of_smart_are_converted(tmp_path: Path, form: str) -> None:
    documents = [("1", "184"), ("1", "29"), ("2", "12"), ("03", "31")]
    path = write(tmp_path / "qrels.text", "".join(form.format(*pair) + "\n" for pair in documents))
    assert f"qrels convert {path} --output" in message(path, "Q108")
    rows = convert_qrels(path).table.frame.select("query_id", "doc_id", "relevance").rows()
    assert rows == [(*pair, 1) for pair in documents]
    assert convert_qrels(path, source_format="smart").table.frame.height == 4


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"data": [{"query_id": "q", "doc_id": "a", "score": 1}]}', [("q", "a", 1.0)]),
        ('{"q": [{"doc_id": "a", "rank": 2}, {"doc_id": "b", "rank": 1}]}', [("q", "b")]),
        (
            '{"query": "peat", "hits": [{"qid": "q", "docid": "a", "rank": 1, "score": 9.5}]}',
            [("q", "a", 9.5)],
        ),
    ],
)
def test_declared_fields_decide(tmp_path: Path, text: str, rows: list[tuple[object, ...]]) -> None:
    frame = load_run(write(tmp_path / "file", text)).frame.sort("score", descending=True)
    found = frame.select("query_id", "doc_id", "score").rows()
    assert [row[: len(rows[0])] for row in found[: len(rows)]] == rows


@pytest.mark.parametrize(
    "text",
    [
        '{"q": {"docs": ["a", "b"], "scores": [0.1, 0.9]}}',
        '{"q": {"docs": ["a", "b"], "candidates": ["c"]}}',
        '{"q": [{"doc_id": "a", "weight": 2}, {"doc_id": "b", "weight": 3}]}',
        '{"query_id": "q", "results": [{"doc_id": "a", "weight": 2}]}',
        '{"query_id": "q", "results": ["a", "b"], "scores": [0.1, 0.9]}',
        '{"data": [{"query": "q", "doc_id": "a", "score": 2}]}',
        '{"data": [{"query_id": "q", "doc_id": "a", "score": 2}], "info": {"n": 3}}',
        '{"names": ["a", "b"], "n": 2}',
        '{"run_name": "r", "turns": [{"turn_id": "1_1", "responses": []}]}',
        '{"id": "q", "output": ["a", "b"]}',
        '{"id": "q", "output": [{"answer": "a"}]}',
        '{"id": "q", "output": [{"provenance": [{"title": "a"}]}]}',
        '{"query_id": "q", "positive_passages": [{"docid": "a"}]}',
        '{"queries": {"q": "x"}, "corpus": {"a": "x"}, "relevant_docs": {"q": ["a"]}}',
    ],
)
def test_lists_of_unknown_meaning_are_refused(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "file", text)
    assert {one.code for one in validate_run(path).findings if one.blocks_scoring} == {"R103"}
    with pytest.raises(FormatError):
        convert_run(path)


RESPONSE = {
    "took": 3,
    "timed_out": False,
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "hits": [
            {"_index": "a", "_id": "d7", "_score": 2.5, "_source": {"title": "x"}},
            {"_index": "a", "_id": "d1", "_score": 1.25, "_source": {"title": "y"}},
        ],
    },
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"1": RESPONSE, "2": RESPONSE}),
        json.dumps({"1": RESPONSE["hits"], "2": RESPONSE}, indent=2),
        "".join(json.dumps({"query_id": q, "response": RESPONSE}) + "\n" for q in "12"),
        "".join(json.dumps({"qid": q, **RESPONSE}) + "\n" for q in "12"),
    ],
)
def test_responses_with_query_ids_are_read(tmp_path: Path, text: str) -> None:
    rows = (
        load_run(write(tmp_path / "file", text)).frame.select("query_id", "doc_id", "score").rows()
    )
    assert rows == [(q, *result) for q in "12" for result in (("d7", 2.5), ("d1", 1.25))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (json.dumps(RESPONSE), "Elasticsearch's _search"),
        (json.dumps(RESPONSE, indent=1), "Elasticsearch's _search"),
        (json.dumps(RESPONSE) + "\n" + json.dumps(RESPONSE), "_search"),
    ],
)
def test_responses_without_query_ids_are_named(tmp_path: Path, text: str, what: str) -> None:
    path = write(tmp_path / "file", text)
    assert what in message(path, "R103")
    assert "comma" not in message(path, "R103")
    assert "write {query_id: response}" in message(path, "R103").lower()
    with pytest.raises(FormatError, match=what):
        convert_run(path)


def test_topics_with_a_priority_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "file", "20001:1:obama family tree\n20002:4: hotels: near 10:30\n")
    assert read_topics(path).frame.select("query_id", "text").rows() == [
        ("20001", "obama family tree"),
        ("20002", "hotels: near 10:30"),
    ]
    plain = read_topics(write(tmp_path / "file", "1:10:30 train\n2:bus\n"))
    assert plain.frame["text"].to_list() == ["10:30 train", "bus"]


ROWS = "q,_id,_score,extra\n1,d1,2.5,x\n1,d2,1.5,y\n"
MAPPING = {"query": "q", "doc_id": "_id", "score": "_score"}


@pytest.mark.parametrize(
    ("text", "columns"),
    cases_of(__file__, "rows", ROWS=ROWS),
)
def test_columns_map_any_table(tmp_path: Path, text: str, columns: dict[str, str]) -> None:
    run = load_run(write(tmp_path / "file", text), columns=columns)
    assert run.frame.select("query_id", "doc_id", "score").rows() == [
        ("1", "d1", 2.5),
        ("1", "d2", 1.5),
    ]


@pytest.mark.parametrize(
    ("text", "columns", "what"),
    [
        (
            ROWS,
            {"query": "qq", "doc_id": "_id", "score": "_score"},
            "columns: q, _id, _score, extra",
        ),
        (ROWS.replace("_score", "s"), {"query": "q", "doc_id": "_id"}, "or a rank"),
        ("[1]", MAPPING, "no query id"),
        ('[{"q": 1}]', MAPPING, "no query id"),
        ("", MAPPING, "no table"),
    ],
)
def test_missing_columns_are_named(tmp_path: Path, text: str, columns: Any, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        load_run(write(tmp_path / "file", text), columns=columns)


@pytest.mark.parametrize("given", ["query", "query=", "colour=a", "query=a,qid=b", "=a", ""])
def test_wrong_mappings_are_refused(given: str) -> None:
    with pytest.raises(UsageError) as caught:
        column_names([given])
    assert caught.value.where == "columns"


@pytest.mark.parametrize(
    "text",
    [
        "query,docid,rating\nq,a,1\nq,b,\nr,,\n",
        '{"details": {"q": {"hits": [{"hit": {"_id": "a"}, "rating": 1}, '
        '{"hit": {"_id": "b"}, "rating": null}]}}}',
        '{"q": [{"doc_id": "a", "relevance": true}, {"doc_id": "b", "relevance": null}]}',
    ],
)
def test_rows_without_a_rating_are_not_judged(tmp_path: Path, text: str) -> None:
    converted = convert_qrels(write(tmp_path / "file", text))
    assert converted.table.to_dict() == {"q": {"a": 1}}
    assert "without a rating" in converted.notes[0]


def test_texts_and_keys_take_linear_time(tmp_path: Path) -> None:
    start, row = time.perf_counter(), {"query_id": "q", "doc_id": "d", "score": 1}
    rows = [row | {f"{n}.{k}": k for k in range(50)} for n in range(1000)]
    for value in ([row | {"text": '"' * 100_000}], rows):
        validate_run(write(tmp_path / "file", json.dumps(value, indent=1)))
    assert time.perf_counter() - start < 40


def test_columns_name_the_keys_of_nested_results(tmp_path: Path) -> None:
    path = write(tmp_path / "file", '{"data": [{"query": "q", "doc_id": "a", "weight": 2}]}')
    run = load_run(path, columns={"query": "query", "doc_id": "doc_id", "score": "weight"})
    assert run.to_dict() == {"q": {"a": 2.0}}
