"""Runs and qrels in Parquet, and files that are refused by their schema alone."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from trectools_plus import evaluate, load_qrels, load_run, validate
from trectools_plus.errors import FormatError
from trectools_plus.formats.interchange import table_files
from trectools_plus.validation.loading import convert_qrels, convert_run

RUN_ROWS = [("q1", "d1", 0.1), ("q1", "d2", 1e-7), ("q2", "d1", 3.0)]
QRELS_ROWS = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d1", 2)]


def write(path: Path, rows: list[tuple[object, ...]], *names: str) -> Path:
    pl.DataFrame(rows, schema=list(names), orient="row").write_parquet(path)
    return path


@pytest.mark.parametrize(
    "names",
    [
        ("q_id", "doc_id", "score"),  # ranx
        ("query_id", "doc_id", "score"),
        ("qid", "docno", "score"),  # PyTerrier
    ],
)
def test_runs_are_read_exactly(tmp_path: Path, names: tuple[str, ...]) -> None:
    path = write(tmp_path / "run", RUN_ROWS, *names)
    for run in (load_run(path), convert_run(path).table):
        assert run.frame.select("query_id", "doc_id", "score").rows() == RUN_ROWS
    qrels = write(tmp_path / "qrels", QRELS_ROWS, *names)  # ranx calls grades scores
    for judged in (load_qrels(qrels), convert_qrels(qrels).table):
        assert judged.frame.select("query_id", "doc_id", "relevance").rows() == QRELS_ROWS
    assert evaluate(qrels, path, ["RR"]).mean("RR") == 1.0


def test_types_of_pandas_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run"
    frame = pl.DataFrame(
        {
            "__index_level_0__": [7, 8],
            "qid": [1, 2],
            "docno": pl.Series(["d1", "d2"], dtype=pl.Categorical),
            "score": pl.Series([0.1, 2.0], dtype=pl.Float32),
            "rank": pl.Series([1, 1], dtype=pl.Int32),
            "text": ["a b", "c\td"],
            "vector": [[1.0], [2.0]],
        }
    )
    frame.write_parquet(path)
    scores = frame["score"].to_list()
    assert load_run(path).frame.rows() == [("1", "d1", 1, scores[0]), ("2", "d2", 1, scores[1])]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "run", RUN_ROWS, "q", "_id", "_score")
    columns = {"query": "q", "doc_id": "_id", "score": "_score"}
    rows = load_run(path, columns=columns).frame.select("query_id", "doc_id", "score").rows()
    assert rows == RUN_ROWS
    with pytest.raises(FormatError, match=r"query_id.*doc_id"):
        load_run(path)


def test_missing_values_are_errors_with_a_rule(tmp_path: Path) -> None:
    path = write(tmp_path / "run", [*RUN_ROWS, ("q3", None, 1.0)], "q_id", "doc_id", "score")
    codes = {finding.code for finding in validate(path).findings if finding.blocks_scoring}
    assert codes == {"R101"}


def test_the_schema_refuses_hostile_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = tmp_path / "wide"
    names = [f"c{number}" for number in range(table_files.MAX_COLUMNS + 1)]
    pl.DataFrame({name: ["x"] for name in names}).write_parquet(wide)

    def never(*_args: object, **_options: object) -> None:
        raise AssertionError("the rows were read")

    monkeypatch.setattr(table_files.pl, "scan_parquet", never)
    for read in (load_run, load_qrels):
        with pytest.raises(FormatError, match="1,001"):
            read(wide)


def test_files_that_need_too_much_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    n_rows = 100_000
    pl.select(
        q_id=pl.repeat("q", n_rows), doc_id=pl.repeat("d", n_rows), score=pl.repeat(1.0, n_rows)
    ).write_parquet(path)
    monkeypatch.setattr(table_files.limits, "max_content_bytes", lambda: 1_000_000)
    with pytest.raises(FormatError, match="100,000"):
        load_run(path)


@pytest.mark.parametrize("cut", [slice(0, -1), slice(0, 9), slice(0, 4), slice(0, -200)])
def test_damaged_files_are_named(tmp_path: Path, cut: slice) -> None:
    path = write(tmp_path / "run", RUN_ROWS, "q_id", "doc_id", "score")
    path.write_bytes(path.read_bytes()[cut])
    with pytest.raises(FormatError):
        load_run(path)


def test_values_of_other_types_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    pl.DataFrame({"q_id": [1.5], "doc_id": ["d"], "score": [1.0]}).write_parquet(path)
    with pytest.raises(FormatError, match="q_id"):
        load_run(path)
    pl.DataFrame({"q_id": ["q"], "doc_id": [["d"]], "score": [1.0]}).write_parquet(path)
    with pytest.raises(FormatError, match="doc_id"):
        load_run(path)
