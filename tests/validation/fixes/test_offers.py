"""Fixes that findings offer are applied; counts and lines of both agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.validation import FileReport, Finding, validate_qrels, validate_run
from trectools_plus.validation.fixes.engine import fix_qrels, fix_run
from trectools_plus.validation.fixes.summary import FixSummary

RUN = "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 8.0 t\n2 Q0 d3 1 7.25 t\n"
QRELS = "1 0 d1 2\n1 0 d2 0\n2 0 d3 1\n"
JSON = '{"1": {"d1": 9.5}}\n'


def _report(path: Path, code: str) -> FileReport:
    check = validate_qrels if code.startswith("Q") else validate_run
    return check(path, every_line=True)


def _finding(path: Path, code: str) -> Finding:
    return next(finding for finding in _report(path, code).findings if finding.code == code)


def test_queries_are_sorted_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("2 Q0 a 1 1 t\n1 Q0 a 1 1 t\n")
    report = validate_run(path, optional_rules=True)
    assert [(finding.code, finding.fix) for finding in report.findings] == [("R128", "ask")]
    assert not fix_run(path, tmp_path / "out").applied
    assert _fixed(path, "R128").applied


def _fixed(path: Path, code: str) -> FixSummary:
    fix = fix_qrels if code.startswith("Q") else fix_run
    return fix(path, path.with_suffix(".out"), codes=(code,))


@pytest.mark.parametrize(
    ("code", "content", "is_offered"),
    [
        ("R101", RUN.replace(" t\n", "\n"), True),
        ("R101", RUN.replace(" t\n", "\n", 1), False),
        ("R101", RUN[:-7], False),
        ("R102", RUN.replace(" t\n", " t u\n"), True),
        ("R102", RUN.replace("d2", "d 2"), False),
        ("R110", RUN.replace(".", ","), True),
        ("R110", RUN.replace(" t\n", "% t\n"), True),
        ("R110", RUN.replace(" t\n", "% t\n", 1), False),
        ("R110", RUN.replace(".", ",", 1), False),
        ("R110", RUN.replace("9.5", "high"), False),
        ("F105", RUN.replace("\n", "\r"), True),
        ("F105", RUN.replace("d2", "d\r2"), False),
        # Rows keep their order and ranks beside lines that cannot be read, and without scores.
        ("R123", RUN.replace(" 1 ", " 0 "), True),
        ("R123", RUN.replace("1 9.5", "0 nan"), False),
        ("R124", RUN.replace("d2 2", "d2 3"), True),
        ("R126", "1 Q0 b 2 8 t\n1 Q0 a 1 9 t\n", True),
        ("R126", "1 Q0 b 2 8 t\n1 Q0 a 1 9 t\n1 Q0 c\n", False),
        ("R123", "1 Q0 a 0 1 t\n1 Q0 b 1 2 t\n", False),
        ("R120", RUN + "qid Q0 docno rank score tag\n" + RUN.replace("1 Q0", "3 Q0"), False),
        ("R123", "1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n2 Q0 a 7 1 t\n", False),
        ("R127", RUN + "1 Q0 d4 3 7 t\n", True),
        ("R127", RUN + "1 Q0 d4 3 7 t\n#1 Q0 d5 4 6 t\n", False),
        ("F109", RUN[:-1], True),
        ("F109", RUN + "2 Q0 d4", False),
        ("F104", RUN.replace("\n", "\r\n"), True),
        ("F104", RUN.replace("\n", "\r\n").replace("d2", "d\0"), False),
        ("R105", "qid Q0 docno rank score tag\n" + RUN, True),
        ("R131", RUN + RUN, True),
        ("Q101", QRELS.replace(" 0 d", " d"), True),
        ("Q101", QRELS.replace("d2 0", "d2"), False),
        ("Q111", QRELS.replace("d1 2", "d1 2.0"), True),
        ("Q111", QRELS.replace("d1 2", "d1 2.5"), False),
    ],
)
def test_only_what_is_fixed_is_offered(
    code: str, content: str, is_offered: bool, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(content.encode())
    assert (_finding(path, code).fix != "no") is is_offered
    if code != "F105":
        applied = {one.code for one in _fixed(path, code).applied}
        assert (code in applied) is is_offered


def test_percent_signs_are_taken_off_all_scores_or_none(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text(RUN.replace(" t\n", "% t\n"))
    summary = _fixed(path, "R110")
    assert path.with_suffix(".out").read_text() == RUN
    assert summary.applied[0].what == "took off the percent signs"


REVERSED = "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 c 3 3 t\n2 Q0 a 1 1 t\n2 Q0 b 2 2 t\n3 Q0 a 1 1 t\n"


@pytest.mark.parametrize(
    ("code", "content", "lines"),
    [
        # One place for each query that is upside down; the third has one document only.
        ("R121", REVERSED, [2, 5]),
        ("R121", REVERSED + "4 Q0 a 1 2 t\n4 Q0 b 2 1 t\n4 Q0 c 3 1.5 t\n", [2, 5]),
        ("R108", "1 a Q0 1 2 t\n1 b Q0 2 1 t\n", [1, 2]),
        ("R131", RUN + "1 Q0 d1 3 7 t\n1 Q0 d1 4 6 t\n", [4, 5]),
        ("R125", RUN.replace("8.0", "9.6") + "2 Q0 d4 2 6 t\n", [2]),
    ],
)
def test_count_is_the_number_of_lines(
    code: str, content: str, lines: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_text(content)
    finding = _finding(path, code)
    assert list(finding.every_line) == lines
    assert finding.count == len(lines)


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        (RUN + "2 Q0 d3 1 7.25 t\n", "safe"),
        (RUN.replace(" ", "\t") + "2 Q0 d3 1 7.25 t\n", "safe"),
        (RUN + "2 Q0 d3 1 7.2500 t\n", "ask"),
        (RUN + "2 Q0 d3 1 7.25 t\n1 Q0 d1 3 1 t\n", "ask"),
        ("1 Q0 d1 1 nan t\n1 Q0 d1 1 nan t\n", "ask"),
    ],
)
def test_copies_of_a_row_are_dropped_by_default(content: str, fix: str, tmp_path: Path) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text(content)
    assert _finding(path, "R131").fix == fix
    fix_run(path, out)
    left = [finding for finding in _report(out, "R131").findings if finding.code == "R131"]
    assert bool(left) is (fix == "ask")


def test_nothing_is_fixed_by_default_in_another_encoding(tmp_path: Path) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_bytes(RUN.replace("d2 2", "dé 3").encode("latin-1"))
    fixes = {finding.code: finding.fix for finding in _report(path, "R").findings}
    assert "safe" not in fixes.values()
    assert fixes["R124"] == "ask"
    assert fix_run(path, out).output is None
    assert {one.code for one in fix_run(path, out, codes=["F103"]).applied} == {"F103", "R124"}
