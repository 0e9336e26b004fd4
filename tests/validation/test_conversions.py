"""Files whose columns have another meaning are converted by the command in the remedy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.errors import UsageError
from trectools_plus.validation import validate_qrels, validate_run
from trectools_plus.validation.fixing import fix_qrels, fix_run
from trectools_plus.validation.loading import load_qrels, load_run

RUN = {"1": {"d1": 9.5, "d2": 8.0}, "2": {"d3": 7.25, "d4": 7.0}}
QRELS = {"1": {"d1": 2, "d2": 0}, "2": {"d3": 1}}
RUNS: dict[str, tuple[str, Callable[..., str]]] = {
    "comma-separated": ("R103", lambda q, d, rank, score: f"{q},Q0,{d},{rank},{score},t"),
    "pipe-separated": ("R103", lambda q, d, rank, score: f"{q}|Q0|{d}|{rank}|{score}|t"),
    "quoted": ("R103", lambda q, d, rank, score: f'"{q}","Q0","{d}","{rank}","{score}","t"'),
    "document in column 2": ("R108", lambda q, d, rank, score: f"{q} {d} Q0 {rank} {score} t"),
    "distances": ("R121", lambda q, d, rank, score: f"{q} Q0 {d} {rank} {-score} a|b"),
    "score before rank": ("R121", lambda q, d, rank, score: f"{q} Q0 {d} {score} {rank} t"),
    "Query ID,doc_id,score,rank": ("R121", lambda q, d, rank, score: f"{q},{d},{-score},{rank}"),
    "qid,rank,score,docno": ("R121", lambda q, d, rank, score: f"{q},{score},{rank},{d}"),
}
"""The rule and a row of each form. A name with a comma is the header."""
JUDGMENTS: dict[str, tuple[str, Callable[..., str]]] = {
    "document in column 2": ("Q108", lambda q, d, grade: f"{q} {d} 0 {grade}"),
    "grade in column 2": ("Q135", lambda q, d, grade: f"{q} {grade} {d} 0"),
    "query_id,doc_id,iteration,rel": ("Q108", lambda q, d, grade: f"{q},0,{d},{grade}"),
    "query_id,doc_id,iteration,label": ("Q135", lambda q, d, grade: f"{q},{d},{grade},0"),
}


def follow(remedy: str, output: Path) -> None:
    """Run the command that a remedy names, as it stands."""
    command = re.search("trectools-plus (.*? --output )OUT", remedy)
    assert command is not None
    done = CliRunner().invoke(app, [*shlex.split(command[1]), str(output)])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_converted(name: str, tmp_path: Path) -> None:
    code, line = RUNS[name]
    path, output = tmp_path / "in.run", tmp_path / "out.run"
    rows = [name] * ("," in name) + [
        line(query, doc_id, rank, score)
        for query, scores in RUN.items()
        for rank, (doc_id, score) in enumerate(scores.items(), 1)
    ]
    path.write_text("\n".join(rows) + "\n")
    *_, finding = validate_run(path).errors
    assert (finding.code, finding.fix) == (code, "no")
    follow(finding.remedy, output)
    assert load_run(output).to_dict() == RUN
    with pytest.raises(UsageError, match=f"no fix {code}"):
        fix_run(path, tmp_path / "fixed.run", codes=[code])


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments_are_converted(name: str, tmp_path: Path) -> None:
    code, line = JUDGMENTS[name]
    path, output = tmp_path / "in.txt", tmp_path / "out.txt"
    rows = [line(q, d, grade) for q, grades in QRELS.items() for d, grade in grades.items()]
    path.write_text("\n".join([name] * ("," in name) + rows) + "\n")
    *_, finding = validate_qrels(path).errors
    assert (finding.code, finding.fix) == (code, "no")
    follow(finding.remedy, output)
    assert load_qrels(output).to_dict() == QRELS
    with pytest.raises(UsageError, match=f"no fix {code}"):
        fix_qrels(path, tmp_path / "fixed.txt", codes=[code])


def test_a_second_column_with_more_values_than_the_third_is_not_overwritten(
    tmp_path: Path,
) -> None:
    path, output = tmp_path / "in.run", tmp_path / "out.run"
    path.write_text("".join(f"1 d{n} type{n % 2} {n} {9 - n} t\n" for n in range(1, 6)))
    fix_run(path, output)
    assert output.read_text() == path.read_text()
