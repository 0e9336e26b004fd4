"""Benchmarks and earlier reports: every figure, key, code, exit code and file is the frozen one."""

from __future__ import annotations

import re

import pytest
import zstandard
from harness.cases import BENCHMARKS, CASES, REPORTS
from harness.documented import DOCUMENTED
from harness.golden import FROZEN, GOLDEN
from harness.normal import LOOSE
from harness.observe import INPUTS, ROOT

pytestmark = pytest.mark.process

MODES = ("lexical", "vector", "hybrid")
Ranking = dict[str, list[tuple[str, float]]]


def as_parameter(name, *values):
    """Return the parameter of a test with a case; it is slow if the case is."""
    reason = CASES[name].slow
    return pytest.param(*values, id=name, marks=[pytest.mark.slow(reason)] if reason else [])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case", [as_parameter(one.name, one) for one in (*BENCHMARKS, *REPORTS, *DOCUMENTED)]
)
def test_figures_codes_and_files(case, observed, compare):
    document, _ = observed(case.name)
    compare(case.name, document, loose=case.fresh)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("collection", [as_parameter(name, name) for name in ("cranfield", "hpo")])
def test_fetched_runs_are_the_frozen_ones(collection, mode, observed):
    _, folder = observed(collection)
    content = (folder / f"out/runs/{mode}.run").read_bytes()
    packed = (INPUTS / f"runs/{collection}/{mode}.run.zst").read_bytes()
    frozen = zstandard.ZstdDecompressor().decompress(packed)
    if mode == "lexical":
        assert content == frozen, "no processor changes lexical scores"
        return
    expected, actual = read_run(frozen), read_run(content)
    assert list(expected) == list(actual)
    common = total = 0
    for query_id, rows in expected.items():
        found = actual[query_id]
        assert [score for _, score in found] == pytest.approx(
            [score for _, score in rows], rel=1e-4, abs=LOOSE / 10
        )
        common += len({doc_id for doc_id, _ in rows} & {doc_id for doc_id, _ in found})
        total += len(rows)
    assert common >= 0.99 * total


def read_run(content: bytes) -> Ranking:
    ranking: Ranking = {}
    for line in content.decode().splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        ranking.setdefault(query_id, []).append((doc_id, float(score)))
    return ranking


def test_a_gate_against_a_frozen_baseline_passes(observed):
    document, _ = observed("gate-1.0")
    command, step = next(iter(document["commands"].items()))
    assert command.startswith("benchmark gate --current garden/out --baseline base/garden")
    assert step["exit"] == 0


STORED = sorted([*GOLDEN.rglob("*.json"), *FROZEN.rglob("*.json")])


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.private])
def test_no_text_of_a_collection_is_stored(name):
    lines = [
        line
        for path in STORED
        if path.stem == name
        for line in path.read_text("utf-8").splitlines()
    ]
    texts = [line for line in lines if re.search(r'"(text|title|description)":', line)]
    assert all(re.search(r'":("…"|null|\["String")', line) for line in texts)


def test_no_path_of_a_machine_is_stored(tmp_path):
    for path in STORED:
        text = path.read_text("utf-8")
        assert str(ROOT) not in text, path
        assert str(tmp_path.parents[1]) not in text, path
