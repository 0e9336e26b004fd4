"""From runs without qrels to an estimate, on the command line."""

import json

import numpy as np
import pytest
from harness.plans import make_small, write_runs

from trectools_plus.judging import PlanFolder

JUDGE = """
import zlib

def grade(query, document):
    return zlib.crc32(f"{query} {document}".encode()) % 4
"""


@pytest.fixture
def plan(tmp_path):
    """A plan of 30 queries that a function has judged."""
    folder = make_small(tmp_path, queries=30, people=22)
    (tmp_path / "crc_judge.py").write_text(JUDGE)
    return folder


def _write_qrels(plan, file, queries):
    generator = np.random.default_rng(0)
    lines = [
        f"{query_id} 0 {doc_id} {generator.integers(-1, 4)}\n"
        for query_id in plan.plan.queries[:queries]
        for doc_id in plan.judgeable[query_id]
    ]
    file.write_text("".join([*lines, "unknown 0 d1 1\n"]))


def test_a_plan_is_extended(plan, tmp_path, call_here):
    call_here("judge", "label", plan.path, "--judge", "crc_judge:grade", "--yes")
    write_runs(tmp_path, ("c",), 30, seed=1)
    made = call_here("judge", "plan", "c.run", "--extend", plan.path, "--output-dir", "plan2")
    assert made.code == 0, made.stderr
    new = PlanFolder(tmp_path / "plan2")
    assert ["new:", str(new.new_pairs)] in [line.split() for line in made.text.splitlines()]
    labelled = call_here("judge", "label", "plan2", "--judge", "crc_judge:grade", "--yes")
    assert labelled.code == 0
    assert str(new.new_pairs) in labelled.text
    refusals = (
        ("--topics", "topics.tsv"),
        ("--depth", "3"),
        ("--seed", "1"),
        ("--people", "1"),
    )
    for option in refusals:
        refused = call_here(
            "judge", "plan", "c.run", "--extend", plan.path, "--output-dir", "x", *option
        )
        assert refused.code == 2
        assert option[0] in refused.stderr
    words = ("label", "plan2", "--judge", "crc_judge:grade", "--resume", "--price", "1", "2")
    priced = call_here("judge", *words, "--format", "json")
    assert priced.code == 0, priced.stderr
    assert json.loads(priced.text)["cost"] is None  # a function counts no tokens


def test_what_is_refused(plan, tmp_path, call_here):
    _write_qrels(plan, tmp_path / "anna.txt", 10)
    high = plan.judgeable[plan.plan.queries[0]][0]
    (tmp_path / "high.txt").write_text(f"{plan.plan.queries[0]} 0 {high} 7\n")
    importing = ("review", "import", plan.path, "anna.txt")
    for words, code, shown in (
        (("judge", "estimate", plan.path), 1, "no model has judged"),
        (importing, 0, "missing: 0"),
        (importing, 0, "graded: 0"),
        (("judge", "label", plan.path, "--judge", "crc_judge:grade", "--yes"), 0, ""),
        (("judge", "estimate", plan.path, "--format", "json"), 1, '"refusal": "'),
        (("benchmark", "verify", plan.path), 1, "20 are needed"),
        (("judge", "estimate", plan.path, "-m", "AP@100"), 2, "first 4"),
        (("review", "import", plan.path, "high.txt", "--annotator", "Ben"), 2, "above 3"),
        (("judge", "estimate", "none"), 2, "none"),
    ):
        done = call_here(*words)
        assert done.code == code, (words, done.stderr)
        assert shown in done.text + done.stderr
