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
    CATALOGUE,
    FileReport,
    Severity,
    load_qrels,
    load_run,
    validate_qrels,
    validate_run,
)
from trectools_plus.validation.fixes.engine import fix_qrels, fix_run
from trectools_plus.validation.fixes.session import FixOptions

OFFERS = {rule.code: rule.rule_fix for rule in CATALOGUE if rule.rule_fix is not None}

MEASURES = {"map": AP, "ndcg_cut_10": nDCG @ 10, "P_5": P @ 5, "recall_100": R @ 100}

# Files that only a person can fix; every other file of the collection is fixed and read below.
LEFT_TO_PEOPLE = {
    "r11_nul_at_line_start.txt",
    "r15_qid_hash.txt",
    "r27_docid_space_one.txt",
    "r68_truncated_line.txt",
    "r70_missing_query.txt",
    "r75_empty.txt",
    "r77_only_blank.txt",
    "r85_is_qrels.txt",
    "r87_ideographic_space_sep.txt",
    "r112_commented_row.txt",
    "q12_three_col_one.txt",
    "q14_docid_space.txt",
    "q19_half_grade.txt",
    "q20_text_grade.txt",
    "q27_grade_1e9.txt",
    "q28_grade_2e10.txt",
    "q29_grade_2e63.txt",
    "q34_empty.txt",
    "q38_nul.txt",
    "q40_hex_grade.txt",
    "q41_underscore_grade.txt",
    "q42_fullwidth_grade.txt",
    "q50_comma_grade.txt",
    "q51_extra_query.txt",
    "q_hash_qid.txt",
}

# Files whose columns have another meaning: runs convert and qrels convert read them.
CONVERTED = {
    "r41_rank_contradicts.txt",
    "r92_json.txt",
    "q31_iter_has_grade.txt",
    "q32_beir_tsv.txt",
}

OWN_RUNS = {
    "everything safe": "\ufeff# c\r\nqid Q0 doc rank score tag\r\n1 0 d01 0 2 t\r\n\r\n"
    "2  Q0\td05 1 1 t\r\n1 Q0 d03 1 1 t\r\n1 0 d01 0 2 t",
    "commas": "1 Q0 d01 1 2,5 t\n1 Q0 d02 2 1,25 t\n2 Q0 d05 1 3 t\n",
    "two tags in bad form": "1 Q0 d01 1 2.5 a+b\n2 Q0 d05 1 3 c/d\n",
    "too deep and repeated": "".join(f"1 Q0 d{n % 7:02} {n} {9 - n} t\n" for n in range(1, 9))
    + "2 Q0 d05 1 1 t\n",
    "all tied": "1 Q0 d01 1 0 t\n1 Q0 d02 2 0 t\n1 Q0 d03 3 0 t\n2 Q0 d05 1 0 t\n2 Q0 d06 2 0 t\n",
    "other ids": "01 Q0 D01 1 9 t\n01 Q0 D02 2 8 t\n02 Q0 D05 1 7 t\n",
}
OWN_QRELS = {
    "everything safe": "\ufeff# c\r\nqid iter doc grade\r\n1 0 d01 2.0\r\n\r\n"
    "2 0 d05 1\r\n1 0 d02 0\r\n1 0 d01 2",
    "three columns": "1 d01 1\n1 d02 0\n2 d05 1\n",
}


def _asks(kind: str) -> list[str]:
    return sorted(c for c, o in OFFERS.items() if kind in CATALOGUE[c].fixed_kinds and c != "P110")


def _fixed(path: Path, kind: str, out: Path, other: Path, codes: list[str]) -> FileReport:
    options = FixOptions(tag="fixed")
    if kind == "run":
        fixed = fix_run(path, out, codes=codes, max_depth=20, options=options, qrels=other)
        return validate_run(fixed.output or path, qrels=other, max_depth=20)
    fixed = fix_qrels(path, out, codes=codes, run=other)
    return validate_qrels(fixed.output or path, run=other)


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
    left = set()
    for entry in _entries(shared_data):
        path, run = folder / entry["file"], entry["kind"] == "run"
        other = folder / entry.get("with", "q00_good.txt" if run else "r00_good.txt")
        out = tmp_path / entry["file"].removesuffix(".gz")
        report = _fixed(path, entry["kind"], out, other, [*_asks(entry["kind"])])
        blocking = {f.code for f in report.findings if f.severity is Severity.ERROR}
        if (
            blocking - {"P103"}
            or entry["rule"] in blocking
            or "R112" in {finding.code for finding in report.findings}
        ):
            left.add(entry["file"])
            continue
        if "with" in entry and other.name in LEFT_TO_PEOPLE:
            continue
        _assert_readers_agree(*((out, other) if run else (other, out)))
    assert left == LEFT_TO_PEOPLE | CONVERTED


@pytest.mark.parametrize("name", sorted(OWN_RUNS))
def test_readers_agree_on_a_fixed_run(name: str, tmp_path: Path) -> None:
    path, qrels = tmp_path / "in.txt", tmp_path / "qrels.txt"
    path.write_bytes(OWN_RUNS[name].encode())
    qrels.write_text("1 0 d01 2\n1 0 d02 0\n1 0 d03 1\n2 0 d05 1\n2 0 d06 0\n")
    report = _fixed(path, "run", tmp_path / "out.txt", qrels, _asks("run"))
    assert not report.errors
    _assert_readers_agree(tmp_path / "out.txt", qrels)


@pytest.mark.parametrize("name", sorted(OWN_QRELS))
def test_readers_agree_on_fixed_qrels(name: str, tmp_path: Path) -> None:
    path, run = tmp_path / "in.txt", tmp_path / "run.txt"
    path.write_bytes(OWN_QRELS[name].encode())
    run.write_text("1 Q0 d01 1 9 t\n1 Q0 d02 2 8 t\n2 Q0 d05 1 7 t\n")
    report = _fixed(path, "qrels", tmp_path / "out.txt", run, _asks("qrels"))
    assert not report.errors
    _assert_readers_agree(run, tmp_path / "out.txt")


@pytest.mark.parametrize(
    "name",
    [
        "humR03dc",
        *(
            pytest.param(name, marks=pytest.mark.slow("another large run"))
            for name in ("oce03noXbmD", "aplrob03a")
        ),
    ],
)
def test_robust_runs_without_ties_score_alike_everywhere(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    folder, out = shared_data / "robust03", tmp_path / "out.run"
    fix_run(folder / f"input.{name}.gz", out, codes=["R141", "R143", "R161"], max_depth=100)
    left = {finding.code for finding in validate_run(out).findings}
    assert not left & {"R123", "R126", "R141", "R142", "R143", "R161"}
    qrels = tmp_path / "qrels.txt"
    fix_qrels(folder / "qrels.txt.gz", qrels)
    _assert_readers_agree(out, qrels)
