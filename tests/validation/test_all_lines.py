"""Every place of a finding, line by line, in each output; and counts by rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.validation import FileReport, validate_qrels, validate_run
from trectools_plus.validation.rendering import as_document, render_github, render_text

N = 7


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"1 0\td\u200b{n} {n} {9 - n} t\n" for n in range(1, N + 1))
    Path("a.run").write_text(f"# comment\n{rows}", encoding="utf-8")
    return "a.run"


@pytest.fixture
def report(path: str) -> FileReport:
    return validate_run(path, every_line=True)


def test_text_shows_each_row(report: FileReport) -> None:
    text = render_text([report])
    for n in range(1, N + 1):
        assert f"{n + 1} │ 1 0 d\\u200b{n} {n} {9 - n} t" in text
    assert max(map(len, text.splitlines())) <= 100


def test_rows_longer_than_80_characters_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    rows = [f"1 0 {'d' * (n - 14)} {n - 78} {99 - n} base" for n in (79, 80, 81)]
    assert [len(row) for row in rows] == [79, 80, 81]
    path.write_text("".join(f"{row}\n" for row in rows))
    _, whole, cut = render_github([validate_run(path, every_line=True)]).splitlines()
    assert f": {rows[1]}. " in whole
    assert f": {rows[2][:79]}…. " in cut


def test_each_place_is_an_annotation(report: FileReport) -> None:
    lines = [line for line in render_github([report]).splitlines() if "R107" in line]
    assert len(lines) == N
    assert "d\\u200b7" in lines[-1]


def test_json_has_every_line_number(report: FileReport, path: str) -> None:
    def lines_of(one: FileReport) -> list[int]:
        findings = as_document([one])["files"][0]["findings"]
        return next(list(f["lines"]) for f in findings if f["code"] == "R107")

    assert lines_of(report) == list(range(2, N + 2))
    assert lines_of(validate_run(path)) == list(range(2, 7))


def test_a_million_places_are_numbers_and_not_objects(tmp_path: Path) -> None:
    path = tmp_path / "big.run"
    path.write_text("".join(f"1 0 d{n} {n} {-n} t\n" for n in range(20_000)))
    (found,) = (one for one in validate_run(path, every_line=True).findings if one.code == "R107")
    assert len(found.every_line) == 20_000
    assert memoryview(found.every_line).itemsize == 4  # type: ignore[arg-type]


def test_reports_forget_the_file_unless_every_line_is_wanted(path: str, tmp_path: Path) -> None:
    qrels = tmp_path / "q.txt"
    qrels.write_text("1 0 a -1\n1 0 b -1\n1 0 c 1\n")
    for one in (validate_run(path), validate_qrels(qrels)):
        assert one.line_text is None
        assert all(tuple(found.every_line) == found.lines for found in one.findings)
    assert validate_qrels(qrels, every_line=True).line_text is not None


def test_a_file_without_findings_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "good.run"
    path.write_text("1 Q0 a 1 2.5 t\n")
    reports = [validate_run(path, every_line=True)]
    assert "2.5" not in f"{render_text(reports)}{as_document(reports)}{render_github(reports)}"
