"""Other readers take what a fix wrote, and agree with each other on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from ir_measures import AP, P, R, nDCG

from trectools_plus.validation import (
    FileReport,
    load_qrels,
    load_run,
    validate_qrels,
    validate_run,
)
from trectools_plus.validation.fixing import fix_qrels, fix_run

MEASURES = {"map": AP, "ndcg_cut_10": nDCG @ 10, "P_5": P @ 5, "recall_100": R @ 100}

OWN_RUNS = {
    "everything safe": "\ufeff# c\r\nqid Q0 doc rank score tag\r\n1 0 d01 0 2 t\r\n\r\n"
    "2  Q0\td05 1 1 t\r\n1 Q0 d03 1 1 t\r\n1 0 d01 0 2 t",
    "two tags in bad form": "1 Q0 d01 1 2.5 a+b\n2 Q0 d05 1 3 c/d\n",
}
OWN_QRELS = {
    "everything safe": "\ufeff# c\r\nqid iter doc grade\r\n1 0 d01 2.0\r\n\r\n"
    "2 0 d05 1\r\n1 0 d02 0\r\n1 0 d01 2",
}


def _fixed(path: Path, kind: str, out: Path) -> FileReport:
    if kind == "run":
        fixed = fix_run(path, out, codes=["R151", "R152"])
        return validate_run(fixed.output or path, max_depth=None)
    return validate_qrels(fix_qrels(path, out).output or path)


def _assert_readers_agree(run: Path, qrels: Path) -> None:
    """Both packages read both files as we do, and give each query the same figures."""
    with run.open() as lines:
        scores = pytrec_eval.parse_run(lines)
    with qrels.open() as lines:
        grades = pytrec_eval.parse_qrel(lines)
    assert scores == load_run(run).to_dict()
    assert grades == load_qrels(qrels).to_dict()
    theirs = pytrec_eval.RelevanceEvaluator(grades, set(MEASURES)).evaluate(scores)
    measures = {measure: key for key, measure in MEASURES.items()}
    rows = list(
        ir_measures.iter_calc(
            list(measures),
            list(ir_measures.read_trec_qrels(str(qrels))),
            list(ir_measures.read_trec_run(str(run))),
        )
    )
    assert rows
    assert {row.query_id for row in rows} >= set(theirs)
    for row in rows:
        expected = theirs.get(row.query_id, {}).get(measures[row.measure], 0.0)
        assert row.value == pytest.approx(expected, abs=1e-12)


def _entries(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "malformed" / "manifest.json").read_text("utf-8")
    entries: list[dict[str, Any]] = json.loads(text)
    return entries


@pytest.mark.slow("fixes and scores many files")
def test_readers_agree_on_every_malformed_file_once_it_is_fixed(
    shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "malformed"
    n_read = 0
    for entry in _entries(shared_data):
        path, run = folder / entry["file"], entry["kind"] == "run"
        other = folder / ("q00_good.txt" if run else "r00_good.txt")
        out = tmp_path / entry["file"].removesuffix(".gz")
        report = _fixed(path, entry["kind"], out)
        if not report.errors and "R112" not in {finding.code for finding in report.findings}:
            _assert_readers_agree(*((out, other) if run else (other, out)))
            n_read += 1
    assert n_read > 40


@pytest.mark.parametrize("name", sorted(OWN_RUNS))
def test_readers_agree_on_a_fixed_run(name: str, tmp_path: Path) -> None:
    path, qrels = tmp_path / "in.txt", tmp_path / "qrels.txt"
    path.write_bytes(OWN_RUNS[name].encode())
    qrels.write_text("1 0 d01 2\n1 0 d02 0\n1 0 d03 1\n2 0 d05 1\n2 0 d06 0\n")
    report = _fixed(path, "run", tmp_path / "out.txt")
    assert not report.errors
    _assert_readers_agree(tmp_path / "out.txt", qrels)


@pytest.mark.parametrize("name", sorted(OWN_QRELS))
def test_readers_agree_on_fixed_qrels(name: str, tmp_path: Path) -> None:
    path, run = tmp_path / "in.txt", tmp_path / "run.txt"
    path.write_bytes(OWN_QRELS[name].encode())
    run.write_text("1 Q0 d01 1 9 t\n1 Q0 d02 2 8 t\n2 Q0 d05 1 7 t\n")
    report = _fixed(path, "qrels", tmp_path / "out.txt")
    assert not report.errors
    _assert_readers_agree(run, tmp_path / "out.txt")
