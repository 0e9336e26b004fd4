"""From runs without qrels to an estimate, on the command line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.plans import make_small, write_runs
from harness.program import Program

from trectools_plus.judging.plan import PlanFolder

JUDGE = """
import zlib

def grade(query, document):
    return zlib.crc32(f"{query} {document}".encode()) % 4
"""


@pytest.fixture
def plan(tmp_path: Path) -> PlanFolder:
    """A plan of 30 queries that a function has judged."""
    folder = make_small(tmp_path, queries=30, people=22)
    (tmp_path / "crc_judge.py").write_text(JUDGE)
    return folder


@pytest.fixture
def call(program: Program, tmp_path: Path) -> Any:
    return lambda *words: program(["trectools-plus", *map(str, words)], tmp_path)


def _write_qrels(plan: PlanFolder, file: Path, queries: int, lacking: int = 0) -> None:
    generator = np.random.default_rng(0)
    lines = [
        f"{query_id} 0 {doc_id} {generator.integers(-1, 4)}\n"
        for query_id in plan.plan.queries[:queries]
        for doc_id in plan.judgeable[query_id]
    ]
    file.write_text("".join([*lines[lacking:], "unknown 0 d1 1\n"]))


def test_all_steps(plan: PlanFolder, tmp_path: Path, call: Any) -> None:
    _write_qrels(plan, tmp_path / "anna.txt", 22)
    labelled = call("judge", "label", plan.path, "--judge", "crc_judge:grade", "--yes")
    assert labelled.code == 0, labelled.stderr
    imported = call("review", "import", plan.path, tmp_path / "anna.txt", "--annotator", "Anna")
    assert imported.code == 0, imported.stderr
    assert "22 queries imported" in imported.text
    assert "1 judgments are of other pairs" in imported.text
    shown = call("judge", "estimate", plan.path)
    assert shown.code == 0, shown.stderr
    assert "queries judged by people and 30 by crc_judge:grade" in " ".join(shown.text.split())
    written = {one.name: one.read_bytes() for one in plan.path.iterdir() if one.is_file()}
    assert written["people.qrels"].split()[1] == b"person"
    assert written["model.qrels"].split()[1].startswith(b"model:")
    again = call("judge", "estimate", plan.path, "--format", "json")
    assert json.loads(again.text) == json.loads(written["JudgmentReport.json"])
    assert all((plan.path / name).read_bytes() == content for name, content in written.items())
    verified = call("benchmark", "verify", plan.path)
    assert verified.code == 0, verified.stderr
    assert "all hold" in verified.text
    markdown = call("judge", "estimate", plan.path, "a", "-m", "P@4", "--format", "markdown")
    assert "P@4: a" in markdown.text
    assert "nDCG@4: a" not in markdown.text
    assert "estimate 2 from the judgments of this plan" in markdown.text
    everything = call("judge", "qrels", plan.path)
    assert everything.code == 0, everything.stderr
    origins = Counter(line.split()[1] for line in everything.text.splitlines())
    assert origins == {
        "person": len(written["people.qrels"].splitlines()),
        "model:crc_judge_grade": plan.plan.pooled - len(written["people.qrels"].splitlines()),
    }


def test_a_plan_is_extended(plan: PlanFolder, tmp_path: Path, call: Any) -> None:
    call("judge", "label", plan.path, "--judge", "crc_judge:grade", "--yes")
    write_runs(tmp_path, ("c",), 30, seed=1)
    made = call("judge", "plan", "c.run", "--extend", plan.path, "--output-dir", "plan2")
    assert made.code == 0, made.stderr
    new = PlanFolder(tmp_path / "plan2")
    assert f"{new.new_pairs} pairs are new" in made.text
    labelled = call("judge", "label", "plan2", "--judge", "crc_judge:grade", "--yes")
    assert f"{new.new_pairs} calls" in labelled.text
    assert f"reused: {plan.plan.pooled} answers" in labelled.text
    for option in (("--topics", "topics.tsv"), ("--depth", "3"), ("--seed", "1")):
        refused = call(
            "judge", "plan", "c.run", "--extend", plan.path, "--output-dir", "x", *option
        )
        assert refused.code == 2
        assert option[0] in refused.stderr
    priced = call("judge", "label", "plan2", "--judge", "crc_judge:grade", "--price", "1")
    assert priced.code == 2
    assert "--price" in priced.stderr


def test_what_is_refused(plan: PlanFolder, tmp_path: Path, call: Any) -> None:
    nobody = call("judge", "estimate", plan.path)
    assert nobody.code == 1
    assert "no model has judged" in nobody.stderr
    _write_qrels(plan, tmp_path / "anna.txt", 10, lacking=3)
    imported = call("review", "import", plan.path, tmp_path / "anna.txt", "--leave-out")
    assert "3 pooled documents lack a grade" in imported.text
    twice = call("review", "import", plan.path, tmp_path / "anna.txt", "--leave-out")
    assert twice.code == 0
    assert "0 judgments of 10 queries imported" in twice.text
    call("judge", "label", plan.path, "--judge", "crc_judge:grade", "--yes")
    refused = call("judge", "estimate", plan.path, "--format", "json")
    assert refused.code == 1
    assert json.loads(refused.text)["refusal"] is not None
    verified = call("benchmark", "verify", plan.path)
    assert verified.code == 1
    assert "20 are needed" in verified.text
    deep = call("judge", "estimate", plan.path, "-m", "AP@100")
    assert deep.code == 2
    assert "first 4" in deep.stderr
    high = plan.judgeable[plan.plan.queries[0]][0]
    (tmp_path / "high.txt").write_text(f"{plan.plan.queries[0]} 0 {high} 7\n")
    refused = call("review", "import", plan.path, tmp_path / "high.txt", "--annotator", "Ben")
    assert refused.code == 2
    assert "above 3" in refused.stderr
    missing = call("judge", "estimate", tmp_path / "none")
    assert missing.code == 2
