"""Benchmarks and earlier reports: every figure, key, code, exit code and file is the frozen one."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from harness.cases import BENCHMARKS, REPORTS
from harness.normal import LOOSE
from harness.observe import INPUTS

MODES = ("lexical", "vector", "hybrid")
Ranking = dict[str, list[tuple[str, float]]]


@pytest.mark.parametrize("case", [*BENCHMARKS, *REPORTS], ids=lambda case: case.name)
def test_figures_codes_and_files(case, observed, compare):
    document, _ = observed(case.name)
    compare(case.name, document, loose=case.fresh)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("collection", ["cranfield", "hpo"])
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
    step = document["commands"][0]
    assert step["command"].startswith("benchmark gate --current garden/out --baseline base/garden")
    assert step["exit"] == 0


def test_frozen_documents_hold_no_texts_of_collections():
    frozen = Path(__file__).parent / "frozen"
    for path in frozen.glob("*.json"):
        text = path.read_text("utf-8")
        assert "transonic aileron buzz" not in text, path.name
        assert str(Path.home()) not in text.replace("/root/", "/"), path.name
