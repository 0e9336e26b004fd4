"""Runs: strict reading, the same results as other tools, writing without changes."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import polars as pl
import pytest
from harness.files import write
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError
from trectools_plus.formats.columns.rows import RunRows
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.lexing import lex
from trectools_plus.formats.tables import Run
from trectools_plus.formats.writing import write_run
from trectools_plus.validation.loading import load_run

ROBUST = ["input.aplrob03a.gz", "input.humR03dc.gz", "input.oce03noXbmD.gz"]


def test_reads_a_run(tmp_path: Path) -> None:
    run = load_run(write(tmp_path / "a.run", "1 Q0 d1 1 9.5 base\n01\tQ0\td2 0 -1e-3 other\n"))
    assert run.frame.rows() == [("1", "d1", 1, 9.5), ("01", "d2", 0, -0.001)]
    assert run.name == "base"
    assert run.path == str(tmp_path / "a.run")


def test_harmless_irregularities_are_accepted(tmp_path: Path) -> None:
    data = "\ufeff# made by x\r\n\r\n \t1  Q0\td1 1 9.5 base \r\n#\n1 Q0 d2 2 +.5 base"
    assert load_run(write(tmp_path / "a.run", data)).frame.rows() == [
        ("1", "d1", 1, 9.5),
        ("1", "d2", 2, 0.5),
    ]


@pytest.mark.parametrize("odd", ["NA", "null", "007", "1e5", '"q', "''", "#3", "a,b", "Ünï", "١"])
def test_ids_stay_as_they_are(tmp_path: Path, odd: str) -> None:
    run = load_run(write(tmp_path / "a.run", f"q Q0 {odd} 1 1 t\nq Q0 z 2 0 t\n"))
    assert run.frame["doc_id"].to_list() == [odd, "z"]


@pytest.mark.parametrize("name", ROBUST)
def test_equals_pytrec_eval_and_ir_measures(shared_data: Path, tmp_path: Path, name: str) -> None:
    import ir_measures
    import pytrec_eval

    packed = shared_data / "robust03" / name
    ours = load_run(packed).to_dict()
    plain = write(tmp_path / "a.run", gzip.decompress(packed.read_bytes()))
    with plain.open() as stream:
        assert ours == pytrec_eval.parse_run(stream)
    theirs: dict[str, dict[str, float]] = {}
    for row in ir_measures.read_trec_run(str(plain)):
        theirs.setdefault(row.query_id, {})[row.doc_id] = row.score
    assert ours == theirs


ID = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=6
).filter(lambda text: not text.startswith(("#", "\ufeff")))
SCORE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.tuples(ID, ID, st.integers(-(2**63), 2**63 - 1), SCORE), min_size=1)


@given(rows=ROWS, tag=ID)
def test_any_run_reads_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int, float]], tag: str
) -> None:
    path = tmp_path_factory.mktemp("runs") / "a.run"
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "rank", "score"], orient="row")
    write_run(Run(frame, tag), path)
    back = RunRows.of(lex(read_file(path), "run"))
    scores = back.scores.tolist()
    texts = (back.series().to_list(), back.doc_ids.texts(), back.ranks.tolist())
    assert list(zip(*texts, scores, strict=True)) == rows
    assert [math.copysign(1, x) for x in scores] == [math.copysign(1, row[3]) for row in rows]
    assert set(back.tags.texts()) == {tag}
    assert all(line.count(" ") == 5 for line in path.read_text("utf-8").split("\n")[:-1])


def test_writes_six_columns_and_shortest_scores(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    write_run(Run.from_dict({"q": {"a": 0.1 + 0.2, "b": 1e-7}}, "name"), path, tag="tag")
    assert path.read_bytes() == b"q Q0 a 1 0.30000000000000004 tag\nq Q0 b 2 1e-7 tag\n"


@pytest.mark.parametrize(
    ("scores", "tag", "what"),
    [*cases_of(__file__, "rows"), ({"q": {"a": float("nan")}}, "t", "score nan")],
)
def test_refuses_values_that_would_not_read_back(
    tmp_path: Path, scores: dict[str, dict[str, float]], tag: str, what: str
) -> None:
    with pytest.raises(InputError) as caught:
        write_run(Run.from_dict(scores), tmp_path / "a.run", tag=tag)
    assert what in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_compressed_output_is_the_same_every_time(tmp_path: Path) -> None:
    run = Run.from_dict({"q": {"a": 1.0}})
    magic = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7z", ".zst": b"\x28\xb5"}
    for suffix, start in magic.items():
        first, second = tmp_path / f"a.run{suffix}", tmp_path / f"b.run{suffix}"
        write_run(run, first)
        write_run(run, second)
        assert first.read_bytes() == second.read_bytes()
        assert first.read_bytes().startswith(start)
        assert load_run(first).to_dict() == {"q": {"a": 1.0}}
