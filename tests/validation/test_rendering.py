"""Renderers of findings: what each says, and that none of them lets anything odd through."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from trectools_plus.validation import FileReport, Finding, Fix, Severity, validate_run
from trectools_plus.validation.findings import as_document, render_github, render_text

RENDERERS: dict[str, Callable[[list[FileReport]], str]] = {
    "text": render_text,
    "json": lambda reports: json.dumps(as_document(reports)),
    "github": render_github,
}

ODD = "a \x1b[31m\u200b\n\x00,:%é\ud800.run"


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[FileReport]:
    monkeypatch.chdir(tmp_path)
    rows = "1 Q0 d01 0 9.5 base\n1 Q0 d\u200b2 1 9.0 base\n1 Q0 d01 2 0.5 base\n"
    Path("run.txt").write_text(rows, encoding="utf-8")
    Path("good.txt").write_text("1 Q0 d01 1 9.5 base\n", encoding="utf-8")
    return [validate_run("run.txt"), validate_run("good.txt")]


def finding(**changes: object) -> Finding:
    base = Finding(
        code="R131",
        name="duplicate-document",
        severity=Severity.ERROR,
        path="a.run",
        message="d01 again",
        remedy="Keep one",
        fix=Fix.ASK,
        line=3,
        column=6,
        lines=(3,),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def report(*findings: Finding, path: str = "a.run") -> FileReport:
    return FileReport(path, "run", 3, 1, tuple(replace(one, path=path) for one in findings))


def test_text_is_grouped_by_file_worst_first() -> None:
    info = finding(code="R123", severity=Severity.INFO, line=1, column=None, fix=Fix.SAFE)
    far = finding(line=1200, column=7, lines=(1200, 1201, 1202, 1300), count=9, fix=Fix.NO)
    whole = finding(
        code="R142", severity=Severity.WARNING, line=None, column=None, lines=(), fix=Fix.NO
    )
    text = render_text([report(info, whole, far), report(path="good.run")])
    assert text.splitlines() == [
        "a.run: run, 3 rows, 1 query",
        "   1200:7  error    R131  d01 again. [lines 1200, 1201, 1202, 1300, …]",
        "                          → Keep one.",
        "        -  warning  R142  d01 again.",
        "                          → Keep one.",
        "        1  info     R123* d01 again.",
        "                          → Keep one.",
        "",
        "good.run: run, 3 rows, 1 query; no findings",
        "",
        "Found 1 error, 1 warning, 1 info in 2 files.",
        "Findings marked * are fixed by --fix OUT.",
    ]


def test_github_annotations_name_file_and_line(reports: list[FileReport]) -> None:
    lines = render_github(reports).splitlines()
    assert len(lines) == 3
    assert any(
        line.startswith("::error file=run.txt,line=3,col=6,title=R131 duplicate-document::d01")
        for line in lines
    )
    assert any(line.startswith("::notice file=run.txt,line=1") for line in lines)
    assert any("U+200B" in line for line in lines)


def test_github_escapes_what_its_syntax_needs() -> None:
    (line,) = render_github([report(finding(message="50%, a:b"), path="a,b:c%.run")]).splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.run,line=3,")
    assert line.endswith("::50%25, a:b. Keep one.")


@pytest.mark.parametrize("name", RENDERERS)
def test_odd_names_and_ids_keep_every_document_whole(name: str) -> None:
    odd = finding(message=f"id {ODD} <&>\"'", query_id=ODD, doc_id=ODD)
    document = RENDERERS[name]([report(odd, path=ODD), report(path=ODD)])
    assert not set(document) & {"\x1b", "\x00", "\u200b", "\ud800"}
    document.encode("utf-8")
    if name == "json":
        json.loads(document)
    elif name != "text":
        assert len(document.splitlines()) == 1
