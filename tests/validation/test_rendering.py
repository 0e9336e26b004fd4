"""Four renderers of one list."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from trectools_plus.validation import CATALOGUE, FileReport, validate_run
from trectools_plus.validation.docs import render_rules_markdown
from trectools_plus.validation.rendering import (
    RENDERERS,
    print_text,
    render_github,
    render_json,
    render_sarif,
    render_text,
)

FINDING_KEYS = {
    *("code", "name", "severity", "line", "column", "count", "query_id", "doc_id"),
    *("message", "remedy", "fix"),
}


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[FileReport]:
    monkeypatch.chdir(tmp_path)
    rows = "1 Q0 d01 0 9.5 base\n1 Q0 d\u200b2 1 9.0 base\n1 Q0 d01 2 0.5 base\n"
    Path("run.txt").write_text(rows, encoding="utf-8")
    Path("good.txt").write_text("1 Q0 d01 1 9.5 base\n", encoding="utf-8")
    return [validate_run("run.txt"), validate_run("good.txt")]


def test_text_is_grouped_by_file_worst_first(reports: list[FileReport]) -> None:
    lines = render_text(reports).splitlines()
    assert lines[0] == "run.txt: run, 3 rows, 1 query"
    assert lines[1].startswith(
        "  run.txt:3:6: error R131: d01 again in query 1 (line 1, score 9.5; here 0.5). Keep"
    )
    assert "d\\u200b2" in "".join(lines)
    assert "good.txt: run, 1 row, 1 query; no findings" in lines
    assert lines[-1] == "1 error, 1 warning, 1 info in 2 files."


def test_text_fits_the_screen(reports: list[FileReport]) -> None:
    assert max(map(len, render_text(reports).splitlines())) <= 100


def test_text_is_plain_unless_on_a_terminal(reports: list[FileReport]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    plain, coloured = io.StringIO(), Terminal()
    print_text(reports, plain)
    print_text(reports, coloured)
    assert plain.getvalue() == render_text(reports)
    assert "\x1b[" not in plain.getvalue()


def test_json_has_the_keys_of_the_contract(reports: list[FileReport]) -> None:
    document = json.loads(render_json(reports))
    assert document["summary"] == {"errors": 1, "warnings": 1, "infos": 1}
    first, second = document["files"]
    assert (first["path"], first["kind"], first["rows"], first["queries"]) == (
        *("run.txt", "run"),
        *(3, 1),
    )
    assert second["findings"] == []
    for finding in first["findings"]:
        assert set(finding) >= FINDING_KEYS
    duplicate = next(f for f in first["findings"] if f["code"] == "R131")
    assert duplicate["line"] == 3
    assert duplicate["doc_id"] == "d01"
    assert duplicate["fix"] == "ask"


def test_github_annotations_name_file_and_line(reports: list[FileReport]) -> None:
    lines = render_github(reports).splitlines()
    assert len(lines) == 3
    assert any(
        line.startswith("::error file=run.txt,line=3,col=6,title=R131 duplicate-document::d01")
        for line in lines
    )
    assert any(line.startswith("::notice file=run.txt,line=1") for line in lines)


def test_sarif_refers_to_its_rules(reports: list[FileReport]) -> None:
    log = json.loads(render_sarif(reports))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in CATALOGUE]
    assert len(run["results"]) == 3
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "run.txt"


@pytest.mark.parametrize("name", RENDERERS)
def test_no_reports_still_render(name: str) -> None:
    assert isinstance(RENDERERS[name]([]), str)


def test_the_catalogue_page_has_an_anchor_per_rule() -> None:
    page = render_rules_markdown()
    for rule in CATALOGUE:
        assert f'<a id="{rule.code}"></a>' in page
        assert f"### {rule.code} {rule.name}" in page
        assert rule.example in page
    assert render_rules_markdown() == page
