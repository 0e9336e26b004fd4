"""Tests of ``runs validate`` and ``qrels validate``: exit codes, formats, fixes."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from harness.observe import ROOT
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.cli.reference import iter_commands
from trectools_plus.errors import CheckFailedError, InputError, SeveralFilesError, UsageError

RUN = "1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 0.5 tag\n"
QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"
FORMATS = ["text", "json", "github"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "good.run": RUN,
        "bad.run": RUN.replace("b 2", "a 2"),
        "other.run": RUN.replace("Q0", "0"),
        "gap.run": RUN.replace("b 2", "b 3"),
        "qrels.txt": QRELS,
        "bad.qrels": QRELS + "1 0 a 0\n",
        "topics.tsv": "1\tone\n2\ttwo\n3\tthree\n",
        "docids.txt": "b\nc\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def _invoke(*arguments, stdin=None):
    kind, *words = arguments
    return CliRunner().invoke(app, [kind, "validate", *words], input=stdin)


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
        (("runs", "other.run", "--profile", "submission"), 1),
        (("runs", "bad.run", "--select", "R107"), 0),
        (("runs", "bad.run", "--select", "r13,Q"), 1),
        (("runs", "bad.run", "--select", "rank-gap, Crlf"), 0),
        (("runs", "bad.run", "--ignore", "duplicate-document"), 0),
        (("runs", "good.run", "--max-depth", "1"), 1),
        (("runs", "good.run", "--topics", "topics.tsv"), 1),
        (("runs", "good.run", "--topics", "topics.tsv", "--profile", "trec"), 0),
        (("runs", "good.run", "--docids", "docids.txt"), 1),
        (("runs", "good.run", "--qrels", "bad.qrels"), 1),
        (("runs", "bad.run", "--all"), 1),
        (("qrels", "qrels.txt"), 0),
        (("qrels", "bad.qrels"), 1),
    ],
)
def test_exit_codes(check_exit_code, arguments, code):
    kind, *words = arguments
    check_exit_code(f"{kind} validate", words, code)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        (("none.run",), InputError, "no such file"),
        ((".",), InputError, "folder"),
        (("nul\x00.run",), InputError, "cannot read"),
        (("none.run", "--qrels", "none"), InputError, "none — check the path"),
        (("good.run", "--qrels", "none"), InputError, "none"),
        (("good.run", "--select", "X"), UsageError, "X"),
        (("good.run", "--profile", "x"), UsageError, "default, trec, submission"),
        (("good.run", "gap.run", "--fix", "o"), UsageError, "one file"),
        (("good.run", "--fix", "R131"), UsageError, "--fix OUT"),
    ],
)
def test_what_cannot_be_done_is_no_finding(arguments, error, word):
    result = _invoke("runs", *arguments)
    assert isinstance(result.exception, error), result.exception
    assert word in str(result.exception)
    assert not result.stdout


@pytest.mark.usefixtures("folder")
def test_files_that_can_be_read_are_checked_beside_others():
    result = _invoke("runs", "bad.run", "none.run", "gap.run", ".", "--format", "json")
    files = json.loads(result.stdout)["files"]
    assert [file["path"] for file in files] == ["bad.run", "gap.run"]
    assert isinstance(result.exception, SeveralFilesError)
    assert result.exception.exit_code == InputError.exit_code
    assert [error.where for error in result.exception.errors] == ["none.run", "."]
    result = _invoke("qrels", "none", "bad.qrels")
    assert "Q142" in result.stdout
    assert isinstance(result.exception, InputError)


@pytest.mark.usefixtures("folder")
def test_broken_qrels_are_reported_beside_the_run():
    document = json.loads(
        _invoke("runs", "good.run", "--qrels", "bad.qrels", "--format", "json").stdout
    )
    assert [file["kind"] for file in document["files"]] == ["run", "qrels"]
    assert {finding["code"] for finding in document["files"][1]["findings"]} >= {"Q142"}


@pytest.mark.parametrize("output_format", FORMATS)
def test_standard_input_is_a_run(output_format, folder):
    result = _invoke("runs", "-", "--format", output_format, stdin=RUN.replace("Q0", "0"))
    assert result.exit_code == 0
    assert "R107" in result.stdout


@pytest.mark.skipif(os.name == "nt", reason="names that Windows does not allow")
@pytest.mark.parametrize("output_format", FORMATS)
def test_unusual_paths(output_format, folder):
    name = "a b\n\x1b[31mé\u200b,:%.run"
    (folder / name).write_text(RUN.replace("b 2", "a 2"), encoding="utf-8")
    result = _invoke("runs", name, "--format", output_format, "--all")
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    if output_format == "json":
        assert json.loads(result.stdout)["files"][0]["path"] == name
    else:
        assert "a b\\n\\x1b[31mé\\u200b," in result.stdout.replace("%2C", ",")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("runs gap.run --topics topics.tsv", "topics.tsv"),
        ("runs gap.run --docids docids.txt", "docids.txt"),
        ("runs gap.run --qrels qrels.txt", "sub/../qrels.txt"),
        ("runs gap.run", "gap.run"),
        ("qrels qrels.txt", "qrels.txt"),
    ],
)
def test_fix_writes_over_nothing_that_is_read(command, target, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "gap.run").write_text(RUN, encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    result = _invoke(*command.split(), "--fix", target)
    assert isinstance(result.exception, UsageError)
    assert "overwrite the input" in str(result.exception)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.usefixtures("folder")
def test_fix_of_standard_input():
    result = _invoke("runs", "-", "--fix", "out.run", stdin=RUN.replace("\n", "\r\n"))
    assert result.exit_code == 0
    assert Path("out.run").read_bytes() == RUN.encode()
    result = _invoke("runs", "-", "--fix", "out.run", stdin="{}\0")
    assert isinstance(result.exception, CheckFailedError)


def test_hooks_call_commands_that_exist():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    commands = {name for name, _ in iter_commands()}
    wanted = {
        "trectools-plus-runs": ("bm25.run", "runs/x.run.gz"),
        "trectools-plus-qrels": ("qrels.txt", "data/qrels.dev.tsv.gz", "x.qrels"),
        "trectools-plus-topics": ("topics.tsv", "data/topics-2024.xml", "topics.yaml"),
    }
    assert {hook["id"] for hook in hooks} == set(wanted)
    for hook in hooks:
        assert hook["entry"] in commands
        assert hook["require_serial"], "one process for all files"
        for name in wanted[hook["id"]]:
            assert re.search(hook["files"], name), name
        for name in ("README.md", "a.runner", "src/topics.py", "qrels/notes.md"):
            assert not re.search(hook["files"], name), name
