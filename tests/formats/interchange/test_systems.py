"""Tables with the results of several systems: the column that names them, and what is unclear."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from trectools_plus import Run, evaluate
from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.systems import Systems
from trectools_plus.formats.lexing import lex_qrels, lex_run
from trectools_plus.validation import load_run, validate_qrels, validate_run
from trectools_plus.validation.engine import check_view, open_run
from trectools_plus.validation.fixing import fix_run
from trectools_plus.validation.loading import convert_run, convert_runs
from trectools_plus.validation.views.runs import RunView

QUERIES = [f"q{number}" for number in range(6)]
Row = tuple[str, str, str, float]


def rows_of(systems: Sequence[str], seed: int = 1, n_documents: int = 20) -> list[Row]:
    chosen = random.Random(seed)
    return [
        (system, query, f"d{document}", round(chosen.uniform(0, 10), 4))
        for system in systems
        for query in QUERIES
        for document in chosen.sample(range(n_documents), 8)
    ]


ROWS = rows_of(["BM25", "DPH"])
QRELS = {query: {f"d{number}": number % 3 for number in range(20)} for query in QUERIES}


def table(rows: Sequence[Sequence[object]], header: str = "model,qid,docno,score") -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def find(text: str) -> Systems | None:
    origin = lex_run(FileContent("t.csv", text.encode())).origin
    return origin.systems


def expected() -> dict[str, float]:
    """The figures of each system alone."""
    runs = {
        name: {
            query: {doc: score for one, at, doc, score in ROWS if (one, at) == (name, query)}
            for query in QUERIES
        }
        for name in ("BM25", "DPH")
    }
    scored = evaluate(QRELS, runs, ["nDCG@10"])
    return {name: scored.mean(name, "nDCG@10") for name in runs}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(table(ROWS))
    names = ("system_number", "query", "document", "score")
    records = [dict(zip(names, row, strict=True)) for row in ROWS]
    (tmp_path / "t.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    frame = pl.DataFrame(ROWS, schema=["run_id", "q_id", "doc_id", "score"], orient="row")
    frame.write_parquet(tmp_path / "t.parquet")
    lines = [f"{query} 0 {doc} {grade}" for query in QRELS for doc, grade in QRELS[query].items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl", "t.parquet"])
def test_every_system_of_a_table_is_scored_as_a_run(files: Path, name: str) -> None:
    column = {"t.csv": "model", "t.parquet": "run_id"}.get(name, "system_number")
    scored = evaluate(files / "qrels.txt", files / name, ["nDCG@10"], columns={"system": column})
    assert {one: scored.mean(one, "nDCG@10") for one in scored.run_names} == expected()


def test_frames_of_several_systems_are_several_runs() -> None:
    frame = pl.DataFrame(ROWS, schema=["method", "query_id", "doc_id", "score"], orient="row")
    for value in (frame, pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))):
        scored = evaluate(QRELS, value, ["nDCG@10"], columns={"system": "method"})
        assert {one: scored.mean(one, "nDCG@10") for one in scored.run_names} == expected()
        with pytest.raises(InputError, match=r"method.*BM25.*DPH"):
            Run(value)


@pytest.mark.parametrize("name", ["system", "System Number", "model", "method", "run", "run_id"])
def test_a_column_with_a_usual_name_may_name_systems(name: str) -> None:
    found = find(table(ROWS, f"{name},qid,docno,score"))
    assert found == Systems(name, ("BM25", "DPH"), is_clear=False)
    assert find(table(ROWS, "language,qid,docno,score")) is None


def test_what_is_unclear_is_refused_with_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table(ROWS))
    found = {one.code: one for one in validate_run(path).findings}
    assert {code for code, one in found.items() if one.blocks_scoring} == {"R131"}
    assert found["R151"].severity == "warning"
    assert found["R131"].fix == "no"
    for read in (load_run, convert_run, convert_runs, lambda path: evaluate(QRELS, path)):
        with pytest.raises(FormatError, match=r"--columns system=model"):
            read(path)
    assert fix_run(path, tmp_path / "out.run").output is None


def test_the_user_can_name_the_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table([(at // 48, *row[1:]) for at, row in enumerate(ROWS)], "fold,q,d,s"))
    assert find(path.read_text().replace("q,d,s", "qid,docno,score")) is None
    columns = {"query": "q", "doc_id": "d", "score": "s", "system": "fold"}
    scored = evaluate(QRELS, path, ["nDCG@10"], columns=columns)
    assert [scored.mean(one, "nDCG@10") for one in ("0", "1")] == [*expected().values()]
    frame = pl.read_csv(path)
    scored = evaluate(QRELS, frame, ["nDCG@10"], columns=columns)
    assert [scored.mean(one, "nDCG@10") for one in ("0", "1")] == [*expected().values()]


def test_findings_are_those_of_each_system(files: Path) -> None:
    path = files / "t.csv"
    path.write_text(path.read_text() + table([(*ROWS[-1][:3], 0.5)]).partition("\n")[2])
    view = open_run(path, 4, columns={"tag": "model"})
    assert isinstance(view, RunView)
    findings = check_view(view)
    of_depth = [finding for finding in findings if finding.code == "R161"]
    assert ["[BM25]" in one.message for one in of_depth] == [True, False]
    assert [one.line for one in of_depth] == [6, 54]
    (systems,) = (finding for finding in findings if finding.code == "R151")
    assert (systems.severity, systems.blocks_scoring) == ("info", False)
    (error,) = (one for one in findings if one.blocks_scoring)
    assert (error.code, error.line) == ("R131", len(ROWS) + 2)
    assert "[DPH]" in error.message


def test_each_system_is_converted(files: Path) -> None:
    converted = convert_runs(files / "t.csv", columns={"tag": "model"})
    assert [*converted] == ["BM25", "DPH"]
    for name, one in converted.items():
        wanted = [row[1:] for row in ROWS if row[0] == name]
        assert one.table.name == name
        assert one.table.frame.select("query_id", "doc_id", "score").rows() == wanted


def test_types_of_judgment_are_named(tmp_path: Path) -> None:
    types = ("relevance", "credibility")
    rows = [
        (q, f"d{d}", kind, (d + len(kind)) % 3) for q in QUERIES for d in range(9) for kind in types
    ]
    path = tmp_path / "q.csv"
    path.write_text(table(rows, "query,document,type,grade"))
    errors = [one for one in validate_qrels(path).findings if one.blocks_scoring]
    assert [one.code for one in errors] == ["Q143"]
    assert "column 'type' (relevance, credibility)" in errors[0].message
    assert errors[0].fix == "no"
    agreeing = [(q, d, kind, 1) for q, d, kind, _ in rows]
    origin = lex_qrels(
        FileContent("q", table(agreeing, "query,document,type,grade").encode())
    ).origin
    assert origin.systems is None
