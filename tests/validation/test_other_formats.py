"""Runs and qrels that are not in TREC form: read by every command, reported, and converted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.files import write
from typer.testing import CliRunner

from trectools_plus import compare, evaluate, load_qrels, load_run
from trectools_plus.cli.app import app
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.validation import Severity, validate_qrels, validate_run
from trectools_plus.validation.findings import FindingsError

QRELS = "query_id,doc_id,relevance\n1,d1,2\n1,d2,0\n2,d3,1\n"
RUN = "query_id;doc_id;score\n1;d1;9,5\n".replace("9,5", "9.5") + "1;d2;8\n2;d9;2\n2;d3;1\n"
BEIR = "query-id\tcorpus-id\tscore\n1\td1\t2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text(QRELS, "utf-8")
    (tmp_path / "r.csv").write_text(RUN, "utf-8")
    (tmp_path / "beir.tsv").write_text(BEIR, "utf-8")
    scores = {"1": {"d1": 9.5, "d2": 8}, "2": {"d9": 2, "d3": 1}}
    (tmp_path / "r.json").write_text(json.dumps(scores), "utf-8")
    return tmp_path


def invoke(command: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, command.split())
    if isinstance(done.exception, TrectoolsPlusError):
        return done.exception.exit_code, done.stdout, str(done.exception)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "eval q.csv r.csv -m AP",
        "eval q.csv r.json -m AP,nDCG@10",
        "runs info r.csv",
        "runs fuse r.csv r.json --output fused.run",
        "runs convert r.csv --output converted.run",
        "qrels convert q.csv --output converted.txt",
        "benchmark run --runs a=r.csv b=r.json --qrels q.csv --measure AP --output-dir out",
    ],
)
def test_every_command_reads_them(folder: Path, command: str) -> None:
    code, _, stderr = invoke(command)
    assert code == 0, stderr


def test_scores_equal_those_of_the_converted_files(folder: Path) -> None:
    for command in (
        "runs convert r.csv --output r.run",
        "runs convert r.json --output j.run",
        "qrels convert q.csv --output q.txt",
    ):
        assert invoke(command)[0] == 0
    expected = evaluate("q.txt", "r.run", ["AP", "nDCG@10"]).mean("AP")
    assert expected == 0.75
    for run in ("r.csv", "r.json", "j.run"):
        assert evaluate("q.csv", run, ["AP", "nDCG@10"]).mean("AP") == expected
    assert load_qrels("q.csv").frame.equals(load_qrels("q.txt").frame)
    assert load_run("r.csv").frame.equals(load_run("r.run").frame)
    compare("q.csv", {"a": "r.csv", "b": "r.json"}, ["AP"], baseline="a")


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("q.csv", "Q103", "CSV with the header 'query_id,doc_id,relevance', not in TREC form"),
        (
            "beir.tsv",
            "Q103",
            "TSV with the header 'query-id corpus-id score', not in TREC form",
        ),
    ],
)
def test_qrels_are_reported(folder: Path, name: str, code: str, message: str) -> None:
    finding = next(one for one in validate_qrels(name).findings if one.code == code)
    assert (finding.severity, finding.line, finding.blocks_scoring) == (Severity.ERROR, 1, False)
    assert finding.message.startswith(message)
    assert f"trectools-plus qrels convert {name} --output" in finding.remedy


@pytest.mark.parametrize(("name", "code"), [("r.csv", "R105"), ("r.json", "R103")])
def test_runs_are_reported(folder: Path, name: str, code: str) -> None:
    finding = next(one for one in validate_run(name).findings if one.code == code)
    assert (finding.severity, finding.line, finding.blocks_scoring) == (Severity.ERROR, 1, False)
    assert f"trectools-plus runs convert {name} --output" in finding.remedy


@pytest.mark.parametrize(
    ("rows", "code", "line"),
    [
        ("1,d1,2\n1,d1,0\n", "Q142", 3),
        ("1,d1,2\n1,d2,0.5\n", "Q111", 3),
        ("1,d1,2\n1,d2,L2\n", "Q110", 3),
        ("1,d1,2\n1,d2\n", "Q101", 3),
        ("1,d1,2\n\n1,d2,1,9\n", "Q102", 4),
    ],
)
def test_findings_have_the_lines_of_the_table(
    tmp_path: Path, rows: str, code: str, line: int
) -> None:
    path = write(tmp_path / "q.csv", "query_id,doc_id,relevance\n" + rows)
    with pytest.raises(FindingsError) as caught:
        load_qrels(path)
    [finding] = caught.value.findings
    assert (finding.code, finding.line) == (code, line)


@pytest.mark.parametrize(
    ("name", "command"), [("r.csv", "runs"), ("r.json", "runs"), ("q.csv", "qrels")]
)
def test_a_fix_names_the_conversion(folder: Path, name: str, command: str) -> None:
    check = validate_run if command == "runs" else validate_qrels
    assert {finding.fix for finding in check(name).errors} == {"no"}
    _, out, _ = invoke(f"{command} validate {name} --fix fixed.txt")
    assert f"trectools-plus {command} convert {name}" in " ".join(out.split())
    invoke(f"{command} convert {name} --output out.txt")
    assert check("out.txt").errors == ()


def test_the_drop_in_names_the_conversion(folder: Path) -> None:
    code, _, stderr = invoke("trec-eval q.csv r.csv")
    assert (code, "qrels convert q.csv" in stderr) == (1, True)
