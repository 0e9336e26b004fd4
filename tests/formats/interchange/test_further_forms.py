"""Forms that commands read or convert, or of which they say precisely what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trectools_plus import load_qrels, load_run
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.names import (
    column_names,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.formats.lexing import lex_run
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import validate_qrels, validate_run
from trectools_plus.validation.conversion import convert_qrels, convert_run

PAIRS = [(q, f"d{d}") for q in ("1", "2") for d in range(q == "2", 5)]


def write(tmp_path: Path, text: str, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def message(path: Path, code: str) -> str:
    validate = validate_run if code.startswith("R") else validate_qrels
    (found,) = (one for one in validate(path).findings if one.code == code)
    return f"{found.message}. {found.remedy}"


@pytest.mark.parametrize("further", ["0.{n}", "assessor{n}", "1", "2020-01-0{n}"])
def test_five_columns_are_converted(tmp_path: Path, further: str) -> None:
    lines = [f"{q} 0 {d} {n % 3} {further.format(n=n)}\n" for n, (q, d) in enumerate(PAIRS, 1)]
    path = write(tmp_path, "".join(lines))
    shown = further.format(n=1)
    assert f"these look like TREC's four columns and another one ('{shown}')" in message(
        path, "Q102"
    )
    converted = convert_qrels(path)
    assert converted.notes == ("not converted: column 5",)
    grades = [n % 3 for n in range(1, len(PAIRS) + 1)]
    assert converted.table.frame["relevance"].to_list() == grades
    columns = {"query": "1", "doc_id": "3", "relevance": "4"}
    assert load_qrels(path, columns=columns).frame["relevance"].to_list() == grades


def test_two_possible_grades_are_named(tmp_path: Path) -> None:
    lines = [f"{q} 0 {d} {n % 3} {n % 2}\n" for n, (q, d) in enumerate(PAIRS)]
    path = write(tmp_path, "".join(lines))
    assert "columns 4 and 5" in message(path, "Q102")
    with pytest.raises(FormatError):
        convert_qrels(path)
    blank = [f"{q} 0 doc {n} {n % 2}\n" for n, (q, _) in enumerate(PAIRS)]
    with pytest.raises(FormatError):
        convert_qrels(write(tmp_path, "".join(blank)))


@pytest.mark.parametrize("form", ["{} {} 0 0.000000", "{}\t{}\t0\t0", "{:>6} {:>6}  0 0"])
def test_relevant_documents_of_smart_are_converted(tmp_path: Path, form: str) -> None:
    documents = [("1", "184"), ("1", "29"), ("2", "12"), ("03", "31")]
    path = write(tmp_path, "".join(form.format(*pair) + "\n" for pair in documents), "qrels.text")
    assert "SMART's qrels.text" in message(path, "Q108")
    assert "qrels convert" in message(path, "Q108")
    rows = convert_qrels(path).table.frame.select("query_id", "doc_id", "relevance").rows()
    assert rows == [(*pair, 1) for pair in documents]
    assert convert_qrels(path, source_format="smart").table.frame.height == 4


def test_runs_of_conversations_are_converted(tmp_path: Path) -> None:
    def response(rank: int, key: str, *ids: str) -> dict[str, Any]:
        return {"rank": rank, "text": "…", key: [{"id": one, "score": 3.5} for one in ids]}

    turns = [
        {
            "turn_id": "132_1-1",
            "responses": [response(2, "provenance", "d9", "d1"), response(1, "provenance", "d1")],
        },
        {"turn_id": "132_1-3", "responses": [response(1, "passage_provenance", "d4", "d2")]},
    ]
    run = {"run_name": "mine", "run_type": "automatic", "turns": turns}
    path = write(tmp_path, json.dumps(run, indent=1))
    assert "Convert it" in message(path, "R103")
    converted = convert_run(path)
    assert converted.format == "CAsT JSON"
    assert converted.table.name == "mine"
    assert converted.table.frame.select("query_id", "doc_id", "rank").rows() == [
        ("132_1-1", "d1", 1),
        ("132_1-1", "d9", 2),
        ("132_1-3", "d4", 1),
        ("132_1-3", "d2", 2),
    ]
    assert any("1 passage repeated" in note for note in converted.notes)


@pytest.mark.parametrize("separator", [",", ";", "|", ", "])
@pytest.mark.parametrize("fields", ["{q} Q0 {d} {n} {s} t", "{q} {d} {s}", "{q} {d} {n}"])
def test_values_without_a_header_are_converted(tmp_path: Path, separator: str, fields: str) -> None:
    number = dict.fromkeys((query for query, _ in PAIRS), 0)
    lines = []
    for query, document in PAIRS:
        number[query] += 1
        values = {"q": query, "d": document, "n": number[query], "s": 9.5 - number[query]}
        lines.append(fields.format(**values).replace(" ", separator) + "\n")
    path = write(tmp_path, "".join(lines), "a.csv")
    assert any("Convert it" in finding.remedy for finding in validate_run(path).findings)
    for name in (None, "csv"):
        table = convert_run(path, source_format=name).table
        assert table.frame.select("query_id", "doc_id").rows() == PAIRS


def test_judgments_without_a_header_are_converted(tmp_path: Path) -> None:
    for form in ("{},0,{},1\n", "{},{},1\n"):
        path = write(tmp_path, "".join(form.format(*pair) for pair in PAIRS), "q.csv")
        assert "Convert it" in message(path, "Q101")
        assert convert_qrels(path).table.frame.select("query_id", "doc_id").rows() == PAIRS


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
    rows = load_run(write(tmp_path, text)).frame.select("query_id", "doc_id", "score").rows()
    assert rows == [(q, *result) for q in "12" for result in (("d7", 2.5), ("d1", 1.25))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (json.dumps(RESPONSE), "Elasticsearch's _search"),
        (json.dumps(RESPONSE, indent=1), "Elasticsearch's _search"),
        (json.dumps(RESPONSE) + "\n" + json.dumps(RESPONSE), "_search"),
        (
            json.dumps({"took": 1, "responses": [RESPONSE, RESPONSE]}),
            "2 responses of Elasticsearch's _msearch, without query ids",
        ),
    ],
)
def test_responses_without_query_ids_are_named(tmp_path: Path, text: str, what: str) -> None:
    path = write(tmp_path, text)
    assert what in message(path, "R103")
    assert "comma" not in message(path, "R103")
    assert "write {query_id: response}" in message(path, "R103").lower()
    with pytest.raises(FormatError, match=what):
        convert_run(path)


def test_topics_with_a_priority_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, "20001:1:obama family tree\n20002:4: hotels: near 10:30\n")
    topics = read_topics(path)
    assert topics.frame.select("query_id", "text").rows() == [
        ("20001", "obama family tree"),
        ("20002", "hotels: near 10:30"),
    ]
    plain = read_topics(write(tmp_path, "1:10:30 train\n2:bus\n"))
    assert plain.frame["text"].to_list() == ["10:30 train", "bus"]


ROWS = "q,_id,_score,extra\n1,d1,2.5,x\n1,d2,1.5,y\n"
MAPPING = {"query": "q", "doc_id": "_id", "score": "_score"}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (ROWS, MAPPING),
        (ROWS, {"query": "Q", "docno": "id", "score": "score"}),
        (ROWS, {"query": "1", "doc_id": "2", "score": "3"}),
        (ROWS.partition("\n")[2], {"query": "1", "doc_id": "2", "score": "3"}),
        (ROWS.replace(",", "\t"), MAPPING),
        (ROWS.replace(",", ";"), MAPPING),
        (ROWS.replace(",", " "), MAPPING),
        (
            json.dumps(
                [{"q": "1", "_id": "d1", "_score": 2.5}, {"q": 1, "_id": "d2", "_score": 1.5}]
            ),
            MAPPING,
        ),
        ('{"q": 1, "_id": "d1", "_score": 2.5}\n{"q": 1, "_id": "d2", "_score": 1.5}\n', MAPPING),
        ("1 x d1 2.5 1\n1 y d2 1.5 2\n", {"query": "1", "doc_id": "3", "score": "4"}),
    ],
)
def test_columns_map_any_table(tmp_path: Path, text: str, columns: dict[str, str]) -> None:
    run = load_run(write(tmp_path, text), columns=columns)
    assert run.frame.select("query_id", "doc_id", "score").rows() == [
        ("1", "d1", 2.5),
        ("1", "d2", 1.5),
    ]


def test_columns_take_precedence_over_usual_names(tmp_path: Path) -> None:
    path = write(tmp_path, "qid,docno,other,score,bm25\n1,a,b,2,9\n1,c,d,1,8.5\n")
    assert load_run(path).frame.select("doc_id", "score").rows() == [("a", 2.0), ("c", 1.0)]
    run = load_run(path, columns={"doc_id": "other", "score": "bm25"})
    assert run.frame.select("doc_id", "score").rows() == [("b", 9.0), ("d", 8.5)]


@pytest.mark.parametrize(
    ("text", "columns", "what"),
    [
        (
            ROWS,
            {"query": "qq", "doc_id": "_id", "score": "_score"},
            "columns: q, _id, _score, extra",
        ),
        (ROWS.replace("_score", "s"), {"query": "q", "doc_id": "_id"}, "or a rank"),
        ("[1]", MAPPING, "expected an object"),
        ('[{"q": 1}]', MAPPING, "no query id"),
        ("", MAPPING, "no table"),
    ],
)
def test_missing_columns_are_named(tmp_path: Path, text: str, columns: Any, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        load_run(write(tmp_path, text), columns=columns)


@pytest.mark.parametrize("given", ["query", "query=", "colour=a", "query=a,qid=b", "=a", ""])
def test_wrong_mappings_are_refused(given: str) -> None:
    with pytest.raises(UsageError) as caught:
        column_names([given])
    assert caught.value.where == "columns"


def test_columns_are_those_of_runs_or_qrels() -> None:
    given = column_names(["query=q,doc_id=d", "score=s,relevance=r"])
    assert columns_for_run(given) == {"query_id": "q", "doc_id": "d", "score": "s"}
    assert columns_for_qrels(given) == {"query_id": "q", "doc_id": "d", "relevance": "r"}
    of_run = column_names({"query": "q", "model": "m"})
    assert (columns_for_run(of_run), columns_for_qrels(of_run)) == (
        {"query_id": "q", "tag": "m"},
        None,
    )
    of_qrels = column_names({"query": "q", "grade": "g"})
    assert columns_for_run(of_qrels) is None
    assert columns_for_qrels(of_qrels) == {"query_id": "q", "relevance": "g"}
    assert (column_names(None), columns_for_run(None), columns_for_qrels(None)) == (None,) * 3


def test_positions_need_no_header() -> None:
    source = FileContent("a", b"1,d1,2\n1,d2,1\n")
    columns = lex_run(source, {"query_id": "1", "doc_id": "2", "score": "3"})
    assert columns.lines.tolist() == [1, 2]
