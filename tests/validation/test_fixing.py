"""Several fixes at once, what is left alone, and what is not written; see also test_rules.py."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from harness.files import write
from harness.tables import cases_of

from trectools_plus.errors import UsageError
from trectools_plus.validation import Finding, validate_qrels, validate_run
from trectools_plus.validation.fixing import fix_qrels, fix_run, split_fix_values

RUN = "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 8.0 t\n2 Q0 d3 1 7.25 t\n"
QRELS = "1 0 d1 2\n1 0 d2 0\n2 0 d3 1\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        *cases_of(__file__, "more", RUN=RUN),
        (RUN.replace("d2", "dé").encode("latin-1"), "(F103)"),
        (RUN.encode("utf-16"), "(F103)"),
        (gzip.compress(RUN.encode(), mtime=0)[:-6], "gzip stream is damaged or ends early"),
    ],
)
def test_file_without_rows_that_can_be_read_is_not_written(
    content: str | bytes, reason: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    summary = fix_run(write(tmp_path / "in.txt", content), out)
    assert summary.output is None
    assert not out.exists()
    assert reason in (summary.refused or "")
    assert "nothing written" in summary.to_text()


SCORES = ["1e3", "+9.50", "09", "8.", ".5", "1E-3", "0.00", "-0", "-1.250"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1 d1 d 1 2 t\n2 d2 d 1 1 t\n", "1 d1 d 1 2 t\n2 d2 d 1 1 t\n"),
        (RUN.replace("1 Q0 d1", " 1\t Q0\vd1"), RUN),
        (RUN + "1 Q0 d1 1 9.5 t\n", RUN),
        (
            "1 Q0 d2 1 8 t\n1 Q0 d1 2 9 t\n2 Q0 c 1 8 t\n2 Q0 d 2 7 t\n3 Q0 a 1 2 t\n",
            "1 Q0 d1 1 9 t\n1 Q0 d2 2 8 t\n2 Q0 c 1 8 t\n2 Q0 d 2 7 t\n3 Q0 a 1 2 t\n",
        ),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n"),
        (RUN.replace("8.0 t", "8.0 u"), RUN.replace("8.0 t", "8.0 u")),
        (RUN.replace(" ", "\t").replace("d3\t1", "d3\t0"), RUN.replace(" ", "\t")),
        # Tied documents keep the order of their ranks; without ranks, they get that of trec_eval.
        ("1 Q0 a 0 5 t\n1 Q0 b 1 5 t\n", "1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n"),
        (
            "2 Q0 a - 5 t\n2 Q0 b - 5 t\n2 Q0 c - 6 t\n",
            "2 Q0 c 1 6 t\n2 Q0 b 2 5 t\n2 Q0 a 3 5 t\n",
        ),
        (
            "".join(f"1 Q0 d{n} {n} {score} t\n" for n, score in enumerate(SCORES)),
            "".join(f"1 Q0 d{n} {n + 1} {score} t\n" for n, score in enumerate(SCORES)),
        ),
    ],
)
def test_texts_and_orders_stay_as_far_as_they_can(before: str, after: str, tmp_path: Path) -> None:
    fix_run(write(tmp_path / "in.txt", before), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == after


def _finding(path: Path, code: str) -> Finding:
    report = (validate_qrels if code.startswith("Q") else validate_run)(path)
    return next(finding for finding in report.findings if finding.code == code)


@pytest.mark.parametrize(
    ("code", "content", "is_offered"),
    cases_of(__file__, "further", RUN=RUN),
)
def test_only_what_is_fixed_is_offered(
    code: str, content: str, is_offered: bool, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_bytes(content.encode(errors="surrogateescape"))
    assert (_finding(path, code).fix == "safe") is is_offered
    applied = (fix_qrels if code.startswith("Q") else fix_run)(path, out).applied
    assert (code in {fix.code for fix in applied}) is is_offered


def test_the_output_is_compressed_as_its_name_says(tmp_path: Path) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.gz"
    path.write_bytes(gzip.compress(RUN.encode()))
    assert "nothing was fixed, copied to" in fix_run(path, out).to_text()
    assert gzip.decompress(out.read_bytes()).decode() == RUN
    path.write_bytes(RUN.replace("\n", "\r").encode())
    fix_run(path, out)
    assert gzip.decompress(out.read_bytes()).decode() == RUN


def test_fixes_of_bytes_columns_ranks_and_order_are_applied_together(tmp_path: Path) -> None:
    text = "\ufeff# note\r\n2 0 a 0 2 t\r\n\r\n1 Q0 b 1 2 t\r\n1 Q0\tc 2 1 t\r\n2 Q0 d 1 1 t\r\n"
    summary = fix_run(write(tmp_path / "in.txt", text), tmp_path / "out.txt")
    fixed = "2 Q0 a 1 2 t\n1 Q0 b 1 2 t\n1 Q0 c 2 1 t\n2 Q0 d 2 1 t\n"
    rows = (tmp_path / "out.txt").read_text().splitlines()
    assert sorted(rows) == sorted(fixed.splitlines())
    assert [row for row in rows if row.startswith("1 ")] == ["1 Q0 b 1 2 t", "1 Q0 c 2 1 t"]
    codes = [one.code for one in summary.applied]
    assert codes == ["F102", "F104", "F107", "F108", "R106", "R107", "R127", "R123"]
    assert "6 lines, now 4" in summary.to_text()
    assert summary.to_dict()["applied"][1] == {
        "code": "F104",
        "name": "crlf",
        "count": 6,
        "what": "wrote LF for CRLF",
    }


@pytest.mark.parametrize(
    ("values", "output", "codes"),
    [
        (["clean.run"], "clean.run", ()),
        (["clean.run", "R108,R161"], "clean.run", ("R108", "R161")),
        (["out", "r108", "R108, q142"], "out", ("R108", "Q142")),
        (["./R108"], "./R108", ()),
        (["R108.run", "R161"], "R108.run", ("R161",)),
        (["R108,b.run"], "R108,b.run", ()),
    ],
)
def test_values_after_the_file_to_write_are_codes(
    values: list[str], output: str, codes: tuple[str, ...]
) -> None:
    assert split_fix_values(values) == (output, codes)


@pytest.mark.parametrize("values", [["R108"], ["r108,R152", "a"], [""]])
def test_the_file_to_write_comes_first(values: list[str]) -> None:
    with pytest.raises(UsageError):
        split_fix_values(values)


def test_input_is_never_written_over(tmp_path: Path) -> None:
    path = write(tmp_path / "in.txt", RUN[:-1])
    (tmp_path / "link.txt").symlink_to(path)
    os.link(path, tmp_path / "hard.txt")
    qrels = write(tmp_path / "qrels.txt", QRELS)
    for output in (path, f"{tmp_path}/./in.txt", tmp_path / "link.txt", tmp_path / "hard.txt"):
        with pytest.raises(UsageError):
            fix_run(path, output)
    with pytest.raises(UsageError):
        fix_qrels(qrels, "-")
    assert path.read_text() == RUN[:-1]
    assert qrels.read_text() == QRELS


@pytest.mark.parametrize("code", ["R999", "R111", "Q141", "nonsense"])
def test_code_without_a_fix_for_runs_is_refused(code: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no fix {code} for run"):
        fix_run(write(tmp_path / "in.txt", RUN), tmp_path / "out.txt", codes=[code])
