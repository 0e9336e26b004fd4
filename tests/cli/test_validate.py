"""``runs validate`` and ``qrels validate``: exit codes, formats, choices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from trectools_plus.cli.validate import qrels_validate, runs_validate
from trectools_plus.errors import InputError, UsageError

RUN = "1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 0.5 tag\n"
QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"

app = typer.Typer()
app.command("runs")(runs_validate)
app.command("qrels")(qrels_validate)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.run").write_text(RUN, encoding="utf-8")
    (tmp_path / "bad.run").write_text(RUN.replace("b 2", "a 2"), encoding="utf-8")
    (tmp_path / "other.run").write_text(RUN.replace("Q0", "0"), encoding="utf-8")
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "bad.qrels").write_text(QRELS + "1 0 a 0\n", encoding="utf-8")
    (tmp_path / "topics.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n", encoding="utf-8")
    return tmp_path


def _invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("runs", "good.run", "--qrels", "qrels.txt"), 0),
        (("runs", "bad.run"), 1),
        (("runs", "good.run", "bad.run"), 1),
        (("runs", "other.run"), 0),
        (("runs", "other.run", "--strict"), 1),
        (("runs", "other.run", "--strict", "--ignore", "R107"), 0),
        (("runs", "bad.run", "--select", "R107"), 0),
        (("runs", "bad.run", "--select", "r13,Q"), 1),
        (("runs", "good.run", "--max-depth", "1"), 1),
        (("runs", "good.run", "--topics", "topics.tsv"), 1),
        (("runs", "good.run", "--qrels", "bad.qrels"), 1),
        (("qrels", "qrels.txt"), 0),
        (("qrels", "bad.qrels"), 1),
        (("qrels", "qrels.txt", "--run", "good.run"), 0),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int) -> None:
    assert _invoke(*arguments).exit_code == code


@pytest.mark.usefixtures("folder")
def test_unreadable_files_and_unknown_codes_are_no_findings() -> None:
    assert isinstance(_invoke("runs", "none.run").exception, InputError)
    assert isinstance(_invoke("runs", "good.run", "--qrels", "none").exception, InputError)
    assert isinstance(_invoke("runs", "good.run", "--select", "X").exception, UsageError)


@pytest.mark.usefixtures("folder")
def test_json_is_one_document_and_nothing_else() -> None:
    result = _invoke("runs", "bad.run", "good.run", "--format", "json")
    document = json.loads(result.stdout)
    assert [file["path"] for file in document["files"]] == ["bad.run", "good.run"]
    assert document["files"][0]["findings"][0]["code"] == "R131"
    assert result.exit_code == 1


@pytest.mark.usefixtures("folder")
def test_broken_qrels_are_reported_beside_the_run() -> None:
    document = json.loads(
        _invoke("runs", "good.run", "--qrels", "bad.qrels", "--format", "json").stdout
    )
    assert [file["kind"] for file in document["files"]] == ["run", "qrels"]
    assert {finding["code"] for finding in document["files"][1]["findings"]} >= {"Q142"}


@pytest.mark.usefixtures("folder")
def test_text_names_the_place_and_the_remedy() -> None:
    text = _invoke("runs", "bad.run").stdout
    assert "bad.run:2:6: error R131: a again in query 1 (line 1, score 2.5; here 1.5)." in text
    assert text.rstrip().endswith("1 error, 0 warnings, 0 infos in 1 file.")


def test_standard_input_is_a_run() -> None:
    result = _invoke("runs", "-", stdin=RUN)
    assert result.exit_code == 0
    assert result.stdout.startswith("-: run, 3 rows, 2 queries; no findings")


@pytest.mark.parametrize("command", ["runs", "qrels"])
def test_help_has_an_example(command: str) -> None:
    result = _invoke(command, "--help")
    assert result.exit_code == 0
    assert "Examples" in result.stdout
