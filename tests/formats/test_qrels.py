"""Qrels: TREC's four columns and BEIR's three, read strictly."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from harness.files import write
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.lexing import lex
from trectools_plus.formats.tables import Qrels
from trectools_plus.formats.writing import write_qrels
from trectools_plus.validation.loading import load_qrels


def test_reads_four_columns(tmp_path: Path) -> None:
    qrels = load_qrels(write(tmp_path / "qrels.txt", "# c\n1 0 d1 2\r\n01\tx\td2  -1\n\n"))
    assert qrels.frame.rows() == [("1", "0", "d1", 2), ("01", "x", "d2", -1)]


@pytest.mark.parametrize(
    "header", ["query-id\tcorpus-id\tscore", "query_id doc_id relevance", "QID DOCID Label"]
)
def test_reads_beirs_three_columns_under_a_header(tmp_path: Path, header: str) -> None:
    qrels = load_qrels(write(tmp_path / "qrels.txt", f"\ufeff{header}\r\n1\td1\t2\n007\tNA\t0\n"))
    assert qrels.frame.rows() == [("1", "0", "d1", 2), ("007", "0", "NA", 0)]


def test_equals_pytrec_eval(shared_data: Path, tmp_path: Path) -> None:
    import pytrec_eval

    packed = shared_data / "robust03" / "qrels.txt.gz"
    plain = write(tmp_path / "qrels.txt", gzip.decompress(packed.read_bytes()))
    for path in (packed, shared_data / "trec_eval" / "qrels.test"):
        with (plain if path == packed else path).open() as stream:
            assert load_qrels(path).to_dict() == pytrec_eval.parse_qrel(stream)


ID = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=6
).filter(lambda text: not text.startswith(("#", "\ufeff")))
ROWS = st.lists(st.tuples(ID, ID, ID, st.integers(-(2**63), 2**63 - 1)), min_size=1)


@given(rows=ROWS)
def test_any_qrels_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, int]]
) -> None:
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt"
    names = ["query_id", "iteration", "doc_id", "relevance"]
    write_qrels(Qrels(pl.DataFrame(rows, schema=names, orient="row")), path)
    back = QrelsRows.of(lex(read_file(path), "qrels"))
    texts = (back.series().to_list(), back.iterations.texts(), back.doc_ids.texts())
    assert list(zip(*texts, back.grades.tolist(), strict=True)) == rows


def test_refuses_values_that_would_not_read_back(tmp_path: Path) -> None:
    for grades in ({"q 1": {"a": 1}}, {"q": {"a\tb": 1}}, {"#": {"a": 1}}, {}):
        with pytest.raises(InputError):
            write_qrels(Qrels.from_dict(grades), tmp_path / "qrels.txt")
    assert not list(tmp_path.iterdir())
