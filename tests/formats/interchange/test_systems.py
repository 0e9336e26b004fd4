"""Tables with the results of several systems are refused, with the column that may name them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from trectools_plus import evaluate
from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.lexing import lex
from trectools_plus.validation import load_run, validate_qrels, validate_run
from trectools_plus.validation.findings import FindingsError
from trectools_plus.validation.fixing import fix_run
from trectools_plus.validation.loading import convert_run

ROWS = [
    (system, f"q{query}", f"d{document}", float(document))
    for system in ("BM25", "DPH")
    for query in range(3)
    for document in range(4)
]
QRELS = {f"q{query}": {"d1": 1} for query in range(3)}
SHOWN = "(BM25, DPH)"


def table(header: str) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in ROWS)]) + "\n"


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl", "t.parquet"])
def test_a_table_of_several_systems_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    records = [dict(zip(("model", "qid", "docno", "score"), row, strict=True)) for row in ROWS]
    if name == "t.parquet":
        pl.DataFrame(records).write_parquet(path)
    else:
        texts = {"t.csv": table("model,qid,docno,score"), "t.json": json.dumps(records, indent=1)}
        path.write_text(texts.get(name, "".join(json.dumps(one) + "\n" for one in records)))
    findings = {finding.code: finding for finding in validate_run(path).findings}
    assert {code for code, finding in findings.items() if finding.blocks_scoring} == {"R131"}
    assert (findings["R151"].severity, findings["R131"].fix) == ("warning", "no")
    for read in (load_run, convert_run, lambda path: evaluate(QRELS, path)):
        with pytest.raises(FormatError) as refused:
            read(path)
        assert f"'model' {SHOWN}" in str(refused.value)
    if name == "t.csv":
        assert fix_run(path, tmp_path / "out.run").output is None


def test_frames_of_several_systems_are_refused() -> None:
    frame = pl.DataFrame(ROWS, schema=["method", "query_id", "doc_id", "score"], orient="row")
    for value in (frame, pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))):
        with pytest.raises(FindingsError, match="R131"):
            evaluate(QRELS, value)
    runs = {str(name): part for (name,), part in frame.partition_by("method", as_dict=True).items()}
    assert evaluate(QRELS, runs, ["RR"]).run_names == ["BM25", "DPH"]


@pytest.mark.parametrize("name", ["system", "System Number", "model", "method", "run", "run_id"])
def test_a_column_with_a_usual_name_may_name_systems(name: str) -> None:
    columns = lex(FileContent("t.csv", table(f"{name},qid,docno,score").encode()), "run")
    assert columns.origin.systems == f"column '{name}' {SHOWN}"
    columns = lex(FileContent("t.csv", table("language,qid,docno,score").encode()), "run")
    assert columns.origin.systems is None


def test_types_of_judgment_are_named(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    types = ("relevance", "credibility")
    lines = [f"q{d % 3},d{d},{kind},{(d + len(kind)) % 3}" for d in range(9) for kind in types]
    path.write_text("\n".join(["query,document,type,grade", *lines]) + "\n")
    errors = [finding for finding in validate_qrels(path).findings if finding.blocks_scoring]
    assert [(error.code, error.fix) for error in errors] == [("Q143", "no")]
    assert "column 'type' (relevance, credibility)" in errors[0].message
    agreeing = path.read_text().replace(",2\n", ",1\n").replace(",0\n", ",1\n")
    assert lex(FileContent("q", agreeing.encode()), "qrels").origin.systems is None
